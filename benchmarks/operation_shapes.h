// At which shapes operations are timed: those that drafts of published drafters launch.
//
//   DM_ASSIGN_OR_RETURN(const auto drafters, VerifiedDrafters(catalogue, "drafter_configs.json"));
//   DM_ASSIGN_OR_RETURN(const auto shapes, OperationShapes(drafters, Suite::kAll));
//   shapes[0].c.Id(), shapes[0].used_by
//
// A draft has one sequence with kShapeContext rows in the cache, a block as long as the drafter was
// trained with, and up to kShapeNewRows new context rows, which is the draft of draft_case.h with
// another context. Every launch of it on the path of all GPUs is one shape; the launches are those of
// kernels/draft. Pure functions.
#ifndef DRAFTMARK_BENCHMARKS_OPERATION_SHAPES_H_
#define DRAFTMARK_BENCHMARKS_OPERATION_SHAPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/operations/operation.h"

namespace draftmark {

inline constexpr std::uint64_t kShapeContext = 2048;
inline constexpr std::uint64_t kShapeNewRows = 8;

struct NamedDrafter {
  std::string id;  // EntryId
  DrafterConfig config;
};

// The entries of a catalogue that may be run (FindRunnableEntry) and are not synthetic, in its order.
// Errors are those of entries that cannot be read.
StatusOr<std::vector<NamedDrafter>> VerifiedDrafters(const Json& catalogue,
                                                     const std::string& source);

struct OperationShape {
  OperationCase c;
  std::vector<std::string> used_by;  // ids of drafters, in their order

  // "qwen3-8b-dflash-b16 and 3 more".
  std::string Label() const;
};

enum class Suite {
  kAll,  // every drafter
  // Few seconds in one process: Qwen3-8B's DFlash and Qwen3.8-27B's DFlash2, and of the latter's
  // DSpark the linear layers and the operations that these two lack. 60 shapes, and every operation.
  kCompact,
};

// Without duplicates, by operation in the registry's order and then by first use. NOT_FOUND if a
// drafter of the compact suite is not there; those of MakeCase.
StatusOr<std::vector<OperationShape>> OperationShapes(const std::vector<NamedDrafter>& drafters,
                                                      Suite suite);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_OPERATION_SHAPES_H_
