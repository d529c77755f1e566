// What the history knows of A/A runs, for the gate; and what goes into it.
//
//   DM_ASSIGN_OR_RETURN(const AaBook book, AaBook::Read("history.db", now));
//   book.Spread("sm_90", "draft/a/iterations:1/manual_time");
//   book.Counts("sm_90");   // of the last kAaDays days
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_AA_HISTORY_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_AA_HISTORY_H_

#include <cstdint>
#include <map>
#include <string>

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/perf/aa_quality.h"
#include "src/perf/history/record.h"

namespace draftmark {

using ReportContext = std::map<std::string, std::string>;  // BenchmarkReport

// What a report says of the machine: architecture, GPU, driver, CUDA, clocks.
Environment EnvironmentOf(const ReportContext& context);
// When it was written; the beginning of today where it does not say so.
std::int64_t TimeOf(const ReportContext& context, const Clock& clock);

class AaBook {
 public:
  // Nothing is known where there is no such file yet.
  static StatusOr<AaBook> Read(const std::string& database, const Clock& clock);

  // `name` is Google Benchmark's; 0 where it is not known.
  double Spread(const std::string& architecture, const std::string& name) const;
  AaCounts Counts(const std::string& architecture) const;
  // A sentence where there were A/A runs, and nothing is known by them; else empty.
  std::string Note(const std::string& architecture) const;
  // A sentence where the architecture is noisy, so that its gate is advisory; else empty.
  std::string Advisory(const std::string& architecture) const;

 private:
  std::map<std::string, std::map<std::string, double>> spreads_;  // architecture, case id
  std::map<std::string, AaCounts> counts_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_AA_HISTORY_H_
