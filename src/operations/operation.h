// An operation of a drafter's forward, declared once.
//
// A declaration says what a kernel of this operation reads and writes (names, symbolic shapes,
// dtypes), which shapes exist, how close a result must be, what it costs, and how to compute it
// twice: with the reference (src/reference, the definition of right) and with an oracle, a direct
// formula written apart from it. Conformance, golden files, benchmarks, plug-ins and fuzzing are
// loops over the registry (registry.h). The rules are those of spec/drafter.md; each declaration
// names its section.
//
//   op/rms_norm/rows=16,h=4096/bf16        the id of one case: operation, keys in order, dtype
//   op/rms_norm/rows=16,h=4096/bf16/zero   the same on extreme data (data_pattern.h)
//
// Every input of a case is made from its id alone (operands.h), so a case needs no file.
// Declarations are immutable and may be read by several threads; references and oracles are pure.
#ifndef DRAFTMARK_SRC_OPERATIONS_OPERATION_H_
#define DRAFTMARK_SRC_OPERATIONS_OPERATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/backend/draft_session.h"
#include "src/compare/tolerance.h"
#include "src/operations/data_pattern.h"
#include "src/operations/operands.h"
#include "src/operations/shape_expression.h"

namespace draftmark {

// Scalar arguments of a kernel, the same for all cases of an operation. Chosen so that a constant
// in its place is noticed: an epsilon of 1e-5 where many compile in 1e-6.
struct Attribute {
  std::string_view name;
  double value = 0;
};

// What a shape must satisfy. Tested on both sides: every declaration gives a shape that breaks each
// of its constraints.
enum class ShapeConstraint {
  kPositive,            // every other key is at least 1, but for `zero_ok`
  kFlags,               // keys that switch something on are 0 or 1
  kKvHeadsDivideHeads,  // heads mod kv = 0; the ratio need not be a power of two
  kGroupDividesWidth,   // h mod group = 0
  kRotaryEven,          // rotary mod 2 = 0
  kRotaryWithinHead,    // rotary <= d
  kBandDividesRows,     // rows mod band = 0
  kRowsFitPool,         // rows <= 16 * blocks: every row has a slot of its own
  kContextInReach,     // ctx, rows and window are at most 2^24: positions and slots fit their types
  kRoomForCandidates,  // v >= 48: the test data place 16 different candidates
  kKnownHeadType,      // type is 0 (vanilla), 1 (gated) or 2 (rnn)
};
// "kv divides heads".
std::string_view ConstraintText(ShapeConstraint constraint);
bool Holds(ShapeConstraint constraint, const ShapeKeys& keys);

using ShapeValues = std::vector<std::uint64_t>;  // one for each key, in order

struct OperationCase;

// Outputs by operand name, as float64: BF16, F32 and ids are exact in it.
using OperandValues = std::map<std::string, std::vector<double>, std::less<>>;

// An unrounded float64 output and what its error bound needs (src/compare/tolerance.h).
struct OracleTensor {
  std::vector<double> values;
  std::vector<double> magnitudes;  // of each element's terms, summed up; empty where unused
  double largest_value = 0;        // max |v| of an attention
};
using OracleValues = std::map<std::string, OracleTensor, std::less<>>;

struct Operation {
  std::string_view name;
  std::string_view summary;               // one line
  std::string_view rule;                  // section of spec/drafter.md
  std::vector<std::string_view> keys;     // of the case id, in order
  std::vector<std::string_view> flags;    // keys that are 0 or 1
  std::vector<std::string_view> zero_ok;  // other keys that may be 0
  std::vector<OperandSpec> operands;
  std::vector<Attribute> attributes;
  std::vector<Extreme> extremes;  // what extreme data may do (data_pattern.h); empty: nothing
  std::vector<ShapeConstraint> constraints;
  std::vector<std::pair<ShapeConstraint, ShapeValues>> violations;
  // Sizes that follow from the keys, for operand shapes. May be null.
  void (*derive)(ShapeKeys& keys) = nullptr;
  // Writes inputs that the fills of operands.h do not cover. May be null.
  void (*prepare)(const OperationCase& c, OperandSet& operands) = nullptr;
  OperandValues (*reference)(const OperationCase& c, const OperandSet& in,
                             Precision precision) = nullptr;
  OracleValues (*oracle)(const OperationCase& c, const OperandSet& in,
                         Precision precision) = nullptr;
  // What a BF16 implementation with FP32 accumulation may be off by.
  ErrorModel (*tolerance)(const ShapeKeys& keys, std::string_view output) = nullptr;
  double (*flops)(const ShapeKeys& keys) = nullptr;
  // 1, a tile less one, a tile, a tile and one, primes, the largest row of a published drafter.
  std::vector<ShapeValues> boundary;

  double attribute(std::string_view attribute_name) const;          // which must be declared
  const OperandSpec* operand(std::string_view operand_name) const;  // null if there is none
};

// One shape of an operation.
struct OperationCase {
  const Operation* operation = nullptr;
  ShapeKeys keys;
  DataPattern pattern = DataPattern::kUsual;

  std::string Id() const;
  std::uint64_t operator[](std::string_view key) const { return keys[key]; }
};

// INVALID_ARGUMENT that names operation, key or constraint if the shape does not exist.
StatusOr<OperationCase> MakeCase(const Operation& operation, const ShapeValues& values);

// Whether `pattern` changes anything in a case of this operation.
bool TakesPattern(const Operation& operation, DataPattern pattern);

// All operands of a case: inputs filled, outputs poisoned with 0xFF bytes. RESOURCE_EXHAUSTED for a
// case beyond 4 GiB.
StatusOr<OperandSet> MakeOperands(const OperationCase& c);

// One operand of a case: whether it has it, and its extents (those of EvaluateDim are the errors).
bool OperandExists(const OperandSpec& spec, const ShapeKeys& keys);
StatusOr<Shape> OperandShape(const OperandSpec& spec, const ShapeKeys& keys);

// Bytes that must cross the memory bus: every input element that is used read once, every output
// element written once. Of an operand that is read and written in part (`touched`) all counts as
// written: `read` is never more than what must be read.
struct Traffic {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};
StatusOr<Traffic> TrafficOf(const OperationCase& c);
StatusOr<std::uint64_t> TrafficBytes(const OperationCase& c);  // both

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_OPERATIONS_OPERATION_H_
