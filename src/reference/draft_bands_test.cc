// Drafters of every kind with several sequences at once: each band is what its sequence gives
// alone, bit for bit, whatever its history, its neighbours and what was in memory (spec/drafter.md
// section 8). Stages are compared without printing them: thousands of numbers hide the name.
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/reference/draft_testing.h"
#include "src/scratch/checking_allocator.h"
#include "src/scratch/dflash_borrows.h"
#include "src/scratch/dflash_layout.h"
#include "src/scratch/host_allocator.h"
#include "src/scratch/ledger.h"
#include "src/scratch/poison.h"

namespace draftmark::reference {
namespace {

DrafterConfig ConfigOf(const std::string& variant) {
  DrafterConfig config = SmallDrafterConfig();
  if (variant == "partial_yarn") {
    config.rope.type = "yarn";
    config.rope.factor = 8;
    config.rope.original_max_position_embeddings = 64;
    config.rope.partial_rotary_factor = 0.5;
    config.rope.pairing = RopePairing::kHalfOfHead;
  } else if (variant == "dflash2") {
    config.kind = DrafterKind::kDflash2;
    config.conv_kernel_size = 2;
    config.conv_group_size = 16;
    config.selector_rank = 8;
    config.selector_top_k = 16;
  } else if (variant != "plain") {
    config.kind = DrafterKind::kDspark;
    config.markov_rank = 8;
    config.markov_head_type = variant;
    config.confidence_head = true;
    config.confidence_head_with_markov = true;
    // Both conventions occur with a head.
    config.row_convention =
        variant == "rnn" ? RowConvention::kInPlace : RowConvention::kAnchorFirst;
  }
  return config;
}

using Parameters = std::tuple<std::string, Precision>;
class VariantTest : public ::testing::TestWithParam<Parameters> {
 protected:
  const DrafterConfig config_ = ConfigOf(std::get<0>(GetParam()));
  const Precision precision_ = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Variants, VariantTest,
                         ::testing::Combine(::testing::Values("plain", "partial_yarn", "vanilla",
                                                              "gated", "rnn", "dflash2"),
                                            ::testing::Values(Precision::kExact, Precision::kBf16)),
                         [](const auto& run) {
                           return std::get<0>(run.param) + "_" +
                                  std::string(PrecisionName(std::get<1>(run.param)));
                         });

// What happens to one sequence before each of two proposes.
struct Turn {
  std::uint64_t drop;
  std::int32_t append;
};
struct History {
  Turn first, second;
};
// The window of a pass is 16 rows.
const std::vector<History> kHistories = {
    {{0, 16}, {0, 3}},   // a full window
    {{0, 17}, {0, 0}},   // one more, in chunks; then nothing new
    {{0, 33}, {11, 6}},  // the only one whose window slides
    {{0, 0}, {0, 0}},    // never any context
    {{0, 1}, {0, 16}},   // a row, then a full window
};

struct TwoTurns {
  Stages stages[2];
  std::vector<BlockResult> results[2];
};

// Sequences order[0], order[1], ... in bands 0, 1, ...; requests from the last band to the first.
TwoTurns RunHistories(const DrafterConfig& config, Precision precision,
                      const std::vector<std::size_t>& order) {
  const auto session = Open(config, Limits(order.size()), precision);
  TwoTurns run;
  std::vector<std::int32_t> length(order.size(), 0);
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<BlockRequest> blocks;
    for (std::size_t band = order.size(); band-- > 0;) {
      const History& history = kHistories[order[band]];
      const Turn& now = turn == 0 ? history.first : history.second;
      EXPECT_THAT(session->DropFront(band, now.drop), IsOk());
      EXPECT_THAT(Append(*session, band, order[band], length[band], now.append), IsOk());
      length[band] += now.append;
      blocks.push_back(Block(band, static_cast<std::uint32_t>(order[band] + 1), length[band]));
    }
    Collector collector;
    StatusOr<std::vector<BlockResult>> results = session->Propose(blocks, &collector);
    EXPECT_THAT(results, IsOk());
    run.stages[turn] = std::move(collector.stages);
    run.results[turn] = std::move(results).value();
  }
  return run;
}

TEST_P(VariantTest, EachBandIsItsSequenceAlone) {
  std::vector<TwoTurns> alone;
  for (std::size_t s = 0; s < kHistories.size(); ++s)
    alone.push_back(RunHistories(config_, precision_, {s}));
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0, 1, 2, 3, 4}, {3, 2, 4, 0, 1}, {2, 3}}) {
    const TwoTurns together = RunHistories(config_, precision_, order);
    for (int turn = 0; turn < 2; ++turn) {
      std::size_t compared = 0;
      for (std::size_t band = 0; band < order.size(); ++band) {
        const TwoTurns& single = alone[order[band]];
        for (const auto& [key, values] : single.stages[turn]) {
          const auto found = together.stages[turn].find({band, key.second});
          ASSERT_NE(found, together.stages[turn].end()) << key.second;
          EXPECT_TRUE(found->second == values) << key.second << " of sequence " << order[band];
          ++compared;
        }
        const BlockResult& got = together.results[turn][order.size() - 1 - band];
        EXPECT_EQ(got.draft_tokens, single.results[turn][0].draft_tokens);
        EXPECT_EQ(got.margin, single.results[turn][0].margin);
        EXPECT_EQ(got.confidence, single.results[turn][0].confidence);
      }
      EXPECT_EQ(compared, together.stages[turn].size());
    }
  }
}

TEST_P(VariantTest, NoStageDependsOnWhatWasInMemory) {
  Stages first;
  for (const Poison poison : {Poison::kZeros, Poison::kOnes, Poison::kRandom}) {
    const auto session = Open(config_, Limits(2), precision_, {.poison = poison});
    ASSERT_THAT(Append(*session, 0, 1, 0, 19), IsOk());
    ASSERT_THAT(Append(*session, 1, 2, 0, 5), IsOk());
    const std::vector<BlockRequest> blocks = {Block(0, 3, 19), Block(1, 4, 5)};
    Collector collector;
    ASSERT_THAT(session->Propose(blocks, &collector), IsOk());
    if (first.empty()) first = collector.stages;
    EXPECT_TRUE(collector.stages == first) << static_cast<int>(poison);
  }
}

// Between red zones, and with the whole scratch (not the cache) filled anew before every propose.
TEST_P(VariantTest, EveryFieldIsWrittenInsideAndBeforeItIsRead) {
  for (const auto& [version, paged] :
       std::vector<std::pair<std::uint64_t, bool>>{{1, true}, {1, false}, {2, true}, {2, false}}) {
    SCOPED_TRACE(std::to_string(version) + (paged ? " paged" : " without a cache"));
    const std::size_t bands = version == 2 && paged ? 2 : 1;
    // Paged, the context takes several passes of 16 rows; without a cache the window holds it all.
    const SessionLimits limits = Limits(bands, paged ? 16 : 64);
    HostAllocator host;
    CheckingAllocator checking(host, {.zone_bytes = 1024});
    Ledger ledger;
    LedgerAllocator allocator(checking, ledger);
    ReferenceOptions options;
    options.scratch_version = version;
    options.paged = paged;
    const auto plain = Open(config_, limits, precision_, options);
    options.allocator = &allocator;
    auto checked = Open(config_, limits, precision_, options);
    EXPECT_GT(ledger.Of("stream_buf").live_bytes, 0u);  // or nothing below is checked
    EXPECT_GT(ledger.Of("kv_pool_v").live_bytes, 0u);
    std::int32_t length = 0;
    for (const auto& [poison, turn] :
         {std::pair{Poison::kZeros, Turn{0, 19}}, std::pair{Poison::kOnes, Turn{0, 5}},
          std::pair{Poison::kRandom, Turn{11, 33}}}) {
      const auto in_scratch = [](std::string_view tag) { return !tag.starts_with("kv_pool"); };
      ASSERT_THAT(checking.Repoison(in_scratch, poison, 5, {}), IsOk());
      Collector expected, found;
      for (const auto& [session, collector] :
           {std::pair{plain.get(), &expected}, std::pair{checked.get(), &found}}) {
        std::vector<BlockRequest> blocks;
        for (std::size_t band = 0; band < bands; ++band) {
          ASSERT_THAT(session->DropFront(band, turn.drop), IsOk());
          ASSERT_THAT(Append(*session, band, band, length, turn.append), IsOk());
          blocks.push_back(Block(band, 3, length + turn.append, limits.gamma));
        }
        ASSERT_THAT(session->Propose(blocks, collector), IsOk());
      }
      length += turn.append;
      EXPECT_TRUE(found.stages == expected.stages) << length;
      EXPECT_THAT(checking.Check({}), IsOk());
    }
    checked.reset();
    EXPECT_THAT(checking.Check({}), IsOk());
    EXPECT_EQ(ledger.Total().live_count, 0u);
    EXPECT_EQ(host.live_count(), 0u);
  }
}

TEST_P(VariantTest, ThePathWithoutACacheGivesTheSameStages) {
  const auto paged = Open(config_, Limits(1, 64), precision_);
  const auto contiguous = Open(config_, Limits(1, 64), precision_, {.paged = false});
  std::int32_t length = 0;
  for (const Turn& turn :
       {Turn{0, 0}, Turn{0, 23}, Turn{11, 6}, Turn{0, 46}}) {  // to a full window
    Collector a, b;
    for (const auto& [session, collector] :
         {std::pair{paged.get(), &a}, std::pair{contiguous.get(), &b}}) {
      ASSERT_THAT(session->DropFront(0, turn.drop), IsOk());
      ASSERT_THAT(Append(*session, 0, 1, length, turn.append), IsOk());
      const BlockRequest block = Block(0, 3, length + turn.append);
      ASSERT_THAT(session->Propose({&block, 1}, collector), IsOk());
    }
    length += turn.append;
    EXPECT_TRUE(a.stages == b.stages) << length;
  }
}

class BatchedPrecomputeTest : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, BatchedPrecomputeTest,
                         ::testing::Values(Precision::kExact, Precision::kBf16),
                         [](const auto& run) { return std::string(PrecisionName(run.param)); });

TEST_P(BatchedPrecomputeTest, AroundTheRowsOfOnePass) {
  const DrafterConfig config = SmallDrafterConfig();
  SessionLimits limits = Limits(4, 300);
  limits.max_context = 300;
  DflashScratchRequest request;
  request.geometry = DflashGeometry::FromConfig(config);
  request.version = 2;
  request.ctx_window = limits.ctx_window;
  request.max_batch = limits.max_batch;
  request.gamma = limits.gamma;
  DM_ASSERT_OK_AND_ASSIGN(const DflashScratchLayout layout, DflashScratchLayout::Create(request));
  ASSERT_EQ(MaxBatchedPrecomputeRows(layout), 256u);  // or the sizes below are no borders

  for (const std::int32_t rows : {255, 256, 257}) {
    for (const std::vector<std::int32_t>& lengths :
         std::vector<std::vector<std::int32_t>>{{rows, 0, 0, 0},
                                                {100, rows - 100, 0, 0},
                                                {0, rows - 1, 0, 1},
                                                {1, 254, rows - 255, 20}}) {
      const auto together = Open(config, limits, GetParam());
      std::vector<BlockRequest> blocks;
      for (std::size_t band = 0; band < 4; ++band) {
        ASSERT_THAT(Append(*together, band, band, 0, lengths[band]), IsOk());
        blocks.push_back(Block(band, 3, lengths[band], 2));
      }
      Collector batched;
      ASSERT_THAT(together->Propose(blocks, &batched), IsOk());
      for (std::size_t band = 0; band < 4; ++band) {
        // Version 1 has no precompute_in: every sequence goes alone, here in passes of 8 rows.
        SessionLimits single = limits;
        single.max_batch = 1;
        single.ctx_window = 8;
        const auto alone = Open(config, single, GetParam(), {.scratch_version = 1});
        ASSERT_THAT(Append(*alone, 0, band, 0, lengths[band]), IsOk());
        BlockRequest block = blocks[band];
        block.band = 0;
        Collector expected;
        ASSERT_THAT(alone->Propose({&block, 1}, &expected), IsOk());
        for (const auto& [key, values] : expected.stages) {
          EXPECT_TRUE((batched.stages[{band, key.second}]) == values)
              << key.second << " of " << lengths[band] << " rows of " << rows;
        }
      }
    }
  }
}

}  // namespace
}  // namespace draftmark::reference
