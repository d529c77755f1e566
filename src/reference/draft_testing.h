// Test helpers: sessions of the small random drafters, sequences to feed them, and their stages.
#ifndef DRAFTMARK_SRC_REFERENCE_DRAFT_TESTING_H_
#define DRAFTMARK_SRC_REFERENCE_DRAFT_TESTING_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/reference/session.h"
#include "src/weights/random_drafter.h"

namespace draftmark::reference {

// By band and name.
using Stages = std::map<std::pair<std::size_t, std::string>, std::vector<double>>;

class Collector : public StageSink {
 public:
  void OnStage(const StageValue& stage) override {
    stages[{stage.band, std::string(stage.name)}] = {stage.values.begin(), stage.values.end()};
  }
  Stages stages;
};

inline SessionLimits Limits(std::uint64_t max_batch = 1, std::uint64_t ctx_window = 16) {
  SessionLimits limits;
  limits.max_batch = max_batch;
  limits.max_context = 70;
  limits.ctx_window = ctx_window;
  limits.gamma = 8;
  return limits;
}

inline std::unique_ptr<DraftSession> Open(const DrafterConfig& config, const SessionLimits& limits,
                                          Precision precision,
                                          const ReferenceOptions& options = {}) {
  StatusOr<std::unique_ptr<DraftSession>> session =
      OpenReferenceSession(config, RandomWeights(config, 11), limits, precision, options);
  EXPECT_THAT(session, IsOk());
  return std::move(session).value();
}

// One sequence with a content of its own: the taps of position p depend on the sequence and on p
// only.
inline Status Append(DraftSession& session, std::size_t band, std::uint64_t sequence,
                     std::int32_t first, std::int32_t count) {
  const std::size_t width = SmallDrafterConfig().tap_width();
  std::vector<BFloat16> taps;
  std::vector<std::int32_t> positions;
  for (std::int32_t p = first; p < first + count; ++p) {
    const std::vector<BFloat16> row =
        RandomBf16(sequence * 1000 + static_cast<std::uint64_t>(p), width, 1);
    taps.insert(taps.end(), row.begin(), row.end());
    positions.push_back(p);
  }
  return session.AppendContext(band, taps, positions);
}

inline BlockRequest Block(std::size_t band, std::uint32_t anchor, std::int64_t start,
                          std::size_t width = 5) {
  std::vector<std::uint32_t> tokens(width, 100);
  tokens[0] = anchor;
  return {band, tokens, start};
}

// The stages of one block of five rows after `context` rows, in one session with one band.
inline std::map<std::string, std::vector<double>> DraftOnce(
    const DrafterConfig& config, std::shared_ptr<const DrafterWeights> weights, Precision precision,
    std::uint32_t anchor = 3, std::int32_t context = 20) {
  std::map<std::string, std::vector<double>> stages;
  StatusOr<std::unique_ptr<DraftSession>> session =
      OpenReferenceSession(config, std::move(weights), Limits(), precision);
  EXPECT_THAT(session, IsOk());
  EXPECT_THAT(Append(**session, 0, 1, 0, context), IsOk());
  Collector collector;
  const BlockRequest block = Block(0, anchor, context);
  EXPECT_THAT((*session)->Propose({&block, 1}, &collector), IsOk());
  for (auto& [key, values] : collector.stages) stages[key.second] = std::move(values);
  return stages;
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_DRAFT_TESTING_H_
