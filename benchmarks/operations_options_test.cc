#include "benchmarks/operations_options.h"

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StatusOr<OperationsOptions> Take(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "program");
  return TakeOperationsOptions(arguments);
}

TEST(OperationsOptionsTest, TakesItsOwnAndLeavesTheOthers) {
  std::vector<std::string> arguments = {
      "program",         "--suite=compact",  "--benchmark_filter=x", "--cache",      "warm",
      "--samples=7",     "--backend=./a.so", "--beside=on",          "--time-limit", "2.5",
      "--samples_out=s", "--catalogue=c"};
  DM_ASSERT_OK_AND_ASSIGN(const OperationsOptions options, TakeOperationsOptions(arguments));
  EXPECT_THAT(arguments, ElementsAre("program", "--benchmark_filter=x"));
  EXPECT_EQ(options.suite, Suite::kCompact);
  EXPECT_EQ(options.cache, CacheState::kWarm);
  EXPECT_EQ(options.sampling.samples, 7u);
  EXPECT_EQ(options.plugin, "./a.so");
  EXPECT_TRUE(options.beside);
  EXPECT_EQ(options.time_limit, 2.5);
  EXPECT_EQ(options.samples_out, "s");
  EXPECT_EQ(options.catalogue, "c");
  EXPECT_FALSE(options.serve);
}

TEST(OperationsOptionsTest, AllIsJudgedAndCompactIsNot) {
  EXPECT_TRUE(Take({})->judge);
  EXPECT_FALSE(Take({"--suite=compact"})->judge);
  EXPECT_TRUE(Take({"--judge=on", "--suite=compact"})->judge);
  EXPECT_FALSE(Take({"--judge=off"})->judge);
  EXPECT_EQ(Take({})->time_limit, 60);
}

TEST(OperationsOptionsTest, RefusesWhatIsOfAPluginAlone) {
  for (const char* const option : {"--beside=on", "--time-limit=3", "--serve=on"}) {
    EXPECT_THAT(Take({option}).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("a plug-in (--backend)")))
        << option;
    EXPECT_THAT(Take({option, "--backend=./a.so"}).status(), IsOk()) << option;
  }
  EXPECT_THAT(Take({"--backend=./a.so", "--time-limit=nan"}).status(),
              StatusIs(StatusCode::kInvalidArgument,
                       "--time-limit: expected 0.01 to 86400 seconds, found nan"));
}

// The process of the plug-in does what this one was asked to do.
TEST(OperationsOptionsTest, TheServiceHasTheSameOptions) {
  const std::vector<std::vector<std::string>> lines = {
      {"--backend=./a.so"},
      {"--backend=./a.so", "--suite=compact"},
      {"--backend=./a b.so", "--suite=compact", "--cache=warm", "--judge=on", "--catalogue=c.json"},
      {"--backend=./a.so", "--judge=off"}};
  for (const std::vector<std::string>& line : lines) {
    DM_ASSERT_OK_AND_ASSIGN(const OperationsOptions options, Take(line));
    std::vector<std::string> command = ServiceCommand(options);
    EXPECT_EQ(command.front(), "/proc/self/exe");
    DM_ASSERT_OK_AND_ASSIGN(const OperationsOptions service, TakeOperationsOptions(command));
    EXPECT_EQ(command.size(), 1u);
    EXPECT_TRUE(service.serve);
    EXPECT_EQ(service.suite, options.suite);
    EXPECT_EQ(service.cache, options.cache);
    EXPECT_EQ(service.judge, options.judge);
    EXPECT_EQ(service.plugin, options.plugin);
    EXPECT_EQ(service.catalogue, options.catalogue);
  }
}

}  // namespace
}  // namespace draftmark
