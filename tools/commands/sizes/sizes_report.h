// The output of `draftmark sizes CONFIG.json`: a table for people, JSON for programs.
#ifndef DRAFTMARK_TOOLS_COMMANDS_SIZES_SIZES_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_SIZES_SIZES_REPORT_H_

#include <string>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/model_config.h"
#include "src/scratch/buffer_sizes.h"
#include "src/scratch/sub_layouts.h"

namespace draftmark {

struct SizesReport {
  std::string source;  // the config's file name
  ModelConfig config;
  SizingArguments arguments;
  BufferSizes sizes;
  SubLayouts layouts;
  std::uint64_t total_bytes = 0;
  std::uint64_t upstream_reported_total_bytes = 0;

  // Errors of sizing and of the sums, annotated with `source`.
  static StatusOr<SizesReport> Create(const std::string& source, const ModelConfig& config,
                                      const SizingArguments& arguments);

  std::string ToText() const;
  // `buffers` (41 names -> bytes), `total_bytes`, `upstream_reported_total_bytes`, `sub_offsets`,
  // and what they were computed from.
  OrderedJson ToJson() const;
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_SIZES_SIZES_REPORT_H_
