#include "tools/commands/verify/verify_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "conformance/cuda/cuda_backend.h"
#include "conformance/plugin/plugin_backend.h"
#include "kernels/plugin/plugin_library.h"

namespace draftmark {
namespace {

struct Scratch {
  std::string name;
  CudaSessionKind kind;
};
// The default first.
const Scratch kScratches[] = {
    {"v2", {.scratch_version = 2}},
    {"v1", {.scratch_version = 1}},
    {"contiguous", {.scratch_version = 2, .paged = false}},
};

VerifyBackend Reference(Precision precision) {
  VerifyBackend backend;
  backend.arch = "cpu";
  backend.precision = precision;
  backend.check_operation = [precision](const OperationCase& c) {
    return CheckReference(c, precision);
  };
  backend.run_draft.push_back([precision](const DrafterCase& drafter_case) {
    return RunDrafterCase(drafter_case, precision, kReferenceBackend, OpenReferenceForCase);
  });
  return backend;
}

StatusOr<VerifyBackend> Cuda(const std::string& scratch, bool fast) {
  DM_ASSIGN_OR_RETURN(std::unique_ptr<CudaBackend> opened, CudaBackend::Open());
  const std::shared_ptr<CudaBackend> cuda = std::move(opened);
  VerifyBackend backend;
  backend.arch = cuda->arch();
  backend.device = cuda->device().Describe();
  backend.precision = Precision::kBf16;
  backend.check_operation = [cuda](const OperationCase& c) {
    return CheckOperation(c, Precision::kBf16, kCudaBackend.name, SumType::kFloat32,
                          cuda->Operations());
  };
  for (const Scratch& one : kScratches) {
    if (scratch != "all" && scratch != one.name) continue;
    CudaSessionKind kind = one.kind;
    kind.fast = fast;
    backend.run_draft.push_back([cuda, kind](const DrafterCase& drafter_case) {
      return RunCudaDraft(*cuda, kind, drafter_case);
    });
  }
  return backend;
}

StatusOr<VerifyBackend> Plugin(const BackendOptions& options) {
  plugin::PluginOptions plugin_options = {.library = options.name};
  plugin_options.seconds = options.time_limit.value_or(plugin_options.seconds);
  // Starting a device takes seconds, however short the calls are meant to be.
  constexpr double kLeastLoadSeconds = 10;
  if (options.time_limit) {
    plugin_options.load_seconds = std::max(*options.time_limit, kLeastLoadSeconds);
  }
  DM_ASSIGN_OR_RETURN(std::unique_ptr<PluginBackend> opened, PluginBackend::Open(plugin_options));
  const std::shared_ptr<PluginBackend> plugin = std::move(opened);
  VerifyBackend backend;
  backend.device = plugin->facts().device;
  backend.precision = Precision::kBf16;
  backend.plugin = plugin->facts();
  backend.check_operation = [plugin](const OperationCase& c) { return plugin->CheckOperation(c); };
  backend.run_draft.push_back(
      [plugin](const DrafterCase& drafter_case) { return plugin->RunDraft(drafter_case); });
  backend.other_failures = [plugin] { return plugin->late_deaths(); };
  return backend;
}

// What only the CUDA kernels have, and only plug-ins.
Status CheckOptions(const BackendOptions& options) {
  if (options.name != "cuda" && options.scratch) {
    return InvalidArgumentError("--scratch: only --backend cuda runs on a scratch");
  }
  if (options.name != "cuda" && options.path) {
    return InvalidArgumentError("--path: only --backend cuda has a fast and a simple one");
  }
  if (options.time_limit && !plugin::IsPluginPath(options.name)) {
    return InvalidArgumentError("--time-limit: only a plug-in has one");
  }
  if (options.name != "reference" && options.precision == "exact") {
    return InvalidArgumentError(
        fmt::format("--precision exact: --backend {} computes in bf16 only; exact is the "
                    "reference's",
                    options.name));
  }
  return OkStatus();
}

}  // namespace

StatusOr<VerifyBackend> OpenVerifyBackend(const BackendOptions& options) {
  DM_RETURN_IF_ERROR(CheckOptions(options));
  if (plugin::IsPluginPath(options.name)) return Plugin(options);
  if (options.name != "cuda") {
    return Reference(options.precision == "bf16" ? Precision::kBf16 : Precision::kExact);
  }
  return Cuda(options.scratch.value_or(kScratches[0].name),
              options.path.value_or("fast") == "fast");
}

}  // namespace draftmark
