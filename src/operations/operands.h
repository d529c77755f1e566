// The tensors of one operation case: what they are, how inputs are drawn, and the memory that holds
// them.
//
// Data are counter-based (src/base/counter_hash.h): an element depends on the case id, the
// operand's name and its index, so any one can be made again alone.
#ifndef DRAFTMARK_SRC_OPERATIONS_OPERANDS_H_
#define DRAFTMARK_SRC_OPERATIONS_OPERANDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/check.h"
#include "src/tensor/bfloat16.h"
#include "src/tensor/dtype.h"
#include "src/tensor/tensor_view.h"

namespace draftmark {

enum class OperandRole { kInput, kOutput, kInOut };

// How an operand is filled before a run.
enum class Fill {
  kPoison,      // 0xFF bytes: outputs, and memory that nothing may read
  kActivation,  // about uniform in [-2, 2)
  kRowScaled,   // the same times 2^-(row mod 12): epsilons and small rows matter
  kWeight,      // variance 1 / columns, so that results stay near 1
  kNormWeight,  // about uniform in [0.5, 1.5)
  kLogits,      // about uniform in [-16, 16): BF16's coarse steps there make ties common
  kIds,         // below `limit`
  kPrepared,    // by the operation itself
};

struct OperandSpec {
  std::string_view name;
  OperandRole role = OperandRole::kInput;
  DType dtype = DType::kBF16;
  std::vector<std::string_view> shape;  // expressions over the keys (shape_expression.h)
  Fill fill = Fill::kPoison;
  std::string_view limit = {};    // kIds: an expression
  std::string_view when = {};     // a key or derived size: the operand exists where it is not 0
  std::string_view touched = {};  // elements that must move, where they are not all: an expression
};

struct Operand {
  std::string name;
  DType dtype = DType::kBF16;
  OperandRole role = OperandRole::kInput;
  Shape shape;
  std::vector<std::byte> bytes;

  TensorView view() const { return {dtype, shape, bytes}; }
};

// Owns the operands of one case, in declaration order. Not thread-safe while written.
class OperandSet {
 public:
  void Add(Operand operand) { operands_.push_back(std::move(operand)); }
  const std::vector<Operand>& operands() const { return operands_; }
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  const Operand& Get(std::string_view name) const {
    const Operand* const found = Find(name);
    DM_CHECK(found != nullptr);
    return *found;
  }

  // Elements as T, which must have the width of the operand's dtype. Empty if there is none.
  template <typename T>
  std::span<const T> Elements(std::string_view name) const {
    const Operand* const found = Find(name);
    if (found == nullptr) return {};
    DM_CHECK(DTypeBits(found->dtype) == 8 * sizeof(T));
    return {reinterpret_cast<const T*>(found->bytes.data()), found->bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> MutableElements(std::string_view name) {
    const std::span<const T> elements = Elements<T>(name);
    return {const_cast<T*>(elements.data()), elements.size()};
  }

 private:
  const Operand* Find(std::string_view name) const {
    for (const Operand& operand : operands_) {
      if (operand.name == name) return &operand;
    }
    return nullptr;
  }

  std::vector<Operand> operands_;
};

// Fills `operand` as `fill` says; `limit` is the bound of kIds. `seed` is that of the operand.
void FillOperand(Fill fill, std::uint64_t seed, std::uint64_t limit, Operand& operand);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_OPERATIONS_OPERANDS_H_
