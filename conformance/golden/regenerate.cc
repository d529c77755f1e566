#include "conformance/golden/regenerate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "conformance/golden/file_bytes.h"
#include "conformance/golden/golden_set.h"
#include "conformance/golden/manifest.h"
#include "conformance/golden/tensor_diff.h"
#include "src/base/json.h"
#include "src/base/memory_file_system.h"

namespace draftmark {
namespace {

// Some visible character, and nothing that JSON cannot hold.
bool IsReason(const std::string& reason) {
  const bool visible = std::any_of(reason.begin(), reason.end(),
                                   [](unsigned char c) { return c > 0x20 && c != 0x7F; });
  const OrderedJson json = reason;
  const std::string replaced = json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  return visible && (replaced.find("\uFFFD") == std::string::npos ||
                     reason.find("\uFFFD") != std::string::npos);
}

class Regenerator {
 public:
  Regenerator(const RegenerateOptions& options, const OnFile& on_file, FileSystem& file_system)
      : options_(options), on_file_(on_file), file_system_(file_system) {}

  StatusOr<RegenerateSummary> Run() {
    if (!IsReason(options_.reason)) {
      return InvalidArgumentError(
          "regenerating needs a reason, text in UTF-8: it is recorded in the manifest");
    }
    if (file_system_.IsFile(JoinPath(options_.golden, kManifestName))) {
      DM_ASSIGN_OR_RETURN(manifest_, LoadManifest(options_.golden, file_system_));
    }
    DM_ASSIGN_OR_RETURN(const std::vector<GoldenItem> items,
                        GeneratedItems(options_.golden, file_system_));
    std::set<std::string> generated;
    for (const GoldenItem& item : items) {
      generated.insert(item.path);
      if (!Matches(options_.only, item.path, item.cases)) continue;
      ++matched_;
      DM_ASSIGN_OR_RETURN(GoldenFile file, item.make());
      DM_RETURN_IF_ERROR(Take(std::move(file)));
    }
    DM_RETURN_IF_ERROR(TakeImported(generated));
    if (matched_ == 0) {
      return NotFoundError(
          fmt::format("{}: no file or case matches \"{}\"", options_.golden, options_.only));
    }
    DM_RETURN_IF_ERROR(Write());
    for (const FileOutcome& outcome : outcomes_) on_file_(outcome);
    return summary_;
  }

 private:
  // Compares a computed file with what is there, reports, and keeps it for Write.
  Status Take(GoldenFile file) {
    const std::string path = JoinPath(options_.golden, file.entry.path);
    const std::shared_ptr<const FileBytes> computed = BytesInMemory(std::move(file.bytes));
    FileOutcome outcome{file.entry.path, "", ""};
    if (!file_system_.IsFile(path)) {
      outcome.detail = fmt::format("new, {} bytes", computed->bytes().size());
    } else {
      DM_ASSIGN_OR_RETURN(const std::shared_ptr<const FileBytes> stored, file_system_.Map(path));
      if (std::ranges::equal(stored->bytes(), computed->bytes())) return TakeEntry(file.entry);
      const StatusOr<std::vector<TensorMove>> moves = DiffFiles(file.entry.path, stored, computed);
      // A damaged file is replaced all the same.
      outcome.detail = moves.ok() ? fmt::format("{} tensors moved", moves->size())
                                  : "replaced: " + moves.status().ToString();
      for (const TensorMove& move : moves.ok() ? *moves : std::vector<TensorMove>()) {
        outcome.detail += "\n" + DescribeMove(move);
      }
      while (outcome.detail.back() == '\n') outcome.detail.pop_back();
    }
    ++summary_.written;
    outcomes_.push_back(outcome);
    file.entry.reason = options_.reason;
    manifest_.Put(file.entry);
    computed_[file.entry.path] = computed;
    return OkStatus();
  }

  // A file that stays as it is: only its entry may be new.
  Status TakeEntry(ManifestEntry entry) {
    const ManifestEntry* const recorded = manifest_.Find(entry.path);
    if (recorded != nullptr && SameButForReason(*recorded, entry)) {
      ++summary_.unchanged;
      return OkStatus();
    }
    ++summary_.entries;
    outcomes_.push_back(
        {entry.path, recorded == nullptr ? "now in the manifest" : "entry changed", ""});
    entry.reason = options_.reason;
    manifest_.Put(std::move(entry));
    return OkStatus();
  }

  Status TakeImported(const std::set<std::string>& generated) {
    DM_ASSIGN_OR_RETURN(const std::vector<std::string> present,
                        ListGoldenFiles(options_.golden, file_system_));
    ImportedFiles imported(options_.golden, file_system_);
    for (const std::string& path : present) {
      if (generated.contains(path) || !Matches(options_.only, path, {})) continue;
      ++matched_;
      DM_ASSIGN_OR_RETURN(ManifestEntry entry, imported.Describe(path));
      DM_RETURN_IF_ERROR(TakeEntry(std::move(entry)));
    }
    // Entries of files that are gone and that nothing makes any more.
    const auto gone = [&](const ManifestEntry& entry) {
      const bool there = std::find(present.begin(), present.end(), entry.path) != present.end();
      return !there && !generated.contains(entry.path) &&
             Matches(options_.only, entry.path, entry.cases);
    };
    for (const ManifestEntry& entry : manifest_.files) {
      if (!gone(entry)) continue;
      ++summary_.dropped;
      ++matched_;
      outcomes_.push_back({entry.path, "gone, dropped from the manifest", ""});
    }
    manifest_.files.erase(std::remove_if(manifest_.files.begin(), manifest_.files.end(), gone),
                          manifest_.files.end());
    return OkStatus();
  }

  Status Write() {
    if (summary_.written + summary_.entries + summary_.dropped == 0) return OkStatus();
    std::vector<std::unique_ptr<AtomicFile>> pending;
    for (const auto& [name, bytes] : computed_) {
      const std::string path = JoinPath(options_.golden, name);
      DM_RETURN_IF_ERROR(file_system_.CreateDirectories(path.substr(0, path.rfind('/'))));
      DM_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, file_system_.CreateAtomic(path));
      DM_RETURN_IF_ERROR(file->Append(bytes->bytes()));
      pending.push_back(std::move(file));
    }
    const std::string text = manifest_.ToText();
    DM_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> manifest,
                        file_system_.CreateAtomic(JoinPath(options_.golden, kManifestName)));
    DM_RETURN_IF_ERROR(manifest->Append(std::as_bytes(std::span(text.data(), text.size()))));
    for (const std::unique_ptr<AtomicFile>& file : pending) DM_RETURN_IF_ERROR(file->Commit());
    return manifest->Commit();
  }

  const RegenerateOptions& options_;
  const OnFile& on_file_;
  FileSystem& file_system_;
  Manifest manifest_;
  std::map<std::string, std::shared_ptr<const FileBytes>> computed_;  // by path
  std::vector<FileOutcome> outcomes_;  // told once everything is written
  RegenerateSummary summary_;
  std::size_t matched_ = 0;
};

}  // namespace

StatusOr<RegenerateSummary> RegenerateGolden(const RegenerateOptions& options,
                                             const OnFile& on_file, FileSystem& file_system) {
  return Regenerator(options, on_file, file_system).Run();
}

}  // namespace draftmark
