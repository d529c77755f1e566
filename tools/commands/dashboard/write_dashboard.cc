#include "tools/commands/dashboard/write_dashboard.h"

#include <utility>

#include "src/base/folder_lock.h"
#include "src/perf/dashboard/exports.h"
#include "src/perf/dashboard/page.h"

namespace draftmark {

StatusOr<std::vector<std::string>> WriteDashboard(const DashboardData& data,
                                                  const std::string& folder, FileSystem& files) {
  const std::vector<std::pair<std::string, std::string>> contents = {
      {"points.csv", PointsCsv(data)},
      {"verdicts.csv", VerdictsCsv(data)},
      {"junit.xml", JunitXml(data)},
      {"metrics.txt", OpenMetrics(data)},
      {"index.html", RenderPage(data)}};
  DM_RETURN_IF_ERROR(files.CreateDirectories(folder));
  DM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(folder));
  std::vector<std::string> names;
  for (const auto& [name, text] : contents) {
    DM_RETURN_IF_ERROR(WriteTextFile(JoinPath(folder, name), text, files));
    names.push_back(name);
  }
  return names;
}

}  // namespace draftmark
