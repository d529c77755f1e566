#include "conformance/golden/draft_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/drafts/local_oracle.h"
#include "conformance/drafts/run_case.h"
#include "conformance/golden/file_bytes.h"
#include "src/backend/stages.h"
#include "src/cases/drafter_case.h"

namespace draftmark {
namespace {

// Sums of a few thousand terms in float64 in two orders.
constexpr double kAgreement = 1e-12;

Status AddStages(const DrafterCase& drafter_case, std::size_t step, const TappedStages& tapped,
                 TensorsInMemory& tensors) {
  for (const std::string& stage : StagesInDataFlowOrder(drafter_case.config())) {
    const auto found = tapped.find(stage);
    if (found == tapped.end() || !IsKeptStage(stage, drafter_case.config().num_hidden_layers)) {
      continue;
    }
    const std::vector<std::uint64_t> rows = drafter_case.RowsOf(step, stage);
    Shape shape = found->second.shape;
    const std::vector<double> values = SelectRows(shape, found->second.values, rows);
    if (!rows.empty()) shape[0] = rows.size();
    DM_RETURN_IF_ERROR(tensors.Add(fmt::format("f64.step{}.{}", step, stage),
                                   IsIdStage(stage) ? DType::kU32 : DType::kF32, shape, values));
  }
  return OkStatus();
}

// What both files of a draft say of it.
ManifestEntry DraftEntry(const DraftSpec& spec, std::string_view file, const OrderedJson& config) {
  ManifestEntry entry;
  entry.path = fmt::format("{}/{}", DraftFolder(spec), file);
  entry.generator = GeneratorName();
  entry.seed = fmt::format("{}", config["generator"]["seed"].get<std::uint64_t>());
  entry.config = spec.entry;
  return entry;
}

}  // namespace

std::string DraftFolder(const DraftSpec& spec) { return fmt::format("drafts/{}", spec.name); }

bool IsKeptStage(std::string_view stage, std::uint64_t layers) {
  if (!stage.starts_with("layers.")) return stage != "hidden_norm";
  const bool first = stage.starts_with(LayerStage(0, ""));
  const bool last = stage.starts_with(LayerStage(layers - 1, ""));
  return ((first || last) && stage.ends_with(".output")) || (first && stage.ends_with(".k_new"));
}

Status CheckAgreement(const DrafterConfig& config, const std::string& id, std::size_t step,
                      const TappedStages& tapped, const LocalStages& local) {
  const std::vector<std::string> stages = StagesInDataFlowOrder(config);
  const auto error = [&](std::string_view stage, const std::string& what) {
    return InternalError(fmt::format("{}: step{}.{}: {}", id, step, stage, what));
  };
  for (const auto& [stage, computed] : local) {
    if (!tapped.contains(stage)) return error(stage, "the run gave no such stage");
  }
  for (const auto& [stage, given] : tapped) {
    if (std::find(stages.begin(), stages.end(), stage) == stages.end())
      return error(stage, "no stage of this geometry");
  }
  for (const std::string& stage : stages) {
    const auto found = tapped.find(stage);
    if (found == tapped.end()) continue;
    const std::vector<double>& first = found->second.values;
    const auto second = local.find(stage);
    if (second == local.end() || second->second.oracle.size() != first.size())
      return error(stage, "no second computation to agree with");
    const LocalStage& other = second->second;
    // Also where an intermediate result that is no stage (k before its norm) has cancelled.
    double largest = 0;
    for (const double value : first) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < first.size(); ++i) {
      const bool finite = std::isfinite(first[i]) && std::isfinite(other.oracle[i]);
      if (finite &&
          std::abs(first[i] - other.oracle[i]) <= kAgreement * (other.magnitude[i] + largest)) {
        continue;
      }
      return error(stage,
                   fmt::format("two computations {} at {}: {:.17g} and {:.17g}",
                               finite ? "disagree" : "are not both finite",
                               LogicalIndex(found->second.shape, i), first[i], other.oracle[i]));
    }
  }
  return OkStatus();
}

GoldenFile MakeDraftConfigFile(const DraftSpec& spec, const OrderedJson& config) {
  GoldenFile file;
  file.entry = DraftEntry(spec, "config.json", config);
  file.entry.kind = "config";
  const std::string text = config.dump(1) + "\n";
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text.data(), text.size()));
  file.bytes.assign(bytes.begin(), bytes.end());
  SealEntry(file);
  return file;
}

StatusOr<GoldenFile> MakeDraftStagesFile(const DraftSpec& spec, const OrderedJson& config) {
  GoldenFile file;
  file.entry = DraftEntry(spec, "golden.safetensors", config);
  DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case,
                      DrafterCase::WithoutStages(Json(config), DraftFolder(spec)));
  DM_ASSIGN_OR_RETURN(const DrafterWeights weights,
                      LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
  DM_ASSIGN_OR_RETURN(
      const std::unique_ptr<LocalOracle> second,
      LocalOracle::Open(drafter_case, weights, Precision::kExact, Accumulation::kFloat64));
  TensorsInMemory tensors;
  const std::string id = drafter_case.id().ToString();
  const auto on_step = [&](std::size_t step, const TappedStages& tapped) -> Status {
    DM_RETURN_IF_ERROR(
        CheckAgreement(drafter_case.config(), id, step, tapped, second->Step(step, tapped)));
    return AddStages(drafter_case, step, tapped, tensors);
  };
  DM_RETURN_IF_ERROR(TapCase(drafter_case, Precision::kExact, OpenReferenceForCase, on_step));
  file.entry.kind = "draft";
  file.entry.cases = {id};
  file.entry.precision = "float64, stored as F32";
  file.entry.tolerance = "T4";
  file.entry.inputs_sha256 = DigestOfInputs(drafter_case);
  file.entry.kept_context_rows = KeptContextRows(drafter_case);
  file.entry.agreement = "float64 reference and direct formulas, stage by stage";
  DM_ASSIGN_OR_RETURN(file.bytes, tensors.Serialize());
  SealEntry(file);
  return file;
}

}  // namespace draftmark
