// Exact counts that need no history: what the scratch systems of this build take, against what is
// recorded in the checkout. So the page shows a grown field before any night has measured it.
//
//   DM_RETURN_IF_ERROR(AddBuildCounts("golden/configs", "benchmarks/recorded/counts.json", data));
//
// They take the place of counts of the same cases in the history. Of recorded cases on GPUs only
// the recorded values are known, and those are in the history too.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DASHBOARD_BUILD_COUNTS_H_
#define DRAFTMARK_TOOLS_COMMANDS_DASHBOARD_BUILD_COUNTS_H_

#include <string>

#include "src/base/status.h"
#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

// Errors of CountScratch and ParseRecordedCounts, which name the file.
Status AddBuildCounts(const std::string& configs, const std::string& recorded, DashboardData& data);

// The same with the files of the checkout in which the program runs; nothing where there is none.
Status AddBuildCountsOfCheckout(DashboardData& data);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DASHBOARD_BUILD_COUNTS_H_
