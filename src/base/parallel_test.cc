#include "src/base/parallel.h"

#include <atomic>
#include <new>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/failing_new.h"

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

// Memory that ends in a thread must not end the process.
TEST(ParallelForTest, WhatAPieceThrowsIsThrownAfterTheOthers) {
  const std::size_t pieces = ParallelPieces(64, 1);
  for (std::size_t bad = 0; bad < pieces; ++bad) {
    std::atomic<std::size_t> done = 0;
    EXPECT_THROW(ParallelFor(64, 1,
                             [&](std::size_t piece, std::size_t begin, std::size_t end) {
                               if (piece == bad) throw std::bad_alloc();
                               done += end - begin;
                             }),
                 std::bad_alloc);
    EXPECT_EQ(done, 64 - 64 / pieces) << bad;
  }
}

// The vector of threads and the state of each.
TEST(ParallelForTest, EveryAllocationMayFail) {
  for (std::int64_t n = 1;; ++n) {
    std::atomic<std::size_t> done = 0;
    const auto count = [&](std::size_t, std::size_t begin, std::size_t end) {
      done += end - begin;
    };
    const std::function<void(std::size_t, std::size_t, std::size_t)> body = count;
    const std::int64_t live = CountHostAllocations().live;
    bool thrown = false;
    FailHostAllocation(n);
    try {
      ParallelFor(64, 1, body);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    const bool failed = StopFailing();
    EXPECT_TRUE(thrown ? done == 0 : done == 64) << n;
    EXPECT_EQ(CountHostAllocations().live, live) << n;
    if (!failed) {
      EXPECT_EQ(thrown, false);
      break;
    }
  }
}

}  // namespace
}  // namespace draftmark
