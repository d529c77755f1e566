// For tests that run a budget of random cases.
#ifndef DRAFTMARK_CONFORMANCE_RANDOM_FUZZ_TESTING_H_
#define DRAFTMARK_CONFORMANCE_RANDOM_FUZZ_TESTING_H_

#include <iostream>

#include "conformance/random/fuzz.h"
#include "src/base/status_matchers.h"

namespace draftmark {

// Fails the test with each finding, and prints the summary.
inline FuzzReport ExpectNothingFound(const FuzzSubject& subject, const FuzzOptions& options) {
  const StatusOr<FuzzReport> report = Fuzz(subject, options, [](const FuzzFinding& finding) {
    ADD_FAILURE() << finding.operation << finding.draft.dump(1) << "\n" << finding.report;
  });
  EXPECT_THAT(report, IsOk());
  if (!report.ok()) return {};
  EXPECT_EQ(report->cases(), options.most_cases);
  std::cout << FuzzSummary(subject, options, *report) << "\n";
  return *report;
}

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_RANDOM_FUZZ_TESTING_H_
