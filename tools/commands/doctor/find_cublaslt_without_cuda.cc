#include "tools/commands/doctor/find_cublaslt.h"

namespace draftmark {

StatusOr<std::string> FindCublasLt() {
  return UnavailableError("not looked for: this program was built without CUDA");
}

}  // namespace draftmark
