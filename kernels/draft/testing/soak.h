// A soak: thousands of proposes of random histories on one session, with the memory watched: what
// goes wrong a little in every step, and shows after many.
//
//   RandomDriver driver(config, limits, plan, /*seed=*/3);
//   DM_ASSIGN_OR_RETURN(const SoakReport report,
//                       RunSoak(*session, driver, {.steps = 20'000}, {.canaries = ..., .live_bytes = ...}));
//
// Errors: those of the session, with the step; INTERNAL for results that are not as many as the
// requests, for memory that is not what it was after the first steps, and for damaged canaries,
// with the steps between which it happened.
#ifndef DRAFTMARK_KERNELS_DRAFT_TESTING_SOAK_H_
#define DRAFTMARK_KERNELS_DRAFT_TESTING_SOAK_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/draft/testing/random_driver.h"
#include "src/backend/draft_session.h"
#include "src/base/status.h"

namespace draftmark::kernels {

struct SoakPlan {
  std::uint64_t steps = 20'000;
  // Canaries and memory are looked at this often, and at the end.
  std::uint64_t check_every = 100;
  // Memory must stay what it is after these: until then shapes come for the first time.
  std::uint64_t warm_up = 500;
  // Results are compared this often, by `compare`.
  std::uint64_t compare_every = 500;
};

// What is watched. All but `compare` are required.
struct SoakProbe {
  std::function<Status()> canaries;
  std::function<std::uint64_t()> live_bytes;
  // Whether a step's results are what they should be; may be empty.
  std::function<Status(const DraftStep& step, const std::vector<BlockResult>& results)> compare =
      {};
};

struct SoakReport {
  std::uint64_t proposes = 0;
  std::uint64_t blocks = 0;  // of all bands
  std::uint64_t appended_rows = 0;
  std::uint64_t slides = 0;
  std::uint64_t resets = 0;
  std::uint64_t checks = 0;  // of the canaries
  std::uint64_t compared = 0;
  std::uint64_t live_bytes = 0;
};

StatusOr<SoakReport> RunSoak(DraftSession& session, RandomDriver& driver, const SoakPlan& plan,
                             const SoakProbe& probe);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_TESTING_SOAK_H_
