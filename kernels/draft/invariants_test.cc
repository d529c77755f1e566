// What must not matter to a draft: neighbours, the order of bands, the block's width where rows see
// no later ones, how the context came, padding, the scratch's version, the cache, and the run
// (spec/drafter.md sections 3, 4.4 and 8).
//
// By own kernels every row of a product is computed the same whatever other rows there are, and
// attention splits its keys the same for up to 64 queries of a KV head's group, so that all of this
// holds to the bit. cuBLASLt may choose another algorithm for another number of rows: then T1 holds
// for a product whose inputs are equal, and T4 from end to end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/draft/testing/draft_test.h"
#include "src/backend/index_masks.h"
#include "src/compare/comparison.h"
#include "src/compare/ulp.h"

namespace draftmark::kernels {
namespace {

using ByName = std::map<std::string, std::vector<double>>;

ByName OfBand(const Stages& stages, std::size_t band) {
  ByName named;
  for (const auto& [key, values] : stages) {
    if (key.first == band) named[key.second] = values;
  }
  return named;
}

// Empty if all stages have the same bits; else the first in the alphabet that differs.
std::string DifferenceOfStages(const ByName& expected, const ByName& got) {
  if (expected.empty()) return "no stages";
  if (expected.size() != got.size()) return "not the same stages";
  for (const auto& [name, values] : expected) {
    const auto found = got.find(name);
    if (found == got.end()) return name + ": absent";
    if (found->second.size() != values.size()) {
      return fmt::format("{}: {} values instead of {}", name, found->second.size(), values.size());
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      // A NaN differs from itself, and none is expected.
      if (!(values[i] == found->second[i])) {
        return fmt::format("{}[{}]: {} instead of {}", name, i, found->second[i], values[i]);
      }
    }
  }
  return {};
}

// Which values of stages of different lengths belong together: the first or the last ones.
enum class Keep { kFirst, kLast };
void TrimToShorter(ByName& a, ByName& b, Keep keep) {
  for (auto& [name, values] : a) {
    std::vector<double>& other = b[name];
    const std::size_t n = std::min(values.size(), other.size());
    for (std::vector<double>* of : {&values, &other}) {
      if (keep == Keep::kFirst) {
        of->resize(n);
      } else {
        of->erase(of->begin(), of->end() - static_cast<std::ptrdiff_t>(n));
      }
    }
  }
}

// T4's bounds of layers and logits, and T1's of the first product, whose inputs are the same.
// Prints the largest distance of each stage (those of a Markov head are anything behind another
// token).
void ExpectNear(const std::string& what, const ByName& expected, const ByName& got) {
  std::string table;
  for (const auto& [name, values] : expected) {
    if (name == "draft_tokens" || name == "margin" || name.starts_with("selector.")) continue;
    ASSERT_EQ(got.at(name).size(), values.size()) << name;
    if (values.empty()) continue;
    const Comparison c = Compare({values.size()}, values, got.at(name), UlpUnit::kBf16);
    double most_ulps = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      most_ulps = std::max(most_ulps, UlpDistance(values[i], got.at(name)[i], UlpUnit::kBf16));
    }
    table +=
        fmt::format("  {:32} {:9.3g} ULPs, relative L2 {:.2e}\n", name, most_ulps, c.relative_l2);
    const double bound = name.ends_with(".output") ? 2e-2 : name == "logits" ? 2.5e-2 : INFINITY;
    EXPECT_LE(c.relative_l2, bound) << what << ": " << name << " " << DescribeWorst(c);
    if (name != "fc") continue;
    for (std::size_t i = 0; i < values.size(); ++i) {
      // 2^-22 * log2(144) * sum |a b|, of 144 products below 2 * 0.145.
      constexpr double kAccumulation = 7.2 * 144 * 0.29 / (1 << 22);
      EXPECT_LE(std::fabs(values[i] - got.at(name)[i]),
                Spacing(values[i], UlpUnit::kBf16) + kAccumulation)
          << what << ": fc[" << i << "]";
    }
  }
  std::cout << what << ":\n" << table;
}

class InvariantsTest : public DraftTest, public ::testing::WithParamInterface<std::string> {
 protected:
  // Sequence s has 13 + 9 s rows of context.
  static std::int32_t ContextOf(std::uint64_t sequence) {
    return 13 + 9 * static_cast<std::int32_t>(sequence);
  }
  void AppendSequence(CudaDraftSession& session, std::size_t band, std::uint64_t sequence) {
    ASSERT_THAT(AppendRows(session, config(), band, sequence, 0, ContextOf(sequence)), IsOk());
  }
  BlockRequest BlockOf(std::size_t band, std::uint64_t sequence, std::size_t width = 7) const {
    return Block(config(), band, 5 + static_cast<std::uint32_t>(sequence), ContextOf(sequence),
                 width);
  }
  const DrafterConfig& config() const { return variant_.config; }

  const DraftVariant variant_ = DraftVariantOf(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Variants, InvariantsTest, ::testing::ValuesIn(DraftVariantNames()),
                         [](const auto& run) { return run.param; });

TEST_P(InvariantsTest, ABandIsWhatItIsAlone) {
  for (const Products products : {Products::kOwn, Products::kLibrary}) {
    const auto together = Open(variant_, SmallLimits(), {}, products);
    std::vector<BlockRequest> requests;
    for (std::size_t band = 0; band < 3; ++band) {
      AppendSequence(*together, band, band);
      requests.push_back(BlockOf(band, band));
    }
    const Stages stages = StagesOf(*together, requests);
    for (std::size_t band = 0; band < 3; ++band) {
      const auto alone = Open(variant_, SmallLimits(1), {}, products);
      AppendSequence(*alone, 0, band);
      const ByName expected = OfBand(StagesOf(*alone, {BlockOf(0, band)}), 0);
      const ByName got = OfBand(stages, band);
      if (products == Products::kOwn) {
        EXPECT_EQ(DifferenceOfStages(expected, got), "") << "band " << band;
      } else {
        ExpectNear(fmt::format("{}, band {} among three by the library", variant_.name, band),
                   expected, got);
      }
    }
  }
}

// The same number of rows, so the same algorithms: also by the library.
TEST_P(InvariantsTest, PermutedBandsGivePermutedResults) {
  constexpr std::array<std::size_t, 3> kBandOf = {1, 2, 0};  // sequence s lives in band kBandOf[s]
  const auto start = [&](CudaDraftSession& session, std::size_t band, std::size_t sequence) {
    // Alone at first: passes of several long tails depend on their order.
    AppendSequence(session, band, sequence);
    (void)StagesOf(session, {BlockOf(band, sequence)});
    const std::int32_t rows = ContextOf(sequence);
    EXPECT_THAT(AppendRows(session, config(), band, sequence, rows, 2), IsOk());
    return Block(config(), band, 5, rows + 2, 7);
  };
  for (const Products products : {Products::kOwn, Products::kLibrary}) {
    const auto straight = Open(variant_, SmallLimits(), {}, products);
    const auto permuted = Open(variant_, SmallLimits(), {}, products);
    std::vector<BlockRequest> in_order, out_of_order;
    for (std::size_t s = 0; s < 3; ++s) in_order.push_back(start(*straight, s, s));
    for (std::size_t s = 3; s-- > 0;) out_of_order.push_back(start(*permuted, kBandOf[s], s));
    const Stages expected = StagesOf(*straight, in_order);
    const Stages got = StagesOf(*permuted, out_of_order);
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_EQ(DifferenceOfStages(OfBand(expected, s), OfBand(got, kBandOf[s])), "")
          << "sequence " << s << (products == Products::kOwn ? "" : " by the library");
    }
  }
}

TEST_P(InvariantsTest, PiecesOrAllAtOnce) {
  const auto pieces = Open(variant_, SmallLimits(), {}, Products::kOwn);
  const auto at_once = Open(variant_, SmallLimits(), {}, Products::kOwn);
  std::int32_t appended = 0;
  for (const std::int32_t rows : {1, 5, 16, 17, 8}) {
    ASSERT_THAT(AppendRows(*pieces, config(), 1, 4, appended, rows), IsOk());
    appended += rows;
    // Blocks in between, which leave rows behind the context.
    const BlockRequest block = Block(config(), 1, 9, appended, 8);
    ASSERT_THAT(pieces->Propose({&block, 1}, nullptr), IsOk());
  }
  ASSERT_THAT(AppendRows(*pieces, config(), 1, 4, appended, 3), IsOk());
  appended += 3;
  ASSERT_THAT(AppendRows(*at_once, config(), 1, 4, 0, appended), IsOk());
  const std::vector<BlockRequest> block = {Block(config(), 1, 6, appended, 5)};
  ByName expected = OfBand(StagesOf(*at_once, block), 1);
  ByName got = OfBand(StagesOf(*pieces, block), 1);
  // Stages show the context rows since the last propose: the last three of them, then the block.
  TrimToShorter(expected, got, Keep::kLast);
  EXPECT_EQ(DifferenceOfStages(expected, got), "");
  EXPECT_EQ(got.at("fc").size(), 3 * config().hidden_size);
}

// A pass has as many rows as the block, whatever was appended; by the library too, since the number
// of rows and their places are the same.
TEST_P(InvariantsTest, PaddedRowsChangeNothing) {
  for (const Products products : {Products::kOwn, Products::kLibrary}) {
    const auto propose = [&](std::int32_t rows_of_other) {
      const auto session = Open(variant_, SmallLimits(2), {}, products);
      EXPECT_THAT(AppendRows(*session, config(), 0, 1, 0, 3), IsOk());
      EXPECT_THAT(AppendRows(*session, config(), 1, 2, 0, rows_of_other), IsOk());
      // The other band's block starts at the same place.
      return OfBand(StagesOf(*session, {Block(config(), 0, 5, 3, 7), Block(config(), 1, 6, 20, 7)}),
                    0);
    };
    const ByName expected = propose(0);
    for (const std::int32_t rows : {1, 6, 11}) {
      EXPECT_EQ(DifferenceOfStages(expected, propose(rows)), "") << rows << " rows of another band";
    }
  }
}

TEST_P(InvariantsTest, FiftyRunsGiveTheSameBits) {
  const auto session = Open(variant_, SmallLimits());
  ClearPools(*session);
  std::vector<BlockResult> expected;
  std::vector<std::byte> pools;
  for (int run = 0; run < 50; ++run) {
    std::vector<BlockRequest> requests;
    for (std::size_t band = 0; band < 3; ++band) {
      ASSERT_THAT(session->Reset(band), IsOk());
      AppendSequence(*session, band, band);
      requests.push_back(BlockOf(band, band, 8));
    }
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> got,
                            session->Propose(requests, nullptr));
    if (run == 0) {
      expected = got;
      pools = PoolBytes(*session);
    }
    ASSERT_EQ(DifferenceOf(expected, got), "") << "run " << run;
    ASSERT_TRUE(PoolBytes(*session) == pools) << "K/V pools of run " << run;
  }
}

// Without gaps: records of two words carry no position.
TEST_P(InvariantsTest, BothVersionsGiveTheSameBits) {
  for (const Products products : {Products::kOwn, Products::kLibrary}) {
    const auto v1 = Open(variant_, SmallLimits(1), {.scratch_version = 1}, products);
    const auto v2 = Open(variant_, SmallLimits(1), {.scratch_version = 2}, products);
    std::int32_t rows = 0;
    for (const std::int32_t more : {6, 2, 40, 1}) {
      for (CudaDraftSession* session : {v1.get(), v2.get()}) {
        ASSERT_THAT(AppendRows(*session, config(), 0, 3, rows, more), IsOk());
      }
      rows += more;
      const std::vector<BlockRequest> block = {Block(config(), 0, 5, rows, 6)};
      ASSERT_EQ(
          DifferenceOfStages(OfBand(StagesOf(*v1, block), 0), OfBand(StagesOf(*v2, block), 0)), "")
          << rows << " rows" << (products == Products::kOwn ? "" : " by the library");
    }
  }
}

// A gap that the windows of scratch v1 cannot see is refused, and leaves no trace; what its windows
// do not reach gives the bits of v2.
TEST_P(InvariantsTest, Version1RefusesGapsWithinItsWindows) {
  const auto v1 = Open(variant_, SmallLimits(1), {.scratch_version = 1}, Products::kOwn);
  const auto v2 = Open(variant_, SmallLimits(1), {.scratch_version = 2}, Products::kOwn);
  const auto append = [&](std::int32_t first, std::int32_t count) {
    for (CudaDraftSession* const session : {v1.get(), v2.get()}) {
      ASSERT_THAT(AppendRows(*session, config(), 0, 3, first, count), IsOk());
    }
  };
  const auto same = [&](const std::vector<BlockRequest>& block) {
    return DifferenceOfStages(OfBand(StagesOf(*v2, block), 0), OfBand(StagesOf(*v1, block), 0));
  };
  append(0, 20);
  ASSERT_EQ(same({Block(config(), 0, 5, 20, 6)}), "");
  append(50, 3);
  const std::vector<BlockRequest> near = {Block(config(), 0, 5, 53, 6)};
  if (!IndexMaskOf(config(), v1->plan())) {
    EXPECT_EQ(same(near), "");
    return;
  }
  const std::vector<std::byte> pools = PoolBytes(*v1);
  const std::uint64_t runs = v1->replays() + v1->eager_runs();
  StageCollector collector;
  for (StageSink* const sink : std::initializer_list<StageSink*>{nullptr, &collector}) {
    EXPECT_THAT(
        v1->Propose(near, sink),
        StatusIs(StatusCode::kFailedPrecondition,
                 ::testing::HasSubstr("layer 0 has a window of 9 keys, and scratch v1, whose "
                                      "records hold no position, counts them by index: "
                                      "context row 19 must stand at position 49, found 19")));
  }
  EXPECT_TRUE(collector.stages.empty());
  EXPECT_TRUE(PoolBytes(*v1) == pools);
  EXPECT_EQ(v1->replays() + v1->eager_runs(), runs);
  // Eight rows behind the gap fill the window but for the block's own row.
  append(53, 5);
  EXPECT_EQ(same({Block(config(), 0, 5, 58, 6)}), "");
}

// Without a cache all rows are queries, so that only attention and its masks are another launch.
// The bits are the same where no key is masked, since the splits are then; with a window they begin
// elsewhere.
TEST_P(InvariantsTest, WithoutACacheTheSame) {
  SessionLimits limits = SmallLimits(1);
  limits.ctx_window = limits.max_context;
  for (const Products products : {Products::kOwn, Products::kLibrary}) {
    const auto paged = Open(variant_, limits, {}, products);
    const auto contiguous = Open(variant_, limits, {.paged = false}, products);
    std::int32_t rows = 0;
    for (const std::int32_t more : {9, 3, 28}) {
      for (CudaDraftSession* session : {paged.get(), contiguous.get()}) {
        ASSERT_THAT(AppendRows(*session, config(), 0, 3, rows, more), IsOk());
      }
      rows += more;
      const std::vector<BlockRequest> block = {Block(config(), 0, 5, rows, 7)};
      const ByName expected = OfBand(StagesOf(*paged, block), 0);
      const ByName got = OfBand(StagesOf(*contiguous, block), 0);
      if (products == Products::kOwn && !config().sliding_window.has_value()) {
        EXPECT_EQ(DifferenceOfStages(expected, got), "") << rows << " rows";
        continue;
      }
      ExpectNear(fmt::format("{}, without a cache and {} rows{}", variant_.name, rows,
                             products == Products::kOwn ? "" : " by the library"),
                 expected, got);
      if (products == Products::kLibrary) continue;
      // Up to the first attention everything is the same, and its output within T2.
      for (const char* const stage :
           {"fc", "hidden_norm", "layers.0.q_norm", "layers.0.k_new", "layers.0.v_new"}) {
        EXPECT_EQ(expected.at(stage), got.at(stage)) << stage;
      }
      double most = 0;
      for (const double v : expected.at("layers.0.v_new")) most = std::max(most, std::fabs(v));
      const std::vector<double>& out = expected.at("layers.0.attn_out");
      for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_LE(std::fabs(out[i] - got.at("layers.0.attn_out")[i]),
                  Spacing(out[i], UlpUnit::kBf16) + most / 512)
            << "attn_out[" << i << "]";
      }
    }
  }
}

// Limits are no more than room: one that can hold no context drafts from an anchor as any other.
TEST_P(InvariantsTest, RoomForNoContextAtAll) {
  SessionLimits limits = SmallLimits(1);
  limits.max_context = 0;
  const auto without_room = Open(variant_, limits);
  const auto empty = Open(variant_, SmallLimits(1));
  const BlockRequest block = Block(config(), 0, 5, 0, 6);
  DM_ASSERT_OK_AND_ASSIGN(const auto expected, empty->Propose({&block, 1}, nullptr));
  DM_ASSERT_OK_AND_ASSIGN(const auto got, without_room->Propose({&block, 1}, nullptr));
  EXPECT_EQ(DifferenceOf(expected, got), "");
  EXPECT_EQ(without_room->replays(), 1u);
  EXPECT_THAT(AppendRows(*without_room, config(), 0, 1, 0, 1),
              StatusIs(StatusCode::kResourceExhausted, ::testing::HasSubstr("session's 0")));
}

class WidthTest : public DraftTest {};

// Where every layer is causal no row sees a later one: a narrower block gives the first rows of a
// wider one. Convention A: the tokens too.
TEST_F(WidthTest, CausalRowsDoNotSeeTheWidth) {
  for (const char* const name : {"dflash", "dflash_odd", "dflash2"}) {
    DraftVariant variant = DraftVariantOf(name);
    variant.config.layer_causal.assign(variant.config.layer_causal.size(), true);
    const auto stages_of = [&](std::size_t width) {
      const auto session = Open(variant, SmallLimits(1), {}, Products::kOwn);
      EXPECT_THAT(AppendRows(*session, variant.config, 0, 2, 0, 37), IsOk());
      return OfBand(StagesOf(*session, {Block(variant.config, 0, 5, 37, width)}), 0);
    };
    const ByName widest = stages_of(8);
    for (const std::size_t width : {2u, 3u, 5u, 7u}) {
      ByName expected = widest;
      ByName got = stages_of(width);
      EXPECT_LT(got.at("logits").size(), expected.at("logits").size());
      TrimToShorter(expected, got, Keep::kFirst);
      EXPECT_EQ(DifferenceOfStages(expected, got), "") << name << ", width " << width;
    }
  }
}

// And where a layer is not causal, they do: the test above is not about nothing.
TEST_F(WidthTest, OtherRowsDo) {
  const DraftVariant variant = DraftVariantOf("dflash_heads");
  const auto session = Open(variant, SmallLimits(1), {}, Products::kOwn);
  ASSERT_THAT(AppendRows(*session, variant.config, 0, 2, 0, 37), IsOk());
  ByName wide = OfBand(StagesOf(*session, {Block(variant.config, 0, 5, 37, 8)}), 0);
  ByName narrow = OfBand(StagesOf(*session, {Block(variant.config, 0, 5, 37, 7)}), 0);
  TrimToShorter(wide, narrow, Keep::kFirst);
  EXPECT_NE(wide.at("layers.0.attn_out"), narrow.at("layers.0.attn_out"));
}

}  // namespace
}  // namespace draftmark::kernels
