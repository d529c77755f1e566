// Runs the mutants' suite: one child process for each mutant, with a limit on its time, so that a
// mutant may crash or hang.
//
//   const MutantRunner runner({.path = path, .backend = "reference"});
//   DM_ASSIGN_OR_RETURN(const std::vector<MutantSpec> mutants, runner.List());
//   DM_ASSIGN_OR_RETURN(const MutantRun run, runner.Run(mutants[0].id));
//   VerdictOf(mutants[0], run)   // kKilled
//
// The child is mutants_runner (conformance/mutants/runner.cc); its lines are the interface. A check
// in which it ends, or whose time runs out, has failed, and another child goes on behind it.
//
// Errors: NOT_FOUND without a runner; FAILED_PRECONDITION with the runner's own sentence where it
// refuses (no GPU, no data); DATA_LOSS for lines that are not its, for a number of checks that is not
// that of its lines, and for a runner that ends too often. Thread-safe.
#ifndef DRAFTMARK_TOOLS_COMMANDS_MUTANTS_MUTANT_RUN_H_
#define DRAFTMARK_TOOLS_COMMANDS_MUTANTS_MUTANT_RUN_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/child_process.h"
#include "src/base/status.h"

namespace draftmark {

struct MutantSpec {
  std::string id;     // "M10a"
  std::string what;   // what is wrong, as a sentence
  std::string meant;  // the check that is meant to find it
  std::string where;  // what its finding has to say, mostly a stage; may be empty
};

struct MutantFinding {
  std::string check;
  std::string detail;
};
struct MutantRun {
  std::size_t checks = 0;  // that were run
  std::vector<MutantFinding> findings;
  std::vector<std::string> names = {};  // of the checks, in order
};

enum class MutantVerdict {
  kKilled,    // "KILLED": the check meant for it failed, and said so
  kOther,     // "OTHER": only other checks failed, or the right one for another reason
  kSurvived,  // "SURVIVED": no check failed
};
std::string_view MutantVerdictName(MutantVerdict verdict);
// The finding of the check that is meant, or null.
const MutantFinding* MeantFinding(const MutantSpec& mutant, const MutantRun& run);
MutantVerdict VerdictOf(const MutantSpec& mutant, const MutantRun& run);

// The run without a fault.
inline constexpr char kNoMutant[] = "none";

// FAILED_PRECONDITION if a check that is meant for one of the mutants was not run on the clean build:
// whoever fails it then may fail it always.
Status CheckAllMeantWereRun(const std::vector<MutantSpec>& mutants, const MutantRun& clean);

using StartChild = std::function<StatusOr<ChildResult>(const std::vector<std::string>& arguments,
                                                       const ChildOptions& options)>;

struct MutantRunnerOptions {
  std::string path;
  std::string backend = "reference";
  double seconds = 300;  // of one child
  StartChild start = RunChild;
};

class MutantRunner {
 public:
  explicit MutantRunner(MutantRunnerOptions options) : options_(std::move(options)) {}

  StatusOr<std::vector<MutantSpec>> List() const;
  StatusOr<MutantRun> Run(const std::string& id) const;

 private:
  const MutantRunnerOptions options_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_MUTANTS_MUTANT_RUN_H_
