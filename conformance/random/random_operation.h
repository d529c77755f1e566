// Random cases of the registry's operations: shapes around tiles, primes, one and the largest that
// the declaration lists, on ordinary and on extreme data.
//
//   const OperationCase c = RandomOperation(/*seed=*/7, kMostCpuFlops);
//   c.Id()   // "op/top16/rows=5,v=1025/bf16/ties"; `draftmark verify` takes it
//
// Every case keeps its operation's constraints. Pure functions, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_RANDOM_RANDOM_OPERATION_H_
#define DRAFTMARK_CONFORMANCE_RANDOM_RANDOM_OPERATION_H_

#include <cstdint>
#include <vector>

#include "src/operations/operation.h"

namespace draftmark {

// What an oracle computes in some milliseconds.
inline constexpr double kMostCpuFlops = 4e6;

// `most_flops` bounds its work, and the bytes of its operands to 8 MiB.
OperationCase RandomOperation(std::uint64_t seed, double most_flops);

// Cases with one thing made simpler, the boldest first; each is smaller in some order that ends.
std::vector<OperationCase> SimplerOperations(const OperationCase& c);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_RANDOM_RANDOM_OPERATION_H_
