// The files of a dashboard.
//
//   DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, WriteDashboard(data, "out"));
#ifndef DRAFTMARK_TOOLS_COMMANDS_DASHBOARD_WRITE_DASHBOARD_H_
#define DRAFTMARK_TOOLS_COMMANDS_DASHBOARD_WRITE_DASHBOARD_H_

#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

// Makes the folder. The names in the order in which they are written; the page is the last, so that
// it never speaks of a file that is not there. Each file replaces an older one at once. UNAVAILABLE
// while another process writes there: of two histories at once the page would be of one and exports
// of the other.
StatusOr<std::vector<std::string>> WriteDashboard(const DashboardData& data,
                                                  const std::string& folder,
                                                  FileSystem& files = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DASHBOARD_WRITE_DASHBOARD_H_
