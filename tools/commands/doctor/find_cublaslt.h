// Which cuBLASLt this program would use. A build without CUDA has no interface to any.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DOCTOR_FIND_CUBLASLT_H_
#define DRAFTMARK_TOOLS_COMMANDS_DOCTOR_FIND_CUBLASLT_H_

#include <string>

#include "src/base/status.h"

namespace draftmark {

// "PATH (version 13.1.0)". Errors are those of LoadCublasLt.
StatusOr<std::string> FindCublasLt();

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DOCTOR_FIND_CUBLASLT_H_
