// Hostile files of expectations. What is taken judges runs, and expects nothing of a case that passes.
#include "conformance/expectations/expectations.h"
#include "src/base/fake_clock.h"
#include "src/base/fuzzing/fuzz_expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const StatusOr<Expectations> read = Expectations::Parse(TextOf(data, size), "e.toml");
  if (!read.ok()) {
    return ExpectRefusal(
        read.status(), "e.toml",
        {StatusCode::kInvalidArgument, StatusCode::kNotFound, StatusCode::kDataLoss});
  }
  const FakeClock clock(2026, 11, 30);
  for (const Expectation& entry : read->entries()) {
    DM_CHECK(!entry.case_pattern.empty() && !entry.reason.empty() && !entry.signature.empty());
    DM_CHECK(entry.expires.ok() && entry.ExpiresText().size() == 10);
    CaseRun run{.id = entry.case_pattern,
                .precision = entry.precision.value_or(Precision::kExact),
                .backend = entry.backend.value_or("reference"),
                .signature = ""};
    DM_CHECK(read->Judge(run, clock).outcome == Outcome::kUnexpectedPass);
    run.signature = entry.signature;
    const Verdict verdict = read->Judge(run, clock);
    DM_CHECK(verdict.outcome == Outcome::kExpectedFailure || verdict.outcome == Outcome::kExpired);
    DM_CHECK(verdict.expectation == &entry);
    DM_CHECK(read->OutcomeLine(run, verdict).ends_with('\n'));
  }
  const std::vector<CaseRun> runs = {
      {"op/rms_norm/rows=1,h=1/bf16", Precision::kExact, "reference", ""},
      {"draft/a/gamma=2,ctx=1,steps=1,nb=1", Precision::kBf16, "cuda", "step0.norm: bound"}};
  const Status stale = read->CheckNoneIsStale(runs);
  return stale.ok() ? 0 : ExpectRefusal(stale, "e.toml", {StatusCode::kInvalidArgument});
}
