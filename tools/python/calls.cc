#include "tools/python/calls.h"

#include <fmt/format.h>

#include <cstring>

#include "src/config/config_file.h"

namespace draftmark::python {

StatusOr<RequestedConfig> ReadRequestedConfig(const JsonObject& request) {
  const Json* const config = request.Find("config");
  if (config == nullptr) return request.AbsentError("config", "a path or a parsed config");
  if (config->is_object()) return RequestedConfig{*config, "config"};
  DM_ASSIGN_OR_RETURN(const std::string path, request.String("config"));
  DM_ASSIGN_OR_RETURN(Json json, ReadConfigFile(path));
  return RequestedConfig{std::move(json), path};
}

OwnedTensor DoublesTensor(std::string name, Shape shape, const std::vector<double>& values) {
  OwnedTensor tensor{std::move(name), DType::kF64, std::move(shape), {}};
  tensor.bytes.resize(values.size() * sizeof(double));
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

OwnedTensor CopyOf(std::string name, const TensorView& view) {
  return {std::move(name), view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
}

StatusOr<Reply> Answer(const std::string& call, const std::string& request,
                       const NamedViews& tensors) {
  // Python writes NaN and Infinity as bare words; who reads such a number refuses it.
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(request, call, {.allow_nonfinite = true}));
  DM_ASSIGN_OR_RETURN(const JsonObject object, JsonObject::Root(json, call));
  if (call == "sizes") return AnswerSizes(object);
  if (call == "scratch") return AnswerScratch(object);
  if (call == "manifest") return AnswerManifest(object);
  if (call == "safetensors") return AnswerSafetensors(object);
  if (call == "case") return AnswerCase(object);
  if (call == "reference") return AnswerReference(object, tensors);
  if (call == "compare") return AnswerCompare(object, tensors);
  return InvalidArgumentError(fmt::format("{}: no such call", call));
}

}  // namespace draftmark::python
