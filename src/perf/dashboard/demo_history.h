// A seeded synthetic history, so that anyone can look at a dashboard without a GPU.
//
//   DM_ASSIGN_OR_RETURN(History history, History::Open("demo.db"));
//   DM_RETURN_IF_ERROR(WriteDemoHistory({.last_night = 1796004000}, history));
//
// Three testbeds with operations and drafts. Nights have noise of 0.4 % (one testbed 1.2 %); some
// cases get slower or faster by 2 to 8 % on some night; in the last night two cases of the first
// testbed are slower and a field of scratch memory has grown by 4,096 bytes; a driver changes on
// the way. Older nights are as retention leaves them, the last ones are whole runs. The same
// options give the same records, byte for byte. Nothing in it was measured.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_DEMO_HISTORY_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_DEMO_HISTORY_H_

#include <cstddef>
#include <cstdint>

#include "src/base/status.h"
#include "src/perf/history/history.h"

namespace draftmark {

struct DemoOptions {
  std::uint64_t seed = 1;
  std::size_t cases = 60;       // with times, on each testbed; at least 8
  std::size_t nights = 120;     // at least 12
  std::int64_t last_night = 0;  // the time of its first run; seconds since 1970
};

// INVALID_ARGUMENT: too few cases or nights, or nights before 1970. Else as History::Add.
Status WriteDemoHistory(const DemoOptions& options, History& history);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_DEMO_HISTORY_H_
