#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/sections.h"
#include "src/perf/dashboard/tally.h"

namespace draftmark {
namespace {

constexpr std::size_t kListed = 6;  // names on a card; the table below has all

std::string Card(const char* state, const std::string& title, const std::string& answer,
                 const std::string& body) {
  return fmt::format("<article class=\"card {}\"><h3>{}</h3><p class=answer>{}</p>{}</article>\n",
                     state, title, answer, body);
}

std::string More(std::size_t all) {
  return all > kListed ? fmt::format("<li>and {} more</li>", all - kListed) : "";
}

std::string NewestRunText(const DashboardData& data, std::size_t testbed) {
  for (std::size_t i = data.runs.size(); i-- > 0;) {
    const DashboardRun& run = data.runs[i];
    if (run.testbed != testbed) continue;
    std::string text = fmt::format("Newest run {} UTC, commit <code>{}</code>", TimeText(run.time),
                                   HtmlText(ShortCommit(run.commit)));
    if (!run.note.empty()) text += fmt::format(" <b class=v-invalid>✕ {}</b>", HtmlText(run.note));
    return "<p class=note>" + text + "</p>";
  }
  return "<p class=note>never run</p>";
}

// Names on the card: what is slower, then what is invalid or unclear.
std::string Worst(const DashboardData& data, const std::vector<std::size_t>& verdicts,
                  const SeriesIndex& series) {
  std::string items;
  std::size_t count = 0;
  for (const Verdict wanted : {Verdict::kSlower, Verdict::kInvalid, Verdict::kUnclear}) {
    for (const std::size_t i : verdicts) {
      const DashboardVerdict& verdict = data.verdicts[i];
      if (verdict.verdict != wanted || ++count > kListed) continue;
      items += fmt::format("<li>{} {} {}</li>", VerdictHtml(wanted),
                           CaseLink(verdict.case_id, series.Find(verdict.testbed, verdict.case_id)),
                           verdict.ratio ? ChangeText(*verdict.ratio - 1) : "");
    }
  }
  return items.empty() ? "" : "<ul>" + items + More(count) + "</ul>";
}

std::string TestbedCard(const DashboardData& data, std::size_t testbed,
                        const std::vector<std::size_t>& newest, const SeriesIndex& series) {
  std::vector<std::size_t> own;
  std::array<std::size_t, 5> counts = {};
  for (const std::size_t i : newest) {
    if (data.verdicts[i].testbed != testbed) continue;
    own.push_back(i);
    ++counts[static_cast<std::size_t>(data.verdicts[i].verdict)];
  }
  const auto count = [&](Verdict verdict) { return counts[static_cast<std::size_t>(verdict)]; };
  const std::size_t slower = count(Verdict::kSlower);
  const std::size_t open = count(Verdict::kInvalid) + count(Verdict::kUnclear);
  std::string tally;
  for (const Verdict verdict :
       {Verdict::kSlower, Verdict::kInvalid, Verdict::kUnclear, Verdict::kFaster, Verdict::kSame}) {
    if (count(verdict) == 0) continue;
    tally += fmt::format("<span class=tally>{} {}</span> ", count(verdict), VerdictHtml(verdict));
  }
  const char* state = own.empty() ? "none" : slower > 0 ? "bad" : open > 0 ? "open" : "good";
  const std::string answer = own.empty()  ? "No verdict yet"
                             : slower > 0 ? fmt::format("▲ Worse: {} slower", slower)
                             : open > 0   ? fmt::format("? Nothing slower, {} undecided", open)
                                        : fmt::format("✓ Nothing worse in {} cases", own.size());
  return Card(state, HtmlText(TestbedText(data.testbeds[testbed])), answer,
              "<p>" + tally + "</p>" + Worst(data, own, series) + NewestRunText(data, testbed));
}

std::string CountsCard(const DashboardData& data) {
  std::string items;
  std::size_t grown = 0;
  for (const DashboardCount& count : data.counts) {
    if (!HasGrown(count) || ++grown > kListed) continue;
    items += fmt::format("<li><b class=v-slower>▲ grown</b> <bdi>{}</bdi> <b>{}</b> +{}</li>",
                         HtmlText(count.case_id), HtmlText(count.field),
                         BytesText(count.value - *count.recorded));
  }
  if (data.counts.empty()) return "";
  return Card(grown > 0 ? "bad" : "good", "<a href=\"#counts\">Memory and counts</a>",
              grown > 0 ? fmt::format("▲ Worse: {} grown", grown)
                        : fmt::format("✓ None of {} exact numbers has grown", data.counts.size()),
              items.empty() ? "" : "<ul>" + items + More(grown) + "</ul>");
}

bool ConformanceIsBad(const DashboardData& data) {
  const Tally tally = TallyOf(data);
  return tally.failed > 0 || tally.suites_failed > 0;
}

std::string ConformanceCard(const DashboardData& data) {
  std::array<std::size_t, 4> counts = {};
  const std::size_t suites_failed = TallyOf(data).suites_failed;
  std::string items;
  for (std::size_t i = 0; i < std::min(suites_failed, kListed); ++i) {
    const DashboardSuite& suite = data.suites[i];  // failed ones stand first
    items += fmt::format("<li><b class=v-slower>✕ suite failed</b> <bdi>{}</bdi> on {}{}</li>",
                         HtmlText(suite.name), HtmlText(suite.architecture),
                         suite.failures > 0 ? fmt::format(", {} failures", suite.failures) : "");
  }
  items += More(suites_failed);
  for (const MatrixCell& cell : data.conformance) {
    const std::size_t seen = ++counts[static_cast<std::size_t>(cell.state)];
    if (cell.state != CellState::kFailed || seen > kListed) continue;
    items += fmt::format("<li><b class=v-slower>✕ failed</b> {} on {}</li>",
                         HtmlText(cell.operation), HtmlText(cell.architecture));
  }
  if (data.conformance.empty() && data.suites.empty()) return "";
  const auto count = [&](CellState state) { return counts[static_cast<std::size_t>(state)]; };
  const std::size_t failed = count(CellState::kFailed);
  std::string answer;
  if (failed > 0) answer = fmt::format("✕ {} failed", failed);
  if (suites_failed > 0) {
    answer += fmt::format("{} {} of {} suites failed", answer.empty() ? "✕" : ",", suites_failed,
                          data.suites.size());
  }
  return Card(ConformanceIsBad(data) ? "bad" : "good", "<a href=\"#conformance\">Conformance</a>",
              answer.empty() ? "✓ Nothing fails" : answer,
              (items.empty() ? "" : "<ul>" + items + More(failed) + "</ul>") +
                  fmt::format("<p>{} passed, {} waived, {} never run; {} suites</p>",
                              count(CellState::kPassed), count(CellState::kWaived),
                              count(CellState::kNeverRun), data.suites.size()));
}

// What only counts or checks has no card of its own: its numbers are on the other two.
bool HasTimes(const DashboardData& data, std::size_t testbed) {
  const auto is_of = [&](const auto& one) { return one.testbed == testbed; };
  return std::any_of(data.series.begin(), data.series.end(), is_of) ||
         std::any_of(data.verdicts.begin(), data.verdicts.end(), is_of);
}

}  // namespace

std::string SummarySection(const DashboardData& data) {
  const SeriesIndex series(data);
  const std::vector<std::size_t> newest = NewestVerdicts(data);
  // The worst first; of equal ones in the order of architectures.
  std::vector<std::pair<int, std::string>> beds;
  for (std::size_t i = 0; i < data.testbeds.size(); ++i) {
    if (!HasTimes(data, i)) continue;
    int worst = Severity(Verdict::kSame);
    for (const std::size_t at : newest) {
      if (data.verdicts[at].testbed != i) continue;
      worst = std::max(worst, Severity(data.verdicts[at].verdict));
    }
    beds.emplace_back(worst, TestbedCard(data, i, newest, series));
  }
  // A failure must not stand below cards on which nothing is wrong.
  const auto severity = [](bool bad) { return Severity(bad ? Verdict::kSlower : Verdict::kSame); };
  beds.emplace_back(severity(TallyOf(data).grown > 0), CountsCard(data));
  beds.emplace_back(severity(ConformanceIsBad(data)), ConformanceCard(data));
  std::stable_sort(beds.begin(), beds.end(),
                   [](const auto& one, const auto& other) { return one.first > other.first; });
  std::string cards;
  for (const auto& [worst, card] : beds) cards += card;
  if (cards.empty()) cards = "<p>The history is empty: nothing was measured yet.</p>";
  return Section("summary", "Is anything worse?", "<div class=cards>" + cards + "</div>\n");
}

}  // namespace draftmark
