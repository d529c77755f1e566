#include "tools/commands/bench/roofline_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "tools/commands/bench/roofline_json.h"
#include "tools/commands/bench/roofline_table.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kMostRuns = 10000;
constexpr std::uint64_t kMostBaselineSeconds = 86400;

Status CheckRange(const char* option, std::uint64_t found, std::uint64_t most) {
  if (found >= 1 && found <= most) return OkStatus();
  return InvalidArgumentError(fmt::format("{}: expected 1 to {}, found {}", option, most, found));
}

std::string DateText(std::chrono::year_month_day day) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

class Run {
 public:
  Run(const RooflineOptions& options, RooflineMachine& machine, const TimeBaseline& baseline,
      CommandContext& context)
      : options_(options), machine_(machine), baseline_(baseline), context_(context) {}

  RooflineReport Measure(const RooflineSelection& selection, const std::string& commit) {
    report_.facts = machine_.facts();
    report_.commit = commit;
    report_.date = DateText(context_.clock.Today());
    report_.runs = options_.runs;
    Print(RooflineHead(report_));
    if (!selection.works.empty()) Print(WorksHead());
    for (const RooflineWork& work : selection.works) Measure(work);
    Print(NotesText(report_));
    if (!selection.lines.empty()) Print(LinearHead());
    for (std::size_t i = 0; i < selection.lines.size(); ++i) {
      Measure(selection.lines[i],
              i + 1 < selection.lines.size() ? &selection.lines[i + 1] : nullptr);
    }
    Print("\n" + SummaryText(report_));
    return std::move(report_);
  }

 private:
  void Print(const std::string& text) {
    // Minutes may lie between two lines.
    if (options_.format == OutputFormat::kText) context_.out << text << std::flush;
  }

  void Measure(const RooflineWork& work) {
    WorkResult result =
        JudgeWork(work, report_.facts, machine_.TimeDraft(work.draft, options_.runs));
    if (!work.baseline.empty()) {
      StatusOr<BaselineTimes> times = baseline_(work.baseline);
      if (times.ok()) {
        result.baseline = *std::move(times);
      } else if (std::vector<std::string>& notes = report_.baseline_notes;
                 std::find(notes.begin(), notes.end(), times.status().message()) == notes.end()) {
        notes.push_back(times.status().message());
      }
    }
    Print(WorkText(result));
    report_.works.push_back(std::move(result));
  }

  void Measure(const LinearLine& line, const LinearLine* next) {
    report_.linear.push_back(
        JudgeLinear(line, report_.facts, machine_.TimeLinear(line.shape, line.rows)));
    ++of_shape_;
    if (next != nullptr && next->shape.n == line.shape.n && next->shape.k == line.shape.k) return;
    Print(LinearText(std::span(report_.linear).last(of_shape_)));
    of_shape_ = 0;
  }

  const RooflineOptions& options_;
  RooflineMachine& machine_;
  const TimeBaseline& baseline_;
  CommandContext& context_;
  RooflineReport report_;
  std::size_t of_shape_ = 0;  // lines of the current shape so far
};

}  // namespace

Status CheckRooflineOptions(const RooflineOptions& options) {
  DM_RETURN_IF_ERROR(CheckRange("--runs", options.runs, kMostRuns));
  return CheckRange("--baseline-seconds", options.baseline_seconds, kMostBaselineSeconds);
}

StatusOr<RooflineSelection> SelectRoofline(const std::string& only) {
  DM_ASSIGN_OR_RETURN(const std::vector<RooflineWork> works, RooflineWorks());
  const auto wanted = [&](const std::string& id) { return id.find(only) != std::string::npos; };
  RooflineSelection selection;
  for (const RooflineWork& work : works) {
    if (wanted(work.draft.id)) selection.works.push_back(work);
  }
  for (const LinearShape& shape : LinearShapes(works)) {
    for (const std::uint64_t rows : kLinearRows) {
      if (wanted(shape.Id(rows))) selection.lines.push_back({.shape = shape, .rows = rows});
    }
  }
  if (selection.works.empty() && selection.lines.empty()) {
    return NotFoundError(fmt::format("--only: nothing has \"{}\" in its id, such as {} or {}", only,
                                     works.front().draft.id,
                                     LinearShapes(works).front().Id(kLinearRows[0])));
  }
  return selection;
}

Status RunRoofline(const RooflineOptions& options, const RooflineSelection& selection,
                   const std::string& commit, RooflineMachine& machine,
                   const TimeBaseline& baseline, CommandContext& context, FileSystem& file_system) {
  // What cannot be written must not cost minutes first.
  std::unique_ptr<AtomicFile> out;
  if (!options.out.empty()) {
    DM_ASSIGN_OR_RETURN(out, file_system.CreateAtomic(options.out));
  }
  const RooflineReport report = Run(options, machine, baseline, context).Measure(selection, commit);
  context.exit_code = ExitCodeOf(report);
  const OrderedJson json = RooflineJson(report);
  if (options.format == OutputFormat::kJson) PrintJson(context.out, json);
  if (out == nullptr) return OkStatus();
  const std::string text = json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  DM_RETURN_IF_ERROR(out->Append(std::as_bytes(std::span(text))));
  return out->Commit();
}

}  // namespace draftmark
