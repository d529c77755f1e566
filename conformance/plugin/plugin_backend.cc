#include "conformance/plugin/plugin_backend.h"

namespace draftmark {
namespace {

NoResult Told(const plugin::PluginAnswer& answer) {
  return {answer.message, answer.result == plugin::PluginResult::kFailed ? answer.kind : ""};
}

}  // namespace

StatusOr<std::unique_ptr<PluginBackend>> PluginBackend::Open(const plugin::PluginOptions& options) {
  DM_ASSIGN_OR_RETURN(std::unique_ptr<plugin::ContainedPlugin> opened,
                      plugin::ContainedPlugin::Open(options));
  return std::unique_ptr<PluginBackend>(new PluginBackend(options.library, std::move(opened)));
}

StatusOr<OperationReport> PluginBackend::CheckOperation(const OperationCase& c) {
  OperationReport none;
  none.id = c.Id();
  none.backend = name_;
  none.precision = Precision::kBf16;
  // Before the oracle, which may take seconds.
  plugin::PluginAnswer answer = plugin_->Query(c);
  if (answer.ok()) {
    const std::uint64_t workspace_bytes = answer.workspace_bytes;
    const auto run = [&](const OperationCase& one,
                         const OperandSet& operands) -> StatusOr<OperandValues> {
      OperandValues values;
      answer = plugin_->Run(one, operands, workspace_bytes, values);
      if (!answer.ok()) return InternalError(answer.message);
      return values;
    };
    StatusOr<OperationReport> report =
        draftmark::CheckOperation(c, Precision::kBf16, name_, SumType::kFloat32, run);
    if (answer.ok()) return report;
  }
  none.no_result = Told(answer);
  return none;
}

StatusOr<CaseReport> PluginBackend::RunDraft(const DrafterCase& drafter_case) {
  const OpenSession open = [&](const DrafterCase& one, const SessionLimits& limits, Precision) {
    return plugin_->OpenSession(one.directory(), one.config(), limits);
  };
  StatusOr<CaseReport> report =
      RunDrafterCase(drafter_case, Precision::kBf16, {name_, Accumulation::kFloat32}, open);
  if (report.ok()) return report;
  const plugin::PluginAnswer told = plugin_->session_answer();
  if (told.ok()) return report.status();
  CaseReport none;
  none.id = drafter_case.id().ToString();
  none.directory = drafter_case.directory();
  none.backend = name_;
  none.precision = Precision::kBf16;
  none.no_result = Told(told);
  return none;
}

}  // namespace draftmark
