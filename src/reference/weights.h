// The weights of one drafter, loaded from a checkpoint and checked against its config: names,
// shapes and dtypes of spec/drafter.md section 1.1.
//
// Weights stay BF16, mapped from the file where alignment allows; the object keeps the mapping
// alive. Immutable, may be shared by threads.
#ifndef DRAFTMARK_SRC_REFERENCE_WEIGHTS_H_
#define DRAFTMARK_SRC_REFERENCE_WEIGHTS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/tensor/bfloat16.h"
#include "src/tensor/safetensors.h"

namespace draftmark::reference {

// A row-major BF16 matrix (or a vector, as one row). Copies share the storage.
class Bf16Matrix {
 public:
  Bf16Matrix() = default;
  // `view` is BF16 of one or two dimensions; copied only if its bytes are not aligned for BFloat16.
  static Bf16Matrix FromView(const TensorView& view);
  // Owns its values.
  Bf16Matrix(std::size_t rows, std::size_t cols, std::vector<BFloat16> values);

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  bool empty() const { return values_.empty(); }
  std::span<const BFloat16> row(std::size_t r) const { return values_.subspan(r * cols_, cols_); }
  std::span<const BFloat16> values() const { return values_; }

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::span<const BFloat16> values_;
  std::shared_ptr<const std::vector<BFloat16>> owned_;
};

struct LayerWeights {
  Bf16Matrix input_layernorm, post_attention_layernorm;  // [h]
  Bf16Matrix q_proj, k_proj, v_proj, o_proj;             // [q_dim|kv_dim, h], o: [h, q_dim]
  Bf16Matrix q_bias, k_bias, v_bias, o_bias;             // empty without attention_bias
  Bf16Matrix q_norm, k_norm;                             // [d]
  Bf16Matrix gate_proj, up_proj, down_proj;              // [I, h], [I, h], [h, I]
};

struct DrafterWeights {
  Bf16Matrix fc;                 // [h, L_t * h_t]
  Bf16Matrix hidden_norm, norm;  // [h]
  std::vector<LayerWeights> layers;
  Bf16Matrix embed, lm_head;  // [V, h], the target's
  // Keeps the mapped bytes alive.
  std::shared_ptr<const Checkpoint> checkpoint;
};

// Names may carry the prefix "model.". With tied embeddings a missing lm_head is the embedding.
// Errors name the file and the tensor, with the shape expected and found.
StatusOr<DrafterWeights> LoadDrafterWeights(const DrafterConfig& config,
                                            std::shared_ptr<const Checkpoint> checkpoint);

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_WEIGHTS_H_
