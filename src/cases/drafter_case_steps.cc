#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/base/checked.h"
#include "src/base/counter_hash.h"
#include "src/base/json.h"
#include "src/cases/drafter_case.h"

namespace draftmark {
namespace {

// Rows of a block, far above any drafter's: a config may say any number, and each row is a token here.
constexpr std::uint64_t kMostBlockRows = 65536;
// And of all blocks of a case: a step of thirty bytes of JSON may ask for 65536 tokens.
constexpr std::uint64_t kMostRowsOfAllBlocks = std::uint64_t{1} << 24;

std::string InputPrefix(std::size_t step) { return fmt::format("step{}.inputs.", step); }

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

Status DrafterCase::LoadSteps(const JsonObject& root) {
  DM_ASSIGN_OR_RETURN(torch_errors_, ReadNumberMap(root, "torch_bf16_relative_error"));
  DM_ASSIGN_OR_RETURN(torch_logit_errors_, ReadNumberMap(root, "torch_bf16_max_abs_logit_error"));
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> steps, root.ObjectList("steps"));
  if (steps.empty()) return root.TypeError("steps", "at least one step");
  DM_ASSIGN_OR_RETURN(steps_, LoadSequence(steps, std::nullopt));
  return OkStatus();
}

Status DrafterCase::ForEachNeighbour(const JsonObject& root, const OnNeighbour& visit) const {
  const Json* const list = root.Find("neighbours");
  if (list == nullptr) return OkStatus();
  if (!generator_ || !list->is_array()) {
    return root.TypeError("neighbours", "a list of lists of steps, in a generated case");
  }
  for (std::size_t n = 0; n < list->size(); ++n) {
    const Json wrapped = {{"steps", (*list)[n]}};
    DM_ASSIGN_OR_RETURN(const JsonObject neighbour,
                        JsonObject::Root(wrapped, root.Where(fmt::format("neighbours[{}]", n))));
    DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> steps, neighbour.ObjectList("steps"));
    DM_RETURN_IF_ERROR(visit(n, steps));
  }
  return OkStatus();
}

Status DrafterCase::LoadNeighbours(const JsonObject& root) {
  DM_ASSIGN_OR_RETURN(replay_, root.BoolOr("replay", false));
  DM_ASSIGN_OR_RETURN(end_to_end_, root.BoolOr("end_to_end", true));
  DM_ASSIGN_OR_RETURN(band_, root.U64Or("band", 0));
  DM_RETURN_IF_ERROR(
      ForEachNeighbour(root, [&](std::size_t n, const std::vector<JsonObject>& steps) -> Status {
        DM_ASSIGN_OR_RETURN(std::vector<CaseStep> sequence, LoadSequence(steps, n));
        neighbours_.push_back(std::move(sequence));
        return OkStatus();
      }));
  if (band_ > neighbours_.size()) {
    return root.TypeError("band",
                          fmt::format("at most the number of neighbours, {}", neighbours_.size()));
  }
  return OkStatus();
}

Status DrafterCase::CheckGeneratedSteps(const JsonObject& root) const {
  CheckedU64 taps = 0, block_rows = 0;
  const auto add = [&](const std::vector<JsonObject>& steps) -> Status {
    for (const JsonObject& step : steps) {
      DM_ASSIGN_OR_RETURN(const std::uint64_t rows, step.U64("new_context_rows"));
      taps += CheckedU64(rows) * config_.tap_width();
      if (!taps.ok() || taps.value() > kMostGeneratedElements) {
        return ResourceExhaustedError(fmt::format(
            "{}: generated taps of all steps and neighbours may have {} elements in all; with "
            "these {} rows of {} they have more",
            step.Where("new_context_rows"), kMostGeneratedElements, rows, config_.tap_width()));
      }
      DM_ASSIGN_OR_RETURN(const std::uint64_t width, step.U64Or("width", config_.block_size));
      block_rows += width;
      if (!block_rows.ok() || block_rows.value() > kMostRowsOfAllBlocks) {
        return ResourceExhaustedError(
            fmt::format("{}: generated blocks of all steps and neighbours may have {} rows in all; "
                        "with these {} they have more",
                        step.Where("width"), kMostRowsOfAllBlocks, width));
      }
    }
    return OkStatus();
  };
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> own, root.ObjectList("steps"));
  DM_RETURN_IF_ERROR(add(own));
  return ForEachNeighbour(
      root, [&](std::size_t, const std::vector<JsonObject>& steps) { return add(steps); });
}

StatusOr<std::vector<CaseStep>> DrafterCase::LoadSequence(
    const std::vector<JsonObject>& steps, std::optional<std::size_t> neighbour) const {
  std::vector<CaseStep> sequence;
  std::uint64_t context = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    DM_ASSIGN_OR_RETURN(CaseStep step, LoadStep(steps[s], s, neighbour));
    if (step.drop_front_rows > (step.reset ? 0 : context)) {
      return steps[s].TypeError(
          "drop_front_rows",
          fmt::format("at most the {} rows of context so far", step.reset ? 0 : context));
    }
    if (step.reset) step.drop_front_rows = context;
    context = context - step.drop_front_rows + step.new_context_rows;
    sequence.push_back(std::move(step));
  }
  return sequence;
}

StatusOr<CaseStep> DrafterCase::LoadStep(const JsonObject& object, std::size_t index,
                                         std::optional<std::size_t> neighbour) const {
  CaseStep step;
  DM_ASSIGN_OR_RETURN(step.drop_front_rows, object.U64Or("drop_front_rows", 0));
  DM_ASSIGN_OR_RETURN(step.new_context_rows, object.U64("new_context_rows"));
  DM_ASSIGN_OR_RETURN(step.start, object.I64("start"));
  DM_ASSIGN_OR_RETURN(const std::uint64_t anchor, object.U64("anchor"));
  DM_ASSIGN_OR_RETURN(step.reset, object.BoolOr("reset", false));
  DM_ASSIGN_OR_RETURN(step.rests, object.BoolOr("rests", false));
  if (step.rests && !neighbour) return object.TypeError("rests", "a neighbour's step");
  if (step.start < 0 || step.start > INT32_MAX ||
      static_cast<std::uint64_t>(step.start) < step.new_context_rows) {
    return object.TypeError("start", "a 32-bit position not below new_context_rows");
  }
  if (object.Has("kept_context_rows")) {
    DM_ASSIGN_OR_RETURN(step.kept_context_rows, object.U64List("kept_context_rows"));
    const std::vector<std::uint64_t>& rows = *step.kept_context_rows;
    const bool ascending =
        std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
    if (!ascending || (!rows.empty() && rows.back() >= step.new_context_rows)) {
      return object.TypeError("kept_context_rows", "ascending rows below new_context_rows");
    }
  }
  DM_RETURN_IF_ERROR(LoadInputs(object, index, neighbour, anchor, step));
  return step;
}

Status DrafterCase::LoadInputs(const JsonObject& object, std::size_t index,
                               std::optional<std::size_t> neighbour, std::uint64_t anchor,
                               CaseStep& step) const {
  const std::string inputs = InputPrefix(index);
  if (generator_) {
    if (anchor >= config_.vocab_size || !config_.mask_token_id || config_.block_size < 2) {
      return object.TypeError(
          "anchor", "a token of the vocabulary, in a config with a mask token and a block size");
    }
    // Every neighbour has taps of its own.
    DataGenerator generator = *generator_;
    if (neighbour) generator.seed += SeedOf(fmt::format("neighbour{}", *neighbour));
    DM_ASSIGN_OR_RETURN(step.target_hidden,
                        GenerateTaps(config_, generator, index, step.new_context_rows));
    DM_ASSIGN_OR_RETURN(const std::uint64_t width, object.U64Or("width", config_.block_size));
    if (width < 2 || width > config_.block_size) {
      return object.TypeError("width", fmt::format("2 to block_size, {}", config_.block_size));
    }
    if (width > kMostBlockRows) {
      return ResourceExhaustedError(fmt::format("{}: a generated block may have {} rows, found {}",
                                                object.Where("width"), kMostBlockRows, width));
    }
    step.block_tokens.assign(width, static_cast<std::uint32_t>(*config_.mask_token_id));
    step.block_tokens[0] = static_cast<std::uint32_t>(anchor);
    return OkStatus();
  }
  DM_ASSIGN_OR_RETURN(step.target_hidden, ReadBf16(golden_, inputs + "target_hidden",
                                                   {step.new_context_rows, config_.tap_width()}));
  DM_ASSIGN_OR_RETURN(const std::vector<std::int64_t> start,
                      ReadIntegers(golden_, inputs + "start", 1));
  if (start[0] != step.start) {
    return DataLossError(fmt::format("{}: tensor {}start: expected {} as in config.json, found {}",
                                     golden_.path(), inputs, step.start, start[0]));
  }
  DM_ASSIGN_OR_RETURN(const std::vector<std::int64_t> tokens,
                      ReadIntegers(golden_, inputs + "block_tokens", std::nullopt));
  // Later steps are as wide as the first.
  std::size_t width = tokens.size();
  if (index > 0) {
    DM_ASSIGN_OR_RETURN(const TensorView first, golden_.Get(InputPrefix(0) + "block_tokens"));
    width = first.elements();
  }
  if (tokens.size() < 2 || tokens.size() != width) {
    return DataLossError(
        fmt::format("{}: tensor {}block_tokens: expected {} tokens, found {}", golden_.path(),
                    inputs, index > 0 ? std::to_string(width) : "at least 2", tokens.size()));
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
  return OkStatus();
}

}  // namespace draftmark
