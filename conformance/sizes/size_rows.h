// Oracle rows for buffer sizes: reads a rows file and compares an implementation with it.
//
//   DM_ASSIGN_OR_RETURN(const RowsReport report, CheckSizeRowsFile("rows.json"));
//   for (const RowMismatch& mismatch : report.mismatches) out << mismatch.ToString() << "\n";
//
// The format is that of spec/buffer_sizes.md section 12: an array of rows. A row either has
// `expected` (all 41 sizes), `upstream_total_bytes`, `sum_of_41` and `sub_offsets`, or
// `expected_error`, `where` and `field`; both kinds have `name`, `config`, `args` and `flags`.
// `synthetic` and `source` are for people. Integers are exact over the whole unsigned 64-bit range.
// A file that does not follow the format is an error which names file, row and key; a number that
// differs is a mismatch. Pure functions, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_SIZES_SIZE_ROWS_H_
#define DRAFTMARK_CONFORMANCE_SIZES_SIZE_ROWS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/scratch/buffer_sizes.h"
#include "src/scratch/sub_layouts.h"

namespace draftmark {

struct RowMismatch {
  std::string file;
  std::string row;       // its name
  std::string what;      // "expected.logits", "sub_offsets.ssd_scratch.CB", "sum_of_41", ...
  std::string expected;  // by the row
  std::string found;     // of the implementation

  // "FILE: ROW: WHAT: expected E, found F".
  std::string ToString() const;
};

struct RowsReport {
  std::uint64_t rows = 0;
  std::vector<RowMismatch> mismatches;  // in the order of rows, then of fields
};

// What the rows judge. The default is this project's; tests put mutants in.
struct SizingImplementation {
  std::function<StatusOr<BufferSizes>(const SizingFields&, const SizingArguments&)> sizes =
      BufferSizes::FromConfig;
  std::function<StatusOr<std::uint64_t>(const BufferSizes&)> total = &BufferSizes::TotalBytes;
  std::function<StatusOr<std::uint64_t>(const BufferSizes&)> upstream_total =
      &BufferSizes::UpstreamReportedTotalBytes;
  std::function<StatusOr<SubLayouts>(const SizingFields&, const SizingArguments&)> layouts =
      SubLayouts::Create;
};

// `source` is the file's name for messages.
StatusOr<RowsReport> CheckSizeRows(const Json& rows, const std::string& source,
                                   const SizingImplementation& implementation = {});
StatusOr<RowsReport> CheckSizeRowsFile(const std::string& path,
                                       const SizingImplementation& implementation = {});

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_SIZES_SIZE_ROWS_H_
