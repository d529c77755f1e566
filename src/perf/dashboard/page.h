// The dashboard as one HTML file that needs nothing else: no network, no file beside it.
//
//   DM_RETURN_IF_ERROR(WriteTextFile("out/index.html", RenderPage(data)));
//
// Whole without JavaScript; with it come charts (dygraphs, inlined), filters and the comparison of
// two runs. A content security policy in the page forbids every request and every script but its
// own, which it names by their SHA-256, so that text that slipped through would still not run.
// Series are packed (series_code.h): 500 cases of 400 nights are below 2 MB. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_PAGE_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_PAGE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

// `data` with trends (AnalyseTrends).
std::string RenderPage(const DashboardData& data);

// What the page's script reads, schema version 1:
//
//   {"schema_version": 1,
//    "testbeds": [{"name", "arch"}],
//    "runs": [{"id": [text], "time": [seconds], "commit": [text], "clocks": [n], ...}], one object
//      of columns for each testbed; n is an index into "texts"
//    "texts": [text],
//    "series": [{"t": testbed, "c": case id, "e": exponent, "v": base64 (series_code.h), one value
//      for each run of the testbed, "r": index into "texts" of the line that measures it again,
//      with {case} for the case id, "g": [[position of the first run, level, low, high]]}],
//    "releases": [[time, label, commit]]}
OrderedJson PageJson(const DashboardData& data);

// Puts values into a template's {{NAME}}; what stands in a value is never looked at again. A name
// that is no key is a bug and ends the process.
std::string FillTemplate(std::string_view text,
                         const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_PAGE_H_
