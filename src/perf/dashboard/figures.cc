#include "src/perf/dashboard/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "src/base/check.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

// What is no time of a measurement is shown as the nearest end.
std::int64_t Bounded(std::int64_t time) { return std::clamp<std::int64_t>(time, 0, kLatestTime); }

}  // namespace

std::string SecondsText(double seconds) {
  if (!std::isfinite(seconds)) return "–";
  const double size = std::abs(seconds);
  if (size >= 1) return fmt::format("{:.4g} s", seconds);
  if (size >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  if (size >= 1e-6) return fmt::format("{:.4g} µs", seconds * 1e6);
  return fmt::format("{:.4g} ns", seconds * 1e9);
}

std::string ChangeText(double share) {
  if (!std::isfinite(share)) return "–";
  // A minus sign as wide as the plus, and none before what rounds to zero.
  const std::string text = fmt::format("{:.1f} %", std::abs(share) * 100);
  const bool is_zero = text.starts_with("0.0");
  return (share < 0 && !is_zero ? "−" : "+") + text;
}

std::string ShareText(double share) {
  if (!std::isfinite(share)) return "–";
  return fmt::format("{:.1f} %", share * 100);
}

std::string BytesText(std::uint64_t bytes) {
  std::string text = fmt::format("{}", bytes);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string IsoTimeText(std::int64_t time) { return FormatUtc(Bounded(time)); }

std::string DayText(std::int64_t time) { return NightOf(Bounded(time)); }

std::string TimeText(std::int64_t time) {
  return DayText(time) + " " + IsoTimeText(time).substr(11, 5);
}

std::string ShortCommit(std::string_view text) { return std::string(text.substr(0, 12)); }

std::string_view VerdictSign(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSlower:
      return "▲";
    case Verdict::kFaster:
      return "▼";
    case Verdict::kSame:
      return "=";
    case Verdict::kUnclear:
      return "?";
    case Verdict::kInvalid:
      return "✕";
  }
  DM_CHECK(false);
  return "";
}

int Severity(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSlower:
      return 4;
    case Verdict::kInvalid:
      return 3;
    case Verdict::kUnclear:
      return 2;
    case Verdict::kFaster:
      return 1;
    case Verdict::kSame:
      return 0;
  }
  DM_CHECK(false);
  return 0;
}

bool ArchitectureLess(const std::string& one, const std::string& other) {
  const auto split = [](const std::string& text) {
    const std::size_t digits = text.find_last_not_of("0123456789") + 1;  // 0 for npos
    const std::string number = text.substr(digits);
    // A number is longer before it is larger; leading zeros do not occur, and would only sort
    // oddly.
    return std::tuple(text.substr(0, digits), number.size(), number);
  };
  return split(one) < split(other);
}

double PoissonUpperBound(std::size_t seen) {
  constexpr double kLeft = 0.05;
  const auto at_most_seen = [&](double mean) {
    double sum = 0;
    for (std::size_t k = 0; k <= seen; ++k) {
      const double count = static_cast<double>(k);
      sum += std::exp(count * std::log(mean) - mean - std::lgamma(count + 1));
    }
    return sum;
  };
  double low = 0;
  double high = 2 * static_cast<double>(seen) + 10;  // far above the bound for any count
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (at_most_seen(middle) > kLeft ? low : high) = middle;
  }
  return high;
}

}  // namespace draftmark
