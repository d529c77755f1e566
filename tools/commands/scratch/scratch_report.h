// The output of `draftmark scratch`: a table for people, JSON for programs.
#ifndef DRAFTMARK_TOOLS_COMMANDS_SCRATCH_SCRATCH_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_SCRATCH_SCRATCH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/scratch/dflash_borrows.h"
#include "src/scratch/dflash_layout.h"

namespace draftmark {

struct ScratchReport {
  std::string source;  // file name, and entry if there is one
  DflashScratchLayout layout;
  std::vector<Borrow> borrows;  // at a full window and all bands of full width
  std::uint64_t max_precompute_rows = 0;
  std::vector<std::string> warnings;

  // Errors are annotated with `source`.
  static StatusOr<ScratchReport> Create(const std::string& source,
                                        const DflashScratchRequest& request);

  std::string ToText() const;
  OrderedJson ToJson() const;
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_SCRATCH_SCRATCH_REPORT_H_
