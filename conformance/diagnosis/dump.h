// A dump: stages that some engine computed, as it wrote them into a safetensors file.
//
// Tensors are named stepS.STAGE for band 0 and stepS.bandB.STAGE for others (inputs.h); a name
// without "stepS." is of step 0. Stages and shapes are those of src/backend/stages.h; leading
// dimensions of 1 and another grouping of a row's elements are accepted. Values may be BF16, F16,
// F32 or F64, ids any integer dtype. A dump may hold any subset.
//
// Errors: DATA_LOSS for a file that is no safetensors file, and for a tensor that is no stage of
// this drafter, has another shape or dtype: file, tensor, expected, found. What an engine computed
// wrongly is no error: NaN, infinities and ids outside the vocabulary are kept and marked. Thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_DIAGNOSIS_DUMP_H_
#define DRAFTMARK_CONFORMANCE_DIAGNOSIS_DUMP_H_

#include <map>
#include <string>
#include <vector>

#include "conformance/plain/forward.h"
#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/tensor/tensor_view.h"

namespace draftmark {

struct DumpedStage {
  std::string tensor;  // its name in the file
  Shape shape;         // as expected; of a row-wise token stage with a row more or less, as found
  std::vector<double> values;
  std::string
      defect;  // empty, or why the values cannot be gone on with: "3 elements are not finite, first [0, 4]"
};
using Dump = std::map<plain::StageId, DumpedStage>;

StatusOr<Dump> LoadDump(const std::string& path, const DrafterConfig& config,
                        const plain::Bands& bands, FileSystem& file_system = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DIAGNOSIS_DUMP_H_
