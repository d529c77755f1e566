#include "src/base/parallel.h"

#include <vector>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

TEST(ParallelForTest, CoversEveryIndexOnce) {
  for (const std::size_t count : {0u, 1u, 2u, 3u, 16u, 17u, 1000u}) {
    for (const std::size_t grain : {0u, 1u, 7u, 5000u}) {
      std::vector<int> hits(count, 0);
      ParallelFor(count, grain, [&](std::size_t piece, std::size_t begin, std::size_t end) {
        EXPECT_LT(piece, ParallelPieces(count, grain));
        for (std::size_t i = begin; i < end; ++i) ++hits[i];
      });
      EXPECT_EQ(hits, std::vector<int>(count, 1)) << count << " " << grain;
    }
  }
}

}  // namespace
}  // namespace draftmark
