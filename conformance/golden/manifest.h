// golden/manifest.json: where every file of the golden set comes from and what it must be.
//
// One entry per file, sorted by path, without dates: the same set gives the same bytes.
//
//   {"schema_version": 1,
//    "files": [{"path": "operations/rms_norm.safetensors", "kind": "operation", "bytes": 4096,
//               "sha256": "...", "generator": "draftmark 1", "seed": "case ids",
//               "config": "", "cases": ["op/rms_norm/rows=1,h=1/bf16", ...],
//               "precision": "float64, rounded once to the output's type", "tolerance": "T1",
//               "inputs_sha256": "...", "agreement": "...", "reason": "..."}, ...]}
//
// Plain values; functions are thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_GOLDEN_MANIFEST_H_
#define DRAFTMARK_CONFORMANCE_GOLDEN_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"

namespace draftmark {

inline constexpr char kManifestName[] = "manifest.json";
inline constexpr std::uint64_t kManifestSchema = 1;

struct ManifestEntry {
  std::string path;  // below golden/
  std::string kind;  // "operation", "draft", "config" (of a draft), "imported"
  std::uint64_t bytes = 0;
  std::string sha256;
  std::string generator;           // who made it, with its version
  std::string seed;                // what its data are drawn from
  std::string config;              // drafts: the entry of the catalogue it was made from
  std::vector<std::string> cases;  // case ids
  std::string kept_context_rows;   // of long drafts: the new rows that stages hold, by step
  std::string precision;
  std::string tolerance;      // class of spec/drafter.md section 10
  std::string inputs_sha256;  // of all inputs, generated or stored
  std::string agreement;      // which two computations agreed
  std::string reason;         // why it was written last
};

// True if two entries say the same of a file, whatever their reasons.
bool SameButForReason(const ManifestEntry& a, const ManifestEntry& b);

struct Manifest {
  std::vector<ManifestEntry> files;  // ascending by path

  const ManifestEntry* Find(std::string_view path) const;
  // Replaces the entry of the same path, or adds it.
  void Put(ManifestEntry entry);
  std::string ToText() const;
};

// NOT_FOUND, DATA_LOSS or INVALID_ARGUMENT with file, key, expected and found. Paths must stay
// below the folder, ascend and not repeat.
StatusOr<Manifest> LoadManifest(const std::string& golden,
                                FileSystem& file_system = RealFileSystem());

// Files below `golden` that the manifest must list, ascending: all but BUILD files, README.md and
// the manifest itself.
StatusOr<std::vector<std::string>> ListGoldenFiles(const std::string& golden,
                                                   FileSystem& file_system = RealFileSystem());

// What a golden folder and its manifest do not agree on, by names alone: no file is opened.
struct ManifestDifference {
  std::vector<std::string> missing;   // listed, and not there
  std::vector<std::string> unlisted;  // there, and not listed
};

// Both ascending, below `golden`. Errors are those of the two functions above.
StatusOr<ManifestDifference> CompareWithManifest(const std::string& golden,
                                                 FileSystem& file_system = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_GOLDEN_MANIFEST_H_
