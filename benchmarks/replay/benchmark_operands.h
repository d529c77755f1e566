// The operands of a case for a benchmark: those of MakeOperands, but made in milliseconds where they
// are large.
//
//   DM_ASSIGN_OR_RETURN(const BenchmarkOperands made, MakeBenchmarkOperands(c));
//   made.exact           // true: bit for bit MakeOperands, so that the result can be judged
//   made.operands        // an operand's bytes may be a part that repeats to the end of its shape
//
// Long random operands repeat a pattern of kPatternElements of them, a prime number, so that rows are
// not alike; times do not depend on it. Pure.
#ifndef DRAFTMARK_BENCHMARKS_REPLAY_BENCHMARK_OPERANDS_H_
#define DRAFTMARK_BENCHMARKS_REPLAY_BENCHMARK_OPERANDS_H_

#include <cstdint>

#include "src/base/status.h"
#include "src/operations/operation.h"

namespace draftmark {

inline constexpr std::uint64_t kPatternElements = 262139;

// Operands of operations that prepare theirs on the host are whole there up to this size.
inline constexpr std::uint64_t kLargestPreparedBytes = std::uint64_t{192} << 20;

struct BenchmarkOperands {
  OperandSet operands;
  bool exact = true;
};

// INVALID_ARGUMENT and OUT_OF_RANGE for shapes that do not exist.
StatusOr<BenchmarkOperands> MakeBenchmarkOperands(const OperationCase& c);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_REPLAY_BENCHMARK_OPERANDS_H_
