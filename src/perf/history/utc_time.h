// Times of day as texts and as seconds since 1970, both in UTC.
//
//   FormatUtc(1796005457)                          // "2026-11-30T02:24:17Z"
//   ParseUtc("2026-11-30T03:24:17+01:00")          // the same time
//   NightOf(1796005457)                            // "2026-11-30"
//
// Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_UTC_TIME_H_
#define DRAFTMARK_SRC_PERF_HISTORY_UTC_TIME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace draftmark {

// Year 1970 to 9999.
inline constexpr std::int64_t kLatestTime = 253402300799;

std::string FormatUtc(std::int64_t seconds);
// "YYYY-MM-DDThh:mm:ss" with "Z" or an offset behind it; nothing else.
std::optional<std::int64_t> ParseUtc(std::string_view text);

std::string NightOf(std::int64_t seconds);
// Days since 1970 of "YYYY-MM-DD"; nothing for what is no day.
std::optional<std::int64_t> DayOfNight(std::string_view night);
std::string NightOfDay(std::int64_t day);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_UTC_TIME_H_
