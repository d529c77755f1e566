// What is drawn: the same for the same seed, always a case that exists, and of every kind.
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "conformance/random/build_case.h"
#include "conformance/random/fuzz_testing.h"
#include "conformance/random/random_draft.h"
#include "conformance/random/random_operation.h"
#include "src/base/memory_file_system.h"
#include "src/base/status_matchers.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

TEST(RandomOperationTest, EveryCaseIsFoundByItsId) {
  std::set<std::string_view> operations;
  std::set<DataPattern> patterns;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const OperationCase c = RandomOperation(seed, kMostCpuFlops);
    DM_ASSERT_OK_AND_ASSIGN(const OperationCase found, FindCase(c.Id()));
    EXPECT_EQ(found.Id(), c.Id());
    EXPECT_LE(c.operation->flops(c.keys), kMostCpuFlops);
    EXPECT_EQ(RandomOperation(seed, kMostCpuFlops).Id(), c.Id());
    operations.insert(c.operation->name);
    patterns.insert(c.pattern);
  }
  EXPECT_EQ(operations.size(), AllOperations().size());
  EXPECT_EQ(patterns.size(), AllDataPatterns().size());
}

TEST(RandomOperationTest, ShapesLieAroundTilesAndReachTheLargest) {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const OperationCase c = RandomOperation(seed, kMostCpuFlops);
    if (c.operation->name == "argmax") sizes.insert(c["v"]);
  }
  for (const std::uint64_t size : {1u, 15u, 16u, 17u, 63u, 65u, 262144u}) {
    EXPECT_TRUE(sizes.contains(size)) << size;
  }
}

TEST(RandomOperationTest, SimplerCasesExistAndEnd) {
  DM_ASSERT_OK_AND_ASSIGN(
      OperationCase c,
      FindCase("op/paged_attention/rows=9,heads=6,kv=2,d=10,ctx=40,window=7,causal=1,sink=1/bf16/"
               "mixed"));
  int steps = 0;
  for (std::vector<OperationCase> simpler = SimplerOperations(c); !simpler.empty();
       simpler = SimplerOperations(c)) {
    ASSERT_LT(++steps, 1000);
    c = simpler.back();
  }
  EXPECT_EQ(c.Id(),
            "op/paged_attention/rows=1,heads=1,kv=1,d=1,ctx=0,window=0,causal=0,sink=0/bf16");
}

TEST(RandomDraftTest, EveryDraftIsACaseAndEveryKindIsDrawn) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const OrderedJson draft = RandomDraft(seed);
    ASSERT_EQ(RandomDraft(seed), draft);
    MemoryFileSystem files;
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase made, BuildCase(draft, "case", files));
    ++seen[std::string(DrafterKindName(made.config().kind))];
    if (made.config().markov_head_type) ++seen[*made.config().markov_head_type];
    if (made.config().rope.type == "yarn") ++seen["yarn"];
    if (made.config().sliding_window) ++seen["window"];
    if (made.replay()) ++seen["replay"];
    if (made.neighbours().size() == 15) ++seen["sixteen sequences"];
    if (made.gamma() > 32) ++seen["more than 32 rows"];
    for (const CaseStep& step : made.steps()) {
      if (step.reset) ++seen["reset"];
      if (step.drop_front_rows > 0 && !step.reset) ++seen["slide"];
      if (step.new_context_rows == 0) ++seen["no new rows"];
      if (step.new_context_rows > 64) ++seen["several passes"];
      if (step.block_tokens.size() != made.gamma()) ++seen["another width"];
    }
  }
  for (const char* const kind :
       {"dflash", "dflash2", "dspark", "vanilla", "gated", "rnn", "yarn", "window", "replay",
        "sixteen sequences", "more than 32 rows", "reset", "slide", "another width", "no new rows",
        "several passes"}) {
    EXPECT_GE(seen[kind], 3) << kind;
  }
  // Half of what is meant, of the kinds that are meant to be common.
  EXPECT_GE(seen["replay"], 50) << "one of three";
  EXPECT_GE(seen["window"], 100) << "two of three, and more";
}

TEST(RandomDraftTest, SimplerDraftsAreSmallerOrDoNotExist) {
  OrderedJson draft = RandomDraft(11);
  int steps = 0;
  while (true) {
    bool smaller = false;
    for (const OrderedJson& candidate : SimplerDrafts(draft)) {
      ASSERT_NE(candidate, draft);
      MemoryFileSystem files;
      if (!BuildCase(candidate, "case", files).ok()) continue;
      draft = candidate;
      smaller = true;
      break;
    }
    if (!smaller) break;
    ASSERT_LT(++steps, 300);
  }
  EXPECT_EQ(draft["steps"].size(), 1u);
  EXPECT_EQ(draft["num_hidden_layers"], 1);
  EXPECT_EQ(draft["block_size"], 2);
  EXPECT_FALSE(draft.contains("neighbours"));
}

// The budget of every build; `draftmark fuzz --seconds N --seed N` goes on from here.
class FuzzTest : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, FuzzTest, ::testing::Range<std::uint64_t>(1, 5));

TEST_P(FuzzTest, AFixedBudgetOnTheReferenceFindsNothing) {
  const FuzzReport report =
      ExpectNothingFound(ReferenceSubject(), {.seed = GetParam(), .most_cases = 500});
  EXPECT_EQ(report.refused, 0u);
}

TEST_P(FuzzTest, NeitherDoesOneOnItsOtherPaths) {
  const FuzzReport report =
      ExpectNothingFound(ReferencePathsSubject(),
                         {.seed = GetParam(), .most_cases = 100, .only = FuzzOnly::kHistories});
  EXPECT_GE(report.refused, 1u);
}

}  // namespace
}  // namespace draftmark
