#include "conformance/diagnosis/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>

#include "src/tensor/dtype.h"
#include "src/tensor/safetensors.h"

namespace draftmark {
namespace {

// Strips "WORDnumber." from the front of `text`. False if the number does not fit.
bool StripNumber(std::string_view word, std::string_view& text, std::size_t& number) {
  if (!text.starts_with(word)) return true;
  const std::string_view rest = text.substr(word.size());
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error == std::errc::result_out_of_range) return false;
  // "steps.fc" is a name of its own.
  if (error != std::errc() || digits == rest.size() || rest[digits] != '.') {
    number = 0;
    return true;
  }
  text = rest.substr(digits + 1);
  return true;
}

constexpr std::string_view kInputs = "inputs.";
constexpr std::string_view kNames[] = {"target_hidden", "block_tokens", "start", "drop_front_rows"};

bool IsFloat(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

class InputsReader {
 public:
  InputsReader(const SafetensorsFile& file, const DrafterConfig& config)
      : file_(file), config_(config) {}

  StatusOr<plain::Bands> Read() {
    std::map<std::size_t, std::set<std::size_t>> steps_of;  // band -> steps
    for (const std::string& name : file_.names()) {
      const std::optional<TensorName> parts = SplitTensorName(name);
      if (!parts || !parts->rest.starts_with(kInputs)) continue;
      const std::string input = parts->rest.substr(kInputs.size());
      // A misspelt drop_front_rows would be another history.
      if (std::find(std::begin(kNames), std::end(kNames), input) == std::end(kNames)) {
        return DataLossError(fmt::format("{}: tensor {}: expected an input of {}, found '{}'",
                                         file_.path(), name, fmt::join(kNames, ", "), input));
      }
      const auto [known, first] = names_.try_emplace({parts->band, parts->step, input}, name);
      if (!first) {
        return DataLossError(
            fmt::format("{}: tensor {}: expected each input once, found the same input as {}",
                        file_.path(), name, known->second));
      }
      steps_of[parts->band].insert(parts->step);
    }
    if (steps_of.empty()) {
      return NotFoundError(
          fmt::format("{}: expected tensors stepS.inputs.{{target_hidden, block_tokens, start}}, "
                      "found none of them in {} tensors",
                      file_.path(), file_.names().size()));
    }
    plain::Bands bands;
    for (const auto& [band, steps] : steps_of) {
      if (band != bands.size() || *steps.rbegin() + 1 != steps.size()) {
        return DataLossError(
            fmt::format("{}: expected bands and steps without gaps from 0 on, found band {} with "
                        "{} steps up to {}",
                        file_.path(), band, steps.size(), *steps.rbegin()));
      }
      bands.emplace_back();
      for (std::size_t step = 0; step < steps.size(); ++step) {
        DM_ASSIGN_OR_RETURN(CaseStep read, ReadStep(band, step));
        bands.back().push_back(std::move(read));
      }
    }
    const Status fits = plain::CheckBands(config_, bands);
    if (!fits.ok()) return fits.Annotated(file_.path());
    return bands;
  }

 private:
  std::string Name(std::size_t band, std::size_t step, const char* input) const {
    const auto found = names_.find({band, step, input});
    return found != names_.end() ? found->second
                                 : JoinTensorName(step, band, std::string(kInputs) + input);
  }

  StatusOr<std::vector<std::int64_t>> Integers(const std::string& name) const {
    DM_ASSIGN_OR_RETURN(const TensorView view, file_.Get(name));
    StatusOr<std::vector<std::int64_t>> values = ToInt64s(view);
    if (!values.ok())
      return values.status().Annotated(fmt::format("{}: tensor {}", file_.path(), name));
    return values;
  }
  StatusOr<std::int64_t> Integer(const std::string& name) const {
    DM_ASSIGN_OR_RETURN(const std::vector<std::int64_t> values, Integers(name));
    if (values.size() != 1) {
      return DataLossError(fmt::format("{}: tensor {}: expected 1 element, found {}", file_.path(),
                                       name, values.size()));
    }
    return values[0];
  }

  StatusOr<CaseStep> ReadStep(std::size_t band, std::size_t index) const {
    CaseStep step;
    const std::string hidden = Name(band, index, "target_hidden");
    DM_ASSIGN_OR_RETURN(const TensorView view, file_.Get(hidden));
    if (view.shape.size() != 2 || view.shape[1] != config_.tap_width()) {
      return DataLossError(fmt::format("{}: tensor {}: expected shape [n, {}], found {}",
                                       file_.path(), hidden, config_.tap_width(),
                                       ShapeToString(view.shape)));
    }
    if (!IsFloat(view.dtype)) {
      return DataLossError(fmt::format("{}: tensor {}: expected BF16, F16, F32 or F64, found {}",
                                       file_.path(), hidden, DTypeName(view.dtype)));
    }
    const StatusOr<std::vector<double>> values = ToDoubles(view);
    if (!values.ok())
      return values.status().Annotated(fmt::format("{}: tensor {}", file_.path(), hidden));
    for (std::size_t i = 0; i < values->size(); ++i) {
      const BFloat16 rounded = BFloat16::FromDouble((*values)[i]);
      if (!std::isfinite((*values)[i]) || rounded.ToDouble() != (*values)[i]) {
        return DataLossError(
            fmt::format("{}: tensor {}: element {}: expected a finite BF16 value, found {:.9g}",
                        file_.path(), hidden, LogicalIndex(view.shape, i), (*values)[i]));
      }
      step.target_hidden.push_back(rounded);
    }
    step.new_context_rows = view.shape[0];
    const std::string block = Name(band, index, "block_tokens");
    DM_ASSIGN_OR_RETURN(const std::vector<std::int64_t> tokens, Integers(block));
    DM_ASSIGN_OR_RETURN(const TensorView token_view, file_.Get(block));
    // [1, gamma] is one block; [2, gamma] would be two of them read as one.
    if (!token_view.shape.empty() && token_view.shape.back() != tokens.size()) {
      return DataLossError(fmt::format("{}: tensor {}: expected shape [gamma], found {}",
                                       file_.path(), block, ShapeToString(token_view.shape)));
    }
    for (const std::int64_t token : tokens) {
      if (token < 0 || static_cast<std::uint64_t>(token) >= config_.vocab_size) {
        return DataLossError(fmt::format("{}: tensor {}: expected ids below {}, found {}",
                                         file_.path(), block, config_.vocab_size, token));
      }
      step.block_tokens.push_back(static_cast<std::uint32_t>(token));
    }
    const std::string start = Name(band, index, "start");
    DM_ASSIGN_OR_RETURN(step.start, Integer(start));
    // Positions are 32-bit: those of the context rows before the anchor, and of the block from it.
    const auto first = static_cast<std::int64_t>(step.new_context_rows);
    const std::int64_t last = INT32_MAX - static_cast<std::int64_t>(tokens.size());
    if (step.start < first || step.start > last) {
      return DataLossError(fmt::format(
          "{}: tensor {}: expected a position from {} to {} (after {} context rows, and with {} "
          "block rows in 32 bits), found {}",
          file_.path(), start, first, last, first, tokens.size(), step.start));
    }
    const std::string drop = Name(band, index, "drop_front_rows");
    if (file_.Has(drop)) {
      DM_ASSIGN_OR_RETURN(const std::int64_t rows, Integer(drop));
      if (rows < 0)
        return DataLossError(
            fmt::format("{}: tensor {}: expected at least 0, found {}", file_.path(), drop, rows));
      step.drop_front_rows = static_cast<std::uint64_t>(rows);
    }
    return step;
  }

  const SafetensorsFile& file_;
  const DrafterConfig& config_;
  std::map<std::tuple<std::size_t, std::size_t, std::string>, std::string> names_;
};

}  // namespace

std::optional<TensorName> SplitTensorName(std::string_view name) {
  TensorName parts;
  if (!StripNumber("step", name, parts.step) || !StripNumber("band", name, parts.band))
    return std::nullopt;
  parts.rest = name;
  return parts;
}

std::string JoinTensorName(std::size_t step, std::size_t band, std::string_view rest) {
  return band == 0 ? fmt::format("step{}.{}", step, rest)
                   : fmt::format("step{}.band{}.{}", step, band, rest);
}

StatusOr<plain::Bands> LoadInputs(const std::string& path, const DrafterConfig& config,
                                  FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path, file_system));
  return InputsReader(file, config).Read();
}

}  // namespace draftmark
