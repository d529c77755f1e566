// Public failures: which rows and which positions (conformance/README.md).
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/public_failures/failure_testing.h"
#include "src/base/counter_hash.h"
#include "src/config/drafter_config.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using enum plain::Mistake;

// What a layer of the target puts into one row of taps, of `width` values. Real taps are those of
// the case; these stand for a layer that is not in the list.
BFloat16 OtherLayerAt(std::int64_t layer, std::int32_t position, std::size_t index) {
  const std::uint64_t seed =
      SeedOf("layer" + std::to_string(layer) + "/" + std::to_string(position));
  return BFloat16::FromDouble(4 * UniformAt(seed, index) - 2);
}

// An engine that taps `ids` where the checkpoint wants the case's.
OpenSession TapsOf(std::vector<std::int64_t> ids) {
  return OpenHooked([ids = std::move(ids)](const DrafterCase& drafter_case) {
    const std::vector<std::int64_t> right = drafter_case.config().target_layer_ids;
    const std::size_t width = drafter_case.config().target_hidden_size;
    return SessionHooks{.append = [=](DraftSession& inner, std::size_t band,
                                      std::span<const BFloat16> taps,
                                      std::span<const std::int32_t> positions) {
      std::vector<BFloat16> wrong(taps.begin(), taps.end());
      for (std::size_t i = 0; i < wrong.size(); ++i) {
        const std::size_t row = i / (ids.size() * width);
        const std::int64_t layer = ids[i / width % ids.size()];
        const auto found = std::find(right.begin(), right.end(), layer);
        const auto block = static_cast<std::size_t>(found - right.begin());
        wrong[i] = found == right.end() ? OtherLayerAt(layer, positions[row], i % width)
                                        : taps[(row * right.size() + block) * width + i % width];
      }
      return inner.AppendContext(band, wrong, positions);
    }};
  });
}

TEST(PublicFailures, TapLayerOffByOne) {
  const OrderedJson draft = WithSteps(SmallDraft(), {Step(20, 20), Step(3, 23)});
  ExpectPasses(draft, TapsOf({1, 2, 3}));
  ExpectCaught(draft, TapsOf({2, 3, 4}), "step0.fc");
  ExpectCaught(draft, TapsOf({0, 1, 2}), "step0.fc");
}

TEST(PublicFailures, GuessedTapIdsWithTheRightCount) {
  // Evenly spaced over 20 layers, as a loader without the list would guess.
  const OrderedJson draft =
      WithSteps(With(SmallDraft(), {{"target_layer_ids", {1, 9, 17}}}), {Step(20, 20)});
  ExpectCaught(draft, TapsOf({1, 10, 19}), "step0.fc");
  // Nobody has to guess: without the list there is no config.
  OrderedJson without = draft;
  without.erase("target_layer_ids");
  DM_ASSERT_OK_AND_ASSIGN(const Json parsed, ParseJson(without.dump(), "config.json"));
  EXPECT_THAT(ParseDrafterConfig(parsed, "config.json"),
              StatusIs(StatusCode::kNotFound, HasSubstr("target_layer_ids")));
}

TEST(PublicFailures, AnchorRowUsedAsDraft) {
  ExpectCaught(WithSteps(SmallDraft(), {Step(20, 20)}), OpenMistaken({kRowZeroUsed}),
               "step0.draft_tokens");
}

TEST(PublicFailures, DraftRowsShifted) {
  OrderedJson anchor_first = WithSteps(SmallDraft(), {Step(20, 20)});
  anchor_first["row_convention"] = "B";
  anchor_first["sample_from_anchor"] = true;
  ExpectCaught(anchor_first, OpenMistaken({kRowZeroDropped}), "step0.draft_tokens");
  ExpectCaught(anchor_first, OpenMistaken({kRowsRotated}), "step0.draft_tokens");
}

// In the first step slots and positions coincide; what follows makes them differ.
TEST(PublicFailures, BlockPositionFromSlotIndexAfterAReset) {
  ExpectCaught(WithSteps(SmallDraft(), {Step(20, 20), Step(5, 300, {{"reset", true}})}),
               OpenMistaken({kBlockPositionFromSlot}), "step1.layers.0.k_new");
}

TEST(PublicFailures, BlockPositionFromSlotIndexAfterAPrefixCacheHit) {
  // The target found 512 tokens in its cache: the drafter never sees their taps.
  ExpectCaught(WithSteps(SmallDraft(), {Step(8, 520)}), OpenMistaken({kBlockPositionFromSlot}),
               "step0.layers.0.k_new");
  ExpectPasses(WithSteps(SmallDraft(), {Step(8, 8)}), OpenMistaken({kBlockPositionFromSlot}));
}

TEST(PublicFailures, BlockPositionFromSlotIndexAfterASlide) {
  ExpectCaught(WithSteps(SmallDraft(), {Step(20, 20), Step(3, 23, {{"drop_front_rows", 11}})}),
               OpenMistaken({kBlockPositionFromSlot}), "step1.layers.0.k_new");
}

TEST(PublicFailures, PositionStateNotResetBetweenRequests) {
  const OpenSession keeps_positions = OpenHooked([](const DrafterCase&) {
    // Where the last request ended, added to every position of the next one.
    const auto offset = std::make_shared<std::int32_t>(0);
    const auto last = std::make_shared<std::int32_t>(0);
    return SessionHooks{
        .append =
            [=](DraftSession& inner, std::size_t band, std::span<const BFloat16> taps,
                std::span<const std::int32_t> positions) {
              std::vector<std::int32_t> moved(positions.begin(), positions.end());
              for (std::int32_t& position : moved) position += *offset;
              return inner.AppendContext(band, taps, moved);
            },
        .reset =
            [=](DraftSession& inner, std::size_t band) {
              *offset = *last;
              return inner.Reset(band);
            },
        .propose =
            [=](std::vector<BlockRequest>& requests, bool) {
              for (BlockRequest& request : requests) {
                *last = static_cast<std::int32_t>(request.start);
                request.start += *offset;
              }
            }};
  });
  ExpectCaught(WithSteps(SmallDraft(), {Step(20, 20), Step(12, 12, {{"reset", true}})}),
               keeps_positions, "step1.layers.0.k_new");
  ExpectPasses(WithSteps(SmallDraft(), {Step(20, 20), Step(3, 23)}), keeps_positions);
}

}  // namespace
}  // namespace draftmark
