#include "src/cases/drafter_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/backend/stages.h"
#include "src/base/json.h"

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
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') c = '-';
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

StatusOr<std::vector<BFloat16>> ReadBf16(const SafetensorsFile& file, const std::string& name,
                                         const Shape& shape) {
  DM_ASSIGN_OR_RETURN(const TensorView view, file.Get(name, DType::kBF16, shape));
  DM_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(view));
  std::vector<BFloat16> result;
  result.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return DataLossError(fmt::format("{}: tensor {}: element {} is {}, expected a finite number",
                                       file.path(), name, LogicalIndex(shape, i), values[i]));
    }
    result.push_back(BFloat16::FromDouble(values[i]));
  }
  return result;
}

StatusOr<std::vector<std::int64_t>> ReadIntegers(const SafetensorsFile& file,
                                                 const std::string& name,
                                                 std::optional<std::uint64_t> count) {
  DM_ASSIGN_OR_RETURN(const TensorView view, file.Get(name));
  StatusOr<std::vector<std::int64_t>> values = ToInt64s(view);
  if (!values.ok())
    return values.status().Annotated(fmt::format("{}: tensor {}", file.path(), name));
  if (count && values->size() != *count) {
    return DataLossError(fmt::format("{}: tensor {}: expected {} elements, found {}", file.path(),
                                     name, *count, values->size()));
  }
  return values;
}

StatusOr<std::map<std::string, double>> ReadNumberMap(const JsonObject& root,
                                                      std::string_view key) {
  std::map<std::string, double> result;
  if (!root.Has(key)) return result;
  DM_ASSIGN_OR_RETURN(const JsonObject object, root.Object(key));
  for (const auto& [name, ignored] : object.json().items()) {
    DM_ASSIGN_OR_RETURN(const double value, object.Number(name));
    if (value < 0) return object.TypeError(name, "a number that is not negative");
    result[name] = value;
  }
  return result;
}

}  // namespace

StatusOr<DrafterCase> DrafterCase::Load(const std::string& directory, FileSystem& file_system) {
  if (!file_system.IsDirectory(directory)) {
    return NotFoundError(fmt::format("{}: no such case folder", directory));
  }
  const std::string config_path = JoinPath(directory, "config.json");
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(config_path, file_system));
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, config_path));
  DM_ASSIGN_OR_RETURN(DrafterConfig config, ParseDrafterConfig(json, config_path));
  DM_ASSIGN_OR_RETURN(
      SafetensorsFile golden,
      SafetensorsFile::Open(JoinPath(directory, "golden.safetensors"), file_system));
  DrafterCase result(std::move(config), std::move(golden));
  result.directory_ = directory;
  DM_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                      Checkpoint::Open(JoinPath(directory, "model.safetensors"), file_system));
  result.checkpoint_ = std::make_shared<const Checkpoint>(std::move(checkpoint));
  DM_RETURN_IF_ERROR(result.LoadSteps(json, config_path));
  DM_RETURN_IF_ERROR(result.CheckGolden());
  result.id_.room = CaseId::Room::kDraft;
  result.id_.subject = IdSafe(BaseName(directory));
  result.id_.keys = {{"gamma", result.gamma()},
                     {"ctx", result.largest_context()},
                     {"steps", result.steps_.size()},
                     {"nb", 1}};
  return result;
}

Status DrafterCase::LoadSteps(const Json& json, const std::string& source) {
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  DM_ASSIGN_OR_RETURN(torch_errors_, ReadNumberMap(root, "torch_bf16_relative_error"));
  DM_ASSIGN_OR_RETURN(torch_logit_errors_, ReadNumberMap(root, "torch_bf16_max_abs_logit_error"));
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> steps, root.ObjectList("steps"));
  if (steps.empty()) return root.TypeError("steps", "at least one step");
  std::uint64_t context = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const JsonObject& object = steps[s];
    const std::string inputs = StepPrefix(s) + "inputs.";
    CaseStep step;
    DM_ASSIGN_OR_RETURN(step.drop_front_rows, object.U64Or("drop_front_rows", 0));
    DM_ASSIGN_OR_RETURN(step.new_context_rows, object.U64("new_context_rows"));
    DM_ASSIGN_OR_RETURN(step.start, object.I64("start"));
    DM_ASSIGN_OR_RETURN(const std::uint64_t anchor, object.U64("anchor"));
    if (step.drop_front_rows > context) {
      return object.TypeError("drop_front_rows",
                              fmt::format("at most the {} rows of context so far", context));
    }
    DM_ASSIGN_OR_RETURN(step.target_hidden, ReadBf16(golden_, inputs + "target_hidden",
                                                     {step.new_context_rows, config_.tap_width()}));
    context = context - step.drop_front_rows + step.new_context_rows;
    if (step.start < 0 || step.start > INT32_MAX ||
        static_cast<std::uint64_t>(step.start) < step.new_context_rows) {
      return object.TypeError("start", "a 32-bit position not below new_context_rows");
    }
    DM_ASSIGN_OR_RETURN(const std::vector<std::int64_t> start,
                        ReadIntegers(golden_, inputs + "start", 1));
    if (start[0] != step.start) {
      return DataLossError(
          fmt::format("{}: tensor {}start: expected {} as in config.json, found {}", golden_.path(),
                      inputs, step.start, start[0]));
    }
    DM_ASSIGN_OR_RETURN(const std::vector<std::int64_t> tokens,
                        ReadIntegers(golden_, inputs + "block_tokens", std::nullopt));
    if (tokens.size() < 2 || (s > 0 && tokens.size() != gamma())) {
      return DataLossError(
          fmt::format("{}: tensor {}block_tokens: expected {} tokens, found {}", golden_.path(),
                      inputs, s > 0 ? std::to_string(gamma()) : "at least 2", tokens.size()));
    }
    for (const std::int64_t token : tokens) {
      if (token < 0 || static_cast<std::uint64_t>(token) >= config_.vocab_size) {
        return DataLossError(
            fmt::format("{}: tensor {}block_tokens: token {} is outside the vocabulary of {}",
                        golden_.path(), inputs, token, config_.vocab_size));
      }
      step.block_tokens.push_back(static_cast<std::uint32_t>(token));
    }
    if (step.block_tokens[0] != anchor) {
      return DataLossError(
          fmt::format("{}: tensor {}block_tokens: expected anchor {} as in config.json, found {}",
                      golden_.path(), inputs, anchor, step.block_tokens[0]));
    }
    steps_.push_back(std::move(step));
  }
  return OkStatus();
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
  const Shape expected = StageShape(config_, stage, steps_[step].new_context_rows, gamma());
  if (view.shape != expected) {
    return DataLossError(fmt::format("{}: tensor {}: expected shape {}, found {}", golden_.path(),
                                     name, ShapeToString(expected), ShapeToString(view.shape)));
  }
  const StatusOr<std::vector<double>> values = ToDoubles(view);
  if (!values.ok()) {
    return values.status().Annotated(fmt::format("{}: tensor {}", golden_.path(), name));
  }
  for (std::size_t i = 0; i < values->size(); ++i) {
    const double value = (*values)[i];
    const bool id = IsIdStage(stage);
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
  std::uint64_t context = 0;
  std::uint64_t largest = 0;
  for (const CaseStep& step : steps_) {
    context = context - step.drop_front_rows + step.new_context_rows;
    largest = std::max(largest, context);
  }
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
  return std::optional<ExpectedStage>({view.shape, std::move(values).value()});
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
