#include "conformance/golden/check_golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "conformance/golden/file_bytes.h"
#include "conformance/golden/golden_set.h"
#include "conformance/golden/manifest.h"
#include "conformance/golden/tensor_diff.h"
#include "src/base/memory_file_system.h"

namespace draftmark {
namespace {

// What differs between the entry on record and the one computed now; the reason may be any.
std::string EntryDifference(const ManifestEntry& recorded, ManifestEntry computed) {
  if (SameButForReason(recorded, computed)) return "";
  Manifest a, b;
  a.Put(recorded);
  b.Put(std::move(computed));
  return fmt::format("the manifest's entry is not what is computed now; expected\n{}found\n{}",
                     b.ToText(), a.ToText());
}

// Compares what is computed now with the file; empty if nothing differs.
std::string RegenerationProblem(const GoldenItem& item, const ManifestEntry& recorded,
                                const std::shared_ptr<const FileBytes>& stored) {
  StatusOr<GoldenFile> made = item.make();
  if (!made.ok()) return made.status().ToString();
  const StatusOr<std::vector<TensorMove>> moves =
      DiffFiles(item.path, stored, BytesInMemory(std::move(made->bytes)));
  if (!moves.ok()) return moves.status().ToString();
  if (moves->empty()) return EntryDifference(recorded, std::move(made->entry));
  std::string problem = "computed again it is not the same:";
  for (const TensorMove& move : *moves) problem += "\n" + DescribeMove(move);
  while (problem.back() == '\n') problem.pop_back();
  return problem;
}

class Checker {
 public:
  Checker(const std::string& golden, std::string_view only, const OnFile& on_file,
          FileSystem& file_system)
      : golden_(golden), only_(only), on_file_(on_file), file_system_(file_system) {}

  Status Run() {
    DM_ASSIGN_OR_RETURN(manifest_, LoadManifest(golden_, file_system_));
    DM_ASSIGN_OR_RETURN(items_, GeneratedItems(golden_, file_system_));
    DM_ASSIGN_OR_RETURN(const std::vector<std::string> present,
                        ListGoldenFiles(golden_, file_system_));
    std::set<std::string> paths(present.begin(), present.end());
    for (const ManifestEntry& entry : manifest_.files) paths.insert(entry.path);
    for (const GoldenItem& item : items_) paths.insert(item.path);
    std::size_t matched = 0;
    for (const std::string& path : paths) {
      const ManifestEntry* const entry = manifest_.Find(path);
      const GoldenItem* const item = ItemOf(path);
      const std::vector<std::string> none;
      const std::vector<std::string>& cases = item != nullptr    ? item->cases
                                              : entry != nullptr ? entry->cases
                                                                 : none;
      if (!Matches(only_, path, cases)) continue;
      ++matched;
      on_file_(CheckFile(path, entry, item));
    }
    if (matched > 0) return OkStatus();
    return NotFoundError(fmt::format("{}: no file or case matches \"{}\"", golden_, only_));
  }

 private:
  const GoldenItem* ItemOf(const std::string& path) const {
    const auto found = std::find_if(items_.begin(), items_.end(),
                                    [&](const GoldenItem& item) { return item.path == path; });
    return found == items_.end() ? nullptr : &*found;
  }

  std::string ImportedProblem(const ManifestEntry& recorded) {
    const StatusOr<ManifestEntry> described = imported_.Describe(recorded.path);
    return described.ok() ? EntryDifference(recorded, *described) : described.status().ToString();
  }

  FileOutcome CheckFile(const std::string& path, const ManifestEntry* entry,
                        const GoldenItem* item) {
    FileOutcome outcome{path, "", ""};
    if (entry == nullptr) {
      outcome.problem =
          item != nullptr ? "not in the manifest; draftmark golden regen adds it"
                          : "not in the manifest: golden regen adds it if it is imported data that "
                            "verify accepts; else remove it";
      return outcome;
    }
    const StatusOr<std::shared_ptr<const FileBytes>> stored =
        file_system_.Map(JoinPath(golden_, path));
    if (!stored.ok()) {
      outcome.problem = stored.status().ToString();
      return outcome;
    }
    const std::string hash = Sha256Hex((*stored)->bytes());
    if ((*stored)->bytes().size() != entry->bytes || hash != entry->sha256) {
      outcome.problem = fmt::format("expected {} bytes with SHA-256 {}, found {} bytes with {}",
                                    entry->bytes, entry->sha256, (*stored)->bytes().size(), hash);
    }
    if (item != nullptr) {
      const std::string again = RegenerationProblem(*item, *entry, *stored);
      if (!again.empty()) outcome.problem += (outcome.problem.empty() ? "" : "\n") + again;
      outcome.detail = "the same, computed again";
    } else if (entry->kind != "imported") {
      outcome.problem += (outcome.problem.empty() ? "" : "\n") +
                         fmt::format("no generator makes this file (kind {})", entry->kind);
    } else {
      // A damaged file has its problem already.
      if (outcome.problem.empty()) outcome.problem = ImportedProblem(*entry);
      outcome.detail = "imported, as recorded";
    }
    if (!entry->cases.empty() && entry->kind == "operation") {
      outcome.detail = fmt::format("{} cases, {}", entry->cases.size(), outcome.detail);
    }
    return outcome;
  }

  const std::string& golden_;
  std::string_view only_;
  const OnFile& on_file_;
  FileSystem& file_system_;
  ImportedFiles imported_{golden_, file_system_};
  Manifest manifest_;
  std::vector<GoldenItem> items_;
};

}  // namespace

Status CheckGolden(const std::string& golden, std::string_view only, const OnFile& on_file,
                   FileSystem& file_system) {
  return Checker(golden, only, on_file, file_system).Run();
}

}  // namespace draftmark
