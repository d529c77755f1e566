#include "conformance/expectations/expectations.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/wildcard.h"

namespace draftmark {
namespace {

bool FiltersAdmit(const Expectation& entry, const CaseRun& run) {
  return entry.precision.value_or(run.precision) == run.precision &&
         entry.backend.value_or(run.backend) == run.backend;
}

bool Covers(const Expectation& entry, const CaseRun& run) {
  return FiltersAdmit(entry, run) && WildcardMatches(entry.case_pattern, run.id);
}

bool SignatureMatches(const Expectation& entry, const std::string& signature) {
  return entry.kind == ExpectationKind::kWaiver ? WildcardMatches(entry.signature, signature)
                                                : entry.signature == signature;
}

}  // namespace

std::string_view ExpectationKindName(ExpectationKind kind) {
  return kind == ExpectationKind::kWaiver ? "waiver" : "known_failure";
}

std::string Expectation::ExpiresText() const {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(expires.year()),
                     static_cast<unsigned>(expires.month()), static_cast<unsigned>(expires.day()));
}

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "PASS";
    case Outcome::kFail:
      return "FAIL";
    case Outcome::kExpectedFailure:
      return "XFAIL";
    case Outcome::kUnexpectedPass:
      return "UNEXPECTED PASS";
    case Outcome::kExpired:
      return "EXPIRED";
    case Outcome::kChangedSignature:
      return "CHANGED SIGNATURE";
  }
  return "";
}

bool IsFailure(Outcome outcome) {
  return outcome != Outcome::kPass && outcome != Outcome::kExpectedFailure;
}

Verdict Expectations::Judge(const CaseRun& run, const Clock& clock) const {
  const bool passed = run.signature.empty();
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Expectation& e) { return Covers(e, run); });
  if (entry == entries_.end()) return {passed ? Outcome::kPass : Outcome::kFail, nullptr};
  if (passed) return {Outcome::kUnexpectedPass, &*entry};
  if (!SignatureMatches(*entry, run.signature)) return {Outcome::kChangedSignature, &*entry};
  const bool over = clock.Today() > entry->expires;
  return {over ? Outcome::kExpired : Outcome::kExpectedFailure, &*entry};
}

Status Expectations::CheckNoneIsStale(std::span<const CaseRun> runs) const {
  for (const Expectation& entry : entries_) {
    std::size_t admitted = 0;
    bool covers = false;
    for (const CaseRun& run : runs) {
      admitted += FiltersAdmit(entry, run) ? 1 : 0;
      covers = covers || Covers(entry, run);
    }
    if (admitted > 0 && !covers) {
      return InvalidArgumentError(fmt::format(
          "{}:{}: case: expected the id of a case that runs, or a pattern that matches one, found "
          "\"{}\", which matches none of {}",
          source_, entry.line, entry.case_pattern, admitted));
    }
  }
  return OkStatus();
}

std::string Expectations::OutcomeLine(const CaseRun& run, const Verdict& verdict) const {
  if (verdict.expectation == nullptr) return "";
  const Expectation& entry = *verdict.expectation;
  std::string what;
  switch (verdict.outcome) {
    case Outcome::kUnexpectedPass:
      what = fmt::format("expected {}; remove {}:{}", entry.signature, source_, entry.line);
      break;
    case Outcome::kChangedSignature:
      what = fmt::format("expected {} found {}", entry.signature, run.signature);
      break;
    default:
      what = run.signature;
  }
  return fmt::format("{} {} {} {}{}: {} ({}, {}, {}, until {})\n", OutcomeName(verdict.outcome),
                     run.id, run.backend, PrecisionName(run.precision),
                     run.scratch.empty() ? "" : " scratch " + run.scratch, what, entry.reason,
                     entry.owner, entry.link, entry.ExpiresText());
}

}  // namespace draftmark
