// ContextPasses: which context rows go through which pass before a draft (spec/drafter.md section 3,
// spec/dflash_scratch.md section 5, step 2).
//
// A tail that is longer than the pass of the draft goes alone, straight from its accumulator, in
// passes as long as the scratch allows. Shorter ones of several bands go together, gathered: as many
// passes of the draft's size as are needed, the last of which belongs to the draft itself. So every
// gathered pass has the same number of rows, and the same bits in a graph and outside.
#ifndef DRAFTMARK_KERNELS_DRAFT_CONTEXT_PASSES_H_
#define DRAFTMARK_KERNELS_DRAFT_CONTEXT_PASSES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/draft/draft_inputs.h"
#include "kernels/draft/draft_parts.h"
#include "kernels/draft/stage_taps.h"
#include "src/backend/band_view.h"
#include "src/backend/sequences.h"
#include "src/base/status.h"

namespace draftmark::kernels {

// Which of the rows stages show: those appended since the last propose.
std::vector<StageTaps::PassRow> ShownRows(std::span<const BandView> views,
                                          std::span<const ContextRow> rows);

class ContextPasses {
 public:
  // `longest`: rows of one pass. Nothing is owned.
  ContextPasses(const DraftParts& parts, DraftInputs& inputs, Sequences& sequences,
                std::uint64_t longest)
      : p_(parts), inputs_(inputs), sequences_(sequences), longest_(longest) {}

  // Enqueues every pass but the last, and returns the last one's rows: at most `pass_rows`, none if
  // nothing is pending. Rows count as committed once their pass is on the stream.
  StatusOr<std::vector<ContextRow>> RunAllButLast(std::span<const BandView> views,
                                                  std::uint64_t pass_rows, StageTaps* taps);

 private:
  Status RunAlone(std::span<const BandView> views, std::size_t of, StageTaps* taps);
  Status RunGathered(std::span<const BandView> views, std::span<const ContextRow> rows,
                     StageTaps* taps);

  const DraftParts& p_;
  DraftInputs& inputs_;
  Sequences& sequences_;
  const std::uint64_t longest_;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_CONTEXT_PASSES_H_
