// A larger budget than that of every build, for nights (--config=full): other seeds, four times as
// many cases of each.
#include <cstdint>

#include "conformance/random/fuzz_testing.h"

namespace draftmark {
namespace {

class FullFuzzTest : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, FullFuzzTest, ::testing::Range<std::uint64_t>(101, 107));

TEST_P(FullFuzzTest, TheReferenceFindsNothing) {
  ExpectNothingFound(ReferenceSubject(), {.seed = GetParam(), .most_cases = 2000});
}

TEST_P(FullFuzzTest, NeitherDoesItOnItsOtherPaths) {
  ExpectNothingFound(ReferencePathsSubject(),
                     {.seed = GetParam(), .most_cases = 400, .only = FuzzOnly::kHistories});
}

}  // namespace
}  // namespace draftmark
