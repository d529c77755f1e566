// Random drafts: a small drafter of any family, and what happens to a sequence and its neighbours.
//
//   const OrderedJson config = RandomDraft(/*seed=*/7);      // config.json of a generated case
//   DM_ASSIGN_OR_RETURN(const DrafterCase made, BuildCase(config, "case", files));
//
// Geometry: every family and head, one to three layers, full and sliding, head ratios that are no
// powers of two, odd widths, YaRN, partial rotary in both pairings, biases, sinks, softcaps, taps
// from tiny to far beyond FP16. Histories: sequences join with tails around pages and passes,
// accept none to all drafts, propose again without new rows and at other widths, skip positions,
// slide, leave and join again, among up to fifteen neighbours that do the same, and are replayed
// without a sink.
//
// Pure functions, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_RANDOM_RANDOM_DRAFT_H_
#define DRAFTMARK_CONFORMANCE_RANDOM_RANDOM_DRAFT_H_

#include <cstdint>
#include <vector>

#include "src/base/json.h"

namespace draftmark {

OrderedJson RandomDraft(std::uint64_t seed);

// Drafts with one thing made simpler, the boldest first. Some do not exist (a head without the rank
// that it needs): BuildCase refuses them.
std::vector<OrderedJson> SimplerDrafts(const OrderedJson& config);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_RANDOM_RANDOM_DRAFT_H_
