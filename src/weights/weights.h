// The weights of one drafter, loaded from a checkpoint and checked against its config: names,
// shapes and dtypes of spec/drafter.md section 1.1.
//
// Weights stay BF16, mapped from the file where alignment allows; the object keeps the mapping
// alive. Immutable, may be shared by threads.
#ifndef DRAFTMARK_SRC_WEIGHTS_WEIGHTS_H_
#define DRAFTMARK_SRC_WEIGHTS_WEIGHTS_H_

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

namespace draftmark {

// A row-major BF16 matrix (or a vector, as one row). Copies share the storage.
class Bf16Matrix {
 public:
  Bf16Matrix() = default;
  // `view` is BF16; its first of several dimensions are the rows. Copied only if its bytes are not
  // aligned for BFloat16.
  static Bf16Matrix FromView(const TensorView& view);
  // Owns its values.
  Bf16Matrix(std::size_t rows, std::size_t cols, std::vector<BFloat16> values);

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  bool empty() const { return values_.empty(); }
  std::span<const BFloat16> row(std::size_t r) const { return values_.subspan(r * cols_, cols_); }
  std::span<const BFloat16> values() const { return values_; }
  // The same values as a matrix of `rows` rows, which must divide their number.
  Bf16Matrix Reshaped(std::size_t rows) const;

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::span<const BFloat16> values_;
  std::shared_ptr<const std::vector<BFloat16>> owned_;
};

// One site of the dynamic convolution (DFlash2).
struct ConvWeights {
  Bf16Matrix base_kernel;        // [2 * K, h], from [2, K, h]
  Bf16Matrix kernel_projection;  // [2 * K * G_n, h]
};

struct LayerWeights {
  Bf16Matrix input_layernorm, post_attention_layernorm;  // [h]
  Bf16Matrix q_proj, k_proj, v_proj, o_proj;             // [q_dim|kv_dim, h], o: [h, q_dim]
  Bf16Matrix q_bias, k_bias, v_bias, o_bias;             // empty without attention_bias
  Bf16Matrix q_norm, k_norm;                             // [d]
  Bf16Matrix sinks;                                      // [n_q] logits, or empty
  Bf16Matrix gate_proj, up_proj, down_proj;              // [I, h], [I, h], [h, I]
  ConvWeights attention_conv, mlp_conv;                  // DFlash2, else empty
};

struct SelectorWeights {              // DFlash2
  Bf16Matrix predecessor, successor;  // [V, r]
  Bf16Matrix hidden_projection;       // [r, h]
  bool present() const { return !predecessor.empty(); }
};

enum class MarkovType { kVanilla, kGated, kRnn };
struct MarkovWeights {  // DSpark
  MarkovType type = MarkovType::kVanilla;
  Bf16Matrix w1, w2;                  // [V, r_m]
  Bf16Matrix gate_proj, gate_bias;    // gated: [r_m, h + r_m], [r_m]
  Bf16Matrix joint_proj, joint_bias;  // rnn: [3 r_m, 2 r_m + h], [3 r_m]
  bool present() const { return !w1.empty(); }
};

struct ConfidenceWeights {  // DSpark
  Bf16Matrix proj;          // [1, h (+ r_m)], hidden columns first
  Bf16Matrix bias;          // [1]
  bool present() const { return !proj.empty(); }
};

struct DrafterWeights {
  Bf16Matrix fc;                 // [h, L_t * h_t]
  Bf16Matrix hidden_norm, norm;  // [h]
  std::vector<LayerWeights> layers;
  Bf16Matrix embed, lm_head;  // [V, h], the target's
  Bf16Matrix mask_embedding;  // [h], or empty: then mask rows read embed[mask_token_id]
  SelectorWeights selector;
  MarkovWeights markov;
  ConfidenceWeights confidence;
  // Keeps the mapped bytes alive.
  std::shared_ptr<const Checkpoint> checkpoint;
};

// Heads follow the NULL rules of spec/dflash_scratch.md section 1: a head whose tensors are absent
// is off, one that is there in part is an error, and so are a head (or a type of Markov head) that
// the config does not announce and convolutions without the selector they come with. Names may carry
// the prefix "model.". With tied embeddings a missing lm_head is the embedding. Errors name the file
// and the tensor, with the shape expected and found.
StatusOr<DrafterWeights> LoadDrafterWeights(const DrafterConfig& config,
                                            std::shared_ptr<const Checkpoint> checkpoint);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_WEIGHTS_WEIGHTS_H_
