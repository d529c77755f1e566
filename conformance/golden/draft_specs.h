// The drafts of the golden set that are generated: published drafters with their true head counts,
// ratios, layers, taps, windows and rotary rules, at a width that fits a repository.
//
// Each is an entry of golden/configs/drafter_configs.json with its widths replaced; weights and
// inputs come from a seed (src/cases/generated_data.h). Contexts are longer than the window where
// there is one. Immutable, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_GOLDEN_DRAFT_SPECS_H_
#define DRAFTMARK_CONFORMANCE_GOLDEN_DRAFT_SPECS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/cases/generated_data.h"

namespace draftmark {

struct DraftSpec {
  std::string_view name;   // of its folder below golden/drafts
  std::string_view entry;  // of the catalogue
  std::uint64_t hidden = 48;
  std::uint64_t intermediate = 80;
  std::uint64_t vocabulary = 131;
  std::uint64_t head_dim = 8;
  std::uint64_t context = 70;      // rows of the first step
  std::string_view change = "{}";  // merged into the config at last (RFC 7396)
  bool sinks = false;
  bool mask_embedding = false;
  std::uint64_t neighbours = 0;     // other sequences of the session; the draft's is the last one
  std::string_view history = "{}";  // merged behind the steps: other steps, "replay", "tap_scale"
};

std::span<const DraftSpec> DraftSpecs();

// Adds generator and steps to a drafter's config: the first step fills the context with `context`
// rows, the second adds what a verification of a few drafts would. Positions run ahead of slots, as
// after dropped rows. `name` seeds the anchors.
void AddGeneratedSteps(OrderedJson& config, std::string_view name, std::uint64_t context,
                       std::uint64_t vocabulary, const DataGenerator& generator);

// config.json of a generated case: geometry, generator and steps. NOT_FOUND if the catalogue has no
// such entry; `source` is the catalogue's name for messages.
StatusOr<OrderedJson> DraftConfigJson(const DraftSpec& spec, const Json& catalogue,
                                      const std::string& source);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_GOLDEN_DRAFT_SPECS_H_
