// The records of demo_history.h that are no nights.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_DEMO_RECORDS_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_DEMO_RECORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "src/perf/dashboard/demo_machine.h"
#include "src/perf/history/record.h"

namespace draftmark {

std::string DemoReproduce(const std::string& case_id);

// The nightly job's verdicts on the last night.
GateRecord DemoGate(const DemoOptions& options, const DemoMachine& machine,
                    const std::vector<DemoCase>& cases, std::size_t testbed);
AaRecord DemoAa(const DemoOptions& options, const DemoMachine& machine,
                const std::vector<DemoCase>& cases, std::size_t testbed);
RunRecord DemoConformance(const DemoOptions& options, const DemoMachine& machine,
                          std::size_t testbed);
// Scratch memory of some configurations, and launches and allocations, on two nights.
std::vector<HistoryRecord> DemoCounts(const DemoOptions& options, const DemoMachine& machine);
std::vector<HistoryRecord> DemoReleases(const DemoOptions& options, const DemoMachine& machine);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_DEMO_RECORDS_H_
