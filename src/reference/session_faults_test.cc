// Every allocation of a reference session fails once in turn, those of its allocator and those of the host: through
// opening it and through a draft. The error is clear, nothing is leaked, and what comes after it is as if nothing had
// been.
#include <fmt/format.h>

#include <functional>
#include <iostream>

#include "src/base/failing_new.h"
#include "src/reference/draft_testing.h"
#include "src/scratch/fault_injection.h"
#include "src/scratch/host_allocator.h"
#include "src/scratch/ledger.h"

namespace draftmark::reference {
namespace {

using ::testing::HasSubstr;

struct Setting {
  std::string name;
  DrafterConfig config;
  Precision precision = Precision::kExact;
  ReferenceOptions options = {};
};

DrafterConfig DsparkConfig() {
  DrafterConfig config = SmallDrafterConfig();
  config.kind = DrafterKind::kDspark;
  config.markov_rank = 8;
  config.markov_head_type = "rnn";
  config.confidence_head = true;
  config.confidence_head_with_markov = true;
  return config;
}

std::vector<Setting> Settings() {
  std::vector<Setting> all;
  for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
    const std::string suffix(PrecisionName(precision));
    all.push_back({"dflash_" + suffix, SmallDrafterConfig(), precision});
    all.push_back({"v1_" + suffix, SmallDrafterConfig(), precision, {.scratch_version = 1}});
    all.push_back({"contiguous_" + suffix, SmallDrafterConfig(), precision, {.paged = false}});
    all.push_back({"dspark_" + suffix, DsparkConfig(), precision});
  }
  return all;
}

class SessionFaultsTest : public ::testing::TestWithParam<Setting> {
 protected:
  StatusOr<std::unique_ptr<DraftSession>> Opened(Allocator* allocator = nullptr) const {
    ReferenceOptions options = GetParam().options;
    options.allocator = allocator;
    return OpenReferenceSession(GetParam().config, weights_, Limits(), GetParam().precision,
                                options);
  }

  // One call of the history. What it makes for itself is made beforehand, so that only the session's own allocations
  // fail.
  static constexpr int kCalls = 5;
  Status Call(DraftSession& session, int number, std::vector<BlockResult>* results) const {
    if (number == 0) return session.AppendContext(0, taps_, positions_);
    if (number == 2) return session.DropFront(0, 4);
    if (number == 3) return session.AppendContext(0, later_taps_, later_positions_);
    StatusOr<std::vector<BlockResult>> proposed =
        session.Propose({number == 1 ? &first_ : &second_, 1}, nullptr);
    if (!proposed.ok()) return proposed.status();
    if (results != nullptr) *results = *std::move(proposed);
    return OkStatus();
  }

  // The drafts of the second propose of a session that nothing happened to, and its stages.
  std::vector<BlockResult> Drafts() const {
    const auto session = Opened().value();
    std::vector<BlockResult> results;
    for (int i = 0; i < kCalls; ++i) EXPECT_THAT(Call(*session, i, &results), IsOk());
    return results;
  }

  static void FillRows(std::int32_t first, std::int32_t count, std::size_t width,
                       std::vector<BFloat16>& taps, std::vector<std::int32_t>& positions) {
    for (std::int32_t p = first; p < first + count; ++p) {
      const auto row = RandomBf16(static_cast<std::uint64_t>(p), width, 1);
      taps.insert(taps.end(), row.begin(), row.end());
      positions.push_back(p);
    }
  }

  void SetUp() override {
    FillRows(0, 9, GetParam().config.tap_width(), taps_, positions_);
    FillRows(9, 3, GetParam().config.tap_width(), later_taps_, later_positions_);
  }

  const std::shared_ptr<const DrafterWeights> weights_ = RandomWeights(GetParam().config, 11);
  std::vector<BFloat16> taps_, later_taps_;
  std::vector<std::int32_t> positions_, later_positions_;
  const BlockRequest first_ = Block(0, 3, 9);
  const BlockRequest second_ = Block(0, 5, 12);
};

INSTANTIATE_TEST_SUITE_P(Settings, SessionFaultsTest, ::testing::ValuesIn(Settings()),
                         [](const auto& run) { return run.param.name; });

bool SameDrafts(const std::vector<BlockResult>& a, const std::vector<BlockResult>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].draft_tokens != b[i].draft_tokens || a[i].margin != b[i].margin ||
        a[i].confidence != b[i].confidence) {
      return false;
    }
  }
  return true;
}

// Device memory and pinned memory are both the allocator's.
TEST_P(SessionFaultsTest, EveryAllocationOfTheAllocator) {
  const std::vector<BlockResult> expected = Drafts();
  HostAllocator host;
  Ledger ledger;
  LedgerAllocator counted(host, ledger);
  std::uint64_t n = 0;
  for (bool good = false; !good; ++n) {
    ASSERT_LT(n, 500u) << "never succeeds";
    FaultInjectingAllocator failing(counted, {.fail_allocation = n + 1});
    StatusOr<std::unique_ptr<DraftSession>> session = Opened(&failing);
    good = session.ok();
    if (!good) {
      EXPECT_THAT(session,
                  StatusIs(StatusCode::kResourceExhausted,
                           HasSubstr("injected failure of allocation " + std::to_string(n + 1))));
      EXPECT_EQ(ledger.Total().live_count, 0u) << "failure " << n + 1 << "\n" << ledger.ToString();
      continue;
    }
    std::vector<BlockResult> results;
    for (int i = 0; i < kCalls; ++i) ASSERT_THAT(Call(**session, i, &results), IsOk());
    EXPECT_TRUE(SameDrafts(results, expected));
    // A draft takes nothing from it.
    EXPECT_EQ(failing.allocations(), n);
  }
  EXPECT_EQ(ledger.Total().live_count, 0u);
  EXPECT_GT(n, 15u);  // fields of the scratch, and two pools
}

// The text of a refusal is made of memory too.
TEST_P(SessionFaultsTest, WhereEvenTheRefusalFindsNoMemory) {
  const auto session = Opened().value();
  const std::vector<std::function<Status()>> refused = {
      [&] { return session->AppendContext(7, taps_, positions_); },
      [&] { return session->DropFront(0, 1'000'000); }, [&] { return session->Reset(7); },
      [&] { return session->Propose({}, nullptr).status(); }};
  for (const std::function<Status()>& call : refused) {
    EXPECT_THAT(call(), StatusIs(StatusCode::kInvalidArgument, ::testing::_));
    FailHostAllocation(1);
    const Status status = call();
    EXPECT_TRUE(StopFailing());
    EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted, HasSubstr("host memory")));
  }
}

TEST_P(SessionFaultsTest, EveryHostAllocationOfOpening) {
  HostAllocator host;
  std::int64_t n = 0;
  (void)Drafts();  // what is made once in a process is made
  for (bool failed = true; failed; ++n) {
    ASSERT_LT(n, 5000) << "never succeeds";
    const std::int64_t live = CountHostAllocations().live;
    {
      FailHostAllocation(n + 1);
      const StatusOr<std::unique_ptr<DraftSession>> session = Opened(&host);
      failed = StopFailing();
      EXPECT_EQ(session.ok(), !failed);
      if (failed) {
        EXPECT_THAT(session, StatusIs(StatusCode::kResourceExhausted, HasSubstr("host memory")));
      }
    }
    ASSERT_EQ(CountHostAllocations().live, live) << "failure " << n + 1;
  }
  EXPECT_GT(n, 20);
}

// In one session: each call fails at each of its allocations before it succeeds.
TEST_P(SessionFaultsTest, EveryHostAllocationOfADraft) {
  const std::vector<BlockResult> expected = Drafts();
  const std::int64_t before = CountHostAllocations().live;
  std::int64_t failures = 0;
  {
    const auto session = Opened().value();
    std::vector<BlockResult> results;
    for (int call = 0; call < kCalls; ++call) {
      Status status;
      for (std::int64_t n = 1; n < 20'000; ++n) {
        results.clear();
        const std::int64_t live = CountHostAllocations().live;
        FailHostAllocation(n);
        status = Call(*session, call, &results);
        if (!StopFailing()) break;
        ++failures;
        ASSERT_THAT(status,
                    StatusIs(StatusCode::kResourceExhausted, HasSubstr("out of host memory")));
        status = OkStatus();
        // A buffer that grew before it happened may stay.
        ASSERT_LE(CountHostAllocations().live, live + 2) << "call " << call << " failure " << n;
      }
      ASSERT_THAT(status, IsOk()) << "call " << call;
    }
    EXPECT_TRUE(SameDrafts(results, expected));
  }
  EXPECT_LE(CountHostAllocations().live, before);
  EXPECT_GT(failures, 20);
  std::cout << failures << " failures of host allocations\n";
}

}  // namespace
}  // namespace draftmark::reference
