// One row of a sizing rows file, parsed and checked for form. See size_rows.h for the format.
#ifndef DRAFTMARK_CONFORMANCE_SIZES_ROW_FORMAT_H_
#define DRAFTMARK_CONFORMANCE_SIZES_ROW_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/sizing_fields.h"
#include "src/scratch/buffer_sizes.h"
#include "src/scratch/sub_layouts.h"

namespace draftmark {

struct ExpectedSizes {
  BufferSizes sizes;
  std::uint64_t upstream_total_bytes = 0;
  std::uint64_t sum_of_41 = 0;
  std::vector<NamedOffset> sub_offsets;  // in the parser's order
};

struct ExpectedOverflow {
  bool in_total = false;  // where: total_bytes instead of from_config
  std::string field;      // one whose true value does not fit
};

struct SizeRow {
  std::string name;
  SizingFields config;
  SizingArguments arguments;
  // Exactly one of the two is set.
  std::optional<ExpectedSizes> sizes;
  std::optional<ExpectedOverflow> overflow;
};

// NOT_FOUND, INVALID_ARGUMENT or DATA_LOSS; the message names file, index and name of the row.
StatusOr<std::vector<SizeRow>> ParseSizeRows(const Json& rows, const std::string& source);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_SIZES_ROW_FORMAT_H_
