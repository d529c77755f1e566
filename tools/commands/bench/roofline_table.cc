#include "tools/commands/bench/roofline_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace draftmark {
namespace {

std::string Verdict(double goal, bool met) {
  return fmt::format("{:.2f} {}", goal, met ? "met" : "not met");
}

std::string Milliseconds(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "-";
}

std::string WorkRow(const auto& draft, const auto& floor, const auto& fast, const auto& simple,
                    const auto& ratio, const auto& must, const auto& aim, const auto& baseline,
                    const auto& factor) {
  return fmt::format("{:<56} {:>8} {:>8} {:>9} {:>6}  {:<12}  {:<12}  {:<19}  {:>6}\n", draft,
                     floor, fast, simple, ratio, must, aim, baseline, factor);
}

std::string ShareRow(const auto& shape, const auto& size, const auto& path,
                     std::span<const std::string> cells, const std::string& used_as) {
  std::string text = fmt::format("{:>16} {:>9} MB  {:<6}", shape, size, path);
  for (const std::string& cell : cells) text += fmt::format(" {:>6}", cell);
  return text + (used_as.empty() ? "" : "  " + used_as) + "\n";
}

std::string Share(const LinearResult& result, const std::optional<double>& share) {
  if (!result.seconds) return "error ";
  if (!share) return "- ";  // the path does not take such rows
  return fmt::format("{:.3f}{}", *share, *share >= result.goal.must ? ' ' : '*');
}

}  // namespace

std::string RooflineHead(const RooflineReport& report) {
  const MachineFacts& facts = report.facts;
  std::string text =
      fmt::format("device {}\ndriver {}, CUDA {}, cuBLASLt {}; commit {}, {}\n", facts.gpu,
                  facts.driver, facts.cuda, facts.cublaslt, report.commit, report.date);
  text += fmt::format("copies {:.3f} TB/s, read and written together; theoretical ",
                      facts.copy_bytes_per_second / 1e12);
  if (const auto& theoretical = facts.theoretical_bytes_per_second) {
    return text + fmt::format("{:.3f} TB/s\n", *theoretical / 1e12);
  }
  return text + "unknown, so that no time is too short\n";
}

std::string WorksHead() {
  return "\nDrafts, ms: floor (bytes that must be read, at the speed of copies), median of graph "
         "replays, ratio to the floor\n" +
         WorkRow("", "floor", "fast", "simple", "ratio", "must", "aim", "PyTorch's best", "faster");
}

std::string WorkText(const WorkResult& result) {
  const std::string floor = Milliseconds(result.floor_ms);
  const std::string baseline = result.baseline
                                   ? fmt::format("{:.3f} {}", result.baseline->best().milliseconds,
                                                 result.baseline->best().name)
                                   : "-";
  if (!result.times) {
    return WorkRow(result.id, floor, "-", "-", "error", Verdict(result.must, false),
                   Verdict(result.aim, false), baseline, "-") +
           fmt::format("  error: {}\n", result.status.message());
  }
  std::optional<double> fast;
  if (result.times->fast) fast = result.times->fast->median_ms;
  const std::optional<double> factor = result.factor();
  return WorkRow(result.id, floor, Milliseconds(fast), Milliseconds(result.times->simple.median_ms),
                 fmt::format("{:.3f}", result.ratio()), Verdict(result.must, result.must_met()),
                 Verdict(result.aim, result.aim_met()), baseline,
                 factor ? fmt::format("{:.2f}x", *factor) : "-");
}

std::string NotesText(const RooflineReport& report) {
  std::string text;
  for (const std::string& note : report.baseline_notes) {
    text += fmt::format("no PyTorch baseline: {}\n", note);
  }
  return text;
}

std::string LinearHead() {
  std::vector<std::string> rows;
  for (const std::uint64_t count : kLinearRows) rows.push_back(fmt::format("{} ", count));
  return "\nLinear layers, share of the copy bandwidth by rows; mean over a chain of calls on "
         "weights that are cold (* misses its must; where the fast path has none, the simple one "
         "is judged)\n" +
         ShareRow("n x k", "", "rows", rows, "");
}

std::string LinearText(std::span<const LinearResult> of_shape) {
  if (of_shape.empty()) return "";
  const LinearShape& shape = of_shape.front().line.shape;
  const auto row = [&](const char* path, bool fast) {
    std::vector<std::string> cells;
    for (const std::uint64_t rows : kLinearRows) {
      const auto found =
          std::find_if(of_shape.begin(), of_shape.end(),
                       [&](const LinearResult& result) { return result.line.rows == rows; });
      cells.push_back(found == of_shape.end() ? "- "
                      : fast                  ? Share(*found, found->share.fast)
                                              : Share(*found, found->share.simple));
    }
    return ShareRow(fmt::format("{} x {}", shape.n, shape.k),
                    fmt::format("{:.1f}", static_cast<double>(shape.bytes()) / 1e6), path, cells,
                    shape.used_as);
  };
  const bool has_fast =
      std::any_of(of_shape.begin(), of_shape.end(),
                  [](const LinearResult& result) { return result.share.fast.has_value(); });
  std::string text = (has_fast ? row("fast", true) : "") + row("simple", false);
  for (const LinearResult& result : of_shape) {
    if (!result.seconds) text += fmt::format("  error: {}\n", result.status.message());
  }
  return text;
}

std::string SummaryText(const RooflineReport& report) {
  std::string text;
  for (const LinearSummary& summary : Summarise(report.linear)) {
    const LinearGoal& goal = summary.goal;
    text += fmt::format("linear layers {}: worst {:.3f} ({}), mean {:.3f}; {}aim {}\n", goal.name,
                        summary.worst, summary.worst_id, summary.mean,
                        goal.must > 0 ? "must " + Verdict(goal.must, summary.must_met) + ", "
                                      : std::string("no must, "),
                        Verdict(goal.aim, summary.aim_met));
  }
  if (!report.works.empty()) {
    const auto count = [&](bool (WorkResult::*met)() const) {
      return std::count_if(report.works.begin(), report.works.end(),
                           [&](const WorkResult& work) { return (work.*met)(); });
    };
    text += fmt::format("drafts: {} of {} musts met, {} of {} aims\n", count(&WorkResult::must_met),
                        report.works.size(), count(&WorkResult::aim_met), report.works.size());
  }
  return text + fmt::format("{} passed, {} failed\n", report.passed(), report.failed());
}

}  // namespace draftmark
