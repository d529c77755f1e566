// The protocol with a runner, on made-up children: crashes, hangs, refusals, and who is killed by
// what.
#include "tools/commands/mutants/mutant_run.h"

#include <deque>

#include "src/base/status_matchers.h"
#include "tools/commands/mutants/mutants_report.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Gives the results in order, and keeps the arguments.
struct Children {
  std::deque<ChildResult> results;
  std::vector<std::vector<std::string>> arguments;

  MutantRunner Runner() {
    return MutantRunner({.path = "runner",
                         .backend = "reference",
                         .seconds = 7,
                         .start = [this](const std::vector<std::string>& given,
                                         const ChildOptions& options) -> StatusOr<ChildResult> {
                           EXPECT_EQ(options.seconds, 7);
                           arguments.push_back(given);
                           if (results.empty()) return NotFoundError("start runner: nothing");
                           ChildResult result = results.front();
                           results.pop_front();
                           return result;
                         }});
  }
};

ChildResult Ended(int code, std::string output, bool timed_out = false) {
  return {code, timed_out, std::move(output)};
}

TEST(MutantRunTest, ARunWithoutTrouble) {
  Children children{{Ended(0, "CHECK a\nPASS a\nCHECK b\nFAIL b: step0.fc: bound\nDONE 2\n")}, {}};
  DM_ASSERT_OK_AND_ASSIGN(const MutantRun run, children.Runner().Run("M3"));
  EXPECT_EQ(run.checks, 2u);
  ASSERT_EQ(run.findings.size(), 1u);
  EXPECT_EQ(run.findings[0].check, "b");
  EXPECT_EQ(run.findings[0].detail, "step0.fc: bound");
  EXPECT_THAT(children.arguments[0],
              ElementsAre("runner", "--backend", "reference", "--mutant", "M3"));
}

// A suite that lost a check, or counts otherwise than it says, is no suite.
TEST(MutantRunTest, TheCountMustBeThatOfTheLines) {
  for (const char* const lines :
       {"CHECK a\nPASS a\nDONE 99\n", "CHECK a\nPASS a\nDONE 0\n", "DONE 1\nCHECK a\nPASS a\n",
        "CHECK a\nPASS a\nCHECK b\nDONE 1\n", "CHECK a\nPASS a\nDONE one\n",
        "CHECK a\nPASS a\nDONE 1\nCHECK b\nPASS b\nDONE 1\n"}) {
    Children children{{Ended(0, lines), Ended(0, lines)}, {}};
    EXPECT_THAT(children.Runner().Run("M3"),
                StatusIs(StatusCode::kDataLoss, HasSubstr("mutant M3")))
        << lines;
  }
}

TEST(MutantRunTest, ARunnerThatEndsForEverIsGivenUp) {
  Children children;
  for (int i = 0; i < 1000; ++i) {
    children.results.push_back(Ended(134, "CHECK c" + std::to_string(i) + "\n"));
  }
  EXPECT_THAT(children.Runner().Run("M3"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("ended 200 times before it was done")));
}

TEST(MutantRunTest, TheCleanBuildRunsWhatIsMeant) {
  const std::vector<MutantSpec> mutants = {{.id = "M1", .what = "w", .meant = "a", .where = ""},
                                           {.id = "M3", .what = "v", .meant = "b", .where = ""}};
  MutantRun clean = {.checks = 2, .findings = {}, .names = {"b", "a"}};
  EXPECT_THAT(CheckAllMeantWereRun(mutants, clean), IsOk());
  clean.names = {"a", "c"};
  EXPECT_THAT(CheckAllMeantWereRun(mutants, clean),
              StatusIs(StatusCode::kFailedPrecondition,
                       "the clean build did not run b, which is meant for M3"));
}

// The whole of `where`, and not how it begins.
TEST(MutantRunTest, AnotherStageOfTheMeantCheckIsAnother) {
  const MutantSpec mutant = {.id = "M3", .what = "w", .meant = "draft/x", .where = "step0.fc"};
  EXPECT_EQ(VerdictOf(mutant, {.checks = 1, .findings = {{"draft/x", "step0.fc: bound"}}}),
            MutantVerdict::kKilled);
  EXPECT_EQ(VerdictOf(mutant, {.checks = 1, .findings = {{"draft/x", "step0.norm: bound"}}}),
            MutantVerdict::kOther);
}

TEST(MutantRunTest, GoesOnBehindWhatCrashesAndHangs) {
  Children children{{Ended(134, "CHECK a\nPASS a\nCHECK b\nx.cc:7: check failed: slot >= 0\n"),
                     Ended(137, "CHECK c\n", true), Ended(0, "CHECK d\nPASS d\nDONE 1\n")},
                    {}};
  DM_ASSERT_OK_AND_ASSIGN(const MutantRun run, children.Runner().Run("M11"));
  EXPECT_EQ(run.checks, 4u);
  ASSERT_EQ(run.findings.size(), 2u);
  EXPECT_EQ(run.findings[0].check, "b");
  EXPECT_EQ(run.findings[0].detail, "crashed: signal 6: x.cc:7: check failed: slot >= 0");
  EXPECT_EQ(run.findings[1].check, "c");
  EXPECT_EQ(run.findings[1].detail, "hung: killed after 7 s");
  EXPECT_EQ(children.arguments[1].back(), "b");
  EXPECT_EQ(children.arguments[2].back(), "c");
}

TEST(MutantRunTest, GoesOnWhereARunnerEndsBetweenChecks) {
  Children children{{Ended(3, "CHECK a\nFAIL a: an illegal memory access\n"),
                     Ended(0, "CHECK b\nPASS b\nDONE 1\n")},
                    {}};
  DM_ASSERT_OK_AND_ASSIGN(const MutantRun run, children.Runner().Run("K5"));
  EXPECT_EQ(run.checks, 2u);
  ASSERT_EQ(run.findings.size(), 1u);
  EXPECT_EQ(children.arguments[1].back(), "a");
}

TEST(MutantRunTest, DoneWithABadExitCodeIsNotDone) {
  // Say, the heap is found damaged at the end.
  Children children{{Ended(134, "CHECK a\nPASS a\nDONE 1\nfree(): invalid pointer\n"),
                     Ended(134, "CHECK a\nPASS a\nDONE 1\n")},
                    {}};
  EXPECT_THAT(children.Runner().Run("K5"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("behind a again")));
}

TEST(MutantRunTest, ARefusalIsTheRunnersSentence) {
  Children children{{Ended(2, "mutants_runner: backend cuda: no GPU\n")}, {}};
  EXPECT_THAT(children.Runner().Run("none"),
              StatusIs(StatusCode::kFailedPrecondition, "runner: backend cuda: no GPU"));
  children.results = {Ended(139, "")};
  EXPECT_THAT(children.Runner().Run("M1"),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("mutant M1: crashed: signal 11 before the first check")));
  children.results = {};
  EXPECT_THAT(children.Runner().Run("M1"), StatusIs(StatusCode::kNotFound, HasSubstr("nothing")));
}

TEST(MutantRunTest, ListsAndRefusesBadLists) {
  Children children;
  children.results = {Ended(0,
                            R"({"mutants": [{"id": "M1", "what": "w", "meant": "a", "where": "x"},
                                            {"id": "M2", "what": "v", "meant": "b"}]})")};
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<MutantSpec> mutants, children.Runner().List());
  ASSERT_EQ(mutants.size(), 2u);
  EXPECT_EQ(mutants[0].where, "x");
  EXPECT_EQ(mutants[1].where, "");
  for (const char* const bad :
       {"{}", "[]", R"({"mutants": []})", R"({"mutants": [{"id": "M1"}]})",
        R"({"mutants": [{"id": "M1", "meant": "a"}, {"id": "M1", "meant": "a"}]})"}) {
    children.results = {Ended(0, bad)};
    EXPECT_THAT(children.Runner().List(), StatusIs(StatusCode::kDataLoss, HasSubstr("--list")))
        << bad;
  }
  children.results = {Ended(0, "no JSON")};
  EXPECT_FALSE(children.Runner().List().ok());
  children.results = {Ended(2, "mutants_runner: no data\n")};
  EXPECT_THAT(children.Runner().List(),
              StatusIs(StatusCode::kFailedPrecondition, "runner: no data"));
}

const MutantSpec kMutant = {"M3", "taps are off", "draft/x", "step0.fc"};

TEST(MutantVerdictTest, OnlyTheCheckMeantForItKills) {
  EXPECT_EQ(VerdictOf(kMutant, {2, {{"op/y", "step0.fc"}, {"draft/x", "step0.fc: bound"}}}),
            MutantVerdict::kKilled);
  EXPECT_EQ(VerdictOf(kMutant, {2, {{"op/y", "step0.fc"}}}), MutantVerdict::kOther);
  // The right check for another reason.
  EXPECT_EQ(VerdictOf(kMutant, {2, {{"draft/x", "crashed: signal 11"}}}), MutantVerdict::kOther);
  EXPECT_EQ(VerdictOf(kMutant, {2, {}}), MutantVerdict::kSurvived);
}

TEST(MutantsReportTest, LinesAndTotals) {
  MutantsReport report;
  report.backend = "reference";
  report.clean = {9, {}};
  report.results = {
      {kMutant, {9, {{"op/y", "far"}, {"draft/x", "step0.fc: bound"}, {"z", "w"}}}},
      {kMutant, {9, {{"op/y", "far"}}}},
      {kMutant, {9, {}}},
  };
  EXPECT_EQ(CleanText(report.clean), "clean build: 9 checks, no alarm\n");
  EXPECT_EQ(MutantText(report.results[0]),
            "KILLED M3 taps are off: meant draft/x (step0.fc), killed by draft/x: step0.fc: bound; "
            "2 more\n");
  EXPECT_EQ(MutantText(report.results[1]),
            "OTHER M3 taps are off: meant draft/x (step0.fc), killed by op/y: far\n");
  EXPECT_EQ(MutantText(report.results[2]),
            "SURVIVED M3 taps are off: meant draft/x (step0.fc), killed by none\n");
  EXPECT_EQ(TotalText(report), "1 of 3 killed\n");
  EXPECT_FALSE(report.good());
  const OrderedJson json = MutantsJson(report);
  EXPECT_EQ(json["killed"], 1);
  EXPECT_EQ(json["total"], 3);
  EXPECT_EQ(json["mutants"][0]["verdict"], "killed");
  EXPECT_EQ(json["mutants"][0]["killed_by"], "draft/x");
  EXPECT_EQ(json["mutants"][0]["findings"].size(), 3u);
  EXPECT_EQ(json["mutants"][1]["verdict"], "other");
  EXPECT_EQ(json["mutants"][2]["killed_by"], "");
  report.results.resize(1);
  EXPECT_TRUE(report.good());
  report.clean.findings = {{"op/y", "far"}};
  EXPECT_FALSE(report.good());
  EXPECT_EQ(CleanText(report.clean),
            "ALARM op/y: far\nclean build: 9 checks, 1 of them raise an alarm\n");
}

}  // namespace
}  // namespace draftmark
