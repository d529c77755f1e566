// The suites over golden/ that are no drafts: sizing rows, published configs, worked examples of
// the scratch.
#ifndef DRAFTMARK_TOOLS_COMMANDS_VERIFY_GOLDEN_SUITES_H_
#define DRAFTMARK_TOOLS_COMMANDS_VERIFY_GOLDEN_SUITES_H_

#include <string>

#include "src/base/shard.h"
#include "src/base/status.h"
#include "tools/commands/verify/verify_report.h"

namespace draftmark {

// Runs those that `shard` takes on the data below `golden`; a file of rows is a case. An error means
// data that cannot be used; wrong results go to the report.
Status RunGoldenSuites(const std::string& golden, Shard& shard, VerifyReport& report);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_VERIFY_GOLDEN_SUITES_H_
