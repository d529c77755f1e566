#include "benchmarks/program_options.h"

#include "src/base/status_matchers.h"
#include "src/perf/run_order.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;

constexpr ProgramOption kOptions[] = {{"--samples", "N"}, {"--suite", "all or compact"}};

TEST(TakeOptions, TakesOwnOnesInTheirOrderAndLeavesOthers) {
  std::vector<std::string> arguments = {
      "--samples", "--suite=compact", "--benchmark_filter=x", "--samples",
      "30",        "--samples=7",     "--samplesque=1"};
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<GivenOption> given, TakeOptions(arguments, kOptions));
  ASSERT_EQ(given.size(), 3u);
  EXPECT_EQ(given[0].name, "--suite");
  EXPECT_EQ(given[0].value, "compact");
  EXPECT_EQ(given[1].value, "30");
  EXPECT_EQ(given[2].value, "7");
  EXPECT_THAT(arguments, ElementsAre("--samples", "--benchmark_filter=x", "--samplesque=1"));
}

TEST(TakeOptions, AnOptionNeedsItsValue) {
  std::vector<std::string> last = {"program", "--suite"};
  EXPECT_THAT(TakeOptions(last, kOptions).status(),
              StatusIs(StatusCode::kInvalidArgument, "--suite needs a value: all or compact"));
  std::vector<std::string> empty = {"program", "--samples="};
  EXPECT_THAT(TakeOptions(empty, kOptions).status(),
              StatusIs(StatusCode::kInvalidArgument, "--samples needs a value: N"));
}

TEST(ParseNumberOption, TakesWholeNumbersInRange) {
  EXPECT_EQ(ParseNumberOption({"--samples", "1"}, 1, 10).value(), 1u);
  EXPECT_EQ(ParseNumberOption({"--samples", "10"}, 1, 10).value(), 10u);
  for (const char* const text :
       {"0", "11", "-1", "3x", "x", "3.5", " 3", "99999999999999999999999"}) {
    EXPECT_THAT(ParseNumberOption({"--samples", text}, 1, 10).status(),
                StatusIs(StatusCode::kInvalidArgument,
                         std::string("--samples: expected 1 to 10, found ") + text));
  }
}

TEST(ParseSecondsOption, TakesFiniteNumbersInRange) {
  EXPECT_EQ(ParseSecondsOption({"--time-limit", "0.01"}, 0.01, 10).value(), 0.01);
  EXPECT_EQ(ParseSecondsOption({"--time-limit", "10"}, 0.01, 10).value(), 10.0);
  for (const char* const text :
       {"0", "0.009", "10.1", "-1", "nan", "-nan", "inf", "1e400", "3s", "", " 3"}) {
    EXPECT_THAT(ParseSecondsOption({"--time-limit", text}, 0.01, 10).status(),
                StatusIs(StatusCode::kInvalidArgument,
                         std::string("--time-limit: expected 0.01 to 10 seconds, found ") + text));
  }
}

TEST(ParseChoiceOption, IsOneOfTwo) {
  EXPECT_TRUE(ParseChoiceOption({"--path", "fast"}, "fast", "simple").value());
  EXPECT_FALSE(ParseChoiceOption({"--path", "simple"}, "fast", "simple").value());
  EXPECT_THAT(
      ParseChoiceOption({"--path", "slow"}, "fast", "simple").status(),
      StatusIs(StatusCode::kInvalidArgument, "--path: expected fast or simple, found slow"));
}

TEST(OrderOfRun, IsTheSeedsWhereThereIsOne) {
  EXPECT_THAT(OrderOfRun(4, nullptr).value(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(OrderOfRun(100, "12").value(), ShuffledOrder(100, 12));
  EXPECT_NE(OrderOfRun(100, "12").value(), OrderOfRun(100, "13").value());
  EXPECT_THAT(OrderOfRun(4, "").status(),
              StatusIs(StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("DRAFTMARK_ORDER_SEED: expected 0 to ")));
}

TEST(KeepOrder, SwitchesShufflingOffWhereThereIsASeed) {
  std::vector<std::string> arguments = {"program", "--benchmark_enable_random_interleaving=true"};
  KeepOrder(nullptr, arguments);
  EXPECT_EQ(arguments.size(), 2u);
  KeepOrder("1", arguments);
  ASSERT_EQ(arguments.size(), 3u);
  EXPECT_EQ(arguments.back(), "--benchmark_enable_random_interleaving=false");
}

}  // namespace
}  // namespace draftmark
