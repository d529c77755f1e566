// What a process runs before the benchmarks that it reports.
//
//   RunPrelude(kit, cases, {.cache = CacheState::kCold});
//
// Seen on an H200, in every order: the first seven benchmarks of a process are 0.3 us a kernel
// faster than anywhere else in it, also behind half a second of work, so that a small one was 10 %
// faster in a process that began with it. Why is not known. Eight are therefore run in front, with
// our kernels.
#ifndef DRAFTMARK_BENCHMARKS_PRELUDE_H_
#define DRAFTMARK_BENCHMARKS_PRELUDE_H_

#include <cstddef>
#include <span>

#include "benchmarks/launch_plan.h"
#include "benchmarks/replay/replay_kit.h"
#include "src/operations/operation.h"

namespace draftmark {

inline constexpr std::size_t kPrelude = 8;

// The first kPrelude of the cases. What fails here fails again where it is reported.
void RunPrelude(ReplayKit& kit, std::span<const OperationCase> cases, CacheState cache);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_PRELUDE_H_
