// The driver does all that its header says, never asks for what a session refuses, and is the same
// for the same seed.
#include "kernels/draft/testing/random_driver.h"

#include <algorithm>
#include <set>

#include "src/backend/index_masks.h"
#include "src/base/status_matchers.h"
#include "src/scratch/dflash_geometry.h"
#include "src/weights/random_drafter.h"

namespace draftmark::kernels {
namespace {

constexpr SessionLimits kLimits = {.max_batch = 3, .max_context = 70, .ctx_window = 16, .gamma = 8};

SessionPlan Plan() {
  const DrafterConfig config = SmallDrafterConfig();
  return PlanSession(config, DrafterTensorsPresent::FromConfig(config), kLimits, {}).value();
}

// Checks what it is told as a session does, and counts it.
class Bookkeeper final : public DraftSession {
 public:
  Bookkeeper() : sequences(kLimits, SmallDrafterConfig(), Plan()) {}
  Status AppendContext(std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) override {
    DM_RETURN_IF_ERROR(sequences.CheckAppend(band, taps.size(), positions));
    const std::vector<std::int32_t>& before = sequences[band].positions;
    joins += before.empty() ? 1 : 0;
    long_tails += positions.size() > kLimits.ctx_window ? 1 : 0;
    for (std::size_t i = 1; i < positions.size(); ++i) {
      gaps += positions[i] > positions[i - 1] + 1 ? 1 : 0;
    }
    lengths.insert(positions.size());
    sequences.Append(band, positions);
    return OkStatus();
  }
  Status DropFront(std::size_t band, std::uint64_t rows) override {
    DM_RETURN_IF_ERROR(sequences.CheckDrop(band, rows));
    ++drops;
    sequences.DropFront(band, rows);
    return OkStatus();
  }
  Status Reset(std::size_t band) override {
    DM_RETURN_IF_ERROR(sequences.CheckBand(band));
    ++resets;
    sequences.Reset(band);
    return OkStatus();
  }
  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* /*sink*/) override {
    DM_RETURN_IF_ERROR(sequences.CheckRequests(requests));
    std::vector<std::size_t> bands;
    for (const BlockRequest& request : requests) {
      const std::vector<std::int32_t>& positions = sequences[request.band].positions;
      without_context += positions.empty() ? 1 : 0;
      far_anchors += !positions.empty() && request.start > positions.back() + 1 ? 1 : 0;
      bands.push_back(request.band);
    }
    orders.insert(bands);
    widths.insert(requests.front().tokens.size());
    sequences.EndPropose(requests);
    return std::vector<BlockResult>(requests.size());
  }

  Sequences sequences;
  int joins = 0, long_tails = 0, gaps = 0, drops = 0, resets = 0;
  int without_context = 0, far_anchors = 0;
  std::set<std::size_t> lengths, widths;
  std::set<std::vector<std::size_t>> orders;
};

TEST(RandomDriverTest, DoesEverythingThatAnEngineMay) {
  RandomDriver driver(SmallDrafterConfig(), kLimits, Plan(), 1);
  Bookkeeper session;
  for (int i = 0; i < 1000; ++i) {
    const DraftStep& step = driver.Next();
    ASSERT_THAT(ApplyChanges(session, step), IsOk()) << "step " << i;
    for (std::size_t band = 0; band < kLimits.max_batch; ++band) {
      EXPECT_EQ(driver.sequences()[band].positions, session.sequences[band].positions);
      EXPECT_EQ(driver.sequences()[band].committed, session.sequences[band].committed);
    }
    ASSERT_THAT(session.Propose(step.requests, nullptr), IsOk()) << "step " << i;
  }
  EXPECT_GE(session.joins, 50);
  EXPECT_GE(session.long_tails, 50);
  EXPECT_GE(session.gaps, 100);
  EXPECT_GE(session.drops, 100);
  EXPECT_GE(session.resets, 40);
  EXPECT_GE(session.without_context, 5);
  EXPECT_GE(session.far_anchors, 100);
  EXPECT_EQ(session.widths, (std::set<std::size_t>{2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(session.orders.size(), 3u + 6u + 6u) << "subsets of three bands in all orders";
  // From an anchor alone to a block's anchor and all its drafts, and more.
  for (std::size_t rows = 1; rows <= kLimits.gamma + 1; ++rows) {
    EXPECT_TRUE(session.lengths.contains(rows)) << rows;
  }
}

// Such a session would refuse them.
TEST(RandomDriverTest, SkipsNothingWhereMasksCountByIndex) {
  SessionLimits limits = kLimits;
  limits.max_batch = 1;
  const DrafterConfig config = SmallDrafterConfig();
  const DrafterTensorsPresent tensors = DrafterTensorsPresent::FromConfig(config);
  const SessionPlan v1 = PlanSession(config, tensors, limits, {.scratch_version = 1}).value();
  const SessionPlan v2 = PlanSession(config, tensors, limits, {}).value();
  const IndexMask mask = IndexMaskOf(config, v1).value();
  RandomDriver driver(config, limits, v1, 1);
  RandomDriver skipping(config, limits, v2, 1);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    const DraftStep& step = driver.Next();
    EXPECT_THAT(driver.sequences().CheckRequests(step.requests), IsOk()) << "step " << i;
    const DraftStep& other = skipping.Next();
    ASSERT_EQ(step.changes.size(), other.changes.size()) << "step " << i;
    for (std::size_t c = 0; c < step.changes.size(); ++c) {
      EXPECT_TRUE(step.changes[c].taps == other.changes[c].taps) << "step " << i;
    }
    const Status status =
        CheckIndexMask(mask, skipping.sequences()[0].positions, other.requests.front());
    refused += status.ok() ? 0 : 1;
  }
  EXPECT_GE(refused, 50);
}

TEST(RandomDriverTest, TheSameSeedIsTheSameWork) {
  RandomDriver a(SmallDrafterConfig(), kLimits, Plan(), 5);
  RandomDriver b(SmallDrafterConfig(), kLimits, Plan(), 5);
  RandomDriver other(SmallDrafterConfig(), kLimits, Plan(), 6);
  bool differs = false;
  for (int i = 0; i < 50; ++i) {
    const DraftStep& of_a = a.Next();
    const DraftStep& of_b = b.Next();
    const DraftStep& of_other = other.Next();
    ASSERT_EQ(of_a.requests.size(), of_b.requests.size());
    for (std::size_t r = 0; r < of_a.requests.size(); ++r) {
      EXPECT_EQ(of_a.requests[r].band, of_b.requests[r].band);
      EXPECT_EQ(of_a.requests[r].start, of_b.requests[r].start);
      EXPECT_EQ(of_a.requests[r].tokens, of_b.requests[r].tokens);
    }
    ASSERT_EQ(of_a.changes.size(), of_b.changes.size());
    for (std::size_t c = 0; c < of_a.changes.size(); ++c) {
      EXPECT_TRUE(of_a.changes[c].taps == of_b.changes[c].taps);
      EXPECT_EQ(of_a.changes[c].positions, of_b.changes[c].positions);
    }
    differs |= of_a.requests.size() != of_other.requests.size() ||
               of_a.requests.front().start != of_other.requests.front().start;
  }
  EXPECT_TRUE(differs);
}

// What AppendHistory gives another session is what a band was given, but for what slid out.
TEST(RandomDriverTest, AHistoryIsWhatABandHolds) {
  class Taker final : public DraftSession {
   public:
    Status AppendContext(std::size_t band, std::span<const BFloat16> of,
                         std::span<const std::int32_t> at) override {
      taps[band].insert(taps[band].end(), of.begin(), of.end());
      positions[band].insert(positions[band].end(), at.begin(), at.end());
      return OkStatus();
    }
    Status DropFront(std::size_t band, std::uint64_t rows) override {
      const auto n = static_cast<std::ptrdiff_t>(rows);
      const auto width = static_cast<std::ptrdiff_t>(SmallDrafterConfig().tap_width());
      taps[band].erase(taps[band].begin(), taps[band].begin() + n * width);
      positions[band].erase(positions[band].begin(), positions[band].begin() + n);
      return OkStatus();
    }
    Status Reset(std::size_t band) override {
      taps[band].clear();
      positions[band].clear();
      return OkStatus();
    }
    StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest>, StageSink*) override {
      return std::vector<BlockResult>();
    }
    std::vector<BFloat16> taps[3];
    std::vector<std::int32_t> positions[3];
  };
  RandomDriver driver(SmallDrafterConfig(), kLimits, Plan(), 7);
  Taker session;
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(ApplyChanges(session, driver.Next()), IsOk());
    for (std::size_t band = 0; band < 3; ++band) {
      Taker fresh;
      ASSERT_THAT(driver.AppendHistory(band, fresh), IsOk());
      EXPECT_TRUE(fresh.taps[0] == session.taps[band]) << "step " << i;
      EXPECT_EQ(fresh.positions[0], session.positions[band]) << "step " << i;
    }
  }
}

}  // namespace
}  // namespace draftmark::kernels
