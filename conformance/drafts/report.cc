#include <fmt/format.h>

#include "conformance/drafts/run_case.h"

namespace draftmark {

const StageVerdict* CaseReport::FirstFailure() const {
  for (const StageVerdict& verdict : verdicts) {
    if (!verdict.passed()) return &verdict;
  }
  return nullptr;
}

std::size_t CaseReport::Failures() const {
  std::size_t count = 0;
  for (const StageVerdict& verdict : verdicts) count += verdict.passed() ? 0 : 1;
  return count;
}

const StageVerdict* CaseReport::Tightest() const {
  const StageVerdict* tightest = nullptr;
  const auto share = [](const StageVerdict& v) { return v.comparison.relative_l2 / v.bound; };
  for (const StageVerdict& verdict : verdicts) {
    // fc is judged from both sides: its share is always near 1 and says nothing.
    if (verdict.bound == 0 || verdict.stage == "fc") continue;
    if (tightest == nullptr || share(verdict) > share(*tightest)) tightest = &verdict;
  }
  return tightest;
}

std::string CaseReport::Signature() const {
  const StageVerdict* const failure = FirstFailure();
  return failure == nullptr ? no_result.Signature() : failure->Signature();
}

std::string ReproductionLine(const CaseReport& report) {
  return fmt::format("draftmark verify {} --backend {} --precision {}{}{}", report.directory,
                     report.backend, PrecisionName(report.precision),
                     report.scratch.empty() ? "" : " --scratch " + report.scratch,
                     report.path.empty() ? "" : " --path " + report.path);
}

std::string ReportText(const CaseReport& report) {
  const std::string head =
      fmt::format("{} {} {}{}{}", report.id, report.backend, PrecisionName(report.precision),
                  report.scratch.empty() ? "" : " scratch " + report.scratch,
                  report.path.empty() ? "" : " path " + report.path);
  if (report.no_result.unsupported()) {
    return fmt::format("SKIP {}: unsupported: {}\n", head, report.no_result.reason);
  }
  const StageVerdict* const failure = report.FirstFailure();
  if (failure == nullptr && report.no_result.failed()) {
    return fmt::format("FAIL {}: {}\n  signature: {}\n  reproduce: {}\n", head,
                       report.no_result.reason, report.Signature(), ReproductionLine(report));
  }
  if (failure == nullptr) {
    std::string text = fmt::format("PASS {}: {} stages", head, report.verdicts.size());
    if (const StageVerdict* const tightest = report.Tightest()) {
      text += fmt::format(", closest to its bound {}: {:.3g} of {:.3g}", tightest->Name(),
                          tightest->comparison.relative_l2, tightest->bound);
    }
    return text + "\n";
  }
  std::string text =
      fmt::format("FAIL {}: first stage off is {} ({} of {} stages fail)\n  {}\n", head,
                  failure->Name(), report.Failures(), report.verdicts.size(), failure->failure);
  if (failure->comparison.elements > 0) {
    text += fmt::format("  worst element {}\n  error histogram in {} ULPs: {}\n",
                        DescribeWorst(failure->comparison), UlpUnitName(failure->comparison.unit),
                        DescribeHistogram(failure->comparison));
  }
  return text + fmt::format("  signature: {}\n  reproduce: {}\n", report.Signature(),
                            ReproductionLine(report));
}

OrderedJson ReportJson(const CaseReport& report) {
  OrderedJson json;
  json["case"] = report.id;
  json["directory"] = report.directory;
  json["backend"] = report.backend;
  json["precision"] = PrecisionName(report.precision);
  if (!report.scratch.empty()) json["scratch"] = report.scratch;
  if (!report.path.empty()) json["path"] = report.path;
  json["passed"] = report.passed();
  if (!report.no_result.reason.empty()) json["no_result"] = report.no_result.reason;
  json["first_failure"] = nullptr;
  json["signature"] = nullptr;
  if (!report.Signature().empty()) json["signature"] = report.Signature();
  json["stages"] = OrderedJson::array();
  for (const StageVerdict& verdict : report.verdicts) {
    OrderedJson stage;
    stage["stage"] = verdict.Name();
    stage["passed"] = verdict.passed();
    stage["relative_l2"] = verdict.comparison.relative_l2;
    stage["bound"] = verdict.bound;
    stage["rule"] = verdict.rule;
    if (!verdict.passed()) {
      stage["failure"] = verdict.failure;
      stage["worst_element"] = DescribeWorst(verdict.comparison);
      stage["histogram_ulps"] = DescribeHistogram(verdict.comparison);
      if (json["first_failure"].is_null()) json["first_failure"] = verdict.Name();
    }
    json["stages"].push_back(std::move(stage));
  }
  json["reproduce"] = ReproductionLine(report);
  return json;
}

}  // namespace draftmark
