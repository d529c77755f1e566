// Faults that are planted are found, made small, and reproduced by what is written.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/public_failures/mistaken_session.h"
#include "conformance/random/fuzz.h"
#include "conformance/random/random_draft.h"
#include "conformance/random/shrink.h"
#include "src/base/counter_hash.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

const std::function<void(const FuzzFinding&)> kQuiet = [](const FuzzFinding&) {};

// The reference with results changed by `fault`.
FuzzSubject Faulty(std::function<void(const OperationCase&, OperandValues&)> fault) {
  FuzzSubject subject = {.name = "faulty"};
  subject.operations.push_back([fault = std::move(fault)](const OperationCase& c) {
    return CheckOperation(
        c, Precision::kBf16, "faulty", SumType::kFloat32,
        [&](const OperationCase& one, const OperandSet& in) -> StatusOr<OperandValues> {
          OperandValues values = one.operation->reference(one, in, Precision::kBf16);
          fault(one, values);
          return values;
        });
  });
  return subject;
}

TEST(PlantedFaultsTest, AMissingTailShrinksToItsBorder) {
  // The last column of more than 128 is not written.
  const FuzzSubject subject = Faulty([](const OperationCase& c, OperandValues& values) {
    if (c.operation->name != "residual_add" || c["width"] <= 128) return;
    values["x"][c["width"] - 1] = 0x1p20;
  });
  DM_ASSERT_OK_AND_ASSIGN(
      const FuzzReport report,
      Fuzz(subject, {.seed = 3, .most_cases = 150, .only = FuzzOnly::kOperations}, kQuiet));
  ASSERT_FALSE(report.findings.empty());
  for (const FuzzFinding& finding : report.findings) {
    EXPECT_EQ(finding.operation, "op/residual_add/rows=1,width=129/bf16") << finding.original;
    EXPECT_EQ(finding.signature, "x: bound");
    EXPECT_THAT(finding.report, HasSubstr("draftmark verify " + finding.operation));
  }
}

TEST(PlantedFaultsTest, AWrongTieRuleShrinksToATie) {
  // Ties go to the last id.
  const FuzzSubject subject = Faulty([](const OperationCase& c, OperandValues& values) {
    if (c.operation->name != "argmax" || c.pattern != DataPattern::kTies || c["v"] < 3) return;
    values["tokens"][0] += 1;
  });
  DM_ASSERT_OK_AND_ASSIGN(
      const FuzzReport report,
      Fuzz(subject, {.seed = 4, .most_cases = 300, .only = FuzzOnly::kOperations}, kQuiet));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].operation, "op/argmax/rows=1,v=3/bf16/ties");
}

TEST(PlantedFaultsTest, TheReferenceWithoutAFaultIsNotFound) {
  DM_ASSERT_OK_AND_ASSIGN(
      const FuzzReport report,
      Fuzz(Faulty([](const OperationCase&, OperandValues&) {}),
           {.seed = 3, .most_cases = 150, .only = FuzzOnly::kOperations}, kQuiet));
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.operations, 150u);
}

FuzzSubject Drafting(const OpenSession& open) {
  FuzzSubject subject = {.name = "faulty"};
  subject.drafts.push_back([open](const DrafterCase& drafter_case) {
    return RunDrafterCase(drafter_case, Precision::kBf16, kReferenceBackend, open);
  });
  return subject;
}

FuzzFinding FirstFinding(const OpenSession& open, std::uint64_t seed) {
  bool found = false;
  const FuzzOptions options = {
      .seed = seed, .most_cases = 60, .only = FuzzOnly::kHistories, .out_of_time = [&] {
        return found;
      }};
  const StatusOr<FuzzReport> report =
      Fuzz(Drafting(open), options, [&](const FuzzFinding&) { found = true; });
  EXPECT_THAT(report, IsOk());
  EXPECT_FALSE(report->findings.empty());
  return report->findings.empty() ? FuzzFinding() : report->findings.front();
}

// Every reset of a band adds to the positions of what comes after it there.
OpenSession PositionsSurviveAReset() {
  return OpenHooked([](const DrafterCase&) {
    const auto offset = std::make_shared<std::map<std::size_t, std::int32_t>>();
    return SessionHooks{
        .append =
            [=](DraftSession& inner, std::size_t band, std::span<const BFloat16> taps,
                std::span<const std::int32_t> positions) {
              std::vector<std::int32_t> moved(positions.begin(), positions.end());
              for (std::int32_t& position : moved) position += (*offset)[band];
              return inner.AppendContext(band, taps, moved);
            },
        .reset =
            [=](DraftSession& inner, std::size_t band) {
              (*offset)[band] += 3;
              return inner.Reset(band);
            },
        .propose =
            [=](std::vector<BlockRequest>& requests, bool) {
              for (BlockRequest& request : requests) request.start += (*offset)[request.band];
            }};
  });
}

TEST(PlantedFaultsTest, AHistoryShrinksToTheStepsThatMatter) {
  const FuzzFinding finding = FirstFinding(PositionsSurviveAReset(), 5);
  ASSERT_FALSE(finding.draft.is_null());
  // One reset is enough; nothing before it, no other sequence, one layer, the narrowest block.
  EXPECT_EQ(finding.draft["steps"].size(), 1u) << finding.draft.dump(1);
  EXPECT_TRUE(finding.draft["steps"][0].value("reset", false));
  EXPECT_FALSE(finding.draft.contains("neighbours"));
  EXPECT_EQ(finding.draft["num_hidden_layers"], 1);
  EXPECT_EQ(finding.draft["block_size"], 2);
  EXPECT_THAT(finding.signature, HasSubstr("k_new"));
}

// Drafts of one layer have another fault: a draft of more is not made so small that it has that one.
TEST(PlantedFaultsTest, ASmallerCaseFailsInTheSameWay) {
  const OpenSession two_faults = OpenHooked([](const DrafterCase& drafter_case) {
    const bool deep = drafter_case.config().num_hidden_layers > 1;
    return SessionHooks{.stage = [deep](std::string_view stage, std::vector<double>& values) {
      if (stage == (deep ? "logits" : "norm")) values.front() += 1e3;
    }};
  });
  constexpr std::uint64_t kSeed = 8;
  DM_ASSERT_OK_AND_ASSIGN(
      const FuzzReport report,
      Fuzz(Drafting(two_faults),
           {.seed = kSeed, .most_cases = 6, .only = FuzzOnly::kHistories, .most_shrink_tries = 60},
           kQuiet));
  EXPECT_EQ(report.findings.size(), 6u);
  int deep = 0;
  for (const FuzzFinding& finding : report.findings) {
    // As Fuzz draws it.
    const OrderedJson drawn = RandomDraft(BitsAt(Mix64(kSeed), finding.index));
    EXPECT_EQ(finding.draft["num_hidden_layers"] > 1, drawn["num_hidden_layers"] > 1);
    deep += drawn["num_hidden_layers"] > 1 ? 1 : 0;
  }
  EXPECT_GE(deep, 2);
}

TEST(PlantedFaultsTest, AFaultAmongNeighboursKeepsOne) {
  // The second request's block stands where the first one's does not.
  const OpenSession mixed = OpenHooked([](const DrafterCase&) {
    return SessionHooks{.propose = [](std::vector<BlockRequest>& requests, bool) {
      for (std::size_t r = 1; r < requests.size(); ++r) requests[r].start += 5;
    }};
  });
  const FuzzFinding finding = FirstFinding(mixed, 6);
  ASSERT_FALSE(finding.draft.is_null());
  ASSERT_TRUE(finding.draft.contains("neighbours")) << finding.draft.dump(1);
  EXPECT_EQ(finding.draft["neighbours"].size(), 1u);
  EXPECT_EQ(finding.draft["band"], 1);
}

TEST(PlantedFaultsTest, AFaultOfReplaysKeepsTheReplay) {
  const OpenSession stale = OpenHooked([](const DrafterCase&) {
    return SessionHooks{.propose = [](std::vector<BlockRequest>& requests, bool seen) {
      if (!seen) requests[0].tokens[0] = 0;
    }};
  });
  const FuzzFinding finding = FirstFinding(stale, 7);
  ASSERT_FALSE(finding.draft.is_null());
  EXPECT_TRUE(finding.draft.value("replay", false));
  EXPECT_EQ(finding.draft["steps"].size(), 1u);
  EXPECT_THAT(finding.signature, HasSubstr("draft_tokens: replay"));
}

TEST(PlantedFaultsTest, WhatIsWrittenReproducesTheFailureAndTheReferencePassesIt) {
  const FuzzFinding finding = FirstFinding(PositionsSurviveAReset(), 5);
  const TestFolder folder;
  ASSERT_THAT(WriteFinding(finding, folder.Path("found")), IsOk());
  EXPECT_EQ(FindDrafterCases(folder.path()), std::vector<std::string>{folder.Path("found")});
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase loaded, DrafterCase::Load(folder.Path("found")));
  DM_ASSERT_OK_AND_ASSIGN(
      const CaseReport failing,
      RunDrafterCase(loaded, Precision::kBf16, kReferenceBackend, PositionsSurviveAReset()));
  EXPECT_EQ(failing.Signature(), finding.signature);
  for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
    DM_ASSERT_OK_AND_ASSIGN(
        const CaseReport sound,
        RunDrafterCase(loaded, precision, kReferenceBackend, OpenReferenceForCase));
    EXPECT_EQ(sound.Signature(), "") << ReportText(sound);
  }
}

TEST(PlantedFaultsTest, RefusalsAreCountedAndErrorsFound) {
  FuzzSubject subject = {.name = "faulty"};
  Status status = UnimplementedError("not that wide");
  subject.operations.push_back(
      [&](const OperationCase&) -> StatusOr<OperationReport> { return status; });
  const FuzzOptions options = {.most_cases = 5, .only = FuzzOnly::kOperations};
  DM_ASSERT_OK_AND_ASSIGN(const FuzzReport refused, Fuzz(subject, options, kQuiet));
  EXPECT_EQ(refused.refused, 5u);
  EXPECT_TRUE(refused.findings.empty());
  EXPECT_EQ(FuzzSummary(subject, options, refused),
            "fuzz faulty seed 1: 5 cases (5 operations, 0 histories with 0 proposes), 5 refused, 0 "
            "found");
  status = InternalError("an illegal address");
  DM_ASSERT_OK_AND_ASSIGN(const FuzzReport broken, Fuzz(subject, options, kQuiet));
  EXPECT_EQ(broken.findings.size(), 5u);
  EXPECT_THAT(broken.findings[0].report, HasSubstr("an illegal address"));
  // On a GPU nothing can be computed after it.
  subject.errors_are_final = true;
  DM_ASSERT_OK_AND_ASSIGN(const FuzzReport ended, Fuzz(subject, options, kQuiet));
  EXPECT_EQ(ended.findings.size(), 1u);
  EXPECT_EQ(ended.findings[0].shrink_tries, 0);
  EXPECT_EQ(ended.operations, 1u);
}

// Found on a GPU: sliding layers on scratch v1 count by index, and were silently wrong after a gap.
TEST(PlantedFaultsTest, WindowsByIndexAreFoundUnlessTheyAreRefused) {
  const FuzzOptions options = {
      .seed = 1, .most_cases = 60, .only = FuzzOnly::kHistories, .most_shrink_tries = 0};
  const OpenSession by_index = OpenMistaken({plain::Mistake::kMaskBySlot});
  DM_ASSERT_OK_AND_ASSIGN(const FuzzReport wrong, Fuzz(Drafting(by_index), options, kQuiet));
  EXPECT_GE(wrong.findings.size(), 3u);
  FuzzSubject subject = ReferencePathsSubject();
  DM_ASSERT_OK_AND_ASSIGN(const FuzzReport refused, Fuzz(subject, options, kQuiet));
  EXPECT_TRUE(refused.findings.empty());
  EXPECT_GE(refused.refused, 3u);
  EXPECT_LE(refused.refused, 20u) << "most histories are taken";
  // Who else runs a case that one refuses is judged all the same.
  subject.drafts.push_back(Drafting(by_index).drafts[0]);
  DM_ASSERT_OK_AND_ASSIGN(const FuzzReport both, Fuzz(subject, options, kQuiet));
  EXPECT_EQ(both.findings.size(), wrong.findings.size());
}

// A refusal that nobody announced is a finding.
TEST(PlantedFaultsTest, AnUnannouncedRefusalIsFound) {
  const FuzzFinding finding = FirstFinding(OpenReferenceWith({.scratch_version = 1}), 1);
  EXPECT_EQ(finding.signature,
            "error " + std::to_string(static_cast<int>(StatusCode::kFailedPrecondition)));
  EXPECT_THAT(finding.report, HasSubstr("scratch v1, whose records hold no position"));
}

TEST(ShrinkTest, StopsAtTheLeastAndWhenOutOfTries) {
  const std::function<std::vector<int>(const int&)> simpler = [](const int& n) {
    return n > 0 ? std::vector<int>{n / 2, n - 1} : std::vector<int>();
  };
  const std::function<bool(const int&)> at_least_17 = [](const int& n) { return n >= 17; };
  const Shrunk<int> least = Shrink<int>(1000, simpler, at_least_17, 100);
  EXPECT_EQ(least.least, 17);
  EXPECT_TRUE(least.finished);
  const Shrunk<int> early = Shrink<int>(1000, simpler, at_least_17, 3);
  EXPECT_EQ(early.least, 125);
  EXPECT_FALSE(early.finished);
}

}  // namespace
}  // namespace draftmark
