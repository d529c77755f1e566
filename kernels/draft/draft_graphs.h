// DraftGraphs: a draft's launches as captured graphs, two or three for each shape of a block: with the pass of the
// context that belongs to it, with half of that pass (where it has one), and without (spec/dflash_scratch.md section 5).
//
// Errors are those of CUDA and of the launches. One thread.
#ifndef DRAFTMARK_KERNELS_DRAFT_DRAFT_GRAPHS_H_
#define DRAFTMARK_KERNELS_DRAFT_DRAFT_GRAPHS_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "kernels/draft/block_path.h"
#include "kernels/draft/context_path.h"
#include "kernels/draft/draft_inputs.h"
#include "kernels/draft/draft_parts.h"
#include "kernels/draft/input_slot.h"
#include "src/base/status.h"
#include "src/cuda/graph.h"

namespace draftmark::kernels {

class DraftGraphs {
 public:
  // The launches of a draft on the session's stream; the pass may be null.
  using Launches = std::function<Status(const BlockShape& shape, const ContextPass* pass)>;
  struct Shape {
    std::uint64_t width = 0;
    std::uint64_t bands = 0;
    auto operator<=>(const Shape&) const = default;
  };

  // Nothing is owned.
  DraftGraphs(const DraftParts& parts, DraftInputs& inputs, InputSlots& slots)
      : p_(parts), inputs_(inputs), slots_(slots) {}

  bool Has(const Shape& shape) const { return graphs_.contains(shape); }
  // All graphs of a shape or, with an error, none. `most`: rows of its pass. Waits, and overwrites the
  // inputs on the device and the tokens of the last draft.
  Status Capture(const Shape& shape, std::uint64_t most, const Launches& launches);
  // Of a shape that it has: the graph with a pass of `rows` rows, `most`, HalfPassRows(most), or none.
  Status Launch(const Shape& shape, std::uint64_t rows, std::uint64_t most) const;

 private:
  struct Graphs {
    CudaGraph with_pass, block_only;
    std::optional<CudaGraph> with_half_pass;
  };
  Status WarmUp(const BlockShape& shape, std::uint64_t pass_rows, const ContextPass* pass,
                const Launches& launches);

  const DraftParts& p_;
  DraftInputs& inputs_;
  InputSlots& slots_;
  std::map<Shape, Graphs> graphs_;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_DRAFT_GRAPHS_H_
