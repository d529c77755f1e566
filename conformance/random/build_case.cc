#include "conformance/random/build_case.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "conformance/plain/forward.h"
#include "src/backend/stages.h"
#include "src/tensor/safetensors.h"
#include "src/weights/weights.h"

namespace draftmark {
namespace {

// What steps may not be, and nobody before a session notices: positions that do not ascend.
Status CheckPositions(const std::vector<CaseStep>& steps, const std::string& where) {
  std::int64_t last = -1;
  std::uint64_t context = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const CaseStep& step = steps[s];
    context -= step.drop_front_rows;
    if (context == 0) last = -1;
    const std::int64_t first = step.start - static_cast<std::int64_t>(step.new_context_rows);
    // Also without new rows: the anchor lies behind the context.
    if (first <= last) {
      return InvalidArgumentError(fmt::format(
          "{}: step {}: start: expected positions above {}, found {}", where, s, last, first));
    }
    if (step.new_context_rows > 0) last = step.start - 1;
    context += step.new_context_rows;
  }
  return OkStatus();
}

Status WriteStages(const DrafterCase& drafter_case, const plain::Recorder& exact,
                   const std::string& path, FileSystem& files) {
  SafetensorsWriter writer;
  for (const auto& [id, values] : exact.values()) {
    const Shape shape =
        StageShape(drafter_case.config(), id.stage, drafter_case.steps()[id.step].new_context_rows,
                   drafter_case.steps()[id.step].block_tokens.size());
    if (shape.empty()) continue;  // no stage of this geometry
    for (const double value : values) {
      if (std::isfinite(value)) continue;
      return InternalError(fmt::format("{}: step{}.{}: the plain forward gives {}",
                                       drafter_case.directory(), id.step, id.stage, value));
    }
    DM_RETURN_IF_ERROR(writer.Add(fmt::format("f64.step{}.{}", id.step, id.stage),
                                  {DType::kF64, shape, std::as_bytes(std::span(values))}));
  }
  return writer.Write(path, files);
}

}  // namespace

StatusOr<DrafterCase> BuildCase(const OrderedJson& config, const std::string& directory,
                                FileSystem& files) {
  // As a file: numbers that a program puts into JSON have other types than those that are read.
  const std::string text = config.dump(1) + "\n";
  DM_ASSIGN_OR_RETURN(const Json parsed, ParseJson(text, JoinPath(directory, "config.json")));
  DM_ASSIGN_OR_RETURN(const DrafterCase without, DrafterCase::WithoutStages(parsed, directory));
  DM_RETURN_IF_ERROR(CheckPositions(without.steps(), directory));
  for (std::size_t n = 0; n < without.neighbours().size(); ++n) {
    DM_RETURN_IF_ERROR(
        CheckPositions(without.neighbours()[n], fmt::format("{}: neighbour {}", directory, n)));
  }
  DM_ASSIGN_OR_RETURN(const DrafterWeights weights,
                      LoadDrafterWeights(without.config(), without.checkpoint()));
  plain::Recorder exact(plain::Rounding::kNothing);
  DM_RETURN_IF_ERROR(
      plain::Run(without.config(), weights, {without.steps()}, {.float32_angles = false}, exact));
  DM_RETURN_IF_ERROR(files.CreateDirectories(directory));
  DM_RETURN_IF_ERROR(WriteStages(without, exact, JoinPath(directory, "golden.safetensors"), files));
  DM_RETURN_IF_ERROR(WriteTextFile(JoinPath(directory, "config.json"), text, files));
  return DrafterCase::Load(directory, files);
}

Status CopyCase(FileSystem& from, const std::string& source, FileSystem& to,
                const std::string& target) {
  DM_RETURN_IF_ERROR(to.CreateDirectories(target));
  for (const char* const name : {"golden.safetensors", "config.json"}) {
    DM_ASSIGN_OR_RETURN(const auto bytes, from.Map(JoinPath(source, name)));
    DM_ASSIGN_OR_RETURN(const auto file, to.CreateAtomic(JoinPath(target, name)));
    DM_RETURN_IF_ERROR(file->Append(bytes->bytes()));
    DM_RETURN_IF_ERROR(file->Commit());
  }
  return OkStatus();
}

}  // namespace draftmark
