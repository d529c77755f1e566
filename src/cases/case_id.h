// CaseId: the one string that names a test, its golden, its benchmark, its history row, its waiver
// and its reproduction.
//
//   op/<operation>/<key=value,...>/<dtype>[/<data>]
//       op/rms_norm/rows=16,h=4096/bf16
//   draft/<config>/<key=value,...>
//       draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1
//   scratch/<system>/<config>/<key=value,...>
//       scratch/dflash_v2/qwen3.8-27b-dflash2/ctx_window=4096,nb=8
//
// Printing and parsing are inverse to each other. A plain value type.
#ifndef DRAFTMARK_SRC_CASES_CASE_ID_H_
#define DRAFTMARK_SRC_CASES_CASE_ID_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

// Names and numbers in the order they were given.
using CaseKeys = std::vector<std::pair<std::string, std::uint64_t>>;

struct CaseId {
  enum class Room { kOperation, kDraft, kScratch };

  Room room = Room::kDraft;
  std::string subject;  // operation or config name
  std::string system;   // scratch only: "dflash_v2", "buffer_sizes"
  CaseKeys keys;        // their order is part of the id
  std::string dtype;    // operations only
  std::string data;     // operations only: "ties"; empty for ordinary data

  bool operator==(const CaseId&) const = default;
  std::string ToString() const;
};

// INVALID_ARGUMENT names what is wrong with the text.
StatusOr<CaseId> ParseCaseId(std::string_view text);

// "rows=16,h=4096", each key once. INVALID_ARGUMENT names the part that is none.
StatusOr<CaseKeys> ParseCaseKeys(std::string_view text);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CASES_CASE_ID_H_
