#include "src/perf/history/tombstone.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "src/base/json.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::string_view kExtension = ".tombstone";
constexpr std::size_t kLongestReason = 1000;
constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kFewestDigits = 4;

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsText(const std::string& text) {
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  // What is no UTF-8 would come back as something else.
  return !control &&
         Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)) == Json(text);
}

}  // namespace

std::string DroppedFolderOf(const std::string& database) { return database + ".dropped"; }

std::string TombstonePath(const std::string& database, const std::string& uid) {
  return JoinPath(DroppedFolderOf(database), uid + std::string(kExtension));
}

std::string DroppedRecordPath(const std::string& database, const std::string& uid) {
  return JoinPath(DroppedFolderOf(database), uid + ".jsonl");
}

bool IsDropped(const std::string& database, const std::string& uid, FileSystem& files) {
  return files.IsFile(TombstonePath(database, uid));
}

Status CheckTombstone(const Tombstone& tombstone) {
  const std::string& reason = tombstone.reason;
  if (reason.find_first_not_of(' ') == std::string::npos) {
    return InvalidArgumentError("reason: expected a text, found none");
  }
  if (reason.size() > kLongestReason || !IsText(reason)) {
    return InvalidArgumentError(fmt::format(
        "reason: expected UTF-8 without control characters, at most {} bytes", kLongestReason));
  }
  return OkStatus();
}

Status WriteTombstone(const std::string& database, const Tombstone& tombstone, FileSystem& files) {
  DM_RETURN_IF_ERROR(CheckTombstone(tombstone));
  const OrderedJson json = {{"draftmark_tombstone", kVersion},
                            {"id", tombstone.uid},
                            {"date", tombstone.date},
                            {"reason", tombstone.reason}};
  return WriteTextFile(TombstonePath(database, tombstone.uid), json.dump() + "\n", files);
}

StatusOr<Tombstone> ReadTombstone(const std::string& database, const std::string& uid,
                                  FileSystem& files) {
  const std::string path = TombstonePath(database, uid);
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, files));
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, path));
  DM_ASSIGN_OR_RETURN(const std::int64_t version, root.I64("draftmark_tombstone"));
  if (version != kVersion) {
    return root.TypeError("draftmark_tombstone", fmt::format("{}", kVersion));
  }
  Tombstone tombstone;
  DM_ASSIGN_OR_RETURN(tombstone.uid, root.String("id"));
  if (tombstone.uid != uid) return root.TypeError("id", uid);
  DM_ASSIGN_OR_RETURN(tombstone.date, root.String("date"));
  if (!DayOfNight(tombstone.date)) return root.TypeError("date", "a day as 2026-11-30");
  DM_ASSIGN_OR_RETURN(tombstone.reason, root.String("reason"));
  DM_RETURN_IF_ERROR(CheckTombstone(tombstone).Annotated(path));
  return tombstone;
}

StatusOr<std::vector<std::string>> DroppedIds(const std::string& database, FileSystem& files) {
  std::vector<std::string> ids;
  const std::string folder = DroppedFolderOf(database);
  if (!files.IsDirectory(folder)) return ids;
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(folder));
  for (const std::string& name : names) {
    if (!name.ends_with(kExtension) || IsTemporaryName(name)) continue;
    const std::string uid = name.substr(0, name.size() - kExtension.size());
    if (uid.size() == kIdDigits && IsHex(uid)) ids.push_back(uid);
  }
  return ids;
}

StatusOr<std::string> FindDropped(const std::string& database, const std::string& prefix,
                                  FileSystem& files) {
  if (prefix.size() < kFewestDigits || !IsHex(prefix)) {
    return InvalidArgumentError(
        fmt::format("\"{}\": expected an id of a dropped record, or its first {} digits or more, "
                    "as `draftmark history list --what dropped` shows it",
                    prefix, kFewestDigits));
  }
  DM_ASSIGN_OR_RETURN(std::vector<std::string> ids, DroppedIds(database, files));
  std::erase_if(ids, [&](const std::string& uid) { return !uid.starts_with(prefix); });
  if (ids.empty()) {
    return NotFoundError(
        fmt::format("{}: no dropped record has the id {}", DroppedFolderOf(database), prefix));
  }
  if (ids.size() > 1) {
    return InvalidArgumentError(fmt::format("{}: the id {} is ambiguous: {}, {}",
                                            DroppedFolderOf(database), prefix, ids[0], ids[1]));
  }
  return ids[0];
}

}  // namespace draftmark
