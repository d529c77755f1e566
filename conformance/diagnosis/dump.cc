#include "conformance/diagnosis/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/diagnosis/inputs.h"
#include "src/backend/stages.h"
#include "src/tensor/safetensors.h"

namespace draftmark {
namespace {

// Insertions, deletions and replacements that lead from one name to the other.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// Names are short; a longer one in a file is no misspelling of ours.
constexpr std::size_t kLongestName = 100;

std::string Suggestion(std::string_view name, const std::vector<std::string>& stages) {
  if (name.size() > kLongestName) return "";
  const auto closest = std::min_element(
      stages.begin(), stages.end(),
      [&](const auto& a, const auto& b) { return EditDistance(name, a) < EditDistance(name, b); });
  return EditDistance(name, *closest) * 2 <= closest->size()
             ? fmt::format("; did you mean {}?", *closest)
             : "";
}

// Stages with a value per draft: a wrong row convention gives them a row more or less, which is a
// finding and no error.
bool HasDraftRows(std::string_view stage) {
  return stage == "draft_tokens" || stage == "margin" || stage == "confidence_logits";
}

// The same elements in the same order: leading ones dropped, and the elements of a row grouped
// otherwise.
bool SameLayout(const Shape& expected, Shape found) {
  while (!found.empty() && found[0] == 1 && found != expected && found.size() > 1)
    found.erase(found.begin());
  std::uint64_t a = 1;
  std::uint64_t b = 1;
  for (const std::uint64_t n : expected) a *= n;
  for (const std::uint64_t n : found) b *= n;
  if (a != b) return false;
  return found == expected || (!found.empty() && (found[0] == expected[0] || expected[0] == 1));
}

bool IsFloat(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

class DumpReader {
 public:
  DumpReader(const SafetensorsFile& file, const DrafterConfig& config, const plain::Bands& bands)
      : file_(file), config_(config), bands_(bands), stages_(StagesInDataFlowOrder(config)) {}

  StatusOr<Dump> Read() {
    Dump dump;
    for (const std::string& name : file_.names()) {
      const std::optional<TensorName> parts = SplitTensorName(name);
      if (!parts) return Error(name, "a step and a band of the inputs", "numbers that do not fit");
      if (parts->rest.starts_with("inputs.")) continue;  // one file may hold both
      DM_ASSIGN_OR_RETURN(DumpedStage stage, ReadStage(name, *parts));
      const plain::StageId id = {parts->step, parts->band, parts->rest};
      if (const auto twice = dump.find(id); twice != dump.end()) {
        return Error(name, "each stage once",
                     fmt::format("the same stage as {}", twice->second.tensor));
      }
      dump[id] = std::move(stage);
    }
    if (dump.empty()) {
      return DataLossError(
          fmt::format("{}: expected at least one stage, found {} tensors and none of them a stage",
                      file_.path(), file_.names().size()));
    }
    return dump;
  }

 private:
  Status Error(const std::string& name, const std::string& expected,
               const std::string& found) const {
    return DataLossError(
        fmt::format("{}: tensor {}: expected {}, found {}", file_.path(), name, expected, found));
  }

  StatusOr<DumpedStage> ReadStage(const std::string& name, const TensorName& parts) const {
    if (std::find(stages_.begin(), stages_.end(), parts.rest) == stages_.end()) {
      return Error(name,
                   fmt::format("a stage of this {} drafter with {} layers",
                               DrafterKindName(config_.kind), config_.num_hidden_layers),
                   fmt::format("'{}'{}", parts.rest, Suggestion(parts.rest, stages_)));
    }
    if (parts.band >= bands_.size() || parts.step >= bands_[parts.band].size()) {
      return Error(name, "a step and a band of the inputs",
                   parts.band >= bands_.size()
                       ? fmt::format("band {} of {}", parts.band, bands_.size())
                       : fmt::format("step {} of {}", parts.step, bands_[parts.band].size()));
    }
    DM_ASSIGN_OR_RETURN(const TensorView view, file_.Get(name));
    const bool ids = IsIdStage(parts.rest);
    if (!ids && !IsFloat(view.dtype))
      return Error(name, "BF16, F16, F32 or F64", std::string(DTypeName(view.dtype)));
    const CaseStep& step = bands_[parts.band][parts.step];
    DumpedStage stage;
    stage.tensor = name;
    stage.shape = StageShape(config_, parts.rest, step.new_context_rows, step.block_tokens.size());
    const std::uint64_t drafts = stage.shape[0];
    if (HasDraftRows(parts.rest) && view.shape.size() == 1 &&
        (view.shape[0] + 1 == drafts || view.shape[0] == drafts + 1)) {
      stage.shape = view.shape;
    }
    if (!SameLayout(stage.shape, view.shape)) {
      return Error(name, "shape " + ShapeToString(stage.shape),
                   ShapeToString(view.shape) + ContextHint(parts, stage.shape, view.shape));
    }
    DM_RETURN_IF_ERROR(ReadValues(name, view, ids, stage));
    return stage;
  }

  // Rows of rejected drafts that were appended show as rows too many, of the right width.
  static std::string ContextHint(const TensorName& parts, Shape expected, const Shape& found) {
    const bool context = parts.rest == "fc" || parts.rest == "hidden_norm";
    if (!context || found.empty() || found[0] <= expected[0]) return "";
    expected[0] = found[0];
    return SameLayout(expected, found)
               ? " (more rows than the step's verified taps: rejected rows must not be appended)"
               : "";
  }

  Status ReadValues(const std::string& name, const TensorView& view, bool ids,
                    DumpedStage& stage) const {
    if (ids && !IsFloat(view.dtype)) {
      const StatusOr<std::vector<std::int64_t>> integers = ToInt64s(view);
      if (!integers.ok())
        return integers.status().Annotated(fmt::format("{}: tensor {}", file_.path(), name));
      stage.values.assign(integers->begin(), integers->end());
    } else {
      StatusOr<std::vector<double>> values = ToDoubles(view);
      if (!values.ok())
        return values.status().Annotated(fmt::format("{}: tensor {}", file_.path(), name));
      stage.values = std::move(values).value();
    }
    const auto good = [&](double value) {
      return ids ? value >= 0 && value < static_cast<double>(config_.vocab_size) &&
                       value == std::floor(value)
                 : std::isfinite(value);
    };
    std::size_t bad = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < stage.values.size(); ++i) {
      if (!good(stage.values[i]) && bad++ == 0) first = i;
    }
    if (bad > 0) {
      stage.defect =
          fmt::format("{} of {} elements are {}, the first at {}: {}", bad, stage.values.size(),
                      ids ? fmt::format("no token ids below {}", config_.vocab_size) : "not finite",
                      LogicalIndex(stage.shape, first), stage.values[first]);
    }
    return OkStatus();
  }

  const SafetensorsFile& file_;
  const DrafterConfig& config_;
  const plain::Bands& bands_;
  const std::vector<std::string> stages_;
};

}  // namespace

StatusOr<Dump> LoadDump(const std::string& path, const DrafterConfig& config,
                        const plain::Bands& bands, FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path, file_system));
  return DumpReader(file, config, bands).Read();
}

}  // namespace draftmark
