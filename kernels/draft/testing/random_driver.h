// RandomDriver: an engine at work on a session, at random but the same for the same seed. It says
// what is done before each propose, and what is proposed; a test does that with as many sessions as
// it likes, and compares.
//
//   RandomDriver driver(config, limits, session.plan(), /*seed=*/7);
//   for (int i = 0; i < 1000; ++i) {
//     const DraftStep& step = driver.Next();
//     ASSERT_THAT(ApplyChanges(session, step), IsOk());
//     const auto results = session.Propose(step.requests, nullptr);
//   }
//
// What happens: sequences join with a tail of any length, also longer than a pass, leave (Reset)
// and join again; after a propose 0 to w drafts are accepted, and their rows and the anchor's are
// appended; tails grow without a propose; windows slide, by choice and when there is no room; rows
// and anchors skip positions, unless masks count by index (src/backend/index_masks.h); any subset
// of the bands proposes, in any order, at changing widths; now and then with other tokens than
// masks.
#ifndef DRAFTMARK_KERNELS_DRAFT_TESTING_RANDOM_DRIVER_H_
#define DRAFTMARK_KERNELS_DRAFT_TESTING_RANDOM_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/backend/draft_session.h"
#include "src/backend/sequences.h"
#include "src/backend/session_plan.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct DraftStep {
  struct Change {
    enum class Kind { kReset, kDrop, kAppend };
    Kind kind = Kind::kReset;
    std::size_t band = 0;
    std::uint64_t rows = 0;           // kDrop
    std::vector<BFloat16> taps = {};  // kAppend
    std::vector<std::int32_t> positions = {};
  };
  std::vector<Change> changes;
  std::vector<BlockRequest> requests;
};

Status ApplyChanges(DraftSession& session, const DraftStep& step);
// Changes and propose.
StatusOr<std::vector<BlockResult>> RunStep(DraftSession& session, const DraftStep& step);

class RandomDriver {
 public:
  RandomDriver(const DrafterConfig& config, const SessionLimits& limits, const SessionPlan& plan,
               std::uint64_t seed);

  // The next step; valid until the one after it is asked for.
  const DraftStep& Next();

  // The sessions' sequences behind the last step's changes and before its propose.
  const Sequences& sequences() const { return sequences_; }
  // Appends everything that a band then holds to band 0 of another session.
  Status AppendHistory(std::size_t band, DraftSession& session) const;

 private:
  struct Band {
    std::vector<std::uint64_t> rows;  // seeds of their taps
    std::int64_t next = 0;            // the least position that may come next
    std::size_t verified = 0;         // width of the propose that was not verified yet
  };

  void Skip(std::size_t band, std::uint64_t positions);
  std::uint64_t Below(std::uint64_t limit);  // at random
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }
  void Reset(std::size_t band);
  void Drop(std::size_t band, std::uint64_t rows);
  // Slides the window where there is no room.
  void Append(std::size_t band, std::uint64_t rows);
  void Grow(std::size_t band);
  BlockRequest Request(std::size_t band);
  std::vector<BFloat16> Taps(std::uint64_t seed) const;

  const DrafterConfig config_;
  const SessionLimits limits_;
  const std::uint64_t seed_;
  const bool skips_;
  Sequences sequences_;
  std::vector<Band> bands_;
  DraftStep step_;
  std::size_t width_;
  std::uint64_t drawn_ = 0;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_TESTING_RANDOM_DRIVER_H_
