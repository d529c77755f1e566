// Totals of suites, those that failed first.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/perf/dashboard/load_parts.h"

namespace draftmark {
namespace {

constexpr std::size_t kNamedTests = 5;  // of a suite; its log has all

std::uint64_t CountOf(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

std::string DetailOf(const SuiteRow& row) {
  std::string detail = row.result.problem;
  for (std::size_t i = 0; i < std::min(row.failed_tests.size(), kNamedTests); ++i) {
    detail += (detail.empty() ? "" : "; ") + row.failed_tests[i];
  }
  if (row.failed_tests.size() > kNamedTests) {
    detail += fmt::format("; and {} more", row.failed_tests.size() - kNamedTests);
  }
  return detail;
}

}  // namespace

Status LoadSuites(LoadState& state) {
  DM_ASSIGN_OR_RETURN(const std::vector<SuiteRow> rows, state.reader.NewestSuites());
  for (const SuiteRow& row : rows) {
    DashboardSuite suite{.name = row.result.name,
                         .architecture = row.architecture,
                         .failed = row.failed,
                         .failures = CountOf(row.result.failed),
                         .passed = CountOf(row.result.passed),
                         .skipped = CountOf(row.result.skipped),
                         .commit = row.commit,
                         .time = row.time};
    if (row.failed) suite.detail = DetailOf(row);
    state.data.suites.push_back(std::move(suite));
  }
  std::stable_partition(state.data.suites.begin(), state.data.suites.end(),
                        [](const DashboardSuite& suite) { return suite.failed; });
  return OkStatus();
}

}  // namespace draftmark
