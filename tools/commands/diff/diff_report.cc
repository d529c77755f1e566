#include "tools/commands/diff/diff_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "conformance/diagnosis/mutants.h"
#include "conformance/plain/mistakes.h"

namespace draftmark {
namespace {

// How the stages that are not off agree: "88 agree, 3 of them with alternate rounding from
// step0.hidden_norm on".
std::string Agreements(const Diagnosis& diagnosis) {
  const std::size_t agree = diagnosis.findings.size() - diagnosis.Count(Agreement::kOff);
  std::string text = fmt::format("{} of {} stages agree", agree, diagnosis.findings.size());
  const auto first = std::find_if(
      diagnosis.findings.begin(), diagnosis.findings.end(),
      [](const StageFinding& f) { return f.agreement == Agreement::kAlternateRounding; });
  if (first != diagnosis.findings.end()) {
    text += fmt::format(", {} of them with alternate rounding (first {})",
                        diagnosis.Count(Agreement::kAlternateRounding), first->tensor);
  }
  if (const std::size_t loose = diagnosis.Count(Agreement::kEndToEnd); loose > 0) {
    text += fmt::format(", {} by the end-to-end bound, since their inputs were not dumped", loose);
  }
  return text;
}

// What may be wrong where no hypothesis can say.
std::string_view LocationHint(const StageFinding& first) {
  if (first.id.stage == "fc") {
    return "fc depends on the taps and its weight alone: taps of another layer (M3), or of other "
           "rows than the inputs hold?";
  }
  return first.local ? "its inputs are in the dump and agree: the mistake is in this stage"
                     : "some of its inputs were not dumped: dump more stages to narrow it down";
}

std::string Name(const Hypothesis& hypothesis) {
  std::vector<std::string> names;
  for (const plain::Mistake mistake : hypothesis) {
    const plain::MistakeInfo& info = plain::InfoOf(mistake);
    names.push_back(fmt::format("{} ({})", info.name, info.rule));
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string ExplanationText(const Diagnosis& diagnosis, const StageFinding& first) {
  if (!diagnosis.consistent.empty()) {
    std::vector<std::string> names;
    for (const Hypothesis& hypothesis : diagnosis.consistent) names.push_back(Name(hypothesis));
    return fmt::format("  tokens alone cannot tell: consistent with {}; {}\n",
                       fmt::join(names, ", "), LocationHint(first));
  }
  if (diagnosis.explanations.empty()) {
    return fmt::format("  no known mistake reproduces this dump ({} tried); {}\n", diagnosis.tested,
                       LocationHint(first));
  }
  std::string text =
      diagnosis.explanations.size() == 1
          ? "  looks like\n"
          : fmt::format("  looks like one of {}, which this dump cannot tell apart\n",
                        diagnosis.explanations.size());
  for (const Hypothesis& hypothesis : diagnosis.explanations) {
    for (const plain::Mistake mistake : hypothesis) {
      const plain::MistakeInfo& info = plain::InfoOf(mistake);
      text += fmt::format("    {} ({}): {}\n      fix: {}\n", info.name, info.rule, info.what,
                          info.fix);
    }
  }
  return text;
}

OrderedJson MistakeJson(const plain::MistakeInfo& info) {
  OrderedJson json;
  json["name"] = info.name;
  json["rule"] = info.rule;
  json["what"] = info.what;
  json["fix"] = info.fix;
  return json;
}

OrderedJson HypothesesJson(const std::vector<Hypothesis>& hypotheses) {
  OrderedJson json = OrderedJson::array();
  for (const Hypothesis& hypothesis : hypotheses) {
    OrderedJson mistakes = OrderedJson::array();
    for (const plain::Mistake mistake : hypothesis)
      mistakes.push_back(MistakeJson(plain::InfoOf(mistake)));
    json.push_back(std::move(mistakes));
  }
  return json;
}

}  // namespace

std::string DiagnosisText(const Diagnosis& diagnosis, const std::string& dump) {
  const StageFinding* const first = diagnosis.FirstOff();
  if (first == nullptr) return fmt::format("AGREES {}: {}\n", dump, Agreements(diagnosis));
  std::string text = fmt::format("OFF {}: first stage off is {}; {}\n  {}\n", dump, first->tensor,
                                 Agreements(diagnosis), first->failure);
  if (first->comparison.elements > 0) {
    text += fmt::format("  worst element {}\n  error histogram in {} ULPs: {}\n",
                        DescribeWorst(first->comparison), UlpUnitName(first->comparison.unit),
                        DescribeHistogram(first->comparison));
  }
  return text + ExplanationText(diagnosis, *first);
}

OrderedJson DiagnosisJson(const Diagnosis& diagnosis, const std::string& dump) {
  const StageFinding* const first = diagnosis.FirstOff();
  OrderedJson json;
  json["dump"] = dump;
  json["agrees"] = first == nullptr;
  json["first_off"] = first == nullptr ? OrderedJson() : OrderedJson(first->tensor);
  json["explanations"] = HypothesesJson(diagnosis.explanations);
  json["consistent_with"] = HypothesesJson(diagnosis.consistent);
  json["hypotheses_tested"] = diagnosis.tested;
  if (first != nullptr && diagnosis.explanations.empty()) json["hint"] = LocationHint(*first);
  json["stages"] = OrderedJson::array();
  for (const StageFinding& finding : diagnosis.findings) {
    OrderedJson stage;
    stage["tensor"] = finding.tensor;
    stage["agreement"] = AgreementName(finding.agreement);
    stage["inputs_dumped"] = finding.local;
    if (finding.comparison.elements > 0) stage["relative_l2"] = finding.comparison.relative_l2;
    if (finding.agreement == Agreement::kOff) {
      stage["failure"] = finding.failure;
      if (finding.comparison.elements > 0) {
        stage["worst_element"] = DescribeWorst(finding.comparison);
        stage["histogram_ulps"] = DescribeHistogram(finding.comparison);
      }
    }
    json["stages"].push_back(std::move(stage));
  }
  return json;
}

std::string MistakesText() {
  std::string text =
      "Mutants of spec/drafter.md section 13 and disagreements of section 11: what a dump shows\n";
  for (const MutantInfo& mutant : AllMutants()) {
    text +=
        fmt::format("  {:<4} {:<9} {}{}\n", mutant.id, VisibilityName(mutant.visibility),
                    mutant.what, mutant.reason.empty() ? "" : fmt::format(" ({})", mutant.reason));
  }
  text += fmt::format("\nThe {} mistakes that are tried, and the first stage that each changes\n",
                      plain::AllMistakes().size());
  for (const plain::MistakeInfo& info : plain::AllMistakes()) {
    text += fmt::format("  {:<27} {:<4} {} [{}]\n", info.name, info.rule, info.what, info.shows);
  }
  return text;
}

OrderedJson MistakesJson() {
  OrderedJson json;
  json["mutants"] = OrderedJson::array();
  for (const MutantInfo& mutant : AllMutants()) {
    OrderedJson entry;
    entry["id"] = mutant.id;
    entry["what"] = mutant.what;
    entry["visibility"] = VisibilityName(mutant.visibility);
    entry["reason"] = mutant.reason;
    json["mutants"].push_back(std::move(entry));
  }
  json["mistakes"] = OrderedJson::array();
  for (const plain::MistakeInfo& info : plain::AllMistakes()) {
    OrderedJson entry = MistakeJson(info);
    entry["shows"] = info.shows;
    json["mistakes"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace draftmark
