#include "conformance/diagnosis/source.h"

#include <memory>
#include <utility>

#include "conformance/diagnosis/inputs.h"
#include "src/base/file_system.h"
#include "src/cases/drafter_case.h"
#include "src/weights/drafter_checkpoint.h"

namespace draftmark {
namespace {

Status CheckPaths(const DiagnosisPaths& paths, bool weights_needed) {
  if (!paths.case_directory.empty()) {
    if (paths.config.empty() && paths.weights.empty() && paths.target_weights.empty())
      return OkStatus();
    return InvalidArgumentError(
        "--case brings its own config and weights: expected no --config, --weights or "
        "--target-weights");
  }
  if (paths.weights.empty() && (weights_needed || paths.config.empty())) {
    return InvalidArgumentError("expected --case CASE, or --weights CHECKPOINT with --inputs FILE");
  }
  if (paths.inputs.empty())
    return InvalidArgumentError("expected --inputs FILE beside the config and weights");
  return OkStatus();
}

StatusOr<DrafterConfig> LoadConfig(const DiagnosisPaths& paths) {
  return LoadDrafterConfig(
      paths.config.empty() ? JoinPath(paths.weights, "config.json") : paths.config, paths.entry);
}

}  // namespace

StatusOr<DiagnosisSource> LoadDiagnosisSource(const DiagnosisPaths& paths) {
  DM_RETURN_IF_ERROR(CheckPaths(paths, /*weights_needed=*/true));
  DiagnosisSource source;
  std::shared_ptr<const Checkpoint> checkpoint;
  if (!paths.case_directory.empty()) {
    DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(paths.case_directory));
    source.config = drafter_case.config();
    source.bands = {drafter_case.steps()};
    checkpoint = drafter_case.checkpoint();
  } else {
    DM_ASSIGN_OR_RETURN(source.config, LoadConfig(paths));
    DM_ASSIGN_OR_RETURN(Checkpoint drafter,
                        OpenDrafterCheckpoint(paths.weights, paths.target_weights));
    checkpoint = std::make_shared<const Checkpoint>(std::move(drafter));
  }
  DM_ASSIGN_OR_RETURN(source.weights, LoadDrafterWeights(source.config, std::move(checkpoint)));
  if (!paths.inputs.empty()) {
    DM_ASSIGN_OR_RETURN(source.bands, LoadInputs(paths.inputs, source.config));
  }
  return source;
}

StatusOr<DiagnosisInputs> LoadDiagnosisInputs(const DiagnosisPaths& paths) {
  DM_RETURN_IF_ERROR(CheckPaths(paths, /*weights_needed=*/false));
  DiagnosisInputs result;
  if (!paths.case_directory.empty()) {
    DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(paths.case_directory));
    result.config = drafter_case.config();
    result.bands = {drafter_case.steps()};
  } else {
    DM_ASSIGN_OR_RETURN(result.config, LoadConfig(paths));
  }
  if (!paths.inputs.empty()) {
    DM_ASSIGN_OR_RETURN(result.bands, LoadInputs(paths.inputs, result.config));
  }
  return result;
}

}  // namespace draftmark
