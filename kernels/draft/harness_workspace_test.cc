// The workspace's bytes against numbers worked out by hand from the formulas.
#include "kernels/draft/harness_workspace.h"

#include <map>
#include <string>

#include "src/base/status_matchers.h"

namespace draftmark::kernels {
namespace {

constexpr DrafterTensorsPresent kSelector = {
    .markov = false, .confidence = false, .convs = true, .selector = true};
constexpr DrafterTensorsPresent kMarkov = {
    .markov = true, .confidence = true, .convs = false, .selector = false};

struct Sizes {
  std::map<std::string, std::uint64_t> bytes;
  std::uint64_t device = 0, pinned = 0;
};

Sizes SizesOf(const DrafterConfig& config, const DrafterTensorsPresent& tensors,
              const SessionLimits& limits, const SessionPlanOptions& options, MarkovType type,
              bool library) {
  const SessionPlan plan = PlanSession(config, tensors, limits, options).value();
  const HarnessWorkspaceLayout layout = HarnessWorkspaceLayout::Create({.config = &config,
                                                                        .plan = &plan,
                                                                        .limits = limits,
                                                                        .tensors = tensors,
                                                                        .markov_type = type,
                                                                        .library = library})
                                            .value();
  Sizes sizes{.bytes = {}, .device = layout.device_bytes(), .pinned = layout.host_pinned_bytes()};
  for (const WorkspaceField& field : layout.fields()) {
    EXPECT_FALSE(field.formula.empty()) << field.name;
    EXPECT_EQ(layout.BytesOf(field.name), field.bytes);
    sizes.bytes[field.name] = field.bytes;
  }
  return sizes;
}

// Qwen3.8-27B-DFlash2 (spec/dflash_scratch.md section 4): h 5120, 32 heads and 8 KV heads of 128,
// I 17408, V 248320, five layers, five taps.
DrafterConfig Dflash2() {
  DrafterConfig c;
  c.kind = DrafterKind::kDflash2;
  c.hidden_size = 5120;
  c.num_hidden_layers = 5;
  c.num_attention_heads = 32;
  c.num_key_value_heads = 8;
  c.head_dim = 128;
  c.intermediate_size = 17408;
  c.vocab_size = 248320;
  c.block_size = 10;
  c.target_layer_ids = {1, 16, 31, 46, 61};
  c.target_hidden_size = 5120;
  c.layer_types.assign(5, LayerType::kSlidingAttention);
  c.layer_causal.assign(5, false);
  c.sliding_window = 2048;
  c.conv_kernel_size = 2;
  c.conv_group_size = 16;
  c.selector_rank = 256;
  c.selector_top_k = 16;
  return c;
}

TEST(HarnessWorkspaceTest, Dflash2OfEightBands) {
  const SessionLimits limits = {
      .max_batch = 8, .max_context = 16384, .ctx_window = 4096, .gamma = 10};
  const Sizes sizes =
      SizesOf(Dflash2(), kSelector, limits, {.batched_heads = true}, MarkovType::kVanilla, true);
  const std::map<std::string, std::uint64_t> expected = {
      {"gemm", 33'554'432},  // 32 MiB
      {"row_sums", 10'240},  // 16 rows of 160 blocks, FP32
      {"row_best", 20'480},
      {"chain_counters", 1'092},
      // Ten rows times four heads of a group fit one tile of 64: 8 blocks a split, 264 / 8 = 33,
      // at most 32 splits. 8 * 10 * 32 results * 32 splits = 81920, each (2 + 128) * 4 bytes.
      {"attention_partials", 42'598'400},
      {"argmax_partials", 0},
      // 80 rows, 248320 / 4096 = 60.6: 61 pieces, 16 keys of 8 bytes.
      {"top16_partials", 624'640},
      {"selector_scores", 4'608},  // 8 * 9 * 16 * 4
      {"markov_embed_bands", 0},
      {"markov_step", 0},
      {"markov_state", 0},
      {"taps", 6'710'886'400},  // 8 * 16384 rows of 25600 BF16
      {"tap_rows", 320},        // 80 rows of a pass
      {"tap_staging", 0},
      {"rope_frequency", 256},  // 64 pairs
      // (16384 + 10 + 1) / 16 = 1024.7: 1025 blocks a band.
      {"block_tables", 32'800},
      {"slot_positions", 524'864},  // 8201 blocks of 16
      {"contiguous_record", 0},
      // Four slots: tokens 320, positions 320, records 96, pass positions 5 * 4096 * 4 = 81920,
      // tap rows 320, tables 32800, slots of 4096 * 8 = 32768. Together 148544.
      {"inputs", 594'176},
      {"conf_out_host", 0}};
  EXPECT_EQ(sizes.bytes, expected);
  EXPECT_EQ(sizes.device, 6'788'258'532u);
  EXPECT_EQ(sizes.pinned, 594'176u);
}

// h 2048, 32 heads and 4 KV heads of 128, V 151936, r_m 256, a gated head; causal layers.
DrafterConfig Dspark() {
  DrafterConfig c;
  c.kind = DrafterKind::kDspark;
  c.hidden_size = 2048;
  c.num_hidden_layers = 3;
  c.num_attention_heads = 32;
  c.num_key_value_heads = 4;
  c.head_dim = 128;
  c.intermediate_size = 6144;
  c.vocab_size = 151936;
  c.block_size = 7;
  c.target_layer_ids = {1, 12, 23};
  c.target_hidden_size = 2048;
  c.layer_types.assign(3, LayerType::kFullAttention);
  c.layer_causal.assign(3, true);
  c.rope.partial_rotary_factor = 0.5;
  c.markov_rank = 256;
  c.markov_head_type = "gated";
  c.confidence_head = true;
  c.confidence_head_with_markov = true;
  c.final_logit_softcapping = 30;
  return c;
}

std::map<std::string, std::uint64_t> DsparkOnVersion1() {
  return {
      // 32 MiB, and 7 rows of 151936 FP32 accumulators.
      {"gemm", 33'554'432 + 4'254'208},
      {"row_sums", 10'240},
      {"row_best", 20'480},
      {"chain_counters", 1'092},
      // Seven rows times eight heads are 56 queries: one tile, 4 blocks a split, 66, so 32 splits.
      // 7 * 32 results * 32 splits = 7168, each 130 * 4 bytes. No width needs more.
      {"attention_partials", 3'727'360},
      {"argmax_partials", 2'128},  // 7 rows, 151936 / 4096 = 37.1: 38 pieces, 8 bytes
      {"top16_partials", 0},
      {"selector_scores", 0},
      {"markov_embed_bands", 0},
      // [y; e; spare] 2560 BF16 = 5120, projected 768 = 1536, latent 256 = 512.
      {"markov_step", 7'168},
      {"markov_state", 0},
      {"taps", 50'331'648},     // 4096 rows of 6144 BF16
      {"tap_rows", 28},         // 7
      {"tap_staging", 86'016},  // 7 rows of 6144 BF16: v1 has no precompute_in
      {"rope_frequency", 128},  // half of the head: 32 pairs
      {"block_tables", 1'028},  // (4096 + 7 + 1) / 16 = 256.5: 257
      {"slot_positions", 0},    // records of two words carry no position
      {"contiguous_record", 0},
      // Four slots: tokens 28 -> 32, positions 32, a record of 8 -> 16, pass positions
      // 3 * 512 * 4 = 6144, tap rows 28 -> 32, tables 1028 -> 1040, slots of 512 * 4 = 2048.
      {"inputs", 4 * 9'344},
      {"conf_out_host", 14}};
}

TEST(HarnessWorkspaceTest, DsparkOnScratchVersion1) {
  const SessionLimits limits = {.max_batch = 1, .max_context = 4096, .ctx_window = 512, .gamma = 7};
  const Sizes sizes =
      SizesOf(Dspark(), kMarkov, limits, {.scratch_version = 1}, MarkovType::kGated, true);
  EXPECT_EQ(sizes.bytes, DsparkOnVersion1());
  EXPECT_EQ(sizes.device, 91'995'956u);
  EXPECT_EQ(sizes.pinned, 37'376u + 14u);
}

TEST(HarnessWorkspaceTest, APassIsNoLongerThanALaunch) {
  const SessionLimits limits = {
      .max_batch = 1, .max_context = 4096, .ctx_window = 100'000, .gamma = 7};
  const Sizes sizes =
      SizesOf(Dspark(), kMarkov, limits, {.scratch_version = 1}, MarkovType::kGated, true);
  // As above, but of 65535 rows: pass positions 3 * 65535 * 4 = 786420 -> 786432, slots
  // 65535 * 4 = 262140 -> 262144.
  EXPECT_EQ(sizes.bytes.at("inputs"), 4u * (9'344 - 6'144 - 2'048 + 786'432 + 262'144));
}

TEST(HarnessWorkspaceTest, WithoutALibraryThereIsNoWorkspaceForIt) {
  const SessionLimits limits = {.max_batch = 1, .max_context = 4096, .ctx_window = 512, .gamma = 7};
  std::map<std::string, std::uint64_t> expected = DsparkOnVersion1();
  expected["gemm"] = 0;
  const Sizes sizes =
      SizesOf(Dspark(), kMarkov, limits, {.scratch_version = 1}, MarkovType::kGated, false);
  EXPECT_EQ(sizes.bytes, expected);
}

TEST(HarnessWorkspaceTest, ARecurrentHeadOfSeveralBands) {
  const SessionLimits limits = {.max_batch = 3, .max_context = 4096, .ctx_window = 512, .gamma = 7};
  const Sizes sizes =
      SizesOf(Dspark(), kMarkov, limits, {.batched_heads = true}, MarkovType::kRnn, true);
  EXPECT_EQ(sizes.bytes.at("markov_embed_bands"), 1'536u);  // 3 * 256 BF16
  EXPECT_EQ(sizes.bytes.at("markov_state"), 1'536u);
  EXPECT_EQ(sizes.bytes.at("markov_step"), 3 * 7'168u);  // already multiples of 256
  EXPECT_EQ(sizes.bytes.at("tap_staging"), 0u);
  EXPECT_EQ(sizes.bytes.at("slot_positions"), 4u * 16 * (3 * 257 + 1));
  EXPECT_EQ(sizes.bytes.at("conf_out_host"), 42u);
}

TEST(HarnessWorkspaceTest, WithoutACache) {
  const SessionLimits limits = {.max_batch = 1, .max_context = 512, .ctx_window = 512, .gamma = 7};
  const Sizes sizes =
      SizesOf(Dspark(), kMarkov, limits, {.paged = false}, MarkovType::kGated, true);
  // 519 rows are all queries: 32 * 519 results. 519 * 8 / 64 = 64.9: 65 tiles of 4 KV heads, so
  // that 264 / 260 needs 2 splits; the most is at fewer rows, but is at least this.
  EXPECT_GE(sizes.bytes.at("attention_partials"), 519u * 32 * 2 * 130 * 4);
  EXPECT_EQ(sizes.bytes.at("tap_rows"), 0u);
  EXPECT_EQ(sizes.bytes.at("block_tables"), 4u * 33);  // over 519 rows of the row buffers
  EXPECT_EQ(sizes.bytes.at("slot_positions"), 0u);
  EXPECT_EQ(sizes.bytes.at("contiguous_record"), 12u);
  // Tokens 28 -> 32, positions of 519 rows 2076 -> 2080, the record 12 -> 16.
  EXPECT_EQ(sizes.bytes.at("inputs"), 4u * 2'128);
}

TEST(HarnessWorkspaceTest, NamesTheFieldThatExceedsAllMemory) {
  DrafterConfig config = Dspark();
  const SessionLimits limits = {.max_batch = 1, .max_context = 4096, .ctx_window = 512, .gamma = 7};
  const SessionPlan plan = PlanSession(config, kMarkov, limits, {}).value();
  config.target_hidden_size = std::uint64_t{1} << 60;
  WorkspaceRequest request;
  request.config = &config;
  request.plan = &plan;
  request.limits = limits;
  EXPECT_THAT(HarnessWorkspaceLayout::Create(request),
              StatusIs(StatusCode::kOutOfRange, ::testing::HasSubstr("workspace taps")));
}

}  // namespace
}  // namespace draftmark::kernels
