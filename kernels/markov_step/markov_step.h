// The Markov head of DSpark (spec/drafter.md section 6.1): the bias of each row from its previous
// token, added to the row's logits.
//
//   e = w1[previous]                                        exact copy -> embedding
//   vanilla: z = e
//   gated:   z = rne(sigmoid(rne(Wg [y; e] + bg)) * e)
//   rnn:     [g, c, o] = rne(Wj [s; e; y] + bj), s' = rne(sigmoid(g) s + (1 - sigmoid(g)) tanh(c)),
//            z = rne(tanh(o))
//   bias = rne(w2 z),  logits = rne(logits + bias)
//
// A draft calls this once for each step with one row for each band: previous, hidden and logits of
// row i lie i * row_step rows after the first, so that step j of all bands is one launch with
// row_step = width of a band. embedding, bias and state are dense. For the rnn head rows may also be
// `sequences` times several steps, step-major, which run one after the other.
//
// A previous token outside of the vocabulary gives NaN. INVALID_ARGUMENT for sizes, pointers or a
// workspace that cannot be. Common rules of launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_MARKOV_STEP_MARKOV_STEP_H_
#define DRAFTMARK_KERNELS_MARKOV_STEP_MARKOV_STEP_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

enum class MarkovHeadType { kVanilla = 0, kGated = 1, kRnn = 2 };

struct MarkovStepArgs {
  MarkovHeadType type = MarkovHeadType::kVanilla;
  const std::uint32_t* previous = nullptr;    // [rows], row_step apart
  const BFloat16* hidden = nullptr;           // [rows, h], row_step rows apart; gated, rnn
  const BFloat16* w1 = nullptr;               // [v, r]
  const BFloat16* w2 = nullptr;               // [v, r]
  const BFloat16* projection = nullptr;       // gated [r, h + r], rnn [3 r, 2 r + h]
  const BFloat16* projection_bias = nullptr;  // gated [r], rnn [3 r]
  BFloat16* state = nullptr;                  // rnn: [sequences, r]; zero before the first step
  BFloat16* embedding = nullptr;              // [rows, r]
  BFloat16* bias = nullptr;                   // [rows, v]; may be null
  BFloat16* logits = nullptr;                 // [rows, v], row_step rows apart; read and written
  std::int64_t rows = 0;
  std::int64_t v = 0;
  std::int64_t r = 0;
  std::int64_t h = 0;  // gated, rnn
  std::int64_t row_step = 1;
  std::int64_t sequences = 0;  // rnn: divides rows; 0: rows
  void* workspace = nullptr;   // MarkovStepTraits::WorkspaceBytes; gated, rnn
  std::uint64_t workspace_bytes = 0;
};

Status LaunchMarkovStep(const MarkovStepArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_MARKOV_STEP_MARKOV_STEP_H_
