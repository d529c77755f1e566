#include "tools/commands/verify/golden_suites.h"

#include <fmt/format.h>

#include <vector>

#include "conformance/configs/check_configs.h"
#include "conformance/scratch/worked_examples.h"
#include "conformance/sizes/size_rows.h"
#include "src/base/file_system.h"

namespace draftmark {
namespace {

Status RunSizes(const std::string& directory, Shard& shard, VerifyReport& report) {
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, RealFileSystem().List(directory));
  std::size_t files = 0;
  for (const std::string& name : names) {
    if (!name.ends_with(".json")) continue;
    ++files;
    if (!shard.TakesNext()) continue;
    report.Progress(fmt::format("sizes {}", name));
    DM_ASSIGN_OR_RETURN(const RowsReport rows, CheckSizeRowsFile(JoinPath(directory, name)));
    std::vector<std::string> failures;
    for (const RowMismatch& mismatch : rows.mismatches) failures.push_back(mismatch.ToString());
    report.AddGroup("sizes", name, rows.rows, failures);
  }
  if (files == 0) return NotFoundError(fmt::format("{}: holds no file of sizing rows", directory));
  return OkStatus();
}

Status RunConfigs(const std::string& directory, VerifyReport& report) {
  report.Progress("configs");
  DM_ASSIGN_OR_RETURN(const std::vector<ConfigCheck> checks, CheckConfigs(directory));
  std::vector<std::string> failures;
  for (const ConfigCheck& check : checks) {
    if (!check.passed()) failures.push_back(check.ToString());
  }
  report.AddGroup("configs", "published", checks.size(), failures);
  return OkStatus();
}

void RunScratch(VerifyReport& report) {
  report.Progress("scratch");
  const std::vector<ScratchCheck> checks = RunScratchChecks();
  std::vector<std::string> failures;
  for (const ScratchCheck& check : checks) {
    if (!check.passed) failures.push_back(fmt::format("{}: {}", check.id, check.message));
  }
  report.AddGroup("scratch", "worked_examples", checks.size(), failures);
}

}  // namespace

Status RunGoldenSuites(const std::string& golden, Shard& shard, VerifyReport& report) {
  DM_RETURN_IF_ERROR(RunSizes(JoinPath(golden, "buffer_sizes"), shard, report));
  if (shard.TakesNext()) DM_RETURN_IF_ERROR(RunConfigs(JoinPath(golden, "configs"), report));
  if (shard.TakesNext()) RunScratch(report);
  return OkStatus();
}

}  // namespace draftmark
