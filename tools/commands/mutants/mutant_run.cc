#include "tools/commands/mutants/mutant_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/base/json.h"

namespace draftmark {
namespace {

constexpr int kRefused = 2;  // exit code of the runner
// Children of one run: more than a suite has checks in which one may end.
constexpr int kMostChildren = 200;

// What one child said.
struct Transcript {
  std::vector<MutantFinding> findings;
  std::vector<std::string> finished;  // checks with a verdict
  std::string last;                   // the check that was begun last
  bool open = false;                  // and has no verdict
  bool done = false;
  std::string count;  // what it says it has run
  std::string noise;  // the last line that is none of the runner's: what a crash says
};

Transcript Read(std::string_view output) {
  Transcript transcript;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    const auto rest = [&](std::string_view word) { return std::string(line.substr(word.size())); };
    if (line.starts_with("CHECK ")) {
      transcript.last = rest("CHECK ");
      transcript.open = true;
      transcript.done = false;  // it is not the last line
    } else if (line == "PASS " + transcript.last) {
      transcript.open = false;
      transcript.finished.push_back(transcript.last);
    } else if (line.starts_with("FAIL " + transcript.last + ": ")) {
      transcript.open = false;
      transcript.finished.push_back(transcript.last);
      transcript.findings.push_back({transcript.last, rest("FAIL " + transcript.last + ": ")});
    } else if (line.starts_with("DONE ")) {
      transcript.done = true;
      transcript.count = rest("DONE ");
    } else if (line.find_first_not_of(' ') != std::string_view::npos) {
      transcript.noise = LastLine(line);
    }
  }
  return transcript;
}

std::string HowItEnded(const ChildResult& child, const std::string& noise, double seconds) {
  std::string text = child.timed_out ? fmt::format("hung: killed after {:g} s", seconds)
                     : child.exit_code > 128
                         ? fmt::format("crashed: signal {}", child.exit_code - 128)
                         : fmt::format("crashed: exit code {}", child.exit_code);
  if (!noise.empty()) text += ": " + noise;
  return text;
}

Status Refusal(const std::string& path, const ChildResult& child) {
  std::string line = LastLine(child.output);
  constexpr std::string_view kPrefix = "mutants_runner: ";
  if (line.starts_with(kPrefix)) line.erase(0, kPrefix.size());
  if (line.empty()) line = fmt::format("ended with exit code {}", child.exit_code);
  return FailedPreconditionError(fmt::format("{}: {}", path, line));
}

}  // namespace

std::string_view MutantVerdictName(MutantVerdict verdict) {
  switch (verdict) {
    case MutantVerdict::kKilled:
      return "KILLED";
    case MutantVerdict::kOther:
      return "OTHER";
    case MutantVerdict::kSurvived:
      return "SURVIVED";
  }
  return "";
}

const MutantFinding* MeantFinding(const MutantSpec& mutant, const MutantRun& run) {
  const auto found =
      std::find_if(run.findings.begin(), run.findings.end(), [&](const MutantFinding& finding) {
        return finding.check == mutant.meant &&
               finding.detail.find(mutant.where) != std::string::npos;
      });
  return found == run.findings.end() ? nullptr : &*found;
}

MutantVerdict VerdictOf(const MutantSpec& mutant, const MutantRun& run) {
  if (MeantFinding(mutant, run) != nullptr) return MutantVerdict::kKilled;
  return run.findings.empty() ? MutantVerdict::kSurvived : MutantVerdict::kOther;
}

StatusOr<std::vector<MutantSpec>> MutantRunner::List() const {
  DM_ASSIGN_OR_RETURN(const ChildResult child,
                      options_.start({options_.path, "--backend", options_.backend, "--list"},
                                     {.seconds = options_.seconds}));
  if (child.exit_code != 0) return Refusal(options_.path, child);
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(child.output, options_.path + " --list"));
  std::vector<MutantSpec> mutants;
  std::set<std::string> ids;
  const auto text = [](const Json& mutant, const char* key) {
    const auto found = mutant.find(key);
    return found != mutant.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (json.is_object() && json.contains("mutants") && json["mutants"].is_array()) {
    for (const Json& mutant : json["mutants"]) {
      if (!mutant.is_object()) continue;
      mutants.push_back(
          {text(mutant, "id"), text(mutant, "what"), text(mutant, "meant"), text(mutant, "where")});
      if (mutants.back().id.empty() || mutants.back().meant.empty() ||
          !ids.insert(mutants.back().id).second) {
        return DataLossError(
            fmt::format("{} --list: mutants[{}]: expected an id of its own and the "
                        "check that is meant, found {}",
                        options_.path, mutants.size() - 1, mutant.dump()));
      }
    }
  }
  if (mutants.empty()) {
    return DataLossError(fmt::format("{} --list: names no mutant", options_.path));
  }
  return mutants;
}

StatusOr<MutantRun> MutantRunner::Run(const std::string& id) const {
  MutantRun run;
  std::set<std::string> crashed;
  std::string after;
  for (int child_number = 0; child_number < kMostChildren; ++child_number) {
    std::vector<std::string> arguments = {options_.path, "--backend", options_.backend, "--mutant",
                                          id};
    if (!after.empty()) arguments.insert(arguments.end(), {"--after", after});
    DM_ASSIGN_OR_RETURN(const ChildResult child,
                        options_.start(arguments, {.seconds = options_.seconds}));
    Transcript transcript = Read(child.output);
    run.checks += transcript.finished.size();
    run.names.insert(run.names.end(), transcript.finished.begin(), transcript.finished.end());
    std::move(transcript.findings.begin(), transcript.findings.end(),
              std::back_inserter(run.findings));
    if (transcript.done && child.exit_code == 0) {
      const std::size_t finished = transcript.finished.size();
      if (!transcript.open && transcript.count == std::to_string(finished)) return run;
      return DataLossError(
          fmt::format("{}: mutant {}: says DONE {} behind {} checks with a verdict{}",
                      options_.path, id, transcript.count, finished,
                      transcript.open ? ", in the middle of " + transcript.last : ""));
    }
    if (transcript.last.empty()) {
      if (child.exit_code == kRefused || child.exit_code == 0) {
        return Refusal(options_.path, child);
      }
      return FailedPreconditionError(
          fmt::format("{}: mutant {}: {} before the first check", options_.path, id,
                      HowItEnded(child, transcript.noise, options_.seconds)));
    }
    if (transcript.open) {
      ++run.checks;
      run.names.push_back(transcript.last);
      run.findings.push_back(
          {transcript.last, HowItEnded(child, transcript.noise, options_.seconds)});
    }
    // A child that ends behind a check, its GPU being of no more use, is gone on with as well.
    after = transcript.last;
    if (!crashed.insert(after).second) {
      return DataLossError(
          fmt::format("{}: mutant {}: ends behind {} again and again", options_.path, id, after));
    }
  }
  return DataLossError(fmt::format("{}: mutant {}: ended {} times before it was done",
                                   options_.path, id, kMostChildren));
}

Status CheckAllMeantWereRun(const std::vector<MutantSpec>& mutants, const MutantRun& clean) {
  for (const MutantSpec& mutant : mutants) {
    if (std::find(clean.names.begin(), clean.names.end(), mutant.meant) != clean.names.end()) {
      continue;
    }
    return FailedPreconditionError(fmt::format(
        "the clean build did not run {}, which is meant for {}", mutant.meant, mutant.id));
  }
  return OkStatus();
}

}  // namespace draftmark
