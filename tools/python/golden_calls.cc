// manifest, safetensors and case.
#include <fmt/format.h>

#include "conformance/golden/manifest.h"
#include "src/backend/stages.h"
#include "src/base/file_system.h"
#include "src/cases/drafter_case.h"
#include "src/config/config_file.h"
#include "src/tensor/safetensors.h"
#include "tools/python/calls.h"

namespace draftmark::python {
namespace {

OwnedTensor OneInteger(std::string name, std::int64_t value) {
  return CopyOf(std::move(name), {DType::kI64, {}, std::as_bytes(std::span(&value, 1))});
}

void AddInputs(const DrafterCase& drafter_case, Reply& reply) {
  for (std::size_t s = 0; s < drafter_case.steps().size(); ++s) {
    const CaseStep& step = drafter_case.steps()[s];
    const std::string prefix = fmt::format("step{}.inputs.", s);
    const std::uint64_t width = drafter_case.config().tap_width();
    reply.tensors.push_back(
        CopyOf(prefix + "target_hidden", {DType::kBF16,
                                          {step.new_context_rows, width},
                                          std::as_bytes(std::span(step.target_hidden))}));
    reply.tensors.push_back(CopyOf(
        prefix + "block_tokens",
        {DType::kU32, {step.block_tokens.size()}, std::as_bytes(std::span(step.block_tokens))}));
    reply.tensors.push_back(OneInteger(prefix + "start", step.start));
    reply.tensors.push_back(
        OneInteger(prefix + "drop_front_rows", static_cast<std::int64_t>(step.drop_front_rows)));
  }
}

Status AddExpected(const DrafterCase& drafter_case, Reply& reply) {
  OrderedJson& rows = reply.json["rows"] = OrderedJson::object();
  for (std::size_t s = 0; s < drafter_case.steps().size(); ++s) {
    for (const std::string& stage : StagesInDataFlowOrder(drafter_case.config())) {
      DM_ASSIGN_OR_RETURN(const std::optional<ExpectedStage> expected,
                          drafter_case.Expected(s, stage));
      if (!expected) continue;
      const std::string name = fmt::format("step{}.{}", s, stage);
      if (!expected->rows.empty()) rows[name] = expected->rows;
      reply.tensors.push_back(DoublesTensor("expected." + name, expected->shape, expected->values));
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Reply> AnswerManifest(const JsonObject& request) {
  DM_ASSIGN_OR_RETURN(const std::string golden, request.String("golden"));
  DM_ASSIGN_OR_RETURN(const Manifest manifest, LoadManifest(golden));
  Reply reply;
  reply.json = OrderedJson::parse(manifest.ToText());
  return reply;
}

StatusOr<Reply> AnswerSafetensors(const JsonObject& request) {
  DM_ASSIGN_OR_RETURN(const std::string path, request.String("path"));
  DM_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  std::vector<std::string> names = file.names();
  if (request.Has("names")) {
    DM_ASSIGN_OR_RETURN(names, request.StringList("names"));
  }
  Reply reply;
  reply.json["metadata"] = file.metadata();
  for (const std::string& name : names) {
    DM_ASSIGN_OR_RETURN(const TensorView view, file.Get(name));
    reply.tensors.push_back(CopyOf(name, view));
  }
  return reply;
}

StatusOr<Reply> AnswerCase(const JsonObject& request) {
  DM_ASSIGN_OR_RETURN(const std::string path, request.String("path"));
  DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(path));
  DM_ASSIGN_OR_RETURN(const Json config, ReadConfigFile(JoinPath(path, "config.json")));
  Reply reply;
  reply.json["id"] = drafter_case.id().ToString();
  reply.json["config"] = config;
  const Checkpoint& checkpoint = *drafter_case.checkpoint();
  for (const std::string& name : checkpoint.names()) {
    DM_ASSIGN_OR_RETURN(const TensorView view, checkpoint.Get(name));
    reply.tensors.push_back(CopyOf(name, view));
  }
  AddInputs(drafter_case, reply);
  DM_RETURN_IF_ERROR(AddExpected(drafter_case, reply));
  return reply;
}

}  // namespace draftmark::python
