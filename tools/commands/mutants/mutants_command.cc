#include "tools/commands/mutants/mutants_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "src/base/file_system.h"
#include "tools/commands/finite_range.h"
#include "tools/commands/mutants/mutant_run.h"
#include "tools/commands/mutants/mutants_report.h"

namespace draftmark {
namespace {

constexpr char kBuildLine[] = "bazel build //tools:mutants_runner";
constexpr unsigned kMostJobs = 64;

struct Options {
  std::string runner;
  std::string backend = "reference";
  std::vector<std::string> only;
  double timeout = 300;
  unsigned jobs = 1;
  bool list = false;
  OutputFormat format = OutputFormat::kText;
};

StatusOr<std::string> FindRunner(const std::string& named) {
  std::string path = named;
  if (path.empty()) {
    std::error_code error;  // the overload that does not throw
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    path = (program.parent_path() / "mutants_runner").string();
  }
  if (RealFileSystem().IsFile(path)) {
    // A bare name would be looked for in PATH.
    return path.find('/') == std::string::npos ? "./" + path : path;
  }
  return NotFoundError(fmt::format("{}: there is no such program; build it: {}", path, kBuildLine));
}

// "M10" is all of M10a, M10b, M10c.
bool IsNamed(const MutantSpec& mutant, const std::string& name) {
  return mutant.id == name || (mutant.id.size() == name.size() + 1 && mutant.id.starts_with(name) &&
                               mutant.id.back() >= 'a' && mutant.id.back() <= 'z');
}

StatusOr<std::vector<MutantSpec>> Selected(std::vector<MutantSpec> mutants,
                                           const Options& options) {
  if (options.only.empty()) return mutants;
  std::vector<bool> used(mutants.size(), false);
  for (const std::string& name : options.only) {
    bool known = false;
    for (std::size_t i = 0; i < mutants.size(); ++i) {
      if (!IsNamed(mutants[i], name)) continue;
      known = used[i] = true;
    }
    if (!known) {
      return InvalidArgumentError(
          fmt::format("--only {}: backend {} has no such mutant; --list "
                      "names those it has",
                      name, options.backend));
    }
  }
  std::vector<MutantSpec> selected;
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    if (used[i]) selected.push_back(std::move(mutants[i]));
  }
  return selected;
}

// Runs the mutants, `jobs` at a time, and prints each in its turn.
Status RunAll(const MutantRunner& runner, const std::vector<MutantSpec>& mutants, unsigned jobs,
              const std::function<void(const MutantResult&)>& finished) {
  std::vector<std::optional<StatusOr<MutantRun>>> runs(mutants.size());
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t next = 0;
  bool stop = false;
  const auto work = [&] {
    while (true) {
      std::unique_lock lock(mutex);
      if (stop || next == mutants.size()) return;
      const std::size_t mine = next++;
      lock.unlock();
      StatusOr<MutantRun> run = runner.Run(mutants[mine].id);
      lock.lock();
      runs[mine] = std::move(run);
      changed.notify_one();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < jobs && i < mutants.size(); ++i) threads.emplace_back(work);
  Status status;
  for (std::size_t i = 0; i < mutants.size() && status.ok(); ++i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return runs[i].has_value(); });
    if (!runs[i]->ok()) {
      status = runs[i]->status();
      stop = true;
      break;
    }
    MutantResult result = {mutants[i], std::move(*runs[i]).value()};
    lock.unlock();
    finished(result);
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

void PrintList(const std::vector<MutantSpec>& mutants, const Options& options,
               CommandContext& context) {
  if (options.format == OutputFormat::kText) {
    for (const MutantSpec& mutant : mutants) {
      context.out << fmt::format("{:5} {}: {}{}\n", mutant.id, mutant.what, mutant.meant,
                                 mutant.where.empty() ? "" : " (" + mutant.where + ")");
    }
    return;
  }
  OrderedJson list = OrderedJson::array();
  for (const MutantSpec& mutant : mutants) {
    list.push_back({{"id", mutant.id},
                    {"what", mutant.what},
                    {"meant", mutant.meant},
                    {"where", mutant.where}});
  }
  PrintJson(context.out, {{"schema_version", 1}, {"backend", options.backend}, {"mutants", list}});
}

Status RunMutants(const Options& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const std::string path, FindRunner(options.runner));
  const MutantRunner runner({.path = path, .backend = options.backend, .seconds = options.timeout});
  DM_ASSIGN_OR_RETURN(std::vector<MutantSpec> all, runner.List());
  DM_ASSIGN_OR_RETURN(const std::vector<MutantSpec> mutants, Selected(std::move(all), options));
  if (options.list) {
    PrintList(mutants, options, context);
    return OkStatus();
  }
  const bool text = options.format == OutputFormat::kText;
  MutantsReport report;
  report.backend = options.backend;
  DM_ASSIGN_OR_RETURN(report.clean, runner.Run(kNoMutant));
  DM_RETURN_IF_ERROR(CheckAllMeantWereRun(mutants, report.clean).Annotated(path));
  if (text) context.out << CleanText(report.clean) << std::flush;
  DM_RETURN_IF_ERROR(RunAll(runner, mutants, options.jobs, [&](const MutantResult& result) {
    if (text) context.out << MutantText(result) << std::flush;
    report.results.push_back(result);
  }));
  if (text) {
    context.out << TotalText(report);
  } else {
    PrintJson(context.out, MutantsJson(report));
  }
  context.exit_code = report.good() ? kExitGood : kExitMismatch;
  return OkStatus();
}

}  // namespace

void AddMutantsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* const command = app.add_subcommand(
      "mutants", "runs the suite against every known mistake, and says which check finds it");
  auto options = std::make_shared<Options>();
  command->add_option("--runner", options->runner,
                      "the program with the mistakes; by default mutants_runner beside this one");
  command->add_option("--backend", options->backend, "whose mistakes; cuda needs a GPU")
      ->check(CLI::IsMember({"reference", "cuda"}))
      ->capture_default_str();
  command
      ->add_option("--only", options->only, "a mutant's id (M10 is M10a to M10c); may be repeated")
      ->type_name("ID");
  command->add_option("--timeout", options->timeout, "seconds after which a mutant counts as hung")
      ->check(FiniteRange(1.0, 86400.0))
      ->capture_default_str();
  command->add_option("--jobs", options->jobs, "mutants at a time")
      ->check(CLI::Range(1u, kMostJobs))
      ->capture_default_str();
  command->add_flag("--list", options->list, "only name the mutants and the checks meant for them");
  AddFormatOption(*command, options->format);
  command->callback([options, &context] {
    if (const Status status = RunMutants(*options, context); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
