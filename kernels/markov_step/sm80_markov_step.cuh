// The parts of a Markov step around its matrix products.
#ifndef DRAFTMARK_KERNELS_MARKOV_STEP_SM80_MARKOV_STEP_CUH_
#define DRAFTMARK_KERNELS_MARKOV_STEP_SM80_MARKOV_STEP_CUH_

#include <cstdint>

#include "kernels/device/values.cuh"

namespace draftmark::kernels {

// Epilogue of w2 z: two rounding points, the bias and the biased logit.
struct MarkovBiasEpilogue {
  BFloat16* bias = nullptr;    // [rows, v] or null
  BFloat16* logits = nullptr;  // [rows, v], logits_stride apart
  std::int64_t v = 0;
  std::int64_t logits_stride = 0;

  __device__ void operator()(std::int64_t row, std::int64_t output, float sum) const {
    const BFloat16 rounded = Round(sum);
    if (bias != nullptr) bias[row * v + output] = rounded;
    BFloat16& logit = logits[row * logits_stride + output];
    logit = Round(ToFloat(logit) + ToFloat(rounded));
  }
};

// Epilogue of the gated and the rnn head's projection.
struct MarkovProjectionEpilogue {
  const BFloat16* bias = nullptr;
  BFloat16* y = nullptr;
  std::int64_t n = 0;

  __device__ void operator()(std::int64_t row, std::int64_t output, float sum) const {
    y[row * n + output] = Round(sum + ToFloat(bias[output]));
  }
};

// A part of a joined row: `width` elements of each row, `stride` apart.
struct JoinedPart {
  const BFloat16* source = nullptr;
  std::int64_t stride = 0;
  std::int64_t width = 0;
};

// out[row] = [parts 0, 1, 2 of the row], one block for each row. Parts of no width have no source.
__global__ void MarkovJoinKernel(JoinedPart first, JoinedPart second, JoinedPart third,
                                 BFloat16* out) {
  const std::int64_t row = blockIdx.x;
  BFloat16* target = out + row * (first.width + second.width + third.width);
  for (const JoinedPart& part : {first, second, third}) {
    for (std::int64_t i = threadIdx.x; i < part.width; i += blockDim.x) {
      target[i].bits = part.source[row * part.stride + i].bits;
    }
    target += part.width;
  }
}

__device__ __forceinline__ float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// latent = rne(sigmoid(gate) * e), all [rows, r].
__global__ void MarkovGateKernel(const BFloat16* gate, const BFloat16* embedding, BFloat16* latent,
                                 std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) latent[i] = Round(Sigmoid(ToFloat(gate[i])) * ToFloat(embedding[i]));
}

// One step of the recurrence for all sequences: joint [sequences, 3 r] = [g, c, o] -> state, latent.
__global__ void MarkovRecurrenceKernel(const BFloat16* joint, BFloat16* state, BFloat16* latent,
                                       std::int64_t r, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const BFloat16* const own = joint + i / r * 3 * r + i % r;
  const float keep = Sigmoid(ToFloat(own[0]));
  state[i] = Round(keep * ToFloat(state[i]) + (1.0f - keep) * tanhf(ToFloat(own[r])));
  latent[i] = Round(tanhf(ToFloat(own[2 * r])));
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_MARKOV_STEP_SM80_MARKOV_STEP_CUH_
