// Makes one allocation of host memory fail: for tests. A program that links it has an operator new of its own.
//
//   const HostAllocations before = CountHostAllocations();
//   FailHostAllocation(7);          // the 7th operator new from now on, of whatever thread, throws std::bad_alloc
//   const Status status = Work();
//   const bool failed = StopFailing();   // false: Work made fewer
//   EXPECT_EQ(CountHostAllocations().live, before.live);
//
// Only one fails; the next is good again. Thread-safe.
#ifndef DRAFTMARK_SRC_BASE_FAILING_NEW_H_
#define DRAFTMARK_SRC_BASE_FAILING_NEW_H_

#include <cstdint>

namespace draftmark {

struct HostAllocations {
  std::int64_t live = 0;  // operator new without its delete
  std::int64_t made = 0;
};
HostAllocations CountHostAllocations();

// Counted from 1.
void FailHostAllocation(std::int64_t number);
// No allocation fails any more. True if one has since FailHostAllocation.
bool StopFailing();

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_FAILING_NEW_H_
