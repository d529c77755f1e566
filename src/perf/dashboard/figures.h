// Numbers and times as the page writes them. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_FIGURES_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_FIGURES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/perf/verdict.h"

namespace draftmark {

std::string SecondsText(double seconds);         // 12.35 us, with the letter mu
std::string ChangeText(double share);            // +3.1 %; an en dash for what is no number
std::string ShareText(double share);             // 74.2 %
std::string BytesText(std::uint64_t bytes);      // 17,234,588
std::string TimeText(std::int64_t time);         // 2026-11-29 03:12, UTC
std::string IsoTimeText(std::int64_t time);      // 2026-11-29T03:12:08Z
std::string DayText(std::int64_t time);          // 2026-11-29
std::string ShortCommit(std::string_view text);  // 12 characters of a commit's hash

// A sign that says the same as the colour: up is slower, as in the charts.
std::string_view VerdictSign(Verdict verdict);
// Worse ones first: slower, invalid, unclear, faster, same.
int Severity(Verdict verdict);

// sm_90 before sm_120: texts by the number at their end, where what stands before it is the same.
bool ArchitectureLess(const std::string& one, const std::string& other);

// The largest mean of a Poisson count of which `seen` or fewer come with a probability of 5 %: what
// the true rate may be at most. 3.0 for 0.
double PoissonUpperBound(std::size_t seen);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_FIGURES_H_
