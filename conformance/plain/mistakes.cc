#include "conformance/plain/mistakes.h"

#include <algorithm>

#include "src/base/check.h"

namespace draftmark::plain {
namespace {

using S = const Situation&;

bool Always(S) { return true; }
bool Conv(S s) { return s.config.conv_kernel_size > 0; }
bool Selector(S s) { return s.weights.selector.present(); }
bool Markov(S s) { return s.weights.markov.present() && !Selector(s); }
bool Confidence(S s) { return s.weights.confidence.present() && !Selector(s); }
bool InPlace(S s) { return s.config.row_convention == RowConvention::kInPlace; }
bool AnchorFirst(S s) { return !InPlace(s); }
bool Yarn(S s) { return s.config.rope.type == "yarn"; }
bool NoYarn(S s) { return !Yarn(s); }
bool SeveralBands(S s) { return s.bands.size() > 1; }
bool Partial(S s) { return s.config.rope.partial_rotary_factor != 1; }
bool Grouped(S s) {
  return s.config.num_key_value_heads > 1 &&
         s.config.num_attention_heads > s.config.num_key_value_heads;
}
bool SeveralTaps(S s) { return s.config.target_layer_ids.size() > 1; }
bool Softcap(S s) { return s.config.final_logit_softcapping.value_or(0) > 0; }
bool SeveralSteps(S s) {
  return std::any_of(s.bands.begin(), s.bands.end(),
                     [](const auto& steps) { return steps.size() > 1; });
}

bool AnyStep(S s, bool (*wanted)(const CaseStep&)) {
  return std::any_of(s.bands.begin(), s.bands.end(), [&](const auto& steps) {
    return std::any_of(steps.begin(), steps.end(), wanted);
  });
}
bool Slides(S s) {
  return AnyStep(s, [](const CaseStep& step) { return step.drop_front_rows > 0; });
}
template <std::size_t kRows>
bool LongerThan(S s) {
  return AnyStep(s, [](const CaseStep& step) { return step.block_tokens.size() > kRows; });
}

bool AnyLayer(S s, LayerType type, bool causal) {
  for (std::size_t l = 0; l < s.config.layer_types.size(); ++l) {
    if (s.config.layer_types[l] == type && s.config.layer_causal[l] == causal) return true;
  }
  return false;
}
bool SlidingTwoSided(S s) { return AnyLayer(s, LayerType::kSlidingAttention, false); }
bool SlidingCausal(S s) { return AnyLayer(s, LayerType::kSlidingAttention, true); }
bool FullCausal(S s) { return AnyLayer(s, LayerType::kFullAttention, true); }
bool NotCausal(S s) { return SlidingTwoSided(s) || AnyLayer(s, LayerType::kFullAttention, false); }
bool Sliding(S s) { return SlidingTwoSided(s) || SlidingCausal(s); }

template <int kWidth>
bool OtherWidth(S s) {
  return s.config.head_dim != kWidth;
}

using enum Mistake;

// Grouped as the enum is; lines are kept whole so that the table reads as one.
// clang-format off
constexpr MistakeInfo kMistakes[] = {
    {kTapsReversed, "taps-reversed", "M3", "the target's taps are concatenated in reverse order", "concatenate in the order of target_layer_ids", "fc", SeveralTaps},
    {kTapsRotated, "taps-rotated", "M3", "the taps are concatenated with the last one first", "concatenate in the order of target_layer_ids", "fc", SeveralTaps},
    {kHiddenNormMissing, "hidden-norm-missing", "3.2", "context rows skip hidden_norm", "apply hidden_norm after fc", "hidden_norm", Always},
    {kContextInputNorm, "context-input-norm", "M25", "context rows pass each layer's input_layernorm", "give k_proj and v_proj the output of hidden_norm as it is", "k_norm", Always},
    {kContextConv, "context-conv", "M25", "context rows pass the attention convolution", "context K and V pass no convolution", "k_norm", Conv},
    {kKvSwapped, "kv-swapped", "3.4", "K and V of the context are swapped in the fused projection", "row blocks are K_0, V_0, K_1, V_1, ...", "k_norm", Always},
    {kKvGrouped, "kv-grouped", "3.4", "the fused projection is split as all K, then all V", "row blocks are K_0, V_0, K_1, V_1, ...", "k_norm", [](S s) { return s.config.num_hidden_layers > 1; }},
    {kContextPositionHigh, "context-position-high", "4.2", "context rows rotate with one position too many", "a context row rotates with its own absolute position", "k_new", Always},
    {kContextPositionLow, "context-position-low", "4.2", "context rows rotate with one position too few", "a context row rotates with its own absolute position", "k_new", Always},
    {kContextPositionFromSlot, "context-position-from-slot", "D7", "context rows rotate with their slot index", "the position is absolute, stamped once at append", "k_new; nothing while slots and positions coincide", Always},
    {kContextUnrotated, "context-unrotated", "3.6", "context keys are cached before RoPE and never rotated", "rotate context keys before the cache write", "k_new", Always},
    {kSlideNotRewritten, "slide-not-rewritten", "M20", "after a window slide the cache keeps its first rows instead of its last", "set the watermark to 0 and rewrite the rows", "attn_out after a slide", Slides},
    {kStaleBlockRows, "stale-block-rows", "3.9", "the block's own keys stay visible after their step", "kv_len is C + gamma; the next propose overwrites them", "attn_out of step 1", SeveralSteps},

    {kEmbedScaleMissing, "embed-scale-missing", "2", "input_embedding_scale is not applied", "multiply embeddings by input_embedding_scale", "post_attention_layernorm; the first norm hides it", [](S s) { return s.config.input_embedding_scale != 1; }},
    {kMaskEmbeddingIgnored, "mask-embedding-ignored", "D20", "mask rows read embed[mask id] although a mask embedding is shipped", "mask rows read the shipped vector", "input_layernorm", [](S s) { return !s.weights.mask_embedding.empty(); }},
    {kAnchorAsMask, "anchor-as-mask", "2", "row 0 is embedded as a mask", "row 0 is the anchor token", "input_layernorm", Always},

    {kNormPlusOne, "norm-plus-one", "M22", "norms multiply by 1 + w", "multiply by w", "hidden_norm", Always},
    {kEpsilon1e6, "epsilon-1e-6", "M22", "epsilon is the constant 1e-6", "read rms_norm_eps", "hidden_norm; nothing where activations are large", [](S s) { return s.config.rms_norm_eps != 1e-6; }},
    {kEpsilon1e5, "epsilon-1e-5", "M22", "epsilon is the constant 1e-5", "read rms_norm_eps", "hidden_norm; nothing where activations are large", [](S s) { return s.config.rms_norm_eps != 1e-5; }},
    {kQkNormMissing, "qk-norm-missing", "4", "q and k are not normed", "norm q and k per head", "q_norm", Always},
    {kQkNormNoWeight, "qk-norm-no-weight", "4", "q and k are normed without their weights", "multiply by q_norm and k_norm", "q_norm", Always},
    {kQkNormAfterRope, "qk-norm-after-rope", "4.1", "q and k are normed after RoPE", "norm first, then rotate", "q_norm", Always},
    {kFinalNormMissing, "final-norm-missing", "5", "the last norm is skipped", "apply norm before the LM head", "norm", Always},
    {kResidualAfterNorm, "residual-after-norm", "4", "the residual is taken after the norm", "add to the stream from before the norm", "post_attention_layernorm", Always},

    {kRopeInterleaved, "rope-interleaved", "4.3", "RoPE turns pairs (2i, 2i+1)", "pairs are (i, i + d_r/2)", "k_new", Always},
    {kRopeOtherPairing, "rope-other-pairing", "D6", "partial RoPE uses the other pairing", "half_of_rotary and half_of_head differ when d_r < d; see the config", "k_new", Partial},
    {kRopeFullWidth, "rope-full-width", "4.3", "partial_rotary_factor is ignored", "rotate d_r elements only", "k_new", Partial},
    {kRopeBackwards, "rope-backwards", "4.3", "RoPE turns the other way", "y_i = x_i cos - x_p sin", "k_new; scores stay as they are", Always},
    {kRopeTheta1e4, "rope-theta-1e4", "1.1", "rope_theta is the default 1e4", "read rope_theta", "k_new", [](S s) { return s.config.rope.theta != 1e4; }},
    {kRopeTheta1e6, "rope-theta-1e6", "1.1", "rope_theta is the default 1e6", "read rope_theta", "k_new", [](S s) { return s.config.rope.theta != 1e6; }},
    {kRopeWidth64, "rope-width-64", "M6", "RoPE frequencies are made for a head of 64", "use the runtime head_dim", "k_new", OtherWidth<64>},
    {kRopeWidth128, "rope-width-128", "M6", "RoPE frequencies are made for a head of 128", "use the runtime head_dim", "k_new", OtherWidth<128>},
    {kRopeBf16Frequencies, "rope-bf16-frequencies", "D4", "RoPE frequencies were cast to BF16 with the model", "keep the frequency table in FP32", "k_new", Always},
    {kYarnIgnored, "yarn-ignored", "M5", "YaRN is ignored", "apply rope_scaling", "k_new", Yarn},
    {kYarnNoAmplitude, "yarn-no-amplitude", "M5", "YaRN without its amplitude", "multiply cos and sin by the amplitude", "k_new; nothing where the amplitude is 1", Yarn},
    {kYarnPlainAmplitude, "yarn-plain-amplitude", "M5", "YaRN's amplitude is 1 + 0.1 ln s whatever the config says", "attention_factor wins, then the mscale ratio", "k_new; nothing where the rule gives the same", Yarn},
    {kYarn4Of32768, "yarn-4-of-32768", "M5", "YaRN (factor 4 of 32768) although rope_scaling is null", "plain RoPE", "k_new", NoYarn},
    {kYarn32Of4096, "yarn-32-of-4096", "M5", "YaRN (factor 32 of 4096) although rope_scaling is null", "plain RoPE", "k_new", NoYarn},
    {kYarn64Of4096, "yarn-64-of-4096", "M5", "YaRN (factor 64 of 4096) although rope_scaling is null", "plain RoPE", "k_new", NoYarn},
    {kBlockPositionFromSlot, "block-position-from-slot", "M1", "block rows rotate with C + j, their slot index", "position p0 + j", "k_new; nothing while slots and positions coincide", Always},
    {kBlockPositionHigh, "block-position-high", "4.2", "block rows rotate with p0 + j + 1", "position p0 + j", "k_new", Always},
    {kBlockPositionLow, "block-position-low", "4.2", "block rows rotate with p0 + j - 1", "position p0 + j", "k_new", Always},
    {kBlockPositionStale, "block-position-stale", "M8", "block rows rotate with the previous step's p0", "write positions before every launch", "k_new of step 1", SeveralSteps},
    {kQueryUnrotated, "query-unrotated", "4", "queries are not rotated", "rotate q with p0 + j", "attn_out", Always},

    {kScaleMissing, "scale-missing", "4.4", "scores are not scaled", "multiply by d^-1/2", "attn_out", Always},
    {kScaleByWidth, "scale-by-width", "4.4", "scores are divided by d", "multiply by d^-1/2", "attn_out", Always},
    {kScaleOf64, "scale-of-64", "M6", "scores are scaled for a head of 64", "use the runtime head_dim", "attn_out", OtherWidth<64>},
    {kScaleOf128, "scale-of-128", "M6", "scores are scaled for a head of 128", "use the runtime head_dim", "attn_out", OtherWidth<128>},
    {kCausalEverywhere, "causal-everywhere", "D8", "every layer is causal", "resolve causality per layer: is_causal, then causal iff sliding", "attn_out", NotCausal},
    {kSlidingCausal, "sliding-causal", "M14", "sliding layers look back only (one-sided)", "two-sided: |p_j - p_m| < W", "attn_out", SlidingTwoSided},
    {kSlidingNotCausal, "sliding-not-causal", "M14", "causal sliding layers look both ways", "0 <= p_j - p_m < W", "attn_out", SlidingCausal},
    {kFullNotCausal, "full-not-causal", "D8", "causal full layers see later rows", "p_m <= p_j", "attn_out", FullCausal},
    {kWindowIgnored, "window-ignored", "M14", "sliding layers see the whole context", "apply sliding_window", "attn_out once C + gamma > W", Sliding},
    {kWindowOneMore, "window-one-more", "M14", "the window is <= W", "the distance is below W", "attn_out once C + gamma > W", Sliding},
    {kWindowOneLess, "window-one-less", "M14", "the window is < W - 1", "the distance is below W", "attn_out once C + gamma > W", Sliding},
    {kMaskBySlot, "mask-by-slot", "D10", "the window compares p0 + j with slot indices", "compare RoPE positions", "attn_out; nothing while slots and positions coincide", Sliding},
    {kSinksIgnored, "sinks-ignored", "4.4", "attention sinks are ignored", "add exp(sink) to the denominator", "attn_out", [](S s) { return !s.weights.layers.front().sinks.empty(); }},
    {kBiasDropped, "bias-dropped", "1.1", "attention biases are not added", "attention_bias is true: add them to q, k, v and o", "q_norm", [](S s) { return s.config.attention_bias; }},
    {kGqaModulo, "gqa-modulo", "M24", "query head j reads KV head j mod n_kv", "query head j reads KV head j / (n_q / n_kv)", "attn_out", Grouped},
    {kValueNormed, "value-normed", "M23", "V is normed like K", "V passes no norm", "v_new", Always},
    {kValueRotated, "value-rotated", "M23", "V is rotated like K", "V passes no RoPE", "v_new", Always},
    {kKeyLoopTile16, "key-loop-tile-16", "M7", "the key loop ends with the query tile of 16 rows", "non-causal rows see every key below kv_len", "attn_out; nothing up to 16 rows", LongerThan<16>},
    {kKeyLoopTile32, "key-loop-tile-32", "M7", "the key loop ends with the query tile of 32 rows", "non-causal rows see every key below kv_len", "attn_out; nothing up to 32 rows", LongerThan<32>},
    {kKeyLoopTile64, "key-loop-tile-64", "M7", "the key loop ends with the query tile of 64 rows", "non-causal rows see every key below kv_len", "attn_out; nothing up to 64 rows", LongerThan<64>},
    {kStaleKvLength, "stale-kv-length", "M8", "attention uses the previous step's kv_len", "read kv_len from device memory at every launch", "attn_out of step 1", SeveralSteps},
    {kBandZeroContext, "band-zero-context", "M9", "every band reads the first band's block table", "each band has its own block table", "attn_out of band 1", SeveralBands},
    {kBandZeroArguments, "band-zero-arguments", "M9", "every band uses the first band's kv_len", "band b reads record 12 b", "attn_out of band 1, where its context is longer", SeveralBands},
    {kBandZeroPositions, "band-zero-positions", "M9", "every band rotates with the first band's p0", "positions are per band", "k_new of band 1", SeveralBands},
    {kBandZeroLogits, "band-zero-logits", "M9", "every band reads the first band's logits", "the LM head runs over nb * gamma rows", "logits of band 1", SeveralBands},
    {kBandZeroAnchor, "band-zero-anchor", "M9", "heads of every band start from the first band's anchor", "tok[b * gamma] is the band's anchor", "markov.logits or selector.scores of band 1", [](S s) { return SeveralBands(s) && (Markov(s) || Selector(s)); }},

    {kGateUpSwapped, "gate-up-swapped", "4.6", "gate and up are swapped", "silu acts on gate", "mlp", Always},
    {kSwigluClamp10, "swiglu-clamp-10", "M22", "gate and up are clamped to 10", "no clamp", "mlp; nothing below the clamp", Always},
    {kSwigluClamp7, "swiglu-clamp-7", "M22", "gate and up are clamped to 7", "no clamp", "mlp; nothing below the clamp", Always},
    {kGelu, "gelu", "4.6", "the MLP uses GELU", "g * sigmoid(g)", "mlp", Always},

    {kConvCrossesBands, "conv-crosses-bands", "M10", "row 0 of a band reads the last row of the band before", "taps before row 0 read zero in every band", "attention_conv.prepare of band 1", [](S s) { return Conv(s) && SeveralBands(s); }},
    {kConvCrossesBlocks, "conv-crosses-blocks", "M10", "row 0 reads the last row of the previous block", "no state is kept across blocks", "attention_conv.prepare of step 1", [](S s) { return Conv(s) && SeveralSteps(s); }},
    {kConvDynamicOfSource, "conv-dynamic-of-source", "M10", "a tap uses the coefficients of row t - o", "row t's coefficients multiply v[t - o]", "attention_conv.prepare", Conv},
    {kConvSidesSwapped, "conv-sides-swapped", "M15", "the two sides of the coefficients are swapped", "side 0 prepares, side 1 finishes", "attention_conv.prepare", Conv},
    {kConvOtherDynamic, "conv-other-dynamic", "7.1", "the MLP's finish uses the attention site's coefficients", "each site keeps its own until its finish", "mlp_conv.finish", Conv},
    {kConvTapsReversed, "conv-taps-reversed", "7.1", "the taps are applied in reverse", "tap o multiplies v[t - o]", "attention_conv.prepare", Conv},
    {kConvNoDynamic, "conv-no-dynamic", "7.1", "the dynamic coefficients are not added", "coefficient = base + dynamic", "attention_conv.prepare", Conv},

    {kMultiplierMissing, "multiplier-missing", "5", "output_multiplier is not applied", "multiply the accumulator", "logits", [](S s) { return s.config.output_multiplier != 1; }},
    {kSoftcapMissing, "softcap-missing", "5", "final_logit_softcapping is not applied", "c tanh(z / c)", "logits", Softcap},
    {kSoftcapFirst, "softcap-first", "5", "the softcap comes before the multiplier", "multiplier, then softcap", "logits", [](S s) { return Softcap(s) && s.config.output_multiplier != 1; }},
    {kRowZeroUsed, "row-zero-used", "M4", "drafts are rows 0 .. gamma-2 under convention A", "drafts are rows 1 .. gamma-1", "draft_tokens", InPlace},
    {kRowZeroDropped, "row-zero-dropped", "M4", "row 0 is dropped under convention B (gamma-1 drafts)", "drafts are rows 0 .. gamma-1", "draft_tokens", AnchorFirst},
    {kRowsRotated, "rows-rotated", "D1", "the rows are rotated right under B, so the last draft is lost", "drafts are rows 0 .. gamma-1", "draft_tokens", AnchorFirst},
    {kTieLastId, "tie-last-id", "D12", "ties of the argmax go to the highest id", "the lowest id wins", "draft_tokens; nothing without ties", [](S s) { return !Selector(s); }},
    {kTieModulo1024, "tie-modulo-1024", "D12", "ties of the argmax go to the smallest id mod 1024", "the lowest id wins", "draft_tokens; nothing without ties", [](S s) { return !Selector(s) && s.config.vocab_size > 1024; }},
    {kLogitsAfterTopK, "logits-after-top-k", "M18", "logits are read after the destructive top-k overwrote its candidates", "read the logits before the selector runs", "logits", Selector},
    {kLogitsStaleTopK, "logits-stale-top-k", "M18", "entries that the previous top-k overwrote stay at -1e30", "the LM head writes every logit", "logits of step 1", [](S s) { return Selector(s) && SeveralSteps(s); }},

    {kMarkovMissing, "markov-missing", "6.1", "the Markov bias is not added", "add w2 . w1[prev] to every draft row", "markov.logits", Markov},
    {kMarkovRowZeroExempt, "markov-row-zero-exempt", "D15", "the first draft row gets no Markov bias", "it is biased with prev = anchor", "markov.logits", Markov},
    {kMarkovPrevUnbiased, "markov-prev-unbiased", "M16", "prev is the argmax of the logits before the bias", "prev is the token that was chosen", "markov.logits; nothing where both agree", Markov},
    {kMarkovPrevRowZero, "markov-prev-row-zero", "D16", "the first draft's prev is the argmax of row 0", "it is the anchor", "markov.logits", [](S s) { return Markov(s) && InPlace(s); }},
    {kMarkovPrevAnchor, "markov-prev-anchor", "6.1", "prev is the anchor for every row", "prev is the token chosen before", "markov.logits", Markov},
    {kMarkovSwapped, "markov-swapped", "6.1", "w1 and w2 are swapped", "gather from w1, project with w2", "markov.logits", Markov},
    {kRnnStateLost, "rnn-state-lost", "6.1", "the recurrent head's state is not carried from row to row", "s_j feeds row j + 1", "markov.logits", [](S s) { return Markov(s) && s.weights.markov.type == MarkovType::kRnn; }},
    {kConfidenceNoMarkov, "confidence-no-markov", "6.2", "the confidence head leaves out its Markov features", "feature = [y; e]", "confidence_logits", [](S s) { return Confidence(s) && s.config.confidence_head_with_markov; }},
    {kConfidenceOrder, "confidence-order", "6.2", "the confidence feature is [e; y]", "hidden columns first: [y; e]", "confidence_logits", [](S s) { return Confidence(s) && s.config.confidence_head_with_markov; }},
    {kConfidenceStale, "confidence-stale", "M17", "rows keep the previous propose's confidence", "a row's value is valid only if its Markov step ran", "confidence_logits of step 1", [](S s) { return Confidence(s) && SeveralSteps(s); }},
    {kSelectorIndependent, "selector-independent", "M15", "tokens are the argmax of each row's logits", "walk: s = U + g . successor, prev = last choice", "draft_tokens", Selector},
    {kSelectorViterbi, "selector-viterbi", "M15", "tokens are the best path over all rows (Viterbi)", "greedy, left to right", "draft_tokens; nothing where both agree", Selector},
    {kSelectorSwapped, "selector-swapped", "7.2", "the codebooks are swapped", "predecessor[prev], successor[candidate]", "selector.scores", Selector},
    {kSelectorPrevAnchor, "selector-prev-anchor", "7.2", "prev is the anchor for every row", "prev is the token chosen before", "selector.scores", Selector},
};
// clang-format on

}  // namespace

std::span<const MistakeInfo> AllMistakes() { return kMistakes; }

const MistakeInfo& InfoOf(Mistake mistake) {
  const auto index = static_cast<std::size_t>(mistake);
  DM_CHECK(index < std::size(kMistakes) && kMistakes[index].mistake == mistake);
  return kMistakes[index];
}

}  // namespace draftmark::plain
