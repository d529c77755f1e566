// Who computes in `draftmark verify`: the reference on the CPU, the CUDA kernels on the first GPU, or
// a plug-in.
#ifndef DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_BACKEND_H_
#define DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_BACKEND_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "conformance/operations/check_operation.h"
#include "kernels/plugin/contained_plugin.h"
#include "src/base/status.h"

namespace draftmark {

struct VerifyBackend {
  std::string arch;    // names the file of expectations; empty: none by itself
  std::string device;  // in words; empty for the reference
  Precision precision = Precision::kExact;
  std::function<StatusOr<OperationReport>(const OperationCase&)> check_operation;
  // Each draft case runs once through each of them.
  std::vector<std::function<StatusOr<CaseReport>(const DrafterCase&)>> run_draft;
  std::optional<plugin::PluginFacts> plugin = std::nullopt;
  // Failures so far that belong to no case, each as a line; empty: there can be none.
  std::function<std::vector<std::string>()> other_failures = {};
};

// As on the command line.
struct BackendOptions {
  std::string name = "reference";        // or "cuda", or the path of a plug-in
  std::optional<std::string> precision;  // "exact" or "bf16"; default exact, on the GPU bf16
  std::optional<std::string> scratch;    // "v1", "v2", "contiguous" or "all"; the GPU's only
  std::optional<std::string> path;       // "fast" (the default) or "simple"; the GPU's only
  std::optional<double> time_limit;      // seconds of one call; plug-ins' only
};

// INVALID_ARGUMENT for options that do not go together, UNAVAILABLE with the reason where there is
// no GPU to be used, and those of ContainedPlugin::Open.
StatusOr<VerifyBackend> OpenVerifyBackend(const BackendOptions& options);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_BACKEND_H_
