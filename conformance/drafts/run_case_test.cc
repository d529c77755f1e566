// Cases that no engine's dump is: steps without new rows, other sequences beside the judged one,
// sessions that nobody watches, drafters that are not judged end to end.
#include "conformance/drafts/run_case.h"

#include <memory>
#include <string>
#include <vector>

#include "conformance/drafts/judge_testing.h"
#include "conformance/random/build_case.h"
#include "src/base/memory_file_system.h"

namespace draftmark {
namespace {

DrafterCase Case(const char* change, MemoryFileSystem& files) {
  OrderedJson json = OrderedJson::parse(R"({
      "kind": "synthetic", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
      "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 16, "vocab_size": 53,
      "mask_token_id": 52, "block_size": 4, "target_layer_ids": [1], "rms_norm_eps": 1e-6,
      "layer_types": ["full_attention"], "rope": {"theta": 10000.0, "type": "default"},
      "row_convention": "A", "sample_from_anchor": false,
      "generator": {"name": "draftmark", "version": 1, "seed": 3},
      "steps": [{"new_context_rows": 9, "start": 9, "anchor": 1},
                {"new_context_rows": 0, "start": 9, "anchor": 2}]})");
  json.merge_patch(OrderedJson::parse(change));
  return BuildCase(json, "case", files).value();
}

std::string SignatureOf(const DrafterCase& drafter_case, Precision precision,
                        const OpenSession& open) {
  const StatusOr<CaseReport> report =
      RunDrafterCase(drafter_case, precision, kReferenceBackend, open);
  return report.ok() ? report->Signature() : report.status().ToString();
}

// Found by random testing: stages of context rows, of which there are none, counted as not checked.
TEST(RunCaseTest, AStepWithoutNewRowsPasses) {
  MemoryFileSystem files;
  const DrafterCase made = Case("{}", files);
  for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
    EXPECT_EQ(SignatureOf(made, precision, OpenReferenceForCase), "") << PrecisionName(precision);
  }
  // They must be there all the same.
  const OpenSession without_fc =
      [](const DrafterCase& c, const SessionLimits& limits,
         Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    DM_ASSIGN_OR_RETURN(auto inner, OpenReferenceForCase(c, limits, precision));
    return std::unique_ptr<DraftSession>(std::make_unique<TamperingSession>(
        std::move(inner), [](const std::string& stage, Shape& shape, std::vector<double>& values) {
          if (stage == "fc" && values.empty()) shape.clear();
        }));
  };
  EXPECT_EQ(SignatureOf(made, Precision::kBf16, without_fc), "step1.fc: missing");
}

TEST(RunCaseTest, TheSessionHasRoomForAllSequences) {
  MemoryFileSystem files;
  const DrafterCase made = Case(R"({"band": 1, "neighbours": [
      [{"new_context_rows": 30, "start": 30, "anchor": 3}],
      [{"new_context_rows": 2, "start": 2, "anchor": 3, "rests": true},
       {"new_context_rows": 5, "start": 7, "anchor": 4}]]})",
                                files);
  SessionLimits seen;
  const OpenSession noting = [&](const DrafterCase& c, const SessionLimits& limits,
                                 Precision precision) {
    seen = limits;
    return OpenReferenceForCase(c, limits, precision);
  };
  EXPECT_EQ(SignatureOf(made, Precision::kBf16, noting), "");
  EXPECT_EQ(seen.max_batch, 3u);
  EXPECT_EQ(seen.max_context, 30u);
}

TEST(RunCaseTest, NotEndToEndOnlyOwnStagesCount) {
  // Both rules see logits that are off; without the first one the second does.
  const auto moved = [](const DrafterCase& c, const SessionLimits& limits,
                        Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    DM_ASSIGN_OR_RETURN(auto inner, OpenReferenceForCase(c, limits, precision));
    return std::unique_ptr<DraftSession>(std::make_unique<TamperingSession>(
        std::move(inner), [](const std::string& stage, Shape&, std::vector<double>& values) {
          if (stage != "logits") return;
          for (double& value : values) value = BFloat16::FromDouble(1.25 * value).ToDouble();
        }));
  };
  MemoryFileSystem files, more;
  EXPECT_EQ(SignatureOf(Case("{}", files), Precision::kBf16, moved), "step0.logits: bound");
  EXPECT_EQ(SignatureOf(Case(R"({"end_to_end": false})", more), Precision::kBf16, moved),
            "step0.logits: own stages");
}

// A window of 6 keys, and after the first step a gap of 20 positions.
constexpr char kGap[] = R"({"layer_types": ["sliding_attention"], "sliding_window": 6, "steps": [
    {"new_context_rows": 9, "start": 9, "anchor": 1},
    {"new_context_rows": 2, "start": 31, "anchor": 2}]})";

const OpenSession kOpenVersion1 = OpenReferenceWith({.scratch_version = 1});

Backend IndexMasked() {
  Backend backend = kReferenceBackend;
  backend.index_masks = true;
  return backend;
}

TEST(RunCaseTest, AnAnnouncedRefusalIsNoResult) {
  MemoryFileSystem files;
  const DrafterCase made = Case(kGap, files);
  DM_ASSERT_OK_AND_ASSIGN(const CaseReport report,
                          RunDrafterCase(made, Precision::kBf16, IndexMasked(), kOpenVersion1));
  EXPECT_TRUE(report.no_result.unsupported());
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.Signature(), "");
  EXPECT_FALSE(report.verdicts.empty()) << "the first step was judged";
  EXPECT_EQ(
      ReportText(report),
      "SKIP draft/case/gamma=4,ctx=11,steps=2,nb=1 reference bf16: unsupported: step 1: propose: "
      "band 0: layer 0 has a window of 6 keys, and scratch v1, whose records hold no "
      "position, counts them by index: context row 8 must stand at position 28, found 8\n");
  // Who has announced nothing must take every history.
  EXPECT_THAT(RunDrafterCase(made, Precision::kBf16, kReferenceBackend, kOpenVersion1),
              StatusIs(StatusCode::kFailedPrecondition, ::testing::HasSubstr("band 0: layer 0")));
}

TEST(RunCaseTest, WithoutAGapARefusalIsAnError) {
  MemoryFileSystem files;
  const DrafterCase made = Case(R"({"steps": [{"new_context_rows": 9, "start": 29, "anchor": 1},
                                              {"new_context_rows": 2, "start": 31, "anchor": 2}]})",
                                files);
  class Refusing final : public TamperingSession {
   public:
    using TamperingSession::TamperingSession;
    StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> /*requests*/,
                                               StageSink* /*sink*/) override {
      return FailedPreconditionError("not today");
    }
  };
  const OpenSession refusing = [](const DrafterCase& c, const SessionLimits& limits,
                                  Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    DM_ASSIGN_OR_RETURN(auto inner, OpenReferenceForCase(c, limits, precision));
    return std::unique_ptr<DraftSession>(std::make_unique<Refusing>(std::move(inner), kNone));
  };
  EXPECT_THAT(RunDrafterCase(made, Precision::kBf16, IndexMasked(), refusing),
              StatusIs(StatusCode::kFailedPrecondition, "not today"));
}

// A step that was wrong before the refusal is a failure.
TEST(RunCaseTest, ARefusalHidesNoFailure) {
  MemoryFileSystem files;
  const DrafterCase made = Case(kGap, files);
  const OpenSession wrong = [](const DrafterCase& c, const SessionLimits& limits,
                               Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    DM_ASSIGN_OR_RETURN(auto inner, kOpenVersion1(c, limits, precision));
    return std::unique_ptr<DraftSession>(std::make_unique<TamperingSession>(
        std::move(inner),
        [](const std::string& stage, Shape& /*shape*/, std::vector<double>& values) {
          if (stage == "layers.0.k_new") values[0] += 1;
        }));
  };
  DM_ASSERT_OK_AND_ASSIGN(const CaseReport report,
                          RunDrafterCase(made, Precision::kBf16, IndexMasked(), wrong));
  EXPECT_EQ(report.no_result.reason, "");
  EXPECT_THAT(report.Signature(), ::testing::StartsWith("step0.layers.0.k_new: "));
}

}  // namespace
}  // namespace draftmark
