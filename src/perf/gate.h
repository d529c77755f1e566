// The gate: is a build slower than its base? Runs both in turn, by the method of
// spec/statistics.md.
//
//   DM_ASSIGN_OR_RETURN(const GateResult result, RunGate({.seed = 7}, runner));
//   result.verdict;   // of all cases together
//
// First look: kFirstLookRuns fresh processes of each side, interleaved A B B A A B B A ..., and up
// to kNoisyRuns of the cases whose spread asks for them before anything is decided of these. Second
// look: kAddedRuns more of the cases that are unclear. Confirmation: kConfirmRuns + kConfirmRuns
// fresh runs of the cases that are slower; one that they do not confirm is unclear. A run in which
// another user of the GPU was seen (benchmark_counters.h) is measured again, up to `retries` times,
// which its times have no part in.
//
// Each case is judged by its own runs and floor (FloorOf its A/A spread). gate_test.cc simulates
// all of it on the page's noise models. The runner is behind an interface; nothing here knows of
// processes or files. One thread.
#ifndef DRAFTMARK_SRC_PERF_GATE_H_
#define DRAFTMARK_SRC_PERF_GATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/perf/google_benchmark.h"
#include "src/perf/perf_comparison.h"

namespace draftmark {

enum class GateSide { kBase, kNew };
enum class GateStage { kFirst, kSecond, kConfirm };
std::string_view GateSideName(GateSide side);     // "base", "new"
std::string_view GateStageName(GateStage stage);  // "first", "second", "confirm"

// What messages call the two sides; of A/A runs neither is a base.
struct GateNames {
  std::string base = "base";
  std::string next = "new";
};

struct GateRun {
  GateStage stage = GateStage::kFirst;
  GateSide side = GateSide::kBase;
  std::size_t number = 0;               // of the stage's runs of this side, from 0
  std::size_t attempt = 0;              // above 0: again, since the last was disturbed
  std::uint64_t seed = 0;               // of the order of cases
  std::vector<std::string> cases = {};  // to be run; empty: all
};

class GateRunner {
 public:
  virtual ~GateRunner() = default;
  // One fresh process. It may bring cases that were not asked for; these are passed over.
  virtual StatusOr<BenchmarkReport> Run(const GateRun& run) = 0;
  // How far A/A comparisons of a case spread on this machine, a share (aa_quality.h); 0: not known.
  // Asked after the first run.
  virtual double AaSpread(const std::string& /*name*/) { return 0; }
};

struct GateOptions {
  std::uint64_t seed = 0;               // each run's follows from it
  std::vector<std::string> cases = {};  // to be judged; empty: all
  std::size_t retries = 2;
  GateNames names = {};
};

struct GateCase {
  PerfCase judged;  // by the runs of the first look, and the second where there was one
  Look look = Look::kFirst;
  double floor = kFloor;
  bool fresh_runs = false;  // it was slower, and was run again
  bool confirmed = false;   // and was so again
  double fresh_ratio = 0;   // of the fresh runs, in time
  double fresh_p = 1;
};

struct GateResult {
  std::vector<GateCase> cases;
  std::vector<std::string> only_base, only_next;
  Verdict verdict = Verdict::kSame;                 // as PerfComparison's
  std::size_t runs = 0;                             // processes that were started
  std::size_t disturbed = 0;                        // of them measured again
  std::map<std::string, std::string> context = {};  // of base's first report
};

// Errors: the runner's; units that differ; NOT_FOUND where base and new have no case in common, or
// do not both have one of `options.cases`.
StatusOr<GateResult> RunGate(const GateOptions& options, GateRunner& runner);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_GATE_H_
