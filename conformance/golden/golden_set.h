// The golden set: what it holds, and how each file is computed.
//
// Every generated file is computed twice, by the float64 reference and by formulas written apart
// from it, and exists only if the two agree. Its bytes depend on the program's version alone:
// data are counter-based, sums have a fixed order, and values are rounded from float64 to the type
// they are stored in.
//
// Functions are thread-safe; errors name file, case and what disagrees.
#ifndef DRAFTMARK_CONFORMANCE_GOLDEN_GOLDEN_SET_H_
#define DRAFTMARK_CONFORMANCE_GOLDEN_GOLDEN_SET_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/golden/manifest.h"
#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/operations/operation.h"

namespace draftmark {

struct GoldenFile {
  ManifestEntry entry;  // without a reason
  std::vector<std::byte> bytes;
};

struct GoldenItem {
  std::string path;                // below golden/
  std::vector<std::string> cases;  // their ids; patterns match these and the path
  std::function<StatusOr<GoldenFile>()> make;
};

// Every generated file, by path. Reads golden/configs/drafter_configs.json.
StatusOr<std::vector<GoldenItem>> GeneratedItems(const std::string& golden,
                                                 FileSystem& file_system = RealFileSystem());

// One file of an operation: the outputs of its boundary cases.
StatusOr<GoldenFile> MakeOperationFile(const Operation& operation);

// Describes files that were imported, from what lies in the folder, and holds them against this
// program: a drafter case is run by the reference, sizing rows and published configs are read. Each
// check runs once per object. One thread at a time.
class ImportedFiles {
 public:
  explicit ImportedFiles(const std::string& golden, FileSystem& file_system = RealFileSystem())
      : golden_(golden), file_system_(file_system) {}

  // INVALID_ARGUMENT for a file where nothing is imported, INTERNAL if program and file disagree.
  StatusOr<ManifestEntry> Describe(const std::string& path);

 private:
  Status CheckDrafterCase(const std::string& path, ManifestEntry& entry);
  Status CheckSizeRows(const std::string& path);
  Status CheckPublishedConfigs();

  std::string golden_;
  FileSystem& file_system_;
  std::map<std::string, Status> cases_;  // by folder
  std::optional<Status> configs_;
};

// True if `pattern`, in which * stands for any text, matches the path or one of the cases; without a
// star it may stand anywhere in them. An empty pattern matches everything.
bool Matches(std::string_view pattern, std::string_view path,
             const std::vector<std::string>& cases);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_GOLDEN_GOLDEN_SET_H_
