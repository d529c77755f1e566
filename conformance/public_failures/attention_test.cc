// Public failures: what attention sees (conformance/README.md).
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "conformance/public_failures/failure_testing.h"
#include "src/reference/session.h"
#include "src/weights/weights.h"

namespace draftmark {
namespace {

using enum plain::Mistake;

// An engine whose K/V cache keeps of the context what `append` says.
OpenSession CacheKeeps(MakeHooks make) {
  return OpenSplit(OpenReferenceForCase, OpenHooked(std::move(make)));
}

// K and V of zeros, as a slot holds them that nobody wrote: zero taps give them.
Status AppendUnwritten(DraftSession& inner, std::size_t band, std::size_t values,
                       std::span<const std::int32_t> positions) {
  return inner.AppendContext(band, std::vector<BFloat16>(values), positions);
}

TEST(PublicFailures, ContextKvMissing) {
  const OpenSession no_context = CacheKeeps([](const DrafterCase&) {
    return SessionHooks{.append = [](DraftSession&, std::size_t, std::span<const BFloat16>,
                                     std::span<const std::int32_t>) { return OkStatus(); }};
  });
  ExpectCaught(WithSteps(SmallDraft(), {Step(20, 20)}), no_context, "step0.layers.0.attn_out");
  ExpectPasses(WithSteps(SmallDraft(), {Step(0, 20)}), no_context);
}

TEST(PublicFailures, ContextKvSharedBetweenSequences) {
  OrderedJson draft = WithSteps(SmallDraft(), {Step(20, 20)});
  draft["neighbours"] = OrderedJson::array({OrderedJson::array({Step(23, 23)})});
  draft["band"] = 1;
  ExpectCaught(draft, OpenMistaken({kBandZeroContext}), "step0.layers.0.attn_out");
  draft["band"] = 0;
  ExpectPasses(draft, OpenMistaken({kBandZeroContext}));
}

TEST(PublicFailures, SlidingLayersRunFull) {
  ExpectCaught(WithSteps(SmallDraft(), {Step(20, 20)}), OpenMistaken({kWindowIgnored}),
               "step0.layers.0.attn_out");
}

TEST(PublicFailures, WindowedAndFullLayersMixedUp) {
  const OpenSession mixed_up = [](const DrafterCase& drafter_case, const SessionLimits& limits,
                                  Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    DM_ASSIGN_OR_RETURN(DrafterWeights weights,
                        LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
    DrafterConfig config = drafter_case.config();
    std::reverse(config.layer_types.begin(), config.layer_types.end());
    return reference::OpenReferenceSession(
        config, std::make_shared<const DrafterWeights>(std::move(weights)), limits, precision);
  };
  ExpectCaught(WithSteps(SmallDraft(), {Step(20, 20)}), mixed_up, "step0.layers.0.attn_out");
}

TEST(PublicFailures, MissingCausalityKey) {
  // Without the key a sliding layer is causal and a full one is not.
  const OrderedJson draft = WithSteps(SmallDraft(), {Step(20, 20)});
  DM_ASSERT_OK_AND_ASSIGN(const Json parsed, ParseJson(draft.dump(), "config.json"));
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig config, ParseDrafterConfig(parsed, "config.json"));
  EXPECT_EQ(config.layer_causal, (std::vector<bool>{true, false}));
  ExpectCaught(draft, OpenMistaken({kSlidingNotCausal}), "step0.layers.0.attn_out");
  ExpectCaught(draft, OpenMistaken({kCausalEverywhere}), "step0.layers.1.attn_out");
}

TEST(PublicFailures, YarnWithoutScalingConfig) {
  const OrderedJson draft = WithSteps(SmallDraft(), {Step(20, 20)});
  for (const plain::Mistake mistake : {kYarn4Of32768, kYarn32Of4096, kYarn64Of4096}) {
    ExpectCaught(draft, OpenMistaken({mistake}), "step0.layers.0.k_new");
  }
}

TEST(PublicFailures, MRopePositionUsedAsSlot) {
  // Rows are written to the slots of their positions, and the slots that are read hold none of
  // those at or beyond kv_len.
  const OpenSession by_position = CacheKeeps([](const DrafterCase& drafter_case) {
    const auto rows = std::make_shared<std::int32_t>(0);
    const auto width = static_cast<std::int32_t>(drafter_case.gamma());
    return SessionHooks{.append = [=](DraftSession& inner, std::size_t band,
                                      std::span<const BFloat16> taps,
                                      std::span<const std::int32_t> positions) -> Status {
      *rows += static_cast<std::int32_t>(positions.size());
      const bool written = positions.empty() || positions.back() < *rows + width;
      return written ? inner.AppendContext(band, taps, positions)
                     : AppendUnwritten(inner, band, taps.size(), positions);
    }};
  });
  // An image of 400 tokens took one position of time: positions run ahead of slots.
  ExpectCaught(WithSteps(SmallDraft(), {Step(20, 420)}), by_position, "step0.layers.0.attn_out");
  ExpectPasses(WithSteps(SmallDraft(), {Step(20, 20)}), by_position);
  // The same in the operation that fills slots.
  ExpectOperationCaught(
      "op/slot_fill/rows=32,band=8,ctx=40/bf16",
      [](const OperationCase& c, const OperandSet& in) -> StatusOr<OperandValues> {
        OperandValues got = c.operation->reference(c, in, Precision::kBf16);
        for (double& slot : got["slots"]) slot += 16;
        return got;
      },
      "slots");
}

TEST(PublicFailures, MoreThanFourDraftsCorruptKv) {
  // Of the rows that a verification appends the anchor's and four drafts' reach the cache.
  const OpenSession five_rows = CacheKeeps([](const DrafterCase& drafter_case) {
    const auto proposed = std::make_shared<bool>(false);
    const std::size_t width = drafter_case.config().tap_width();
    return SessionHooks{
        .append = [=](DraftSession& inner, std::size_t band, std::span<const BFloat16> taps,
                      std::span<const std::int32_t> positions) -> Status {
          constexpr std::size_t kRows = 5;
          const std::size_t good = *proposed ? std::min(kRows, positions.size()) : positions.size();
          DM_RETURN_IF_ERROR(
              inner.AppendContext(band, taps.first(good * width), positions.first(good)));
          return AppendUnwritten(inner, band, taps.size() - good * width, positions.subspan(good));
        },
        .propose = [=](std::vector<BlockRequest>&, bool) { *proposed = true; }};
  });
  for (const std::uint64_t accepted : {5u, 6u, 7u}) {
    const std::uint64_t rows = 1 + accepted;
    ExpectCaught(WithSteps(SmallDraft(), {Step(20, 20), Step(rows, 20 + rows)}), five_rows,
                 "step1.layers.0.attn_out");
  }
  for (const std::uint64_t accepted : {0u, 4u}) {
    const std::uint64_t rows = 1 + accepted;
    ExpectPasses(WithSteps(SmallDraft(), {Step(20, 20), Step(rows, 20 + rows)}), five_rows);
  }
}

TEST(PublicFailures, KvCappedAt8192) {
  const OpenSession capped = CacheKeeps([](const DrafterCase& drafter_case) {
    const auto kept = std::make_shared<std::size_t>(0);
    const std::size_t width = drafter_case.config().tap_width();
    return SessionHooks{.append = [=](DraftSession& inner, std::size_t band,
                                      std::span<const BFloat16> taps,
                                      std::span<const std::int32_t> positions) {
      constexpr std::size_t kCap = 8192;
      const std::size_t rows = std::min(positions.size(), kCap - *kept);
      *kept += rows;
      return inner.AppendContext(band, taps.first(rows * width), positions.first(rows));
    }};
  });
  OrderedJson draft = With(SmallDraft(), {{"hidden_size", 16},
                                          {"num_hidden_layers", 1},
                                          {"num_attention_heads", 1},
                                          {"num_key_value_heads", 1},
                                          {"head_dim", 8},
                                          {"intermediate_size", 16},
                                          {"block_size", 4},
                                          {"target_layer_ids", {1}},
                                          {"layer_types", {"full_attention"}},
                                          {"sliding_window", nullptr}});
  ExpectPasses(WithSteps(draft, {Step(8192, 8192)}), capped);
  ExpectCaught(WithSteps(draft, {Step(8193, 8193)}), capped, "step0.layers.0.attn_out");
  // The same in one attention, whose last key decides.
  ExpectOperationCaught(
      "op/paged_attention/rows=1,heads=8,kv=1,d=128,ctx=16384,window=0,causal=0,sink=0/bf16",
      [](const OperationCase& c, const OperandSet& in) -> StatusOr<OperandValues> {
        OperandSet shorter = in;
        shorter.MutableElements<std::uint32_t>("arguments")[0] = 8192;
        return c.operation->reference(c, shorter, Precision::kBf16);
      },
      "out");
}

}  // namespace
}  // namespace draftmark
