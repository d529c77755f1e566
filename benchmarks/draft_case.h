// Which drafts a benchmark times: entries of the catalogue of drafters, with a shape.
//
//   DM_ASSIGN_OR_RETURN(const DraftCaseOptions options, TakeDraftOptions(arguments));
//   DM_ASSIGN_OR_RETURN(const std::vector<DraftCase> cases, FindDraftCases(options));
//   cases[0].id   // "draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1"
//
// A draft is written ENTRY,gamma=N,ctx=N,new=N,nb=N, where ENTRY is the name in the catalogue, or
// that without its owner, in capitals or not. Keys may be left out: gamma is then the block size that
// the drafter was trained with, ctx 2048, new the smaller of 8 and gamma, nb 1. Pure but for the
// catalogue's file.
#ifndef DRAFTMARK_BENCHMARKS_DRAFT_CASE_H_
#define DRAFTMARK_BENCHMARKS_DRAFT_CASE_H_

#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/draft_cost.h"
#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"

namespace draftmark {

struct DraftCase {
  std::string id;  // CaseId's text
  DrafterConfig config;
  DraftShape shape;
};

inline constexpr std::uint64_t kMostDraftSamples = 100000;

struct DraftCaseOptions {
  std::string catalogue;  // empty: golden/configs/drafter_configs.json of this checkout
  std::vector<std::string>
      drafts;                   // empty: those that are compared with PyTorch, and one of each kind
  bool fast = true;             // CudaSessionOptions'; says nothing about which drafts
  std::uint64_t samples = 100;  // of each benchmark
  std::string samples_out = {};  // a file for all of them (sample_log.h); empty: none
};

// Takes --draft=..., --catalogue=FILE, --path=fast|simple and --samples=N out of the arguments, each also with its
// value behind it, and leaves the others. INVALID_ARGUMENT for an option without its value, another
// path, or no number.
StatusOr<DraftCaseOptions> TakeDraftOptions(std::vector<std::string>& arguments);

// The name of an entry as in case ids: "z-lab/Qwen3.8-27B-DFlash2 (incoai)" is
// qwen3.8-27b-dflash2.
std::string EntryId(std::string_view entry);

// `entry_id` is EntryId's.
DraftCase MakeDraftCase(const std::string& entry_id, DrafterConfig config, const DraftShape& shape);

// For each drafter among the drafts, with the block of its first one, a draft of which the precompute
// pass is timed alone: so many new rows, no context before them, one sequence.
inline constexpr std::uint64_t kContextBenchmarkRows = 2048;
std::vector<DraftCase> ContextCases(const std::vector<DraftCase>& drafts);

// `catalogue` is the parsed file, `source` its name. NOT_FOUND for an unknown entry, INVALID_ARGUMENT
// for an unknown key, a number that is none or out of range, or a name of several entries; those of
// FindRunnableEntry (src/config/drafter_entry.h): of an entry that is not to be run, and its config's.
StatusOr<DraftCase> ParseDraftCase(const Json& catalogue, const std::string& source,
                                   std::string_view text);

struct DrafterCatalogue {
  std::string path;
  Json json = {};
};
// The file, or with an empty path golden/configs/drafter_configs.json of this checkout. NOT_FOUND if
// there is none; those of the file.
StatusOr<DrafterCatalogue> LoadDrafterCatalogue(const std::string& path);

// NOT_FOUND if there is no catalogue; those of its file and of ParseDraftCase.
StatusOr<std::vector<DraftCase>> FindDraftCases(const DraftCaseOptions& options);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_DRAFT_CASE_H_
