#include "conformance/mutants/mutant_table.h"

namespace draftmark {
namespace {

using enum Fault;

// clang-format off
constexpr MutantInfo kTable[] = {
    {kBlockPositionFromSlot, "M1", "fault: block rows rotate with their slot index instead of p0 + j", {"history/position_gap", "step0.band0.layers.0.k_new"}, {"history/position_gap", "step0.band0.layers.0.k_new"}},
    {kRejectedRowsAppended, "M2", "taps of a rejected row become context", {"history/rejection", "step1.band0.fc"}, {"history/rejection", "step1.band0.fc"}},
    {kTapLayerOffByOne, "M3", "each tap is that of the next tapped layer", {"draft/dflash_softcap", "step0.fc"}, {"draft/dflash_softcap", "step0.fc"}},
    {kRowZeroUsed, "M4a", "row 0 is draft 0 under convention A", {"draft/dflash_softcap", "step0.draft_tokens"}, {"draft/dflash_softcap", "draft_tokens"}},
    {kRowZeroDropped, "M4b", "row 0 is dropped under convention B", {"draft/dflash-qwen3-4b-block7", "step0.draft_tokens"}, {"draft/dflash-qwen3-4b-block7", "draft_tokens"}},
    {kYarnThoughNull, "M5a", "YaRN although rope_scaling is null", {"draft/dflash_softcap", "step0.layers.0.k_new"}, {"draft/dflash_softcap", "step0.layers.0.k_new"}},
    {kYarnAmplitudeDropped, "M5b", "YaRN without its amplitude", {"draft/dflash_yarn", "step0.layers.0.k_new"}, {"draft/dflash_yarn", "step0.layers.0.k_new"}},
    {kHeadDimConstant, "M6", "scores are scaled for a head_dim of 128", {"op/paged_attention", "out"}, {"op/paged_attention", "out: "}},
    {kKeyLoopBoundedByTile, "M7", "a non-causal key loop ends with the query tile of 32 rows", {"history/wide_block", "step0.band0.layers.0.attn_out"}, {"history/wide_block", "step0.band0.layers.0.attn_out"}},
    {kStaleArguments, "M8", "attention's arguments stay those of the first propose", {"draft/dflash_softcap", "step1.layers.0."}, {"draft/dflash_softcap", "step1.layers.0."}},
    {kFirstBandsTable, "M9a", "every band reads the first band's block table", {"history/two_bands_plain", "step0.band1.layers.0.attn_out"}, {"history/two_bands_plain", "step0.band1.layers.0.attn_out"}},
    {kFirstBandsArguments, "M9b", "every band uses the first band's arguments", {"history/two_bands_plain", "step0.band1.layers.0."}, {"history/two_bands_plain", "step0.band1.layers.0.attn_out"}},
    {kOneBandOfLogits, "M9c", "the LM head runs over gamma rows instead of nb * gamma", {"history/two_bands_plain", "step0.band1.logits"}, {"history/two_bands_plain", "step0.band1.logits"}},
    {kConvCrossesBands, "M10a", "taps of a convolution cross bands", {"history/two_bands_conv", "step0.band1.layers.0.attention_conv.prepare"}, {"history/two_bands_conv", "step0.band1.layers.0.attention_conv.prepare"}},
    {kConvNotReset, "M10b", "row 0 of a convolution reads the band's last row", {"op/conv_prepare", "out"}, {"op/conv_prepare", "out: "}},
    {kConvWrongRow, "M10c", "a tap uses the coefficients of the row that it reads", {"op/conv_prepare", "out"}, {"op/conv_prepare", "out: "}},
    {kSlotsWrittenAs32, "M11", "slots are written as i32 and read as i64", {"draft/dflash_softcap", ""}, {"op/slot_fill", "slots: "}},
    {kSlotBufferTooSmall, "M12", "the slot buffer has ctx_window entries, and nobody checks", {"memory/red_zones", "slot_mapping_dev: red zone behind"}, {"memory/red_zones", "slot_mapping_dev: red zone behind"}},
    {kNegativeSlotWritten, "M13", "a row with a negative slot is written", {"op/kv_write", "pool"}, {"op/kv_write", "pool: "}},
    {kWindowIgnored, "M14a", "sliding layers see the whole context", {"draft/dflash_sliding_noncausal", "step0.layers.0.attn_out"}, {"draft/dflash_sliding_noncausal", "step0.layers.0.attn_out"}},
    {kWindowOneSided, "M14b", "sliding layers look back only", {"draft/dflash_sliding_noncausal", "step0.layers.0.attn_out"}, {"draft/dflash_sliding_noncausal", "step0.layers.0.attn_out"}},
    {kWindowOffByOne, "M14c", "the window of a sliding layer reaches one key too far", {"draft/dflash_sliding_noncausal", "step0.layers.0.attn_out"}, {"draft/dflash_sliding_noncausal", "step0.layers.0.attn_out"}},
    {kSelectorArgMax, "M15a", "the selector takes each row's best logit", {"draft/dflash2_taps3", "step0."}, {"draft/dflash2_taps3", "step0."}},
    {kSelectorViterbi, "M15b", "the selector takes the best path over all rows", {"draft/dflash2_taps3", "step0."}, {"draft/dflash2_taps3", "step0."}},
    {kConvSidesSwapped, "M15c", "the two sides of the convolution's coefficients are swapped", {"op/conv_prepare", "out"}, {"op/conv_prepare", "out: "}},
    {kMarkovPrevUnbiased, "M16", "the Markov head's prev is the argmax before the bias", {"history/two_bands_markov", "step0.band0.markov.logits"}, {"draft/dspark-qwen3-4b-block7", "markov.logits"}},
    {kConfidenceStale, "M17", "the last row keeps the previous propose's confidence", {"draft/dspark_conf_hidden_only", "confidence_logits"}, {"draft/dspark_conf_hidden_only", "confidence_logits"}},
    {kLogitsLeftOverwritten, "M18", "logits that the previous top-16 overwrote stay at -1e30", {"draft/dflash2_taps3", "step1.logits"}, {"draft/dflash2_taps3", "step1.logits"}},
    {kPaddedRowsPropagate, "M19", "NaN of padded query rows reaches the rows of their tile", {"path/without_cache", "layers.0.attn_out"}, {"op/paged_attention", "out: "}},
    {kWatermarkNotReset, "M20", "the committed watermark survives a window slide", {"history/window_slide", "step1.band0."}, {"history/window_slide", "step1.band0."}},
    {kReplayAfterWidthChange, "M21", "a block replays what was captured at another width", {"history/width_change", "step1.band0."}, {"session/replay", "width_change"}},
    {kNormPlusOne, "M22a", "norms multiply by 1 + w", {"op/rms_norm", "y: "}, {"op/rms_norm", "y: "}},
    {kEpsilonConstant, "M22b", "epsilon is the constant 1e-6", {"op/rms_norm", "y: "}, {"op/rms_norm", "y: "}},
    {kSwigluClamped, "M22c", "gate and up are clamped to 10", {"history/large_activations", "step0.band0.layers.0.mlp"}, {"history/large_activations", "step0.band0.layers.0.mlp"}},
    {kValuesNormed, "M23a", "values of block rows are normed as keys are", {"draft/dflash_softcap", "step0.layers.0.v_new"}, {"draft/dflash_softcap", "step0.layers.0.v_new"}},
    {kValuesRotated, "M23b", "values of block rows are rotated as keys are", {"draft/dflash_softcap", "step0.layers.0.v_new"}, {"draft/dflash_softcap", "step0.layers.0.v_new"}},
    {kGqaModulo, "M24", "query head j reads KV head j mod n_kv", {"draft/dflash_softcap", "step0.layers.0.attn_out"}, {"op/paged_attention", "out: "}},
    {kContextInputNorm, "M25a", "context rows get the input layernorm", {"draft/dflash_softcap", "step0.layers.0.k_norm"}, {"draft/dflash_softcap", "step0.layers.0.k_norm"}},
    {kContextConvolved, "M25b", "context rows pass through the convolution", {"draft/dflash2_taps3", "step0.layers.0.k_norm"}, {"draft/dflash2_taps3", "step0.layers.0.k_norm"}},
    {kMissingTail, "K1", "sums leave out what is behind the last eight terms", {"op/linear", "y: "}, {"op/linear", "y: "}},
    {kMissingBarrier, "K2", "a barrier is missing before shared memory is read", {}, {"op/rms_norm", "y: "}},
    {kWrongScale, "K3", "scores are divided by d", {"op/paged_attention", "out"}, {"op/paged_attention", "out: "}},
    {kStaleOutput, "K4", "the last column of all rows but the first keeps what was there", {"op/linear", "y: "}, {"op/linear", "y: "}},
    {kWritePastEnd, "K5", "one element past the end of a buffer is written", {"memory/red_zones", "stream_buf"}, {"op/silu_mul", "gate: a kernel wrote beside"}},
    {kUninitialisedWorkspace, "K6", "a product is added to memory that nobody zeroed", {"memory/poison", "o_proj"}, {"op/argmax", "tokens: "}},
    {kDroppedRow, "K7", "the last row of a launch is not written", {"history/two_bands_plain", "step0.band1.layers.0.k_new"}, {"op/kv_write", "pool: "}},
    {kWrongTieRule, "K8", "ties of the argmax go to the highest id", {"op/argmax", "tokens"}, {"op/argmax", "tokens: "}},
    {kNondeterministicSum, "K9", "sums are added up in another order each time", {"session/same_bits", "not the same"}, {"session/same_bits", "not the same"}},
    {kRedZoneWrite, "K10", "an element in front of a buffer is written", {"memory/red_zones", "stream_buf"}, {"op/rms_norm", "y: a kernel wrote beside"}},
    {kLeakedAllocation, "K11", "one allocation is never given back", {"memory/leaks", "kv_pool_v"}, {"memory/leaks", "forgotten"}},
    {kSteadyStateSync, "K12", "every propose waits for the whole device", {}, {"session/does_not_wait", "waits"}},
    {kSteadyStateAllocation, "K13", "every propose allocates memory", {"memory/steady_state", "allocations"}, {"memory/steady_state", "allocations"}},
};
// clang-format on

}  // namespace

std::span<const MutantInfo> MutantTable() { return kTable; }

}  // namespace draftmark
