#include "tools/commands/mutants/mutants_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/ascii.h"

namespace draftmark {
namespace {

// The finding that is told: of the check meant for it, else the first, else null.
const MutantFinding* Told(const MutantResult& result) {
  if (const MutantFinding* meant = MeantFinding(result.mutant, result.run)) return meant;
  return result.run.findings.empty() ? nullptr : &result.run.findings.front();
}

OrderedJson FindingsJson(const std::vector<MutantFinding>& findings) {
  OrderedJson json = OrderedJson::array();
  for (const MutantFinding& finding : findings) {
    json.push_back({{"check", finding.check}, {"detail", finding.detail}});
  }
  return json;
}

}  // namespace

std::size_t MutantsReport::Killed() const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const MutantResult& result) {
        return VerdictOf(result.mutant, result.run) == MutantVerdict::kKilled;
      }));
}

std::string CleanText(const MutantRun& clean) {
  if (clean.findings.empty()) {
    return fmt::format("clean build: {} checks, no alarm\n", clean.checks);
  }
  std::string text;
  for (const MutantFinding& finding : clean.findings) {
    text += fmt::format("ALARM {}: {}\n", finding.check, finding.detail);
  }
  return text + fmt::format("clean build: {} checks, {} of them raise an alarm\n", clean.checks,
                            clean.findings.size());
}

std::string MutantText(const MutantResult& result) {
  const MutantSpec& mutant = result.mutant;
  const MutantVerdict verdict = VerdictOf(mutant, result.run);
  std::string text = fmt::format("{} {} {}: meant {}", MutantVerdictName(verdict), mutant.id,
                                 mutant.what, mutant.meant);
  if (!mutant.where.empty()) text += fmt::format(" ({})", mutant.where);
  const MutantFinding* const told = Told(result);
  if (told == nullptr) return text + ", killed by none\n";
  text += fmt::format(", killed by {}: {}", told->check, told->detail);
  if (const std::size_t others = result.run.findings.size() - 1; others > 0) {
    text += fmt::format("; {} more", others);
  }
  return text + "\n";
}

std::string TotalText(const MutantsReport& report) {
  return fmt::format("{} of {} killed\n", report.Killed(), report.results.size());
}

OrderedJson MutantsJson(const MutantsReport& report) {
  OrderedJson mutants = OrderedJson::array();
  for (const MutantResult& result : report.results) {
    const MutantFinding* const told = Told(result);
    mutants.push_back(
        {{"id", result.mutant.id},
         {"what", result.mutant.what},
         {"meant", result.mutant.meant},
         {"where", result.mutant.where},
         {"verdict", ToAsciiLower(MutantVerdictName(VerdictOf(result.mutant, result.run)))},
         {"killed_by", told == nullptr ? "" : told->check},
         {"detail", told == nullptr ? "" : told->detail},
         {"findings", FindingsJson(result.run.findings)}});
  }
  return {
      {"schema_version", 1},
      {"backend", report.backend},
      {"clean", {{"checks", report.clean.checks}, {"alarms", FindingsJson(report.clean.findings)}}},
      {"mutants", mutants},
      {"killed", report.Killed()},
      {"total", report.results.size()}};
}

}  // namespace draftmark
