#include "kernels/draft/testing/session_faults.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "src/base/failing_new.h"
#include "src/base/status_matchers.h"

namespace draftmark::kernels {
namespace {

using ::testing::HasSubstr;

// Far more than any call makes.
constexpr std::int64_t kMostAllocations = 100'000;

Status Keep(StatusOr<std::vector<BlockResult>> results, std::vector<BlockResult>& kept) {
  if (!results.ok()) return results.status();
  kept = *std::move(results);
  return OkStatus();
}

}  // namespace

// 40 rows are more than passes of 16 take at once, and more than a session without a cache holds; the later blocks are of
// other widths, so that their graphs are captured as they are enqueued.
FaultyHistory::FaultyHistory(const DraftVariant& variant, const CudaSessionOptions& options,
                             Allocator& allocator, cudaStream_t stream)
    : variant_(variant),
      options_(options),
      allocator_(allocator),
      stream_(stream),
      many_count_(options.paged ? 40 : 14),
      many_(RowsOf(0, many_count_)),
      few_(RowsOf(many_count_, 3)),
      first_(Block(variant.config, 0, 3, many_count_, 8)),
      second_(Block(variant.config, 0, 5, many_count_ + 3, 8)),
      third_(Block(variant.config, 0, 5, many_count_ + 3, 5)),
      fourth_(Block(variant.config, 0, 7, many_count_ + 3, 4)) {}

FaultyHistory::Rows FaultyHistory::RowsOf(std::int32_t first, std::int32_t count) const {
  Rows rows;
  for (std::int32_t position = first; position < first + count; ++position) {
    const std::vector<BFloat16> row = TapRow(variant_.config, /*sequence=*/0, position);
    rows.taps.insert(rows.taps.end(), row.begin(), row.end());
    rows.positions.push_back(position);
  }
  return rows;
}

StatusOr<std::unique_ptr<CudaDraftSession>> FaultyHistory::OpenOn(Allocator& allocator) const {
  DM_ASSIGN_OR_RETURN(auto weights, DraftWeights::Generate(variant_.config, variant_.generator,
                                                           allocator, stream_));
  return OpenCudaSession(variant_.config, std::move(weights), SmallLimits(1), allocator,
                         /*library=*/nullptr, options_);
}

Status FaultyHistory::Call(CudaDraftSession& session, int number, HistoryOutcome& outcome) const {
  switch (number) {
    case 0:
      return session.AppendContext(0, many_.taps, many_.positions);
    case 1:
      return session.Prepare(first_.tokens.size(), 1);
    case 2:
      return Keep(session.Propose({&first_, 1}, nullptr), outcome.proposed);
    case 3:
      return session.DropFront(0, 4);
    case 4:
      return session.AppendContext(0, few_.taps, few_.positions);
    case 5:
      outcome.stages.stages.clear();
      return Keep(session.Propose({&second_, 1}, &outcome.stages), outcome.drawn_with_sink);
    case 6:
      return session.Reopen(0, options_.paged ? 2 : 0);
    case 7:
      return session.Enqueue({&third_, 1});
    case 8:
      return Keep(session.Collect(), outcome.collected);
    case 9:
      return session.Reset(0);
    case 10:
      return session.AppendContext(0, few_.taps, few_.positions);
    default:
      return Keep(session.Propose({&fourth_, 1}, nullptr), outcome.after_reset);
  }
}

StatusOr<HistoryOutcome> FaultyHistory::Run() const {
  DM_ASSIGN_OR_RETURN(const std::unique_ptr<CudaDraftSession> session, Open());
  HistoryOutcome outcome;
  for (int call = 0; call < kCalls; ++call) {
    DM_RETURN_IF_ERROR(Call(*session, call, outcome));
  }
  return outcome;
}

std::string DifferenceOf(const HistoryOutcome& expected, const HistoryOutcome& got) {
  for (const auto part : {&HistoryOutcome::proposed, &HistoryOutcome::drawn_with_sink,
                          &HistoryOutcome::collected, &HistoryOutcome::after_reset}) {
    std::string difference = DifferenceOf(expected.*part, got.*part);
    if (!difference.empty()) return difference;
  }
  return expected.stages.stages == got.stages.stages ? "" : "other stages";
}

std::int64_t FailEveryHostAllocationOfOpening(const FaultyHistory& history,
                                              const std::function<std::int64_t()>& objects,
                                              std::int64_t stride) {
  // What is made once in a process is made.
  EXPECT_THAT(history.Run(), IsOk());
  std::int64_t failures = 0;
  for (std::int64_t n = 1; n < kMostAllocations; n += stride) {
    const std::int64_t live = CountHostAllocations().live;
    const std::int64_t held = objects();
    bool failed = false;
    {
      FailHostAllocation(n);
      const StatusOr<std::unique_ptr<CudaDraftSession>> session = history.Open();
      failed = StopFailing();
      EXPECT_EQ(session.ok(), !failed);
      if (failed) {
        EXPECT_THAT(session, StatusIs(StatusCode::kResourceExhausted, HasSubstr("host memory")));
      }
    }
    const std::int64_t left = CountHostAllocations().live;
    EXPECT_EQ(left, live) << "failure " << n;
    EXPECT_EQ(objects(), held) << "failure " << n;
    if (!failed || left != live) return failures;
    ++failures;
  }
  ADD_FAILURE() << "never succeeds";
  return failures;
}

std::int64_t FailEveryHostAllocationOfCalls(const FaultyHistory& history, std::int64_t stride) {
  const StatusOr<HistoryOutcome> expected = history.Run();
  EXPECT_THAT(expected, IsOk());
  if (!expected.ok()) return 0;
  std::int64_t failures = 0;
  const std::int64_t before = CountHostAllocations().live;
  {
    StatusOr<std::unique_ptr<CudaDraftSession>> session = history.Open();
    EXPECT_THAT(session, IsOk());
    if (!session.ok()) return 0;
    HistoryOutcome outcome;
    for (int call = 0; call < FaultyHistory::kCalls; ++call) {
      bool failed = true;
      for (std::int64_t n = 1; failed && n < kMostAllocations; n += stride) {
        FailHostAllocation(n);
        const Status status = history.Call(**session, call, outcome);
        failed = StopFailing();
        if (failed) {
          ++failures;
          EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted, HasSubstr("host memory")))
              << "call " << call << " allocation " << n;
        } else {
          EXPECT_THAT(status, IsOk()) << "call " << call << " after failure " << n - stride;
        }
      }
      EXPECT_FALSE(failed) << "call " << call << " never succeeds";
    }
    EXPECT_EQ(DifferenceOf(*expected, outcome), "");
  }
  EXPECT_EQ(CountHostAllocations().live, before);
  return failures;
}

}  // namespace draftmark::kernels
