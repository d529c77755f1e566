// ParallelFor: a loop whose iterations are independent, over the machine's cores.
//
// Each index is handled by exactly one thread and in no order, so results do not depend on the
// number of threads as long as iterations write to different places. Small loops run on the calling
// thread.
#ifndef DRAFTMARK_SRC_BASE_PARALLEL_H_
#define DRAFTMARK_SRC_BASE_PARALLEL_H_

#include <cstddef>
#include <functional>

namespace draftmark {

// How many pieces ParallelFor makes of a loop: at most one for each core, each at least `grain`
// long.
std::size_t ParallelPieces(std::size_t count, std::size_t grain);

// Calls body(piece, begin, end) for disjoint ranges that cover [0, count), at most ParallelPieces
// of them, numbered from 0. What a `body` throws is thrown here, once all others are done.
void ParallelFor(
    std::size_t count, std::size_t grain,
    const std::function<void(std::size_t piece, std::size_t begin, std::size_t end)>& body);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_PARALLEL_H_
