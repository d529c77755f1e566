#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "conformance/diagnosis/inputs.h"
#include "src/backend/stages.h"
#include "src/base/memory_file_system.h"
#include "src/config/drafter_config.h"
#include "src/reference/session.h"
#include "src/tensor/safetensors.h"
#include "src/weights/weights.h"
#include "tools/python/calls.h"

namespace draftmark::python {
namespace {

constexpr char kWeights[] = "weights";
constexpr char kInputs[] = "inputs";
constexpr std::uint64_t kContextRowsPerPass = 64;  // longer contexts go in chunks, same results

bool IsInput(const std::string& name) {
  const std::optional<TensorName> parts = SplitTensorName(name);
  return parts && parts->rest.starts_with("inputs.");
}

// A float tensor of another type, if every value is exact in BF16.
StatusOr<std::vector<BFloat16>> ToBf16(const std::string& name, const TensorView& view) {
  // Integers are quantised weights without their scales, or another tensor.
  if (view.dtype != DType::kF16 && view.dtype != DType::kF32 && view.dtype != DType::kF64) {
    return InvalidArgumentError(
        fmt::format("{}: expected BF16, F16, F32 or F64, found {}", name, DTypeName(view.dtype)));
  }
  const StatusOr<std::vector<double>> values = ToDoubles(view);
  if (!values.ok()) return values.status().Annotated(name);
  std::vector<BFloat16> rounded(values->size());
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    rounded[i] = BFloat16::FromDouble((*values)[i]);
    if (rounded[i].ToDouble() != (*values)[i]) {
      return InvalidArgumentError(
          fmt::format("{}: element {}: expected a value that BF16 holds exactly, found {:.9g} "
                      "({}); round the weights first",
                      name, LogicalIndex(view.shape, i), (*values)[i], DTypeName(view.dtype)));
    }
  }
  return rounded;
}

// The tensors as files in memory, so that everything is checked as in files.
Status WriteFiles(const NamedViews& tensors, MemoryFileSystem& files) {
  SafetensorsWriter weights;
  SafetensorsWriter inputs;
  std::vector<std::vector<BFloat16>> converted;  // referred to until Write
  converted.reserve(tensors.size());
  for (const auto& [name, view] : tensors) {
    if (IsInput(name)) {
      DM_RETURN_IF_ERROR(inputs.Add(name, view));
    } else if (view.dtype == DType::kBF16) {
      DM_RETURN_IF_ERROR(weights.Add(name, view));
    } else {
      DM_ASSIGN_OR_RETURN(std::vector<BFloat16> values, ToBf16(name, view));
      converted.push_back(std::move(values));
      DM_RETURN_IF_ERROR(weights.Add(
          name, {DType::kBF16, view.shape, std::as_bytes(std::span(converted.back()))}));
    }
  }
  DM_RETURN_IF_ERROR(weights.Write(kWeights, files));
  return inputs.Write(kInputs, files);
}

SessionLimits LimitsOf(const plain::Bands& bands) {
  SessionLimits limits;
  limits.max_batch = bands.size();
  limits.ctx_window = kContextRowsPerPass;
  for (const std::vector<CaseStep>& steps : bands) {
    std::uint64_t rows = 0;
    for (const CaseStep& step : steps) {
      rows += step.new_context_rows;
      rows -= std::min(rows, step.drop_front_rows);
      limits.max_context = std::max(limits.max_context, rows + step.drop_front_rows);
      limits.gamma = std::max<std::uint64_t>(limits.gamma, step.block_tokens.size());
    }
  }
  return limits;
}

// Hands the stages of one propose over under the names of a dump.
class StageTensors : public StageSink {
 public:
  StageTensors(std::size_t step, std::size_t band, Reply& reply)
      : step_(step), band_(band), reply_(reply) {}

  void OnStage(const StageValue& stage) override {
    reply_.tensors.push_back(DoublesTensor(JoinTensorName(step_, band_, stage.name), stage.shape,
                                           {stage.values.begin(), stage.values.end()}));
  }

 private:
  const std::size_t step_;
  const std::size_t band_;
  Reply& reply_;
};

Status RunStep(DraftSession& session, std::size_t index, std::size_t band, const CaseStep& step,
               Reply& reply) {
  DM_RETURN_IF_ERROR(session.DropFront(band, step.drop_front_rows));
  std::vector<std::int32_t> positions(step.new_context_rows);
  std::iota(
      positions.begin(), positions.end(),
      static_cast<std::int32_t>(step.start - static_cast<std::int64_t>(step.new_context_rows)));
  DM_RETURN_IF_ERROR(session.AppendContext(band, step.target_hidden, positions));
  StageTensors sink(index, band, reply);
  const BlockRequest request = {band, step.block_tokens, step.start};
  DM_ASSIGN_OR_RETURN(const std::vector<BlockResult> blocks, session.Propose({&request, 1}, &sink));
  reply.json["blocks"].push_back({{"step", index},
                                  {"band", band},
                                  {"draft_tokens", blocks[0].draft_tokens},
                                  {"margin", blocks[0].margin},
                                  {"confidence", blocks[0].confidence}});
  return OkStatus();
}

StatusOr<Precision> ReadPrecision(const JsonObject& request) {
  DM_ASSIGN_OR_RETURN(const std::string name, request.String("precision"));
  for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
    if (name == PrecisionName(precision)) return precision;
  }
  return request.TypeError("precision", "\"exact\" or \"bf16\"");
}

}  // namespace

StatusOr<Reply> AnswerReference(const JsonObject& request, const NamedViews& tensors) {
  DM_ASSIGN_OR_RETURN(const RequestedConfig requested, ReadRequestedConfig(request));
  DM_ASSIGN_OR_RETURN(const std::string entry, request.StringOr("entry", ""));
  DM_ASSIGN_OR_RETURN(const Precision precision, ReadPrecision(request));
  DM_ASSIGN_OR_RETURN(const DrafterConfig config,
                      ParseDrafterConfig(requested.json, requested.source, entry));
  MemoryFileSystem files;
  DM_RETURN_IF_ERROR(WriteFiles(tensors, files));
  DM_ASSIGN_OR_RETURN(const plain::Bands bands, LoadInputs(kInputs, config, files));
  DM_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(kWeights, files));
  DM_ASSIGN_OR_RETURN(
      DrafterWeights weights,
      LoadDrafterWeights(config, std::make_shared<const Checkpoint>(std::move(checkpoint))));
  DM_ASSIGN_OR_RETURN(const std::unique_ptr<DraftSession> session,
                      reference::OpenReferenceSession(
                          config, std::make_shared<const DrafterWeights>(std::move(weights)),
                          LimitsOf(bands), precision));
  Reply reply;
  reply.json["blocks"] = OrderedJson::array();
  for (std::size_t band = 0; band < bands.size(); ++band) {
    for (std::size_t s = 0; s < bands[band].size(); ++s) {
      const Status status = RunStep(*session, s, band, bands[band][s], reply);
      if (!status.ok()) return status.Annotated(JoinTensorName(s, band, "inputs"));
    }
  }
  return reply;
}

}  // namespace draftmark::python
