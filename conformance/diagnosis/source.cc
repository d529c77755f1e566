#include "conformance/diagnosis/source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <utility>

#include "conformance/diagnosis/inputs.h"
#include "src/base/file_system.h"
#include "src/cases/drafter_case.h"

namespace draftmark {
namespace {

// Of text models, and of the language part of multimodal ones.
constexpr std::array<const char*, 4> kEmbeddingNames = {
    "model.embed_tokens.weight", "embed_tokens.weight", "model.language_model.embed_tokens.weight",
    "language_model.model.embed_tokens.weight"};
constexpr std::array<const char*, 2> kHeadNames = {"lm_head.weight",
                                                   "language_model.lm_head.weight"};

template <std::size_t kCount>
const char* FirstPresent(const Checkpoint& checkpoint,
                         const std::array<const char*, kCount>& names) {
  for (const char* name : names) {
    if (checkpoint.Has(name)) return name;
  }
  return nullptr;
}

// The weights' own names, with the prefix that may occur.
bool HasOwn(const Checkpoint& drafter, const std::string& name) {
  return drafter.Has(name) || drafter.Has("model." + name);
}

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

Status AdoptTargetTensors(const Checkpoint& target, Checkpoint& drafter) {
  const char* const embedding = FirstPresent(target, kEmbeddingNames);
  const bool has_embedding = HasOwn(drafter, "embed_tokens.weight");
  if (!has_embedding) {
    if (embedding == nullptr) {
      return NotFoundError(fmt::format(
          "{}: expected the target's embedding under one of {}, found none among {} tensors",
          target.path(), fmt::join(kEmbeddingNames, ", "), target.names().size()));
    }
    DM_RETURN_IF_ERROR(drafter.Adopt(target, embedding, "embed_tokens.weight"));
  }
  if (HasOwn(drafter, "lm_head.weight")) return OkStatus();
  const char* const head = FirstPresent(target, kHeadNames);
  const char* const adopted = head != nullptr ? head : embedding;  // tied
  if (adopted == nullptr) return OkStatus();  // the drafter's own embedding may be tied, too
  return drafter.Adopt(target, adopted, "lm_head.weight");
}

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
    DM_ASSIGN_OR_RETURN(Checkpoint drafter, Checkpoint::Open(paths.weights));
    if (!paths.target_weights.empty()) {
      DM_ASSIGN_OR_RETURN(const Checkpoint target, Checkpoint::Open(paths.target_weights));
      DM_RETURN_IF_ERROR(AdoptTargetTensors(target, drafter));
    } else if (!HasOwn(drafter, "embed_tokens.weight")) {
      return InvalidArgumentError(
          fmt::format("{}: tensor embed_tokens.weight is absent, as usual in a drafter: expected "
                      "--target-weights with the target's checkpoint",
                      drafter.path()));
    }
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
