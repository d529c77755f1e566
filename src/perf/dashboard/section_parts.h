// What the sections of the page share. Everything that gives HTML escapes what it is given. Pure,
// thread-safe.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_SECTION_PARTS_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_SECTION_PARTS_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

inline constexpr std::size_t kNoSeries = static_cast<std::size_t>(-1);

// Where the series of a case on a testbed lies in data.series.
class SeriesIndex {
 public:
  explicit SeriesIndex(const DashboardData& data);
  std::size_t Find(std::size_t testbed, const std::string& case_id) const;  // or kNoSeries

 private:
  std::map<std::pair<std::size_t, std::string>, std::size_t> at_;
};

// "sm_90, NVIDIA H200, locked clocks".
std::string TestbedText(const DashboardTestbed& testbed);  // not escaped

// A case id as a link to its trend, or alone where it has none (kNoSeries).
std::string CaseLink(const std::string& case_id, std::size_t series);

// Sign and word, coloured.
std::string VerdictHtml(Verdict verdict);

// A shell line that opens on demand; empty for none.
std::string ReproduceHtml(const std::string& line);

// The line that measures a series again as it was in `run`; empty where the history has none.
std::string ReproduceLine(const DashboardRun& run, const DashboardSeries& series);

// Whether it is a part of a bar of scratch memory: bytes of a field, not a sum over fields.
bool IsScratchField(const DashboardCount& count);

// <section id=ID><h2>TITLE</h2>BODY</section>; the title is not escaped.
std::string Section(const std::string& id, const std::string& title, const std::string& body);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_SECTION_PARTS_H_
