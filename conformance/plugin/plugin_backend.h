// A plug-in as a backend of the conformance suites: operations, and drafts stage by stage, judged
// like our own CUDA kernels.
//
//   DM_ASSIGN_OR_RETURN(const auto plugin, PluginBackend::Open({.library = "./libmine.so"}));
//   DM_ASSIGN_OR_RETURN(const OperationReport report, plugin->CheckOperation(c));
//   report.no_result.unsupported(), report.passed()
//
// Whatever a plug-in does is a report: passed, failed, or without a result (no_result.h). An error
// is a case that cannot be judged at all. One thread at a time.
#ifndef DRAFTMARK_CONFORMANCE_PLUGIN_PLUGIN_BACKEND_H_
#define DRAFTMARK_CONFORMANCE_PLUGIN_PLUGIN_BACKEND_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "conformance/operations/check_operation.h"
#include "kernels/plugin/contained_plugin.h"
#include "src/base/status.h"

namespace draftmark {

class PluginBackend {
 public:
  // Errors are those of ContainedPlugin::Open. The library's path is the backend's name in reports.
  static StatusOr<std::unique_ptr<PluginBackend>> Open(const plugin::PluginOptions& options);

  const plugin::PluginFacts& facts() const { return plugin_->facts(); }

  // Failures that belong to no case (ContainedPlugin::late_deaths).
  const std::vector<std::string>& late_deaths() const { return plugin_->late_deaths(); }

  // In bf16, with the tolerances of FP32 sums.
  StatusOr<OperationReport> CheckOperation(const OperationCase& c);
  StatusOr<CaseReport> RunDraft(const DrafterCase& drafter_case);

 private:
  PluginBackend(std::string name, std::unique_ptr<plugin::ContainedPlugin> plugin)
      : name_(std::move(name)), plugin_(std::move(plugin)) {}

  const std::string name_;
  const std::unique_ptr<plugin::ContainedPlugin> plugin_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_PLUGIN_PLUGIN_BACKEND_H_
