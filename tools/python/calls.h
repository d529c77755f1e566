// The calls behind the C interface (c_abi.h): JSON and tensors in, JSON and tensors out.
//
//   sizes        config, entry?; max_batch_tokens, max_seq_len, kv_block_size, max_batch_size,
//                native_q2?, native_q2_mmq?, sm_count?  -> as `draftmark sizes --format json`
//   scratch      config, entry?; version, ctx_window, max_batch, gamma?, layout?, batched_heads?
//                -> as `draftmark scratch --format json`
//   manifest     golden: a golden folder -> its manifest, checked
//   safetensors  path, names?: some tensors alone -> {"metadata"}, and the tensors
//   case         path: the folder of a drafter's golden -> {"id", "config", "rows": {stage: rows}},
//                and tensors: weights, stepS.inputs.*, and expected.stepS.STAGE
//   reference    config, entry?, precision: "exact" or "bf16"; tensors: weights under the names of a
//                checkpoint, inputs as conformance/diagnosis/inputs.h has them
//                -> {"blocks"}, and the stages in the order of computation
//   compare      tolerance_class: "T0", "T1" or "T2", output: "BF16", "F32" or "F64",
//                reduction_length? (T1), probabilities and largest_value (T2); tensors: actual and
//                expected, magnitudes? (T1) -> the verdict
//
// `config` is a path or the parsed config itself. Float weights that are not BF16 must be exact in
// BF16. Thread-safe; errors name file, key or tensor, expected and found.
#ifndef DRAFTMARK_TOOLS_PYTHON_CALLS_H_
#define DRAFTMARK_TOOLS_PYTHON_CALLS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/tensor/tensor_view.h"

namespace draftmark::python {

using NamedViews = std::map<std::string, TensorView>;

struct OwnedTensor {
  std::string name;
  DType dtype = DType::kF64;
  Shape shape;
  std::vector<std::byte> bytes;
};

struct Reply {
  OrderedJson json = OrderedJson::object();
  std::vector<OwnedTensor> tensors;
};

// `Answer` alone is for callers; the others are its parts, by file.
StatusOr<Reply> Answer(const std::string& call, const std::string& request,
                       const NamedViews& tensors);

StatusOr<Reply> AnswerSizes(const JsonObject& request);
StatusOr<Reply> AnswerScratch(const JsonObject& request);
StatusOr<Reply> AnswerManifest(const JsonObject& request);
StatusOr<Reply> AnswerSafetensors(const JsonObject& request);
StatusOr<Reply> AnswerCase(const JsonObject& request);
StatusOr<Reply> AnswerReference(const JsonObject& request, const NamedViews& tensors);
StatusOr<Reply> AnswerCompare(const JsonObject& request, const NamedViews& tensors);

// The config that a request has under "config": the file it names, or the object itself. Its name
// for messages is the path, or "config".
struct RequestedConfig {
  Json json;
  std::string source;
};
StatusOr<RequestedConfig> ReadRequestedConfig(const JsonObject& request);

OwnedTensor DoublesTensor(std::string name, Shape shape, const std::vector<double>& values);
OwnedTensor CopyOf(std::string name, const TensorView& view);

}  // namespace draftmark::python

#endif  // DRAFTMARK_TOOLS_PYTHON_CALLS_H_
