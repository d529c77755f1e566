#include "src/cases/drafter_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/backend/stages.h"
#include "src/base/ascii.h"
#include "src/base/check.h"
#include "src/base/json.h"
#include "src/base/memory_file_system.h"

namespace draftmark {
namespace {

constexpr std::string_view kExpectedPrefix = "f64.";
constexpr std::string_view kTorchPrefix = "torch_bf16.";

std::string StepPrefix(std::size_t step) { return fmt::format("step{}.", step); }

// The last component of a path, whatever slashes it ends with.
std::string BaseName(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Case folders may have any name; an id has a fixed alphabet.
std::string IdSafe(std::string name) {
  for (char& c : name) {
    if (!IsAsciiAlnum(c) && c != '_' && c != '-' && c != '.') c = '-';
  }
  return name.empty() ? "case" : name;
}

bool IsInput(const std::string& name, std::size_t steps) {
  for (std::size_t s = 0; s < steps; ++s) {
    for (const char* input : {"target_hidden", "block_tokens", "start"}) {
      if (name == StepPrefix(s) + "inputs." + input) return true;
    }
  }
  return false;
}

}  // namespace

StatusOr<DrafterCase> DrafterCase::Load(const std::string& directory, FileSystem& file_system) {
  if (!file_system.IsDirectory(directory)) {
    return NotFoundError(fmt::format("{}: no such case folder", directory));
  }
  const std::string config_path = JoinPath(directory, "config.json");
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(config_path, file_system));
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, config_path));
  // Before the big file: a config that is none should be named first.
  DM_RETURN_IF_ERROR(ParseDrafterConfig(json, config_path).status());
  DM_ASSIGN_OR_RETURN(
      SafetensorsFile golden,
      SafetensorsFile::Open(JoinPath(directory, "golden.safetensors"), file_system));
  DM_ASSIGN_OR_RETURN(DrafterCase result,
                      Make(json, directory, std::move(golden), /*with_weights=*/true));
  DM_RETURN_IF_ERROR(result.LoadCheckpoint(file_system));
  DM_RETURN_IF_ERROR(result.CheckGolden());
  return result;
}

namespace {

// Of a case that nobody has computed yet.
StatusOr<SafetensorsFile> NoTensors(const std::string& directory) {
  const std::string path = JoinPath(directory, "golden.safetensors");
  MemoryFileSystem files;
  DM_RETURN_IF_ERROR(SafetensorsWriter().Write(path, files));
  return SafetensorsFile::Open(path, files);
}

}  // namespace

StatusOr<DrafterCase> DrafterCase::WithoutWeights(const Json& json, const std::string& directory) {
  DM_ASSIGN_OR_RETURN(SafetensorsFile empty, NoTensors(directory));
  return Make(json, directory, std::move(empty), /*with_weights=*/false);
}

StatusOr<DrafterCase> DrafterCase::WithoutStages(const Json& json, const std::string& directory) {
  DM_ASSIGN_OR_RETURN(SafetensorsFile empty, NoTensors(directory));
  DM_ASSIGN_OR_RETURN(DrafterCase result,
                      Make(json, directory, std::move(empty), /*with_weights=*/true));
  MemoryFileSystem files;
  DM_RETURN_IF_ERROR(result.LoadCheckpoint(files));
  return result;
}

Status DrafterCase::LoadCheckpoint(FileSystem& file_system) {
  const std::string path = CheckpointPath();
  StatusOr<Checkpoint> checkpoint = generator_ ? GenerateCheckpoint(config_, *generator_, path)
                                               : Checkpoint::Open(path, file_system);
  if (!checkpoint.ok()) return checkpoint.status();
  checkpoint_ = std::make_shared<const Checkpoint>(*std::move(checkpoint));
  return OkStatus();
}

StatusOr<DrafterCase> DrafterCase::Make(const Json& json, const std::string& directory,
                                        SafetensorsFile golden, bool with_weights) {
  const std::string config_path = JoinPath(directory, "config.json");
  DM_ASSIGN_OR_RETURN(DrafterConfig config, ParseDrafterConfig(json, config_path));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, config_path));
  DrafterCase result(std::move(config), std::move(golden));
  result.directory_ = directory;
  DM_ASSIGN_OR_RETURN(result.generator_, ReadGenerator(root));
  if (result.generator_) {
    if (with_weights) {
      DM_RETURN_IF_ERROR(CheckGeneratedWeights(result.config_, *result.generator_)
                             .Annotated(result.CheckpointPath()));
    }
    DM_RETURN_IF_ERROR(result.CheckGeneratedSteps(root));
  }
  DM_RETURN_IF_ERROR(result.LoadSteps(root));
  DM_RETURN_IF_ERROR(result.LoadNeighbours(root));
  result.id_.room = CaseId::Room::kDraft;
  result.id_.subject = IdSafe(BaseName(directory));
  result.id_.keys = {{"gamma", result.gamma()},
                     {"ctx", result.largest_context()},
                     {"steps", result.steps_.size()},
                     {"nb", 1 + result.neighbours_.size()}};
  return result;
}

std::vector<std::uint64_t> DrafterCase::RowsOf(std::size_t step, const std::string& stage) const {
  const CaseStep& s = steps_[step];
  const Shape whole = StageShape(config_, stage, s.new_context_rows, s.block_tokens.size());
  const Shape without = StageShape(config_, stage, 0, s.block_tokens.size());
  if (!s.kept_context_rows || whole == without) return {};  // no context rows in this stage
  std::vector<std::uint64_t> rows = *s.kept_context_rows;
  for (std::uint64_t row = s.new_context_rows; row < whole[0]; ++row) rows.push_back(row);
  return rows;
}

std::vector<double> SelectRows(const Shape& shape, std::vector<double> values,
                               const std::vector<std::uint64_t>& rows) {
  if (rows.empty()) return values;
  DM_CHECK(!shape.empty() && shape[0] > 0);
  const std::uint64_t width = values.size() / shape[0];
  std::vector<double> chosen;
  for (const std::uint64_t row : rows) {
    DM_CHECK(row < shape[0]);
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * width);
    chosen.insert(chosen.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return chosen;
}

Status DrafterCase::CheckGolden() const {
  // A misspelt stage would never be compared: refuse it instead.
  std::map<std::string, std::pair<std::size_t, std::string>> known;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (const std::string& stage : StagesInDataFlowOrder(config_)) {
      known[StepPrefix(s) + stage] = {s, stage};
    }
  }
  for (const std::string& name : golden_.names()) {
    if (!name.starts_with(kExpectedPrefix) && !name.starts_with(kTorchPrefix) &&
        !IsInput(name, steps_.size())) {
      return DataLossError(
          fmt::format("{}: tensor {}: neither {}stepS.STAGE nor {}stepS.STAGE nor an input of one "
                      "of the {} steps",
                      golden_.path(), name, kExpectedPrefix, kTorchPrefix, steps_.size()));
    }
    for (const std::string_view prefix : {kExpectedPrefix, kTorchPrefix}) {
      if (!name.starts_with(prefix)) continue;
      const auto found = known.find(name.substr(prefix.size()));
      if (found == known.end()) {
        return DataLossError(
            fmt::format("{}: tensor {}: not a stage of this {} drafter with {} layers and {} steps",
                        golden_.path(), name, DrafterKindName(config_.kind),
                        config_.num_hidden_layers, steps_.size()));
      }
      DM_RETURN_IF_ERROR(CheckGoldenStage(name, found->second.first, found->second.second));
    }
  }
  // Some stages may be left out to save space, but a step whose result is unknown would pass whatever it gives.
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const std::string name = std::string(kExpectedPrefix) + StepPrefix(s) + "draft_tokens";
    if (!golden_.Has(name))
      return NotFoundError(
          fmt::format("{}: tensor {}: required, but absent", golden_.path(), name));
  }
  return OkStatus();
}

Status DrafterCase::CheckGoldenStage(const std::string& name, std::size_t step,
                                     const std::string& stage) const {
  DM_ASSIGN_OR_RETURN(const TensorView view, golden_.Get(name));
  Shape expected =
      StageShape(config_, stage, steps_[step].new_context_rows, steps_[step].block_tokens.size());
  if (const std::vector<std::uint64_t> rows = RowsOf(step, stage); !rows.empty()) {
    expected[0] = rows.size();
  }
  if (view.shape != expected) {
    return DataLossError(fmt::format("{}: tensor {}: expected shape {}, found {}", golden_.path(),
                                     name, ShapeToString(expected), ShapeToString(view.shape)));
  }
  const bool id = IsIdStage(stage);
  // A narrower type would hide what the bounds are there to find.
  if (!id && name.starts_with(kExpectedPrefix) && view.dtype != DType::kF64 &&
      view.dtype != DType::kF32) {
    return DataLossError(fmt::format("{}: tensor {}: expected dtype F64 or F32, found {}",
                                     golden_.path(), name, DTypeName(view.dtype)));
  }
  const StatusOr<std::vector<double>> values = ToDoubles(view);
  if (!values.ok()) {
    return values.status().Annotated(fmt::format("{}: tensor {}", golden_.path(), name));
  }
  for (std::size_t i = 0; i < values->size(); ++i) {
    const double value = (*values)[i];
    const bool good = id ? value >= 0 && value < static_cast<double>(config_.vocab_size) &&
                               value == std::floor(value)
                         : std::isfinite(value);
    if (good) continue;
    return DataLossError(fmt::format(
        "{}: tensor {}: element {} is {}, expected {}", golden_.path(), name,
        LogicalIndex(view.shape, i), value,
        id ? fmt::format("a token id below {}", config_.vocab_size) : "a finite number"));
  }
  return OkStatus();
}

std::uint64_t DrafterCase::largest_context() const {
  std::uint64_t largest = 0;
  const auto look_at = [&](const std::vector<CaseStep>& steps) {
    std::uint64_t context = 0;
    for (const CaseStep& step : steps) {
      context = context - step.drop_front_rows + step.new_context_rows;
      largest = std::max(largest, context);
    }
  };
  look_at(steps_);
  for (const std::vector<CaseStep>& steps : neighbours_) look_at(steps);
  return largest;
}

StatusOr<std::optional<ExpectedStage>> DrafterCase::Expected(std::size_t step,
                                                             const std::string& stage) const {
  const std::string name = std::string(kExpectedPrefix) + StepPrefix(step) + stage;
  if (!golden_.Has(name)) return std::optional<ExpectedStage>();
  DM_ASSIGN_OR_RETURN(const TensorView view, golden_.Get(name));
  StatusOr<std::vector<double>> values = ToDoubles(view);
  if (!values.ok())
    return values.status().Annotated(fmt::format("{}: tensor {}", golden_.path(), name));
  return std::optional<ExpectedStage>(
      {view.shape, std::move(values).value(), view.dtype, RowsOf(step, stage)});
}

std::optional<double> DrafterCase::TorchError(std::size_t step, const std::string& stage) const {
  const auto found = torch_errors_.find(StepPrefix(step) + stage);
  return found == torch_errors_.end() ? std::nullopt : std::optional<double>(found->second);
}

StatusOr<std::optional<double>> DrafterCase::TorchMaxLogitError(std::size_t step) const {
  const std::string name = std::string(kTorchPrefix) + StepPrefix(step) + "logits";
  if (!golden_.Has(name)) {
    const auto found = torch_logit_errors_.find(fmt::format("step{}", step));
    return found == torch_logit_errors_.end() ? std::optional<double>()
                                              : std::optional<double>(found->second);
  }
  DM_ASSIGN_OR_RETURN(const std::optional<ExpectedStage> expected, Expected(step, "logits"));
  if (!expected) return std::optional<double>();
  DM_ASSIGN_OR_RETURN(const TensorView view, golden_.Get(name));
  DM_ASSIGN_OR_RETURN(const std::vector<double> torch, ToDoubles(view));
  if (torch.size() != expected->values.size()) {
    return DataLossError(fmt::format("{}: tensor {}: expected shape {}, found {}", golden_.path(),
                                     name, ShapeToString(expected->shape),
                                     ShapeToString(view.shape)));
  }
  double largest = 0;
  for (std::size_t i = 0; i < torch.size(); ++i) {
    largest = std::max(largest, std::abs(torch[i] - expected->values[i]));
  }
  return std::optional<double>(largest);
}

namespace {

void FindBelow(const std::string& directory, int depth, FileSystem& file_system,
               std::vector<std::string>& found) {
  if (file_system.IsFile(JoinPath(directory, "golden.safetensors"))) {
    found.push_back(directory);
    return;
  }
  // Cases lie at most a few folders down; the bound also ends a loop of links.
  constexpr int kDeepest = 4;
  const StatusOr<std::vector<std::string>> entries = file_system.List(directory);
  if (depth == kDeepest || !entries.ok()) return;
  for (const std::string& entry : *entries) {
    const std::string path = JoinPath(directory, entry);
    if (file_system.IsDirectory(path)) FindBelow(path, depth + 1, file_system, found);
  }
}

}  // namespace

std::vector<std::string> FindDrafterCases(const std::string& directory, FileSystem& file_system) {
  std::vector<std::string> found;
  FindBelow(directory, 0, file_system, found);
  return found;
}

}  // namespace draftmark
