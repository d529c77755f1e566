#include "src/cuda/cublaslt_library.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace draftmark {
namespace {

std::string Soname() { return fmt::format("libcublasLt.so.{}", kCublasLtMajorVersion); }

void AddToolkit(const std::string& root, std::vector<std::string>& candidates) {
  for (const char* const folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
    candidates.push_back(fmt::format("{}/{}/{}", root, folder, Soname()));
  }
}

std::string VersionText(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

template <typename Function>
Status Bind(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function != nullptr) return OkStatus();
  return UnavailableError(fmt::format("has no function {}", name));
}

Status BindAll(void* library, CublasLtFunctions& lt) {
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtGetVersion", lt.get_version));
  // Before the others: another version is named as such, not by what it lacks.
  lt.version = lt.get_version();
  if (lt.version / 10000 != kCublasLtMajorVersion) {
    return UnavailableError(fmt::format("is version {}", VersionText(lt.version)));
  }
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtGetStatusName", lt.get_status_name));
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtCreate", lt.create));
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtDestroy", lt.destroy));
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtMatmulDescCreate", lt.matmul_desc_create));
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtMatmulDescDestroy", lt.matmul_desc_destroy));
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtMatmulDescSetAttribute", lt.matmul_desc_set_attribute));
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtMatrixLayoutCreate", lt.matrix_layout_create));
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtMatrixLayoutDestroy", lt.matrix_layout_destroy));
  DM_RETURN_IF_ERROR(
      Bind(library, "cublasLtMatrixLayoutSetAttribute", lt.matrix_layout_set_attribute));
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtMatmulPreferenceCreate", lt.matmul_preference_create));
  DM_RETURN_IF_ERROR(
      Bind(library, "cublasLtMatmulPreferenceDestroy", lt.matmul_preference_destroy));
  DM_RETURN_IF_ERROR(
      Bind(library, "cublasLtMatmulPreferenceSetAttribute", lt.matmul_preference_set_attribute));
  DM_RETURN_IF_ERROR(Bind(library, "cublasLtMatmulAlgoGetHeuristic", lt.matmul_algo_get_heuristic));
  return Bind(library, "cublasLtMatmul", lt.matmul);
}

// OK with the functions, NOT_FOUND if there is no such file, UNAVAILABLE with what is there instead.
StatusOr<CublasLtFunctions> Open(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = ::dlerror();
    const std::string text = error != nullptr ? error : "unknown error";
    // How the loader begins when the file itself, not one that it needs, is absent.
    if (text.starts_with(path + ": cannot open shared object file: No such file")) {
      return NotFoundError(text);
    }
    return UnavailableError(fmt::format("{} cannot be loaded ({})", path, text));
  }
  CublasLtFunctions lt;
  lt.path = path;
  if (const Status status = BindAll(library, lt); !status.ok()) {
    (void)::dlclose(library);
    return UnavailableError(fmt::format("{} {}", path, status.message()));
  }
  return lt;
}

}  // namespace

std::vector<std::string> CublasLtCandidates() {
  std::vector<std::string> candidates = {Soname()};
  AddToolkit("/usr/local/cuda", candidates);
  glob_t toolkits{};
  const std::string pattern = fmt::format("/usr/local/cuda-{}*", kCublasLtMajorVersion);
  if (::glob(pattern.c_str(), 0, nullptr, &toolkits) == 0) {
    for (std::size_t i = 0; i < toolkits.gl_pathc; ++i)
      AddToolkit(toolkits.gl_pathv[i], candidates);
  }
  ::globfree(&toolkits);
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* const root = std::getenv(variable);
    if (root != nullptr && *root != '\0') AddToolkit(root, candidates);
  }
  return candidates;
}

StatusOr<CublasLtFunctions> LoadCublasLt(const std::vector<std::string>& candidates) {
  std::vector<std::string> found;
  for (const std::string& candidate : candidates) {
    StatusOr<CublasLtFunctions> lt = Open(candidate);
    if (lt.ok()) return lt;
    if (lt.status().code() != StatusCode::kNotFound) found.push_back(lt.status().message());
  }
  return UnavailableError(fmt::format(
      "cuBLASLt {} is needed: looked for {}; found {}", kCublasLtMajorVersion,
      fmt::join(candidates, ", "),
      found.empty() ? std::string("none of them") : fmt::format("{}", fmt::join(found, "; "))));
}

}  // namespace draftmark
