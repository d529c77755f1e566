// Properties of reference sessions that no single run shows: where they write, what they leave
// behind, what they depend on.
#include <fmt/format.h>

#include <map>

#include "conformance/mutants/check.h"
#include "conformance/mutants/histories.h"
#include "conformance/plain/tapped_stages.h"
#include "src/reference/session.h"
#include "src/scratch/checking_allocator.h"
#include "src/scratch/host_allocator.h"
#include "src/scratch/ledger.h"

namespace draftmark {
namespace {

constexpr Precision kPrecisions[] = {Precision::kExact, Precision::kBf16};
// By step and band.
using AllStages = std::vector<std::map<std::size_t, TappedStages>>;

StatusOr<std::unique_ptr<DraftSession>> Open(const History& history, Precision precision,
                                             const reference::ReferenceOptions& options) {
  return reference::OpenReferenceSession(history.config, history.weights, history.limits, precision,
                                         options);
}

StatusOr<AllStages> RunSteps(const History& history, DraftSession& session,
                             const std::function<Status()>& after_each = {}) {
  AllStages all;
  for (std::size_t s = 0; s < history.bands[0].size(); ++s) {
    DM_ASSIGN_OR_RETURN(const std::vector<BlockRequest> requests, EnterStep(history, s, session));
    StageCollector collector;
    DM_RETURN_IF_ERROR(session.Propose(requests, &collector).status());
    all.push_back(collector.bands());
    if (after_each) DM_RETURN_IF_ERROR(after_each().Annotated(fmt::format("step{}", s)));
  }
  return all;
}

StatusOr<AllStages> RunOnce(const History& history, Precision precision,
                            const reference::ReferenceOptions& options) {
  DM_ASSIGN_OR_RETURN(const std::unique_ptr<DraftSession> session,
                      Open(history, precision, options));
  return RunSteps(history, *session);
}

// Bit for bit; names the first stage that is not the same.
Status ExpectSame(const History& history, const AllStages& a, const AllStages& b) {
  for (std::size_t s = 0; s < a.size(); ++s) {
    for (const auto& [band, stages] : a[s]) {
      for (const std::string& stage : StagesInDataFlowOrder(history.config)) {
        const auto found = stages.find(stage);
        if (found == stages.end()) continue;
        const TappedStages& other = b.at(s).at(band);
        const auto twin = other.find(stage);
        if (twin != other.end() && twin->second.shape == found->second.shape &&
            twin->second.values == found->second.values) {
          continue;
        }
        return InternalError(
            fmt::format("step{}.band{}.{}: not the same ({})", s, band, stage, history.name));
      }
    }
  }
  return OkStatus();
}

std::vector<History> Watched() {
  std::vector<History> watched;
  for (History& history : Histories()) {
    const std::string& name = history.name;
    if (name.starts_with("two_bands") || name == "window_slide") {
      watched.push_back(std::move(history));
    }
  }
  watched.push_back(ManyBands());
  return watched;
}

History HistoryOf(std::string_view name) {
  for (History& history : Histories()) {
    if (history.name == name) return std::move(history);
  }
  return {};
}

Status RedZones() {
  for (const History& history : Watched()) {
    for (const Precision precision : kPrecisions) {
      HostAllocator host;
      CheckingAllocator checking(host, {.zone_bytes = 4096});
      reference::ReferenceOptions options;
      options.allocator = &checking;
      DM_ASSIGN_OR_RETURN(std::unique_ptr<DraftSession> session, Open(history, precision, options));
      DM_RETURN_IF_ERROR(RunSteps(history, *session, [&] { return checking.Check({}); }).status());
      session.reset();
      DM_RETURN_IF_ERROR(checking.Check({}));
    }
  }
  return OkStatus();
}

Status Leaks() {
  for (const Precision precision : kPrecisions) {
    HostAllocator host;
    Ledger ledger;
    LedgerAllocator allocator(host, ledger);
    reference::ReferenceOptions options;
    options.allocator = &allocator;
    DM_RETURN_IF_ERROR(RunOnce(HistoryOf("two_bands_conv"), precision, options).status());
    for (const LedgerLine& line : ledger.Lines()) {
      if (line.account.live_count != 0) {
        return InternalError(fmt::format("{}: {} bytes are still allocated after the session",
                                         line.tag, line.account.live_bytes));
      }
    }
  }
  return OkStatus();
}

Status SteadyState() {
  const History history = HistoryOf("rejection");
  for (const Precision precision : kPrecisions) {
    HostAllocator host;
    Ledger ledger;
    LedgerAllocator allocator(host, ledger);
    reference::ReferenceOptions options;
    options.allocator = &allocator;
    DM_ASSIGN_OR_RETURN(const std::unique_ptr<DraftSession> session,
                        Open(history, precision, options));
    const std::uint64_t before = ledger.Total().total_count;
    DM_RETURN_IF_ERROR(RunSteps(history, *session).status());
    if (ledger.Total().total_count != before) {
      return InternalError(fmt::format("{} allocations in {} proposes",
                                       ledger.Total().total_count - before,
                                       history.bands[0].size()));
    }
  }
  return OkStatus();
}

// Poisoned anew before every propose: nothing but the cache may outlive one.
Status Poisoned() {
  for (const History& history : Watched()) {
    if (!history.name.starts_with("two_bands")) continue;
    for (const Precision precision : kPrecisions) {
      DM_ASSIGN_OR_RETURN(const AllStages expected, RunOnce(history, precision, {}));
      for (const Poison poison : {Poison::kZeros, Poison::kOnes, Poison::kRandom}) {
        HostAllocator host;
        CheckingAllocator checking(host, {.zone_bytes = 4096, .poison = poison});
        reference::ReferenceOptions options;
        options.allocator = &checking;
        DM_ASSIGN_OR_RETURN(const std::unique_ptr<DraftSession> session,
                            Open(history, precision, options));
        const auto again = [&] {
          return checking.Repoison([](std::string_view tag) { return !tag.starts_with("kv_pool"); },
                                   poison, 5, {});
        };
        DM_ASSIGN_OR_RETURN(const AllStages found, RunSteps(history, *session, again));
        DM_RETURN_IF_ERROR(ExpectSame(history, expected, found));
      }
    }
  }
  return OkStatus();
}

Status SameBits() {
  for (const History& history : Watched()) {
    for (const Precision precision : kPrecisions) {
      DM_ASSIGN_OR_RETURN(const AllStages first, RunOnce(history, precision, {}));
      DM_ASSIGN_OR_RETURN(const AllStages second, RunOnce(history, precision, {}));
      DM_RETURN_IF_ERROR(ExpectSame(history, first, second));
    }
  }
  return OkStatus();
}

Status AfterReset() {
  const History history = HistoryOf("two_bands_plain");
  for (const Precision precision : kPrecisions) {
    DM_ASSIGN_OR_RETURN(const std::unique_ptr<DraftSession> session, Open(history, precision, {}));
    DM_ASSIGN_OR_RETURN(const AllStages first, RunSteps(history, *session));
    for (std::size_t band = 0; band < history.bands.size(); ++band) {
      DM_RETURN_IF_ERROR(session->Reset(band));
    }
    DM_ASSIGN_OR_RETURN(const AllStages second, RunSteps(history, *session));
    DM_RETURN_IF_ERROR(ExpectSame(history, first, second));
  }
  return OkStatus();
}

// The same stages by other ways through memory.
Status SameAs(const reference::ReferenceOptions& other) {
  for (const char* const name : {"window_slide", "rejection"}) {
    History history = HistoryOf(name);
    history.limits.ctx_window = history.limits.max_context;  // without a cache it holds all rows
    for (const Precision precision : kPrecisions) {
      DM_ASSIGN_OR_RETURN(const AllStages paged, RunOnce(history, precision, {}));
      DM_ASSIGN_OR_RETURN(const AllStages found, RunOnce(history, precision, other));
      DM_RETURN_IF_ERROR(ExpectSame(history, paged, found));
    }
  }
  return OkStatus();
}

}  // namespace

void AddReferenceSessionChecks(Checks& checks) {
  checks.push_back({"path/without_cache", [] { return SameAs({.paged = false}); }});
  checks.push_back({"path/scratch_v1", [] { return SameAs({.scratch_version = 1}); }});
  checks.push_back({"session/reset", AfterReset});
  checks.push_back({"session/same_bits", SameBits});
  checks.push_back({"memory/red_zones", RedZones});
  checks.push_back({"memory/leaks", Leaks});
  checks.push_back({"memory/steady_state", SteadyState});
  checks.push_back({"memory/poison", Poisoned});
}

}  // namespace draftmark
