#include "benchmarks/draft_cost.h"

#include "benchmarks/draft_case.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

DraftCase Case(const std::string& text) {
  return FindDraftCases({.catalogue = "", .drafts = {text}}).value().front();
}

DraftBytes Floor(const std::string& text) {
  const DraftCase c = Case(text);
  return FloorBytes(c.config, c.shape);
}

// What pytorch_baseline.py counts, which leaves out hidden_norm, norm and rows that are looked up.
std::uint64_t AsPytorchCounts(const std::string& text) {
  const DraftBytes bytes = Floor(text);
  return bytes.weights + bytes.keys_values - 2 * Case(text).config.hidden_size * 2;
}

TEST(DraftCostTest, CountsWhatThePytorchBaselineCounts) {
  EXPECT_EQ(AsPytorchCounts("Qwen3-8B-DFlash-b16,ctx=2048"), 3384330752u);
  EXPECT_EQ(AsPytorchCounts("Qwen3-4B-DFlash-b16,ctx=2048"), 1895191040u);
  EXPECT_EQ(AsPytorchCounts("Qwen3-8B-DFlash-b16,ctx=32768"), 4013476352u);
  EXPECT_EQ(AsPytorchCounts("Qwen3-8B-DFlash-b16,ctx=2048,nb=8"), 3681372672u);
}

TEST(DraftCostTest, AddsRowsOfTheEmbedding) {
  EXPECT_EQ(Floor("Qwen3-8B-DFlash-b16").rows, (1 + 1) * 4096u * 2);
  EXPECT_EQ(Floor("Qwen3-8B-DFlash-b16").total(), 3384363520u);
  EXPECT_EQ(Floor("Qwen3-8B-DFlash-b16,nb=8").rows, (8 + 1) * 4096u * 2);
}

TEST(DraftCostTest, WithoutNewRowsTheirProjectionIsNotRead) {
  const std::uint64_t with = Floor("Qwen3-8B-DFlash-b16,new=1").weights;
  const std::uint64_t without = Floor("Qwen3-8B-DFlash-b16,new=0").weights;
  EXPECT_EQ(with - without, (5u * 4096 * 4096 + 4096) * 2);
  EXPECT_EQ(Floor("Qwen3-8B-DFlash-b16,new=8").weights, with);
}

TEST(DraftCostTest, KeysAndValuesAreTwiceProjected) {
  const DraftCase c = Case("Qwen3-8B-DFlash-b16");
  EXPECT_EQ(SecondReadBytes(c.config, c.shape), 5u * 2 * 1024 * 4096 * 2);
  const DraftCase none = Case("Qwen3-8B-DFlash-b16,new=0");
  EXPECT_EQ(SecondReadBytes(none.config, none.shape), 0u);
}

// h 64, 2 layers, window 24, V 257, r 32, K 2.
TEST(DraftCostTest, WindowsEndTheKeysThatAreRead) {
  const DrafterConfig config = Case("synthetic/tiny-dflash2").config;
  const std::uint64_t key_and_value = 2 * config.kv_dim() * 2 * config.num_hidden_layers;
  const auto keys = [&](std::uint64_t context, std::uint64_t new_rows) {
    return FloorBytes(config, {.gamma = 5, .context = context, .new_rows = new_rows}).keys_values /
           key_and_value;
  };
  EXPECT_EQ(keys(10, 3), 13u + 5);  // all inside
  EXPECT_EQ(keys(20, 3), 23u + 5);  // the first is just inside: distance 23
  EXPECT_EQ(keys(21, 3), 23u + 5);
  EXPECT_EQ(keys(100, 3), 23u + 5);
}

TEST(DraftCostTest, SelectorReadsRowsOfItsTables) {
  const DraftCase c = Case("synthetic/tiny-dflash2,gamma=5,nb=2");
  // Embedding: two anchors, the mask. Four drafts of each band: one predecessor, 16 successors.
  EXPECT_EQ(FloorBytes(c.config, c.shape).rows, (3u * 64 + 2 * 4 * (1 + 16) * 32) * 2);
  // What the checkpoint holds, without the two tables and with the LM head.
  const std::uint64_t weights = CountDrafterParameters(c.config) - 2 * 257 * 32 + 257 * 64;
  EXPECT_EQ(FloorBytes(c.config, c.shape).weights, weights * 2);
}

TEST(DraftCostTest, EveryMarkovStepReadsItsMatrix) {
  const DraftCase c = Case("synthetic/tiny-dspark,gamma=7,nb=2");
  ASSERT_EQ(c.config.markov_rank, 32u);
  EXPECT_EQ(FloorBytes(c.config, c.shape).rows, (3u * 64 + 2 * 7 * 32) * 2);
  // w1 is looked up, w2 read seven times.
  const std::uint64_t weights =
      CountDrafterParameters(c.config) - 257 * 32 + 6 * 257 * 32 + 257 * 64;
  EXPECT_EQ(FloorBytes(c.config, c.shape).weights, weights * 2);
}

TEST(DraftCostTest, UniqueBytesCountTheMarkovMatrixOnce) {
  const DraftCase markov = Case("synthetic/tiny-dspark,gamma=7,nb=2");
  EXPECT_EQ(
      FloorBytes(markov.config, markov.shape).total() - UniqueBytes(markov.config, markov.shape),
      6u * 257 * 32 * 2);
  const DraftCase published = Case("RadixArk/Qwen3.8-27B-DSpark,gamma=7,ctx=4096");
  EXPECT_EQ(FloorBytes(published.config, published.shape).total() -
                UniqueBytes(published.config, published.shape),
            6u * 248320 * 256 * 2);
  for (const char* const text : {"Qwen3-8B-DFlash-b16,nb=8", "z-lab/Qwen3.8-27B-DFlash2 (incoai)",
                                 "synthetic/tiny-dflash2"}) {
    const DraftCase other = Case(text);
    EXPECT_EQ(UniqueBytes(other.config, other.shape),
              FloorBytes(other.config, other.shape).total());
  }
}

TEST(DraftCostTest, CountsTwoOperationsForEachMultiplication) {
  const DraftCase c = Case("Qwen3-8B-DFlash-b16,gamma=16,ctx=2048,new=8,nb=2");
  const double h = 4096, q = 4096, kv = 1024, wide = 12288, block = 32, fresh = 16;
  const double layer = block * (2 * q * h + 3 * wide * h) + (block + fresh) * 2 * kv * h;
  const double attention = block * 2 * (2048 + 8 + 16) * q;
  const double products = fresh * h * 5 * h + 5 * (layer + attention) + block * 151936 * h;
  EXPECT_EQ(DraftFlops(c.config, c.shape), 2 * products);
}

TEST(DraftCostTest, CausalRowsMultiplyWithFewerKeys) {
  DraftCase c = Case("Qwen3-8B-DFlash-b16,gamma=16,ctx=0,new=0");
  const double all = DraftFlops(c.config, c.shape);
  c.config.layer_causal.assign(5, true);
  // Row j leaves out the 15 - j rows behind it: 120 in all.
  EXPECT_EQ(all - DraftFlops(c.config, c.shape), 5.0 * 2 * 120 * 2 * 4096);
}

// Qwen3-8B's drafter, by hand: fc 4096 x 20480, K and V 5 x 2 x 1024 columns, k_norm 5 x 128.
TEST(ContextCost, CountsAPassAlone) {
  const DrafterConfig config =
      FindDraftCases({.catalogue = "", .drafts = {"qwen3-8b-dflash-b16"}}).value().front().config;
  const std::uint64_t weights = 4096 * 20480 + 4096 + 10240 * 4096 + 5 * 128;
  EXPECT_EQ(ContextBytes(config, 0), 2 * weights);
  EXPECT_EQ(ContextBytes(config, 3), 2 * (weights + 3 * (20480 + 10240)));
  EXPECT_EQ(ContextFlops(config, 3), 2.0 * 3 * 4096 * (20480 + 10240));
  DrafterConfig biased = config;
  biased.attention_bias = true;
  EXPECT_EQ(ContextBytes(biased, 0), 2 * (weights + 10240));
}

}  // namespace
}  // namespace draftmark
