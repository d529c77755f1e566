#include "kernels/draft/testing/random_driver.h"

#include <algorithm>
#include <utility>

#include "src/backend/index_masks.h"
#include "src/base/counter_hash.h"
#include "src/weights/random_drafter.h"

namespace draftmark::kernels {

Status ApplyChanges(DraftSession& session, const DraftStep& step) {
  for (const DraftStep::Change& change : step.changes) {
    switch (change.kind) {
      case DraftStep::Change::Kind::kReset:
        DM_RETURN_IF_ERROR(session.Reset(change.band));
        break;
      case DraftStep::Change::Kind::kDrop:
        DM_RETURN_IF_ERROR(session.DropFront(change.band, change.rows));
        break;
      case DraftStep::Change::Kind::kAppend:
        DM_RETURN_IF_ERROR(session.AppendContext(change.band, change.taps, change.positions));
        break;
    }
  }
  return OkStatus();
}

StatusOr<std::vector<BlockResult>> RunStep(DraftSession& session, const DraftStep& step) {
  DM_RETURN_IF_ERROR(ApplyChanges(session, step));
  return session.Propose(step.requests, nullptr);
}

RandomDriver::RandomDriver(const DrafterConfig& config, const SessionLimits& limits,
                           const SessionPlan& plan, std::uint64_t seed)
    : config_(config),
      limits_(limits),
      seed_(Mix64(seed)),
      skips_(!IndexMaskOf(config, plan)),
      sequences_(limits, config, plan),
      bands_(limits.max_batch),
      width_(limits.gamma) {}

std::uint64_t RandomDriver::Below(std::uint64_t limit) { return BitsAt(seed_, drawn_++) % limit; }

// Drawn in any case, so that a seed is the same work on every plan.
void RandomDriver::Skip(std::size_t band, std::uint64_t positions) {
  if (skips_) bands_[band].next += static_cast<std::int64_t>(positions);
}

std::vector<BFloat16> RandomDriver::Taps(std::uint64_t seed) const {
  return RandomBf16(seed, config_.tap_width(), 2);
}

void RandomDriver::Reset(std::size_t band) {
  step_.changes.push_back({.kind = DraftStep::Change::Kind::kReset, .band = band});
  sequences_.Reset(band);
  bands_[band] = {};
}

void RandomDriver::Drop(std::size_t band, std::uint64_t rows) {
  if (rows == 0) return;
  step_.changes.push_back({.kind = DraftStep::Change::Kind::kDrop, .band = band, .rows = rows});
  sequences_.DropFront(band, rows);
  bands_[band].rows.erase(bands_[band].rows.begin(),
                          bands_[band].rows.begin() + static_cast<std::ptrdiff_t>(rows));
}

void RandomDriver::Append(std::size_t band, std::uint64_t rows) {
  Band& of = bands_[band];
  rows = std::min(rows, limits_.max_context);
  const std::uint64_t room = limits_.max_context - of.rows.size();
  if (rows > room) Drop(band, std::min(of.rows.size(), rows - room + Below(8)));
  DraftStep::Change change = {.kind = DraftStep::Change::Kind::kAppend, .band = band};
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (OneIn(12)) Skip(band, 1 + Below(40));
    const std::uint64_t seed = BitsAt(seed_, drawn_++);
    const std::vector<BFloat16> row = Taps(seed);
    change.taps.insert(change.taps.end(), row.begin(), row.end());
    change.positions.push_back(static_cast<std::int32_t>(of.next++));
    of.rows.push_back(seed);
  }
  sequences_.Append(band, change.positions);
  step_.changes.push_back(std::move(change));
}

void RandomDriver::Grow(std::size_t band) {
  Band& of = bands_[band];
  if (OneIn(40)) Reset(band);
  if (of.rows.empty() && !OneIn(5)) {
    // Joins; a fifth of the time it proposes without any context.
    Append(band, 1 + Below(OneIn(3) ? limits_.max_context : limits_.ctx_window));
    return;
  }
  if (of.verified > 0) {
    // The anchor, and 0 to w accepted drafts.
    Append(band, 1 + Below(of.verified + 1));
    of.verified = 0;
  } else if (OneIn(8)) {
    Append(band, 1 + Below(limits_.ctx_window));
  }
  // A prompt's next part, longer than one pass.
  if (OneIn(25)) Append(band, limits_.ctx_window + 1 + Below(2 * limits_.ctx_window));
  if (OneIn(20)) Drop(band, Below(of.rows.size() + 1));
}

BlockRequest RandomDriver::Request(std::size_t band) {
  Band& of = bands_[band];
  if (OneIn(10)) Skip(band, 1 + Below(1000));
  BlockRequest request = {.band = band, .tokens = {}, .start = of.next};
  for (std::size_t j = 0; j < width_; ++j) {
    const bool mask = j > 0 && !OneIn(30);
    request.tokens.push_back(static_cast<std::uint32_t>(mask ? config_.mask_token_id.value_or(0)
                                                             : Below(config_.vocab_size)));
  }
  of.verified = width_;
  return request;
}

const DraftStep& RandomDriver::Next() {
  if (!step_.requests.empty()) sequences_.EndPropose(step_.requests);
  step_ = {};
  if (OneIn(3)) width_ = 2 + Below(limits_.gamma - 1);
  std::vector<std::size_t> order;
  for (std::size_t band = 0; band < bands_.size(); ++band) {
    Grow(band);
    order.push_back(band);
  }
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[Below(i)]);
  // All bands half of the time.
  const std::size_t proposing = OneIn(2) ? order.size() : 1 + Below(order.size());
  for (std::size_t i = 0; i < proposing; ++i) step_.requests.push_back(Request(order[i]));
  return step_;
}

Status RandomDriver::AppendHistory(std::size_t band, DraftSession& session) const {
  std::vector<BFloat16> taps;
  for (const std::uint64_t seed : bands_[band].rows) {
    const std::vector<BFloat16> row = Taps(seed);
    taps.insert(taps.end(), row.begin(), row.end());
  }
  return session.AppendContext(0, taps, sequences_[band].positions);
}

}  // namespace draftmark::kernels
