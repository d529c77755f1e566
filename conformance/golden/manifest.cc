#include "conformance/golden/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "src/base/json.h"

namespace draftmark {
namespace {

struct TextMember {
  const char* key;
  std::string ManifestEntry::*member;
};
// Every text of an entry but its path, in the file's order.
constexpr TextMember kTexts[] = {{"kind", &ManifestEntry::kind},
                                 {"sha256", &ManifestEntry::sha256},
                                 {"generator", &ManifestEntry::generator},
                                 {"seed", &ManifestEntry::seed},
                                 {"config", &ManifestEntry::config},
                                 {"kept_context_rows", &ManifestEntry::kept_context_rows},
                                 {"precision", &ManifestEntry::precision},
                                 {"tolerance", &ManifestEntry::tolerance},
                                 {"inputs_sha256", &ManifestEntry::inputs_sha256},
                                 {"agreement", &ManifestEntry::agreement},
                                 {"reason", &ManifestEntry::reason}};

bool StaysBelow(const std::string& path) {
  return !path.empty() && path.front() != '/' && path.find("..") == std::string::npos;
}

// A key that nobody reads would be believed all the same.
Status RefuseOtherKeys(const JsonObject& object, const std::set<std::string>& known) {
  for (const auto& [key, ignored] : object.json().items()) {
    if (!known.contains(key)) return object.TypeError(key, "no such key");
  }
  return OkStatus();
}

StatusOr<ManifestEntry> ReadEntry(const JsonObject& object) {
  std::set<std::string> keys = {"path", "bytes", "cases"};
  for (const TextMember& text : kTexts) keys.insert(text.key);
  DM_RETURN_IF_ERROR(RefuseOtherKeys(object, keys));
  ManifestEntry entry;
  DM_ASSIGN_OR_RETURN(entry.path, object.String("path"));
  if (!StaysBelow(entry.path)) return object.TypeError("path", "a path below golden/");
  DM_ASSIGN_OR_RETURN(entry.bytes, object.U64("bytes"));
  DM_ASSIGN_OR_RETURN(entry.cases, object.StringList("cases"));
  for (const TextMember& text : kTexts) {
    DM_ASSIGN_OR_RETURN(entry.*text.member, object.String(text.key));
  }
  if (entry.reason.empty()) return object.TypeError("reason", "why the file was written last");
  return entry;
}

Status ListBelow(const std::string& golden, const std::string& folder, int depth,
                 FileSystem& file_system, std::vector<std::string>& files) {
  constexpr int kDeepest = 4;  // also ends a loop of links
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      file_system.List(JoinPath(golden, folder)));
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (file_system.IsDirectory(JoinPath(golden, path))) {
      if (depth == kDeepest) {
        return InvalidArgumentError(
            fmt::format("{}: golden data lie at most {} folders deep", path, kDeepest));
      }
      DM_RETURN_IF_ERROR(ListBelow(golden, path, depth + 1, file_system, files));
    } else if (name != "BUILD" && path != "README.md" && path != kManifestName &&
               !IsTemporaryName(name)) {
      files.push_back(path);
    }
  }
  return OkStatus();
}

}  // namespace

const ManifestEntry* Manifest::Find(std::string_view path) const {
  for (const ManifestEntry& entry : files) {
    if (entry.path == path) return &entry;
  }
  return nullptr;
}

bool SameButForReason(const ManifestEntry& a, const ManifestEntry& b) {
  const auto text_equal = [&](const TextMember& text) {
    return text.member == &ManifestEntry::reason || a.*text.member == b.*text.member;
  };
  return a.path == b.path && a.bytes == b.bytes && a.cases == b.cases &&
         std::all_of(std::begin(kTexts), std::end(kTexts), text_equal);
}

void Manifest::Put(ManifestEntry entry) {
  const auto at = std::lower_bound(files.begin(), files.end(), entry,
                                   [](const auto& a, const auto& b) { return a.path < b.path; });
  if (at != files.end() && at->path == entry.path) {
    *at = std::move(entry);
  } else {
    files.insert(at, std::move(entry));
  }
}

std::string Manifest::ToText() const {
  OrderedJson json = {{"schema_version", kManifestSchema}, {"files", OrderedJson::array()}};
  for (const ManifestEntry& entry : files) {
    OrderedJson one = {{"path", entry.path}, {"bytes", entry.bytes}};
    for (const TextMember& text : kTexts) one[text.key] = entry.*text.member;
    one["cases"] = entry.cases;
    json["files"].push_back(std::move(one));
  }
  // Names of files may be any bytes; JSON is UTF-8.
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

StatusOr<Manifest> LoadManifest(const std::string& golden, FileSystem& file_system) {
  const std::string path = JoinPath(golden, kManifestName);
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, file_system));
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, path));
  DM_RETURN_IF_ERROR(RefuseOtherKeys(root, {"schema_version", "files"}));
  DM_ASSIGN_OR_RETURN(const std::uint64_t schema, root.U64("schema_version"));
  if (schema != kManifestSchema) {
    return root.TypeError("schema_version", fmt::format("{}", kManifestSchema));
  }
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> objects, root.ObjectList("files"));
  Manifest manifest;
  for (const JsonObject& object : objects) {
    DM_ASSIGN_OR_RETURN(ManifestEntry entry, ReadEntry(object));
    if (!manifest.files.empty() && manifest.files.back().path >= entry.path) {
      return object.TypeError("path", "ascending paths, each once");
    }
    manifest.files.push_back(std::move(entry));
  }
  return manifest;
}

StatusOr<std::vector<std::string>> ListGoldenFiles(const std::string& golden,
                                                   FileSystem& file_system) {
  std::vector<std::string> files;
  DM_RETURN_IF_ERROR(ListBelow(golden, "", 0, file_system, files));
  std::sort(files.begin(), files.end());
  return files;
}

StatusOr<ManifestDifference> CompareWithManifest(const std::string& golden,
                                                 FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const Manifest manifest, LoadManifest(golden, file_system));
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> present, ListGoldenFiles(golden, file_system));
  std::vector<std::string> listed;
  for (const ManifestEntry& entry : manifest.files) listed.push_back(entry.path);
  ManifestDifference difference;
  std::set_difference(listed.begin(), listed.end(), present.begin(), present.end(),
                      std::back_inserter(difference.missing));
  std::set_difference(present.begin(), present.end(), listed.begin(), listed.end(),
                      std::back_inserter(difference.unlisted));
  return difference;
}

}  // namespace draftmark
