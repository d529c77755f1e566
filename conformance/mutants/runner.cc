// mutants_runner: the suite of check.h with one fault on, for `draftmark mutants`, which starts it
// once for each mutant and survives whatever that does.
//
//   mutants_runner --backend reference --list             # JSON: the mutants, and what is meant
//   mutants_runner --backend reference --mutant M10a      # or none: no fault
//
// Lines of a run, each flushed: "CHECK name" before a check, "PASS name" or "FAIL name: finding"
// behind it, "DONE n" at last. `--after NAME` begins behind a check, where a run before has crashed.
// Exit codes: 0 all was run, 2 wrong usage, or no GPU or data (one line says which), 3 the GPU is
// of no more use to this process.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "conformance/mutants/check.h"
#include "conformance/mutants/mutant_table.h"
#include "src/base/file_system.h"
#include "src/base/find_in_checkout.h"
#include "src/base/json.h"
#include "src/faults/fault.h"
#include "src/faults/fault_memory.h"

namespace draftmark {
namespace {

constexpr int kDeviceLost = 3;  // exit code: start another process behind the last check

struct RunnerOptions {
  std::string backend = "reference";
  std::string mutant = "none";
  std::string after;
  std::string golden;
  bool list = false;
};

const Meant& MeantOn(const MutantInfo& mutant, const RunnerOptions& options) {
  return options.backend == "cuda" ? mutant.cuda : mutant.reference;
}

int Refuse(const std::string& message) {
  std::cerr << "mutants_runner: " << message << "\n";
  return 2;
}

StatusOr<Checks> SuiteOf(const RunnerOptions& options) {
  std::string golden = options.golden;
  if (golden.empty()) {
    const std::optional<std::string> found = FindInCheckout("golden", [](const std::string& path) {
      return RealFileSystem().IsDirectory(JoinPath(path, "drafter"));
    });
    if (!found)
      return NotFoundError("no golden data found: run inside a checkout, or --golden DIR");
    golden = *found;
  }
  return options.backend == "cuda" ? CudaSuite(golden) : ReferenceSuite(golden);
}

int List(const RunnerOptions& options) {
  OrderedJson mutants = OrderedJson::array();
  for (const MutantInfo& mutant : MutantTable()) {
    const Meant& meant = MeantOn(mutant, options);
    if (meant.check.empty()) continue;
    mutants.push_back(
        {{"id", mutant.id},
         {"what", mutant.what.starts_with("fault: ") ? mutant.what.substr(7) : mutant.what},
         {"meant", meant.check},
         {"where", meant.where}});
  }
  std::cout << OrderedJson{{"schema_version", 1},
                           {"backend", options.backend},
                           {"mutants", mutants}}
            << "\n";
  return 0;
}

// One line, since findings are read line by line.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  constexpr std::size_t kLongest = 400;
  return text.substr(0, kLongest);
}

int RunChecks(const RunnerOptions& options) {
  Fault fault = Fault::kNone;
  bool known = options.mutant == "none";
  for (const MutantInfo& mutant : MutantTable()) {
    if (mutant.id != options.mutant || MeantOn(mutant, options).check.empty()) continue;
    fault = mutant.fault;
    known = true;
  }
  if (!known) {
    return Refuse(fmt::format("no mutant {} of backend {}", options.mutant, options.backend));
  }
#ifdef DRAFTMARK_FAULTS
  SetFault(fault);
#else
  if (fault != Fault::kNone)
    return Refuse("built without faults; bazel build //tools:mutants_runner");
#endif
  const StatusOr<Checks> checks = SuiteOf(options);
  if (!checks.ok()) return Refuse(checks.status().message());
  bool started = options.after.empty();
  std::size_t count = 0;
  for (const Check& check : *checks) {
    if (started) {
#ifdef DRAFTMARK_FAULTS
      ForgetFaultFirsts();
#endif
      std::cout << "CHECK " << check.name << std::endl;
      const Status status = check.run();
      std::cout << (status.ok() ? "PASS " + check.name
                                : "FAIL " + check.name + ": " + OneLine(status.message()))
                << std::endl;
      ++count;
      if (options.backend == "cuda" && !status.ok() && DeviceIsLost()) return kDeviceLost;
    }
    started = started || check.name == options.after;
  }
  if (!started) return Refuse(fmt::format("--after {}: no such check", options.after));
  std::cout << "DONE " << count << std::endl;
  return std::cout ? 0 : 2;
}

int Main(int argc, char** argv) {
  RunnerOptions options;
  CLI::App app("The mutants' suite with one fault on; see draftmark mutants.", "mutants_runner");
  app.add_option("--backend", options.backend)->check(CLI::IsMember({"reference", "cuda"}));
  app.add_option("--mutant", options.mutant);
  app.add_option("--after", options.after);
  app.add_option("--golden", options.golden);
  app.add_flag("--list", options.list);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return options.list ? List(options) : RunChecks(options);
}

}  // namespace
}  // namespace draftmark

int main(int argc, char** argv) { return draftmark::Main(argc, argv); }
