// The weights of one drafter on the GPU (spec/drafter.md section 1.1): plain device pointers under
// the names of src/weights, and their owner.
//
//   DM_ASSIGN_OR_RETURN(const auto weights, DraftWeights::Upload(config, host, allocator, stream));
//   weights->get().layers[0].q_proj   // BF16 [q_dim, h], row-major
//
// One allocation for each tensor, tagged "weights/NAME" with the checkpoint's name; the q, k and v
// projections of all layers lie together in "weights/fused_qkv" [L, q_dim + 2 * kv_dim, h] (Q_0, K_0, V_0,
// Q_1, ...), which the layers' q_proj, k_proj and v_proj are views of: a block's rows take a layer's as one
// matrix, the context's rows K and V of all layers. Biases of k and v lie in "weights/fused_kv_bias".
// bytes() is exact: two for each parameter, a tied LM head counted once. Immutable once they are there:
// sessions may share them, in several threads too.
#ifndef DRAFTMARK_KERNELS_DRAFT_DRAFT_WEIGHTS_H_
#define DRAFTMARK_KERNELS_DRAFT_DRAFT_WEIGHTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cases/generated_data.h"
#include "src/config/drafter_config.h"
#include "src/cuda/device_buffer.h"
#include "src/scratch/allocator.h"
#include "src/scratch/dflash_geometry.h"
#include "src/tensor/bfloat16.h"
#include "src/weights/weights.h"

namespace draftmark::kernels {

// Row-major BF16 matrix or vector on the device; shapes follow from the config. Null: absent.
using DeviceMatrix = const BFloat16*;

struct DeviceConv {
  DeviceMatrix base_kernel = nullptr;        // [2, K, h]
  DeviceMatrix kernel_projection = nullptr;  // [2 * K * G_n, h]
};

struct DeviceLayer {
  DeviceMatrix input_layernorm = nullptr, post_attention_layernorm = nullptr;
  DeviceMatrix q_proj = nullptr, k_proj = nullptr, v_proj = nullptr, o_proj = nullptr;
  DeviceMatrix q_bias = nullptr, k_bias = nullptr, v_bias = nullptr, o_bias = nullptr;
  DeviceMatrix q_norm = nullptr, k_norm = nullptr;
  DeviceMatrix sinks = nullptr;
  DeviceMatrix gate_proj = nullptr, up_proj = nullptr, down_proj = nullptr;
  DeviceConv attention_conv, mlp_conv;
};

struct DeviceSelector {
  DeviceMatrix predecessor = nullptr, successor = nullptr, hidden_projection = nullptr;
};

struct DeviceMarkov {
  MarkovType type = MarkovType::kVanilla;
  DeviceMatrix w1 = nullptr, w2 = nullptr;
  DeviceMatrix gate_proj = nullptr, gate_bias = nullptr;
  DeviceMatrix joint_proj = nullptr, joint_bias = nullptr;
};

struct DeviceConfidence {
  DeviceMatrix proj = nullptr, bias = nullptr;
};

struct DeviceWeights {
  DeviceMatrix fc = nullptr, hidden_norm = nullptr, norm = nullptr;
  std::vector<DeviceLayer> layers;
  DeviceMatrix fused_kv = nullptr;       // of each layer [2 * kv_dim, h]
  std::int64_t fused_kv_step = 0;        // elements from one layer's to the next
  DeviceMatrix fused_kv_bias = nullptr;  // [L * 2 * kv_dim], with attention_bias
  DeviceMatrix embed = nullptr, lm_head = nullptr, mask_embedding = nullptr;
  DeviceSelector selector;
  DeviceMarkov markov;
  DeviceConfidence confidence;
};

// Where tensors come from, by their names in a checkpoint.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // 0 if there is no such tensor.
  virtual std::uint64_t Elements(const std::string& name) const = 0;
  // Writes the tensor's elements to device memory, in the stream's order. What it reads must live
  // until the stream was waited for.
  virtual Status Fill(const std::string& name, BFloat16* target, cudaStream_t stream) const = 0;
};

class DraftWeights {
 public:
  // Both wait for the stream. Errors: RESOURCE_EXHAUSTED where host memory ends; those of the
  // allocator, with the tensor's name; INVALID_ARGUMENT if a tensor is missing or has not the size that
  // the config says. The allocator must outlive the object.
  static StatusOr<std::shared_ptr<const DraftWeights>> Upload(const DrafterConfig& config,
                                                              const DrafterWeights& weights,
                                                              Allocator& allocator,
                                                              cudaStream_t stream);
  // The weights of a generated case, computed on the device: the same bits as GenerateCheckpoint's.
  static StatusOr<std::shared_ptr<const DraftWeights>> Generate(const DrafterConfig& config,
                                                                const DataGenerator& generator,
                                                                Allocator& allocator,
                                                                cudaStream_t stream);

  const DeviceWeights& get() const { return weights_; }
  std::uint64_t bytes() const { return bytes_; }
  // Which heads there are, for the scratch.
  const DrafterTensorsPresent& present() const { return present_; }

 private:
  class Builder;

  DeviceWeights weights_;
  DrafterTensorsPresent present_;
  std::uint64_t bytes_ = 0;
  std::vector<DeviceBuffer> memory_;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_DRAFT_WEIGHTS_H_
