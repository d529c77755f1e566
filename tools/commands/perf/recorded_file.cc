#include "tools/commands/perf/recorded_file.h"

#include <fmt/format.h>

#include <optional>

#include "src/base/file_system.h"
#include "src/base/find_in_checkout.h"

namespace draftmark {

StatusOr<std::string> FileOfCheckout(const std::string& given, const std::string& relative) {
  if (!given.empty()) return given;
  const std::optional<std::string> found = FindInCheckout(relative, [](const std::string& path) {
    return RealFileSystem().IsFile(path) || RealFileSystem().IsDirectory(path);
  });
  if (!found) return NotFoundError(fmt::format("{}: not found; run in a checkout", relative));
  return *found;
}

StatusOr<RecordedCounts> ReadRecordedCounts(const std::string& path) {
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  StatusOr<RecordedCounts> recorded = ParseRecordedCounts(text, path);
  // Only where nothing is recorded there is no baseline; a record without a field is damaged.
  if (recorded.status().code() == StatusCode::kNotFound) {
    return DataLossError(recorded.status().message());
  }
  return recorded;
}

}  // namespace draftmark
