// What an engine should dump for a diagnosis: tensor names, dtypes and shapes, and a snippet of
// Python that writes most of them from a PyTorch model. Pure, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_DIAGNOSIS_TEMPLATE_H_
#define DRAFTMARK_CONFORMANCE_DIAGNOSIS_TEMPLATE_H_

#include <string>
#include <vector>

#include "conformance/plain/forward.h"
#include "src/config/drafter_config.h"
#include "src/tensor/dtype.h"
#include "src/tensor/tensor_view.h"

namespace draftmark {

struct TemplateTensor {
  std::string name;  // "step0.layers.1.q_norm"
  DType dtype;  // as a scratch stores it; floats may be BF16, F16, F32 or F64, ids any integers
  Shape shape;
};

// Steps in order, bands within a step, stages in data-flow order.
std::vector<TemplateTensor> DumpTemplate(const DrafterConfig& config, const plain::Bands& bands);

// For a module `drafter` with the names of public checkpoints. Ends with a newline.
std::string PythonSnippet(const DrafterConfig& config);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DIAGNOSIS_TEMPLATE_H_
