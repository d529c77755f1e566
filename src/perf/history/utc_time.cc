#include "src/perf/history/utc_time.h"

#include <fmt/format.h>

#include <chrono>

namespace draftmark {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

// Digits only, as many as `text` has.
std::optional<unsigned> Digits(std::string_view text) {
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

// "hh:mm" as minutes.
std::optional<unsigned> Minutes(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto hour = Digits(text.substr(0, 2));
  const auto minute = Digits(text.substr(3, 2));
  if (!hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  return *hour * 60 + *minute;
}

}  // namespace

std::string NightOfDay(std::int64_t day) {
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<int>(day)))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::optional<std::int64_t> DayOfNight(std::string_view night) {
  if (night.size() != 10 || night[4] != '-' || night[7] != '-') return std::nullopt;
  const auto year = Digits(night.substr(0, 4));
  const auto month = Digits(night.substr(5, 2));
  const auto day = Digits(night.substr(8, 2));
  if (!year || !month || !day || *year < 1970) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::string NightOf(std::int64_t seconds) { return NightOfDay(seconds / kSecondsPerDay); }

std::string FormatUtc(std::int64_t seconds) {
  const std::int64_t rest = seconds % kSecondsPerDay;
  return fmt::format("{}T{:02}:{:02}:{:02}Z", NightOf(seconds), rest / 3600, rest / 60 % 60,
                     rest % 60);
}

std::optional<std::int64_t> ParseUtc(std::string_view text) {
  if (text.size() < 20 || text[10] != 'T' || text[16] != ':') return std::nullopt;
  const auto day = DayOfNight(text.substr(0, 10));
  const auto minutes = Minutes(text.substr(11, 5));
  const auto second = Digits(text.substr(17, 2));
  if (!day || !minutes || !second || *second > 59) return std::nullopt;
  std::int64_t seconds = *day * kSecondsPerDay + std::int64_t{*minutes} * 60 + *second;
  const std::string_view zone = text.substr(19);
  if (zone != "Z") {
    if (zone[0] != '+' && zone[0] != '-') return std::nullopt;
    const auto offset = Minutes(zone.substr(1));
    if (!offset) return std::nullopt;
    seconds -= (zone[0] == '+' ? 60 : -60) * std::int64_t{*offset};
  }
  if (seconds < 0 || seconds > kLatestTime) return std::nullopt;
  return seconds;
}

}  // namespace draftmark
