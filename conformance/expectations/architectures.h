// What is known of each operation on each GPU architecture: that it was run, that this build has
// code for it, or neither.
//
//   DM_ASSIGN_OR_RETURN(const Architectures known,
//                       ReadArchitectures({.expectations = "conformance/expectations",
//                                          .results = "conformance/results",
//                                          .built = BuiltArchs(),
//                                          .operations = names}));
//
// Nothing of it is written by hand where it can be derived:
//   which architectures   a file conformance/expectations/sm_NN.toml each
//   run                   from conformance/results/*.json: a run on that architecture judged it
//   compiled              from the build setting //tools/cuda:archs, by the rule of HasCodeFor
// A file may say why no build can have code for its architecture:
//   [architecture]
//   not_built = "BF16 tensor cores begin with sm_80"
// It is an error if the build has code for it all the same, or a result says that it ran.
//
// Of a result the fields `conformance.operations.NAME.judged_runs` and, of
// `conformance.programs."conformance.cuda.cuda_cases_test"`, `passed` are read, in every file that
// has them; what has neither is listed, so that a name written wrong is seen.
//
// Errors: NOT_FOUND for folders, those of the files, INVALID_ARGUMENT with file and field for what
// is not as above, an operation that does not exist, and files that contradict each other.
// Thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_EXPECTATIONS_ARCHITECTURES_H_
#define DRAFTMARK_CONFORMANCE_EXPECTATIONS_ARCHITECTURES_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"

namespace draftmark {

enum class ArchitectureState {
  kRun,       // "run": conformance judged it there
  kCompiled,  // "compiled": this build has code for it, and it was never run
  kNeverRun,  // "never run": and this build has no code for it
};
std::string_view ArchitectureStateName(ArchitectureState state);  // as quoted above

struct ArchitectureRow {
  std::string architecture;  // "sm_90"
  std::string operation;     // "op/rms_norm"; "draft" stands for whole drafts
  ArchitectureState state = ArchitectureState::kNeverRun;
  std::string detail;  // which result, which code, or why there is none

  // "compiled: this build has code for sm_80": what tables and reports say.
  std::string Text() const;
};

// Whether code for `code` runs on a GPU of `architecture`, both as "sm_90": machine code ("sm_80")
// on later ones of the same major version, "sm_90a" on sm_90 alone, "sm_100f" on its family, which
// is that of its major version, PTX ("compute_90") on all later ones.
bool RunsOn(std::string_view code, std::string_view architecture);

// What the kernels of this program are built for, as in //tools/cuda:archs; empty without CUDA.
std::vector<std::string> BuiltArchs();

struct Architectures {
  std::vector<ArchitectureRow>
      rows;  // by architecture, ascending, then in the order of the operations
  // Results that say nothing of operations or drafts: file and why, a sentence's part each.
  std::vector<std::string> not_counted;
};

struct ArchitectureSources {
  std::string expectations;             // folder
  std::string results;                  // folder
  std::vector<std::string> built;       // BuiltArchs()
  std::vector<std::string> operations;  // names, all that results may have; "draft" is added
};
StatusOr<Architectures> ReadArchitectures(const ArchitectureSources& sources,
                                          FileSystem& file_system = RealFileSystem());

// The same of the checkout, or of the bundle, that this program lies in. NOT_FOUND outside of one.
StatusOr<Architectures> ReadArchitecturesOfCheckout();

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_EXPECTATIONS_ARCHITECTURES_H_
