#include "tools/commands/doctor/find_cublaslt.h"

#include <fmt/format.h>

#include "src/cuda/cublaslt_library.h"

namespace draftmark {

StatusOr<std::string> FindCublasLt() {
  DM_ASSIGN_OR_RETURN(const CublasLtFunctions lt, LoadCublasLt());
  return fmt::format("{} (version {}.{}.{})", lt.path, lt.version / 10000, lt.version / 100 % 100,
                     lt.version % 100);
}

}  // namespace draftmark
