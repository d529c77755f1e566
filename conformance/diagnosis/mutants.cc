#include "conformance/diagnosis/mutants.h"

namespace draftmark {

std::string_view VisibilityName(Visibility visibility) {
  switch (visibility) {
    case Visibility::kNamed:
      return "named";
    case Visibility::kLocated:
      return "located";
    case Visibility::kInvisible:
      return "invisible";
  }
  return "";
}

namespace {

using enum Visibility;

// clang-format off
constexpr MutantInfo kMutants[] = {
    {"M1", "block positions from the slot index", kNamed, "where slots and positions differ"},
    {"M2", "taps of rejected rows appended", kLocated, "the extra rows are not in the inputs: fc has rows too many, or attn_out is off; block rows that stay are named"},
    {"M3", "tap layer off by one, taps in another order", kNamed, "the order; another layer's taps are not in the inputs, so that they are located at fc"},
    {"M4", "row 0 used under A, dropped under B", kNamed, ""},
    {"M5", "YaRN applied when null, amplitude dropped", kNamed, "factors 4, 32 and 64 of the published lengths; others are located at k_new"},
    {"M6", "head_dim compiled constant", kNamed, "scale and frequencies of 64 and 128; other strides are located at q_norm"},
    {"M7", "key loop bounded by the query tile", kNamed, "with more rows than the tile of 16, 32 or 64; nothing differs with fewer"},
    {"M8", "stale arguments captured by value", kNamed, "kv_len and positions of the step before"},
    {"M9", "second band reads the first band's data", kNamed, "block table, kv_len, positions, logits or anchor; rows that were never computed are located"},
    {"M10", "convolution crosses bands or blocks, wrong dynamic row", kNamed, ""},
    {"M11", "slot mapping written as i32, read as i64", kLocated, "which rows the slots hit depends on memory: attn_out is off"},
    {"M12", "slot buffer too small", kInvisible, "memory is no stage; `draftmark scratch` says its size. What it overwrites is located"},
    {"M13", "negative slot written", kLocated, "attn_out is off if the row that it hit is read, else nothing differs"},
    {"M14", "window ignored, one-sided or off by one", kNamed, "once the context and the block exceed the window"},
    {"M15", "independent argmax, Viterbi, sides swapped", kNamed, "where the choices differ"},
    {"M16", "Markov prev from the unbiased argmax", kNamed, "where the choices differ"},
    {"M17", "confidence of the previous propose", kNamed, "from step 1 on, where rows repeat the step before"},
    {"M18", "logits left at -1e30", kNamed, ""},
    {"M19", "NaN of padded query rows propagates", kLocated, "the first stage with a NaN is the first stage off"},
    {"M20", "watermark not reset on a window slide", kNamed, "after a slide"},
    {"M21", "graph replayed after a width change", kLocated, "which rows are stale depends on the graph; the first stage of that step is off"},
    {"M22", "norm 1 + w, constant epsilon, SwiGLU clamp", kNamed, "epsilon where activations are small, a clamp where they exceed it"},
    {"M23", "V normed or rotated", kNamed, ""},
    {"M24", "GQA mapping j mod n_kv", kNamed, ""},
    {"M25", "context rows given input_layernorm or a convolution", kNamed, ""},
    {"D3", "two roundings in RMSNorm", kInvisible, "agrees, with alternate rounding; so do D4, D11, D13, D14 and D17"},
    {"D7", "window masks in slot indices on both sides", kInvisible, "distances are the same unless positions have gaps inside the window"},
    {"D18", "confidence threshold with <=, or off by one", kInvisible, "the prefix is cut after draft_tokens, and no stage shows it"},
    {"D19", "block wider than trained", kInvisible, "any runtime width is right; it costs acceptance only"},
};
// clang-format on

}  // namespace

std::span<const MutantInfo> AllMutants() { return kMutants; }

}  // namespace draftmark
