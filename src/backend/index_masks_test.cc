#include "src/backend/index_masks.h"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

#include "src/backend/sequences.h"
#include "src/base/counter_hash.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

constexpr SessionLimits kLimits = {.max_batch = 1, .max_context = 64, .ctx_window = 64, .gamma = 8};

// Layer 0 sees everything, layer 1 has a window.
DrafterConfig Sliding(std::uint64_t window) {
  DrafterConfig config;
  config.hidden_size = 8;
  config.num_hidden_layers = 2;
  config.num_attention_heads = config.num_key_value_heads = 1;
  config.head_dim = 8;
  config.intermediate_size = 16;
  config.vocab_size = 32;
  config.target_layer_ids = {0};
  config.target_hidden_size = 8;
  config.layer_types = {LayerType::kFullAttention, LayerType::kSlidingAttention};
  config.layer_causal = {false, true};
  config.sliding_window = window;
  return config;
}

SessionPlan Plan(const DrafterConfig& config, std::uint64_t version, bool paged = true) {
  return PlanSession(config, {}, kLimits, {.scratch_version = version, .paged = paged}).value();
}

std::optional<std::uint64_t> LayerOf(const DrafterConfig& config, std::uint64_t version,
                                     bool paged = true) {
  const std::optional<IndexMask> mask = IndexMaskOf(config, Plan(config, version, paged));
  if (!mask) return std::nullopt;
  EXPECT_EQ(mask->window, config.sliding_window);
  return mask->layer;
}

// What a session with this history answers.
Status Check(const DrafterConfig& config, const SessionPlan& plan,
             const std::vector<std::int32_t>& positions, const BlockRequest& request) {
  Sequences sequences(kLimits, config, plan);
  sequences.Append(0, positions);
  return sequences.CheckRequests({&request, 1});
}

std::vector<std::int32_t> From(std::int32_t first, std::size_t count) {
  std::vector<std::int32_t> positions(count);
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

BlockRequest Block(std::int64_t start, std::size_t width = 4) {
  return {.band = 0, .tokens = std::vector<std::uint32_t>(width, 0), .start = start};
}

TEST(IndexMasksTest, OnlyVersion1WithACacheAndAWindowCountsByIndex) {
  DrafterConfig config = Sliding(5);
  EXPECT_EQ(LayerOf(config, 1), 1u);
  EXPECT_EQ(LayerOf(config, 2), std::nullopt);
  EXPECT_EQ(LayerOf(config, 2, /*paged=*/false), std::nullopt);
  EXPECT_EQ(LayerOf(config, 1, /*paged=*/false), std::nullopt);
  config.sliding_window.reset();
  EXPECT_EQ(LayerOf(config, 1), std::nullopt);
  config = Sliding(5);
  config.layer_types[1] = LayerType::kFullAttention;
  EXPECT_EQ(LayerOf(config, 1), std::nullopt);
}

TEST(IndexMasksTest, AGapWithinTheWindowIsRefusedByName) {
  const DrafterConfig config = Sliding(5);
  std::vector<std::int32_t> positions = From(3, 10);
  positions.push_back(40);
  EXPECT_THAT(Check(config, Plan(config, 1), positions, Block(41)),
              StatusIs(StatusCode::kFailedPrecondition,
                       "propose: band 0: layer 1 has a window of 5 keys, and scratch v1, whose "
                       "records hold no position, counts them by index: context row 9 must stand "
                       "at position 39, found 12"));
  // The gap may lie between the context and the block.
  EXPECT_THAT(Check(config, Plan(config, 1), From(0, 10), Block(30)),
              StatusIs(StatusCode::kFailedPrecondition,
                       ::testing::HasSubstr("context row 9 must stand at position 29, found 9")));
  EXPECT_THAT(Check(config, Plan(config, 2), positions, Block(41)), IsOk());
  EXPECT_THAT(Check(config, Plan(config, 1, /*paged=*/false), positions, Block(41)), IsOk());
}

TEST(IndexMasksTest, WithoutAGapEveryHistoryIsTaken) {
  for (const std::uint64_t window : {1, 2, 5, 100}) {
    const DrafterConfig config = Sliding(window);
    const SessionPlan plan = Plan(config, 1);
    EXPECT_THAT(Check(config, plan, {}, Block(0)), IsOk());
    EXPECT_THAT(Check(config, plan, {}, Block(700)), IsOk());
    EXPECT_THAT(Check(config, plan, From(0, 30), Block(30)), IsOk());
    // A window slid, or a sequence that did not begin at 0.
    EXPECT_THAT(Check(config, plan, From(500, 30), Block(530)), IsOk());
  }
}

TEST(IndexMasksTest, AGapThatTheWindowHasPassedIsTaken) {
  const DrafterConfig config = Sliding(5);
  const SessionPlan plan = Plan(config, 1);
  std::vector<std::int32_t> positions = From(0, 10);
  for (const std::int32_t after : {100, 101, 102}) {
    positions.push_back(after);
    EXPECT_THAT(Check(config, plan, positions, Block(after + 1)),
                StatusIs(StatusCode::kFailedPrecondition, ::testing::_));
  }
  positions.push_back(103);
  EXPECT_THAT(Check(config, plan, positions, Block(104)), IsOk());
}

// spec/drafter.md section 4.4, of context rows, which no causal mask hides.
bool SameVisible(const std::vector<std::int32_t>& positions, const BlockRequest& block,
                 std::int64_t window) {
  const auto context = static_cast<std::int64_t>(positions.size());
  for (std::int64_t j = 0; j < static_cast<std::int64_t>(block.tokens.size()); ++j) {
    for (std::int64_t m = 0; m < context; ++m) {
      const bool by_index = context + j - m < window;
      const bool by_position = block.start + j - positions[static_cast<std::size_t>(m)] < window;
      if (by_index != by_position) return false;
    }
  }
  return true;
}

// Refused exactly where a row would see another key.
TEST(IndexMasksTest, RefusesWhatItWouldMaskWronglyAndNothingElse) {
  int taken_with_gap = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    std::uint64_t drawn = 0;
    const auto below = [&](std::uint64_t limit) { return BitsAt(seed, drawn++) % limit; };
    const std::uint64_t window = 1 + below(24);
    const DrafterConfig config = Sliding(window);
    std::vector<std::int32_t> positions;
    std::int32_t next = static_cast<std::int32_t>(below(3));
    bool gap = false;
    const auto skip = [&] {
      if (below(10) != 0) return;
      next += 1 + static_cast<std::int32_t>(below(9));
      gap = gap || !positions.empty();
    };
    for (std::uint64_t rows = below(20); rows > 0; --rows) {
      skip();
      positions.push_back(next++);
    }
    skip();
    const BlockRequest block = Block(next, 2 + below(7));
    const Status status = Check(config, Plan(config, 1), positions, block);
    const bool same = SameVisible(positions, block, static_cast<std::int64_t>(window));
    ASSERT_EQ(status.ok(), same) << "seed " << seed << ": window " << window << ", start " << next
                                 << ": " << status.ToString();
    taken_with_gap += gap && same ? 1 : 0;
    refused += same ? 0 : 1;
  }
  EXPECT_GE(taken_with_gap, 100);
  EXPECT_GE(refused, 100);
}

}  // namespace
}  // namespace draftmark
