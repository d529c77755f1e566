// Implementations that make a known mistake, behind the interface of a real one, for tests of
// whether the harness notices.
//
//   RunDrafterCase(c, Precision::kBf16, kReferenceBackend, OpenMistaken({Mistake::kGqaModulo}));
//   RunDrafterCase(c, Precision::kBf16, kReferenceBackend, OpenHooked({.append = Shifted}));
//
// Sessions belong to one thread at a time; what is opened keeps what it needs of the case.
#ifndef DRAFTMARK_CONFORMANCE_PUBLIC_FAILURES_MISTAKEN_SESSION_H_
#define DRAFTMARK_CONFORMANCE_PUBLIC_FAILURES_MISTAKEN_SESSION_H_

#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "conformance/plain/mistakes.h"

namespace draftmark {

// Computes with the plain forward, which makes these mistakes (conformance/plain). All bands of the
// session must propose in every step, else UNIMPLEMENTED.
OpenSession OpenMistaken(std::set<plain::Mistake> mistakes);

// A session whose caller gets something else done than asked for. Absent: what was asked for.
struct SessionHooks {
  std::function<Status(DraftSession&, std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions)>
      append = {};
  std::function<Status(DraftSession&, std::size_t band)> reset = {};
  // Changes requests, and knows whether stages are seen.
  std::function<void(std::vector<BlockRequest>&, bool seen)> propose = {};
  // Changes stages on their way out.
  std::function<void(std::string_view stage, std::vector<double>& values)> stage = {};
};
// A new set for every session that is opened, since hooks may keep state.
using MakeHooks = std::function<SessionHooks(const DrafterCase& drafter_case)>;

// `inner` with hooks; the reference unless another is given.
OpenSession OpenHooked(MakeHooks make, OpenSession inner = OpenReferenceForCase);

// Two sessions: what `shown` makes of context rows is seen, and the block is computed on what
// `used` keeps of them. So a K/V cache goes wrong without a trace in the stages before attention.
OpenSession OpenSplit(OpenSession shown, OpenSession used);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_PUBLIC_FAILURES_MISTAKEN_SESSION_H_
