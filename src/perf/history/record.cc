#include "src/perf/history/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "src/base/json.h"
#include "src/perf/history/record_fields.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

// Far above any real one; keeps a wrong file from filling the database.
constexpr std::size_t kLongestText = 16384;

// What tells an item from the others of its list, and their order.
auto KeyOf(const Point& p) { return std::tie(p.case_id, p.schema); }
auto KeyOf(const ConformanceResult& c) {
  return std::tie(c.case_id, c.precision, c.backend, c.variant);
}
auto KeyOf(const SuiteResult& s) { return std::tie(s.name); }
auto KeyOf(const TestResult& t) { return std::tie(t.suite, t.test); }
auto KeyOf(const GateVerdict& g) { return std::tie(g.case_id, g.schema, g.metric); }
auto KeyOf(const ChangePoint& c) { return std::tie(c.case_id, c.schema, c.night); }
auto KeyOf(const AaResult& a) { return std::tie(a.case_id, a.schema); }
auto KeyOf(const NightPoint& n) { return std::tie(n.case_id, n.schema); }

// Sorts every list, and those inside items.
class Sorter {
 public:
  void operator()(const char*, NamedInts& named) { std::stable_sort(named.begin(), named.end()); }
  void operator()(const char*, NamedNumbers& named) {
    std::stable_sort(named.begin(), named.end());
  }
  void operator()(const char*, NamedTexts& named) { std::stable_sort(named.begin(), named.end()); }
  void operator()(const char*, std::vector<std::string>& names) {
    std::sort(names.begin(), names.end());
  }
  template <typename T>
  void operator()(const char*, T&) {}
  template <typename T>
  void List(const char*, std::vector<T>& items) {
    for (T& item : items) Fields(*this, item);
    std::stable_sort(items.begin(), items.end(),
                     [](const T& a, const T& b) { return KeyOf(a) < KeyOf(b); });
  }
};

bool IsText(const std::string& text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  }
  try {
    (void)Json(text).dump();
  } catch (const Json::exception&) {  // not UTF-8
    return false;
  }
  return text.size() <= kLongestText;
}

// Rules that hold for every field of its type. Keeps the first error.
class Checker {
 public:
  Status status;

  void operator()(const char* key, const std::string& text) {
    if (!IsText(text)) {
      Fail(key, fmt::format("UTF-8 without control characters, at most {} bytes", kLongestText),
           fmt::format("{} bytes", text.size()));
    }
  }
  void operator()(const char* key, std::int64_t value) {
    if (value < 0) Fail(key, "at least 0", fmt::format("{}", value));
  }
  void operator()(const char* key, double value) {
    if (!std::isfinite(value) || value < 0) {
      Fail(key, "a finite number of at least 0", fmt::format("{}", value));
    }
  }
  void operator()(const char*, bool) {}
  template <typename T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
  void operator()(const char* key, const Environment& environment) {
    const Scope scope(*this, key);
    Fields(*this, environment);
  }
  void operator()(const char* key, const NamedInts& named) { Named(key, named); }
  void operator()(const char* key, const NamedTexts& named) { Named(key, named); }
  void operator()(const char* key, const NamedNumbers& named) {
    const Scope scope(*this, key);
    CheckNames(key, named);
    for (const auto& [name, value] : named) {
      if (!std::isfinite(value)) Fail(name.c_str(), "a finite number", fmt::format("{}", value));
    }
  }
  void operator()(const char* key, const std::vector<std::string>& names) {
    for (const std::string& name : names) (*this)(key, name);
    if (std::adjacent_find(names.begin(), names.end()) != names.end()) {
      Fail(key, "different entries", "one of them twice");
    }
  }
  template <typename T>
  void List(const char* key, const std::vector<T>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Scope scope(*this, fmt::format("{}[{}]", key, i));
      Fields(*this, items[i]);
      CheckItem(items[i]);
      if (i > 0 && KeyOf(items[i - 1]) == KeyOf(items[i])) {
        Fail("case", "each entry once", "it twice");
      }
    }
  }

  void Fail(const std::string& key, const std::string& expected, const std::string& found) {
    if (!status.ok()) return;
    std::string path;
    for (const std::string& part : path_) path += part + ".";
    status = InvalidArgumentError(
        fmt::format("{}{}: expected {}, found {}", path, key, expected, found));
  }
  void Need(const char* key, const std::string& text) {
    if (text.empty()) Fail(key, "a text", "none");
  }
  void NeedNight(const char* key, const std::string& night) {
    if (!DayOfNight(night)) Fail(key, "a day as 2026-11-30", "\"" + night + "\"");
  }
  template <std::size_t N>
  void NeedOneOf(const char* key, const std::string& text,
                 const std::array<std::string_view, N>& allowed) {
    if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return;
    std::string list;
    for (const std::string_view word : allowed)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", word);
    Fail(key, "one of " + list, "\"" + text + "\"");
  }

 private:
  class Scope {
   public:
    Scope(Checker& checker, std::string part) : checker_(checker) {
      checker_.path_.push_back(std::move(part));
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { checker_.path_.pop_back(); }

   private:
    Checker& checker_;
  };

  template <typename T>
  void CheckNames(const char* key, const T& named) {
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (named[i].first.empty() || !IsText(named[i].first)) Fail(key, "names", "none");
      if (i > 0 && named[i].first == named[i - 1].first) {
        Fail(named[i].first, "each name once", "it twice");
      }
    }
  }
  template <typename T>
  void Named(const char* key, const T& named) {
    const Scope scope(*this, key);
    CheckNames(key, named);
    for (const auto& [name, value] : named) (*this)(name.c_str(), value);
  }

  void CheckUnit(const std::string& unit, bool has_time) {
    if (has_time) {
      NeedOneOf("unit", unit, std::array<std::string_view, 4>{"ns", "us", "ms", "s"});
    } else if (!unit.empty()) {
      Fail("unit", "none without a time", unit);
    }
  }
  void CheckItem(const Point& p) {
    Need("case", p.case_id);
    CheckUnit(p.unit, p.seconds.has_value());
    if (!p.seconds && p.failure.empty() && p.counts.empty() && p.numbers.empty()) {
      Fail("seconds", "a time, a failure, counts or numbers", "nothing");
    }
    if (p.seconds && !p.failure.empty()) Fail("failure", "none beside a time", p.failure);
    if (p.seconds && *p.seconds <= 0) Fail("seconds", "above 0", fmt::format("{}", *p.seconds));
    if (p.seconds.has_value() != p.median.has_value() || p.seconds.has_value() != (p.samples > 0)) {
      Fail("seconds", "seconds, median_seconds and samples together", "only some of them");
    }
  }
  void CheckItem(const ConformanceResult& c) {
    Need("case", c.case_id);
    NeedOneOf("status", c.status,
              std::array<std::string_view, 6>{"PASS", "FAIL", "XFAIL", "UNEXPECTED PASS", "EXPIRED",
                                              "CHANGED SIGNATURE"});
  }
  void CheckItem(const SuiteResult& s) { Need("name", s.name); }
  void CheckItem(const TestResult& t) {
    Need("test", t.test);
    NeedOneOf("status", t.status, std::array<std::string_view, 3>{"failed", "error", "skipped"});
  }
  void CheckItem(const GateVerdict& g);
  void CheckItem(const ChangePoint& c) {
    Need("case", c.case_id);
    NeedNight("night", c.night);
  }
  void CheckItem(const AaResult& a) {
    Need("case", a.case_id);
    if (a.false_alarms > a.comparisons) {
      Fail("false_alarms", "at most as many as comparisons", fmt::format("{}", a.false_alarms));
    }
  }
  void CheckItem(const NightPoint& n) {
    Need("case", n.case_id);
    CheckUnit(n.unit, n.seconds.has_value());
  }

  std::vector<std::string> path_;
};

constexpr std::array<std::string_view, 5> kVerdicts = {"faster", "same", "slower", "unclear",
                                                       "invalid"};

void Checker::CheckItem(const GateVerdict& g) {
  Need("case", g.case_id);
  Need("metric", g.metric);
  NeedOneOf("verdict", g.verdict, kVerdicts);
}

void CheckWhole(Checker& check, const RunRecord& run) {
  check.NeedNight("night", run.night);
  check.Need("program", run.program);
  check.Need("architecture", run.environment.architecture);
  if (!run.valid) check.Need("reason", run.reason);
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!run.source_sha256.empty() &&
      (run.source_sha256.size() != 64 ||
       !std::all_of(run.source_sha256.begin(), run.source_sha256.end(), is_hex))) {
    check.Fail("source_sha256", "64 hexadecimal digits", "\"" + run.source_sha256 + "\"");
  }
  if (run.points.empty() && run.conformance.empty() && run.suites.empty()) {
    check.Fail("point", "points, conformance or suites", "none");
  }
}
void CheckWhole(Checker& check, const GateRecord& gate) {
  check.NeedOneOf("mode", gate.mode,
                  std::array<std::string_view, 4>{"compare", "gate", "nightly", "counts"});
  check.NeedOneOf("verdict", gate.verdict, kVerdicts);
  if (!gate.night.empty()) check.NeedNight("night", gate.night);
}
void CheckWhole(Checker& check, const AaRecord& aa) {
  if (aa.results.empty()) check.Fail("result", "results", "none");
}
void CheckWhole(Checker& check, const AcceptRecord& accept) {
  check.Need("case", accept.case_id);
  check.Need("field", accept.field);
  check.Need("reason", accept.reason);
}
void CheckWhole(Checker& check, const ReleaseRecord& release) { check.Need("name", release.name); }
void CheckWhole(Checker& check, const NightRecord& night) {
  check.NeedNight("night", night.night);
  if (night.replaces.empty()) check.Fail("replaces", "ids of runs", "none");
}

}  // namespace

bool IsConformanceFailure(std::string_view status) { return status != "PASS" && status != "XFAIL"; }

bool IsSuiteFailure(std::string_view program, const SuiteResult& suite) {
  return !suite.problem.empty() || (suite.failed > 0 && program != kBenchProgram);
}

std::string_view KindOf(const HistoryRecord& record) {
  static constexpr std::array<std::string_view, 6> kKinds = {"run",    "gate",    "aa",
                                                             "accept", "release", "night"};
  static_assert(std::variant_size_v<HistoryRecord> == kKinds.size());
  return kKinds.at(record.index());
}

void Canonicalize(HistoryRecord& record) {
  Sorter sorter;
  std::visit(
      [&](auto& any) {
        Fields(sorter, any);
        Items(sorter, any);
      },
      record);
  if (auto* const run = std::get_if<RunRecord>(&record); run != nullptr && run->night.empty()) {
    run->night = NightOf(run->time);
  }
}

Status CheckRecord(const HistoryRecord& record) {
  Checker check;
  std::visit(
      [&](const auto& any) {
        Fields(check, any);
        Items(check, any);
        if (any.time > kLatestTime)
          check.Fail("time", "a year before 10000", fmt::format("{}", any.time));
        CheckWhole(check, any);
      },
      record);
  return check.status;
}

}  // namespace draftmark
