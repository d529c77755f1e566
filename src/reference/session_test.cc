// Properties of whole drafts that no single case shows: chunking, slides, layouts, and calls that
// must fail cleanly. Bands and poison: draft_bands_test.cc.
#include "src/reference/session.h"

#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/reference/draft_testing.h"
#include "src/weights/random_drafter.h"

namespace draftmark::reference {
namespace {

using ::testing::HasSubstr;

class BothPrecisionsTest : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, BothPrecisionsTest,
                         ::testing::Values(Precision::kExact, Precision::kBf16),
                         [](const auto& run) { return std::string(PrecisionName(run.param)); });

TEST_P(BothPrecisionsTest, RowsPerPassChangeNothing) {
  const DrafterConfig config = SmallDrafterConfig();
  Stages first;
  for (const std::uint64_t window : {1u, 7u, 16u, 1000u}) {
    const auto session = Open(config, Limits(1, window), GetParam());
    ASSERT_THAT(Append(*session, 0, 1, 0, 33), IsOk());
    Collector collector;
    const BlockRequest block = Block(0, 3, 33);
    ASSERT_THAT(session->Propose({&block, 1}, &collector), IsOk());
    if (first.empty()) first = collector.stages;
    EXPECT_EQ(collector.stages, first) << window;  // bit for bit
  }
  EXPECT_EQ(first.size(), StagesInDataFlowOrder(config).size());
}

TEST_P(BothPrecisionsTest, AppendingInPiecesEqualsAppendingAtOnce) {
  const DrafterConfig config = SmallDrafterConfig();
  const auto pieces = Open(config, Limits(), GetParam());
  const auto whole = Open(config, Limits(), GetParam());
  ASSERT_THAT(Append(*pieces, 0, 1, 0, 20), IsOk());
  const BlockRequest early = Block(0, 9, 20);
  ASSERT_THAT(pieces->Propose({&early, 1}, nullptr), IsOk());  // its block K/V must not survive
  ASSERT_THAT(Append(*pieces, 0, 1, 20, 2), IsOk());
  ASSERT_THAT(Append(*pieces, 0, 1, 22, 4), IsOk());
  ASSERT_THAT(Append(*whole, 0, 1, 0, 26), IsOk());
  const BlockRequest block = Block(0, 4, 26);
  Collector a, b;
  ASSERT_THAT(pieces->Propose({&block, 1}, &a), IsOk());
  ASSERT_THAT(whole->Propose({&block, 1}, &b), IsOk());
  for (const char* const stage :
       {"logits", "norm", "layers.1.attn_out", "draft_tokens", "margin"}) {
    EXPECT_EQ((a.stages[{0, stage}]), (b.stages[{0, stage}])) << stage;
  }
  // Stages of context rows show the rows since the last propose only.
  EXPECT_EQ((a.stages[{0, "fc"}].size()), 6 * config.hidden_size);
  EXPECT_EQ((b.stages[{0, "fc"}].size()), 26 * config.hidden_size);
}

TEST_P(BothPrecisionsTest, WindowSlideKeepsPositions) {
  // Dropping rows equals never having had them, at the same positions: nothing is taken from slot
  // indices.
  const DrafterConfig config = SmallDrafterConfig();
  const auto slid = Open(config, Limits(), GetParam());
  ASSERT_THAT(Append(*slid, 0, 1, 0, 30), IsOk());
  const BlockRequest early = Block(0, 2, 30);
  ASSERT_THAT(slid->Propose({&early, 1}, nullptr), IsOk());
  ASSERT_THAT(slid->DropFront(0, 19), IsOk());
  ASSERT_THAT(Append(*slid, 0, 1, 30, 3), IsOk());
  const auto fresh = Open(config, Limits(), GetParam());
  ASSERT_THAT(Append(*fresh, 0, 1, 19, 14), IsOk());
  const BlockRequest block = Block(0, 2, 33);
  Collector a, b;
  ASSERT_THAT(slid->Propose({&block, 1}, &a), IsOk());
  ASSERT_THAT(fresh->Propose({&block, 1}, &b), IsOk());
  EXPECT_EQ((a.stages[{0, "logits"}]), (b.stages[{0, "logits"}]));
  EXPECT_EQ((a.stages[{0, "fc"}].size()),
            3 * config.hidden_size);  // the new rows, although all were projected again
}

TEST_P(BothPrecisionsTest, ResetForgetsASequence) {
  const DrafterConfig config = SmallDrafterConfig();
  const auto used = Open(config, Limits(2), GetParam());
  ASSERT_THAT(Append(*used, 1, 5, 0, 40), IsOk());
  const BlockRequest old = Block(1, 2, 40, 8);
  ASSERT_THAT(used->Propose({&old, 1}, nullptr), IsOk());
  ASSERT_THAT(used->Reset(1), IsOk());
  const auto fresh = Open(config, Limits(2), GetParam());
  for (const auto* session : {&used, &fresh}) ASSERT_THAT(Append(**session, 1, 6, 0, 12), IsOk());
  const BlockRequest block = Block(1, 2, 12);
  Collector a, b;
  ASSERT_THAT(used->Propose({&block, 1}, &a), IsOk());
  ASSERT_THAT(fresh->Propose({&block, 1}, &b), IsOk());
  EXPECT_EQ(a.stages, b.stages);
}

TEST_P(BothPrecisionsTest, BothScratchVersionsAndAllLayoutsAgree) {
  const DrafterConfig config = SmallDrafterConfig();
  Stages first;
  const auto run = [&](const ReferenceOptions& options) {
    StatusOr<std::unique_ptr<DraftSession>> session =
        OpenReferenceSession(config, RandomWeights(config, 11), Limits(), GetParam(), options);
    ASSERT_THAT(session, IsOk());
    ASSERT_THAT(Append(**session, 0, 1, 0, 40), IsOk());
    const BlockRequest block = Block(0, 3, 40);
    Collector collector;
    ASSERT_THAT((*session)->Propose({&block, 1}, &collector), IsOk());
    if (first.empty()) first = collector.stages;
    EXPECT_EQ(collector.stages, first);
  };
  run({.scratch_version = 2});
  for (const DflashLayoutName layout :
       {DflashLayoutName::kDoc, DflashLayoutName::kCodeA, DflashLayoutName::kCodeB}) {
    run({.scratch_version = 1, .layout = layout});
  }
  SessionLimits two = Limits(2);
  EXPECT_THAT(OpenReferenceSession(config, RandomWeights(config, 11), two, GetParam(),
                                   {.scratch_version = 1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("max_batch")));
}

TEST_P(BothPrecisionsTest, LayoutsThatHoldFewerSlotsAreNotOverrun) {
  const DrafterConfig config = SmallDrafterConfig();
  // Upstream's slot buffer has ctx_window entries, fewer than 8 bands of 8 rows need.
  DM_ASSERT_OK_AND_ASSIGN(
      const auto upstream,
      OpenReferenceSession(config, RandomWeights(config, 11), Limits(8, 16), GetParam(),
                           {.layout = DflashLayoutName::kAsUpstream}));
  std::vector<BlockRequest> blocks;
  for (std::size_t band = 0; band < 8; ++band) blocks.push_back(Block(band, 3, 0, 8));
  EXPECT_THAT(upstream->Propose(blocks, nullptr),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("slot_mapping_dev: needs 64")));
  blocks.resize(2);
  EXPECT_THAT(upstream->Propose(blocks, nullptr), IsOk());
  // Version 1 with a window smaller than the block.
  DM_ASSERT_OK_AND_ASSIGN(const auto narrow,
                          OpenReferenceSession(config, RandomWeights(config, 11), Limits(1, 4),
                                               GetParam(), {.scratch_version = 1}));
  blocks.resize(1);
  EXPECT_THAT(narrow->Propose(blocks, nullptr),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("slot_mapping_dev: needs 8")));
}

// A gap in the history (a multimodal target): positions and slots part, and a pair carries no position.
TEST_P(BothPrecisionsTest, VersionOneCountsSlotsAndRefusesWhereThatIsWrong) {
  const DrafterConfig config = SmallDrafterConfig();
  const auto run = [&](std::uint64_t version, std::int64_t start) {
    StatusOr<std::unique_ptr<DraftSession>> session = OpenReferenceSession(
        config, RandomWeights(config, 11), Limits(), GetParam(), {.scratch_version = version});
    EXPECT_THAT(session, IsOk());
    EXPECT_THAT(Append(**session, 0, 1, 0, 20), IsOk());
    const BlockRequest block = Block(0, 3, start);
    Collector collector;
    const Status status = (*session)->Propose({&block, 1}, &collector).status();
    EXPECT_EQ(status.ok(), !collector.stages.empty());
    return std::pair(status, collector.stages[{0, "layers.0.attn_out"}]);  // the sliding layer
  };
  EXPECT_THAT(run(1, 20).first, IsOk());
  EXPECT_EQ(run(1, 20).second, run(2, 20).second);
  // By position the window of 9 holds no context any more.
  EXPECT_THAT(run(2, 40).first, IsOk());
  EXPECT_THAT(run(1, 40).first, StatusIs(StatusCode::kFailedPrecondition,
                                         HasSubstr("context row 19 must stand at position 39")));
}

TEST_P(BothPrecisionsTest, AHugeWindowIsNoWindow) {
  DrafterConfig config = SmallDrafterConfig();
  config.layer_causal = {false, false};
  const auto run = [&](const DrafterConfig& c) {
    const auto session = Open(c, Limits(), GetParam());
    EXPECT_THAT(Append(*session, 0, 1, 0, 30), IsOk());
    const BlockRequest block = Block(0, 3, 30);
    Collector collector;
    EXPECT_THAT(session->Propose({&block, 1}, &collector), IsOk());
    return collector.stages;
  };
  DrafterConfig full = config;
  full.layer_types = {LayerType::kFullAttention, LayerType::kFullAttention};
  for (const std::uint64_t window :
       {std::uint64_t{1} << 62, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    config.sliding_window = window;
    EXPECT_EQ(run(config), run(full)) << window;
  }
}

TEST_P(BothPrecisionsTest, PathWithoutACacheGivesTheSameStages) {
  const DrafterConfig config = SmallDrafterConfig();
  const auto paged = Open(config, Limits(1, 64), GetParam());
  for (const std::uint64_t version : {1u, 2u}) {
    DM_ASSERT_OK_AND_ASSIGN(
        const auto contiguous,
        OpenReferenceSession(config, RandomWeights(config, 11), Limits(1, 64), GetParam(),
                             {.scratch_version = version, .paged = false}));
    ASSERT_THAT(paged->Reset(0), IsOk());
    // No context at all, a first one, more of it, then a slide of the window.
    std::int32_t length = 0;
    for (const auto& [drop, more] :
         std::vector<std::pair<std::uint64_t, std::int32_t>>{{0, 0}, {0, 23}, {0, 4}, {11, 6}}) {
      Collector a, b;
      for (const auto& [session, collector] :
           {std::pair{paged.get(), &a}, std::pair{contiguous.get(), &b}}) {
        ASSERT_THAT(session->DropFront(0, drop), IsOk());
        ASSERT_THAT(Append(*session, 0, 1, length, more), IsOk());
        const BlockRequest block = Block(0, 3, length + more);
        ASSERT_THAT(session->Propose({&block, 1}, collector), IsOk());
      }
      length += more;
      EXPECT_EQ(a.stages, b.stages) << length;
    }
    // A block narrower than gamma would leave room in the row buffers for one row too many.
    ASSERT_THAT(Append(*contiguous, 0, 1, length, 43), IsOk());
    const BlockRequest narrow = Block(0, 3, length + 43);
    EXPECT_THAT(contiguous->Propose({&narrow, 1}, nullptr),
                StatusIs(StatusCode::kFailedPrecondition,
                         HasSubstr("fc_proj: needs 65 rows, but there are 64")));
    ASSERT_THAT(contiguous->DropFront(0, 1), IsOk());
    EXPECT_THAT(contiguous->Propose({&narrow, 1}, nullptr), IsOk());
    length += 43;
    ASSERT_THAT(contiguous->DropFront(0, 42), IsOk());
    ASSERT_THAT(Append(*contiguous, 0, 1, length, 48), IsOk());  // 70 rows, but the window has 64
    const BlockRequest block = Block(0, 3, length + 48);
    EXPECT_THAT(contiguous->Propose({&block, 1}, nullptr),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("75 rows")));
  }
  EXPECT_THAT(OpenReferenceSession(config, RandomWeights(config, 11), Limits(2), GetParam(),
                                   {.paged = false}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one band")));
}

TEST_P(BothPrecisionsTest, TailsOfManyBandsShareBatchedPasses) {
  // 40 bands of up to 30 pending rows: several passes through precompute_in, some bands split from
  // their neighbours.
  const DrafterConfig config = SmallDrafterConfig();
  constexpr std::size_t kBands = 40;
  const auto together = Open(config, Limits(kBands, 64), GetParam());
  std::vector<BlockRequest> blocks;
  for (std::size_t band = 0; band < kBands; ++band) {
    const auto length = static_cast<std::int32_t>(band * 7 % 31);
    ASSERT_THAT(Append(*together, band, band, 0, length), IsOk());
    blocks.push_back(Block(band, static_cast<std::uint32_t>(band), length, 2));
  }
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> results,
                          together->Propose(blocks, nullptr));
  for (const std::size_t band : {0u, 9u, 17u, 39u}) {
    const auto alone = Open(config, Limits(1, 64), GetParam());
    BlockRequest block = blocks[band];
    block.band = 0;
    ASSERT_THAT(Append(*alone, 0, band, 0, static_cast<std::int32_t>(block.start)), IsOk());
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> result,
                            alone->Propose({&block, 1}, nullptr));
    EXPECT_EQ(results[band].draft_tokens, result[0].draft_tokens);
    EXPECT_EQ(results[band].margin, result[0].margin);
  }
}

TEST(SessionTest, Bf16StagesAreBf16Numbers) {
  const auto session = Open(SmallDrafterConfig(), Limits(), Precision::kBf16);
  ASSERT_THAT(Append(*session, 0, 1, 0, 10), IsOk());
  Collector collector;
  const BlockRequest block = Block(0, 3, 10);
  ASSERT_THAT(session->Propose({&block, 1}, &collector), IsOk());
  for (const auto& [key, values] : collector.stages) {
    if (key.second == "margin" || key.second == "draft_tokens") continue;
    for (const double value : values)
      EXPECT_EQ(BFloat16::FromDouble(value).ToDouble(), value) << key.second;
  }
}

TEST(SessionTest, AnchorFirstConventionDraftsFromEveryRow) {
  DrafterConfig config = SmallDrafterConfig();
  const auto in_place = Open(config, Limits(), Precision::kExact);
  config.row_convention = RowConvention::kAnchorFirst;
  const auto anchor_first = Open(config, Limits(), Precision::kExact);
  const BlockRequest block = Block(0, 3, 0);
  DM_ASSERT_OK_AND_ASSIGN(const auto a, in_place->Propose({&block, 1}, nullptr));
  DM_ASSERT_OK_AND_ASSIGN(const auto b, anchor_first->Propose({&block, 1}, nullptr));
  ASSERT_EQ(a[0].draft_tokens.size(), 4u);
  ASSERT_EQ(b[0].draft_tokens.size(), 5u);
  EXPECT_EQ(a[0].draft_tokens,
            std::vector<std::uint32_t>(b[0].draft_tokens.begin() + 1, b[0].draft_tokens.end()));
}

TEST(SessionTest, RefusedCallsNameTheTroubleAndChangeNothing) {
  const DrafterConfig config = SmallDrafterConfig();
  const auto session = Open(config, Limits(2), Precision::kExact);
  const auto untouched = Open(config, Limits(2), Precision::kExact);
  for (const auto* s : {&session, &untouched}) ASSERT_THAT(Append(**s, 0, 1, 0, 12), IsOk());

  EXPECT_THAT(Append(*session, 2, 1, 0, 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("band 2")));
  EXPECT_THAT(Append(*session, 0, 1, 11, 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("ascend")));
  EXPECT_THAT(Append(*session, 0, 1, 12, 100),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("exceed")));
  const std::int32_t position = 12;
  EXPECT_THAT(session->AppendContext(0, RandomBf16(1, 5, 1), {&position, 1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("144 tap values")));
  EXPECT_THAT(session->DropFront(0, 13),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot drop 13 of 12")));
  const auto refuse = [&](std::vector<BlockRequest> blocks, const std::string& part) {
    EXPECT_THAT(session->Propose(blocks, nullptr),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(part)));
  };
  refuse({}, "no band");
  refuse({Block(0, 3, 12), Block(0, 3, 12)}, "twice");
  refuse({Block(0, 3, 12), Block(1, 3, 0, 4)}, "same number");
  refuse({Block(0, 3, 12, 1)}, "2 to 8");
  refuse({Block(0, 3, 12, 9)}, "2 to 8");
  refuse({Block(0, 101, 12)}, "token id 101");
  refuse({Block(0, 3, 11)}, "must be above the last context position 11");
  refuse({Block(1, 3, -1)}, "position -1");
  refuse({Block(0, 3, std::int64_t{1} << 31)}, "at most");

  const BlockRequest block = Block(0, 3, 12);
  Collector a, b;
  ASSERT_THAT(session->Propose({&block, 1}, &a), IsOk());
  ASSERT_THAT(untouched->Propose({&block, 1}, &b), IsOk());
  EXPECT_EQ(a.stages, b.stages);
}

TEST(SessionTest, RefusedLimits) {
  const DrafterConfig config = SmallDrafterConfig();
  const auto weights = RandomWeights(config, 1);
  SessionLimits limits = Limits();
  limits.gamma = 1;
  EXPECT_THAT(OpenReferenceSession(config, weights, limits, Precision::kExact),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("gamma 1")));
  limits = Limits();
  limits.max_context = std::uint64_t{1} << 34;
  EXPECT_THAT(OpenReferenceSession(config, weights, limits, Precision::kExact),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("kv_pool_k")));
  limits.max_context = std::uint64_t{1} << 60;
  EXPECT_THAT(OpenReferenceSession(config, weights, limits, Precision::kExact),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("too large")));
}

}  // namespace
}  // namespace draftmark::reference
