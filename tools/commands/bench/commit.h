// Which commit a program was built from, for results that others read.
#ifndef DRAFTMARK_TOOLS_COMMANDS_BENCH_COMMIT_H_
#define DRAFTMARK_TOOLS_COMMANDS_BENCH_COMMIT_H_

#include <string>
#include <string_view>

namespace draftmark {

// In the bundle for GPU machines its file COMMIT; else what tools/workspace_status says in the
// checkout, with "-modified" behind it where files differ; "unknown" if there is neither.
std::string FindCommit();

// Of that script's output.
std::string CommitOfStatus(std::string_view status);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_BENCH_COMMIT_H_
