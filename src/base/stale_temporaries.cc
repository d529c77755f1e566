#include "src/base/stale_temporaries.h"

#include <signal.h>
#include <sys/types.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "src/base/file_system.h"

namespace draftmark {
namespace {

// Takes digits of the base and the separator behind them off the front of `text`.
std::optional<unsigned long> TakeNumber(std::string_view& text, int base, char separator) {
  unsigned long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || used == text.size() || text[used] != separator) return std::nullopt;
  text.remove_prefix(used + 1);
  return value;
}

// The process that made it; absent for any other name.
std::optional<pid_t> WriterOf(std::string_view name) {
  if (!IsTemporaryName(name)) return std::nullopt;
  std::string_view rest = name.substr(name.find('-') + 1);
  const std::optional<unsigned long> pid = TakeNumber(rest, 10, '-');
  if (!pid || *pid == 0 || *pid > 0x7FFFFFFF) return std::nullopt;
  if (!TakeNumber(rest, 10, '-') || !TakeNumber(rest, 16, '.') || rest != "tmp") {
    return std::nullopt;
  }
  return static_cast<pid_t>(*pid);
}

// One of another user answers EPERM, and lives.
bool IsAlive(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

}  // namespace

std::size_t RemoveStaleTemporaries(const std::string& folder) {
  std::error_code error;
  std::size_t removed = 0;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::optional<pid_t> writer = WriterOf(at->path().filename().string());
    std::error_code ignored;
    if (!writer || IsAlive(*writer)) continue;
    if (at->symlink_status(ignored).type() != std::filesystem::file_type::regular) continue;
    const auto written = at->last_write_time(ignored);
    if (ignored || now - written < std::chrono::seconds(kStaleSeconds)) continue;
    if (std::filesystem::remove(at->path(), ignored)) ++removed;
  }
  return removed;
}

std::size_t RemoveStaleTemporariesBelow(const std::string& folder) {
  std::vector<std::string> folders = {folder};
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator
           at(folder, std::filesystem::directory_options::skip_permission_denied, error),
       end;
       !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->symlink_status(ignored).type() == std::filesystem::file_type::directory) {
      folders.push_back(at->path().string());
    }
  }
  std::size_t removed = 0;
  for (const std::string& each : folders) removed += RemoveStaleTemporaries(each);
  return removed;
}

}  // namespace draftmark
