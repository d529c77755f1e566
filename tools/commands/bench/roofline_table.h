// A roofline's report as text, in pieces, so that lines are printed as they come.
#ifndef DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_TABLE_H_
#define DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_TABLE_H_

#include <span>
#include <string>

#include "tools/commands/bench/roofline_report.h"

namespace draftmark {

// The machine, and what the columns of works are.
std::string RooflineHead(const RooflineReport& report);
std::string WorksHead();
std::string WorkText(const WorkResult& result);
// Why baselines are missing; a line each.
std::string NotesText(const RooflineReport& report);

std::string LinearHead();
// The lines of one shape: a row for each path, a column for each of kLinearRows. A * marks what
// misses its must; the fast path has a - where the simple one is taken.
std::string LinearText(std::span<const LinearResult> of_shape);
// A line for each class of linear layers, and the totals.
std::string SummaryText(const RooflineReport& report);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_TABLE_H_
