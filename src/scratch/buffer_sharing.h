// Who shares which of the 41 buffers: sequential uses inside one pass (spec/buffer_sizes.md
// section 11), as data.
//
//   for (const BufferUse* use : UsesOf("ssm_ba")) {
//     out << use->stage << ": " << use->content << "\n";
//   }
//
// The sizes already cover every use but those marked as not provisioned: CheckMtpRowsFit tells
// whether these two fit.
#ifndef DRAFTMARK_SRC_SCRATCH_BUFFER_SHARING_H_
#define DRAFTMARK_SRC_SCRATCH_BUFFER_SHARING_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/scratch/buffer_sizes.h"

namespace draftmark {

struct BufferUse {
  std::string_view buffer;   // one of the 41 names
  std::string_view stage;    // which part of a pass
  std::string_view content;  // what lies there then
  bool provisioned = true;   // false: upstream uses it without sizing for it
};

// The whole table: shared buffers only, in the seed's order.
std::span<const BufferUse> BufferUses();
// The uses of one buffer; empty for a buffer with a single use.
std::vector<const BufferUse*> UsesOf(std::string_view buffer);
// One line per use, for people.
std::string SharingToString();

// Upstream's MTP draft head parks a BF16 row of h in ssm_gates and one of 2h in ssm_ba, which no
// size provides for. FAILED_PRECONDITION names the buffer, the bytes needed and those there.
Status CheckMtpRowsFit(const BufferSizes& sizes, std::uint64_t hidden_size);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_BUFFER_SHARING_H_
