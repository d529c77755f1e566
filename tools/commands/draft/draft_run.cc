#include "tools/commands/draft/draft_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "conformance/cuda/cuda_backend.h"
#include "conformance/golden/draft_specs.h"
#include "conformance/plain/tapped_stages.h"
#include "src/backend/stages.h"
#include "src/base/file_system.h"
#include "src/cases/drafter_case.h"
#include "src/cases/generated_data.h"
#include "src/config/config_file.h"
#include "src/config/drafter_entry.h"
#include "src/reference/session.h"
#include "src/tensor/tensor_view.h"
#include "src/weights/drafter_checkpoint.h"
#include "src/weights/weights.h"

namespace draftmark {
namespace {

// Seconds since the last call.
class Stopwatch {
 public:
  double Lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> lap = now - last_;
    last_ = now;
    return lap.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void SetBlockSize(OrderedJson& json, std::uint64_t gamma) {
  json.erase("draft_tokens_per_block");  // follows from it
  bool nested = false;
  if (const auto dflash = json.find("dflash_config"); dflash != json.end()) {
    nested = dflash->contains("block_size");
    if (nested) (*dflash)["block_size"] = gamma;
  }
  if (!nested || json.contains("block_size")) json["block_size"] = gamma;
}

// The largest blocks and batches that a drafter has to take.
constexpr std::uint64_t kMostBands = 64;
constexpr std::uint64_t kMostGamma = 32;
// Positions are 31 bits; those behind the context are AddGeneratedSteps' and the block's, at most
// a few dozen.
constexpr std::uint64_t kMostContext = std::numeric_limits<std::int32_t>::max() - 1024;

Status CheckRange(const char* option, std::uint64_t found, std::uint64_t least,
                  std::uint64_t most) {
  if (found >= least && found <= most) return OkStatus();
  return InvalidArgumentError(
      fmt::format("{}: expected {} to {}, found {}", option, least, most, found));
}

// For each band the config with a generator and steps, as a case's config.json would have them.
StatusOr<std::vector<Json>> ConfigsOfBands(const DraftOptions& options) {
  DM_ASSIGN_OR_RETURN(const Json file, ReadConfigFile(options.config));
  DM_ASSIGN_OR_RETURN(const DrafterEntry entry,
                      FindRunnableEntry(file, options.config, options.entry));
  std::vector<Json> configs;
  for (std::uint64_t band = 0; band < options.bands; ++band) {
    OrderedJson json(*entry.json);
    if (options.gamma) SetBlockSize(json, *options.gamma);
    // Of the inputs; the first band's is that of the weights too.
    const std::uint64_t seed = options.seed + band;
    AddGeneratedSteps(json, fmt::format("seed {}", seed), options.context, entry.config.vocab_size,
                      {.seed = seed});
    configs.push_back(Json(json));
  }
  return configs;
}

// A NaN in a stage: no token that comes of it means anything, whatever the argmax takes.
Status CheckNumbers(std::size_t step, std::size_t band, const DrafterConfig& config,
                    const TappedStages& stages) {
  for (const std::string& name : StagesInDataFlowOrder(config)) {
    const auto found = stages.find(name);
    if (found == stages.end()) continue;
    const std::vector<double>& values = found->second.values;
    const auto nan = std::find_if(values.begin(), values.end(), [](double x) { return x != x; });
    if (nan == values.end()) continue;
    return DataLossError(fmt::format(
        "step {}, band {}: {}: element {}: expected a number, found NaN (are all weights finite?)",
        step, band, name,
        LogicalIndex(found->second.shape, static_cast<std::size_t>(nan - values.begin()))));
  }
  return OkStatus();
}

void Merge(const LocalFindings& one, std::size_t band, std::size_t bands, LocalFindings& all) {
  all.checked += one.checked;
  all.used_share = std::max(all.used_share, one.used_share);
  if (!one.first_off.empty() && all.first_off.empty()) {
    all.first_off = bands > 1 ? fmt::format("band{}.{}", band, one.first_off) : one.first_off;
  }
}

class Run {
 public:
  Run(const DraftOptions& options, const OnDraftProgress& on_progress)
      : options_(options), on_progress_(on_progress), on_gpu_(options.backend == "cuda") {}

  StatusOr<DraftReport> Draft() {
    DM_RETURN_IF_ERROR(CheckOptions());
    // First: what is not to be run is refused on every machine.
    DM_ASSIGN_OR_RETURN(const std::vector<Json> configs, ConfigsOfBands(options_));
    if (on_gpu_) {
      DM_ASSIGN_OR_RETURN(cuda_, CudaBackend::Open());
      report_.device = cuda_->device().Describe();
    }
    DM_RETURN_IF_ERROR(MakeCases(configs));
    DM_RETURN_IF_ERROR(OpenBackend());
    on_progress_(report_);
    DM_RETURN_IF_ERROR(OpenOracles());
    for (std::size_t s = 0; s < cases_.front().steps().size(); ++s) DM_RETURN_IF_ERROR(Step(s));
    return std::move(report_);
  }

 private:
  Status CheckOptions() const {
    if (on_gpu_ && options_.precision != "bf16") {
      return InvalidArgumentError(
          "--precision exact: --backend cuda computes in bf16 only; exact is the reference's");
    }
    if (options_.weights.empty() && !options_.target_weights.empty()) {
      return InvalidArgumentError("--target-weights: expected --weights with the drafter's own");
    }
    DM_RETURN_IF_ERROR(CheckRange("--context", options_.context, 0, kMostContext));
    DM_RETURN_IF_ERROR(CheckRange("--bands", options_.bands, 1, kMostBands));
    return options_.gamma ? CheckRange("--gamma", *options_.gamma, 2, kMostGamma) : OkStatus();
  }
  Precision precision() const {
    return options_.precision == "bf16" ? Precision::kBf16 : Precision::kExact;
  }
  bool generates() const { return options_.weights.empty(); }
  // The GPU generates its own.
  bool needs_host_weights() const { return !generates() || !on_gpu_ || options_.check; }

  Status MakeCases(const std::vector<Json>& configs) {
    for (const Json& config : configs) {
      DM_ASSIGN_OR_RETURN(DrafterCase one, DrafterCase::WithoutWeights(config, options_.config));
      cases_.push_back(std::move(one));
    }
    watch_.Lap();
    if (needs_host_weights()) DM_RETURN_IF_ERROR(MakeWeights(cases_.front()));
    report_.weights_seconds = watch_.Lap();
    report_.case_id = cases_.front().id().ToString();
    report_.gamma = cases_.front().gamma();
    return OkStatus();
  }

  Status MakeWeights(const DrafterCase& first) {
    DM_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                        generates()
                            ? GenerateCheckpoint(first.config(), *first.generator(),
                                                 JoinPath(options_.config, "model.safetensors"))
                            : OpenDrafterCheckpoint(options_.weights, options_.target_weights));
    DM_ASSIGN_OR_RETURN(DrafterWeights weights,
                        LoadDrafterWeights(first.config(), std::make_shared<const Checkpoint>(
                                                               std::move(checkpoint))));
    weights_ = std::make_shared<const DrafterWeights>(std::move(weights));
    return OkStatus();
  }

  Status OpenBackend() {
    constexpr std::uint64_t kContextRowsPerPass = 512;  // longer contexts go in chunks
    const DrafterCase& first = cases_.front();
    const std::uint64_t context = first.largest_context();
    const SessionLimits limits = {.max_batch = options_.bands,
                                  .max_context = context,
                                  .ctx_window = std::min(context, kContextRowsPerPass),
                                  .gamma = first.gamma()};
    if (!on_gpu_) {
      DM_ASSIGN_OR_RETURN(reference_, reference::OpenReferenceSession(first.config(), weights_,
                                                                      limits, precision()));
      return OkStatus();
    }
    watch_.Lap();
    DM_ASSIGN_OR_RETURN(timed_, generates()
                                    ? cuda_->Generate(first.config(), *first.generator(), limits)
                                    : cuda_->Upload(first.config(), *weights_, limits));
    report_.weights_seconds = watch_.Lap() + (generates() ? 0 : report_.weights_seconds);
    report_.device_bytes = timed_->memory();
    return options_.check ? OkStatus() : timed_->Prepare(first.gamma(), options_.bands);
  }

  Status OpenOracles() {
    if (!options_.check) return OkStatus();
    for (const DrafterCase& one : cases_) {
      DM_ASSIGN_OR_RETURN(
          std::unique_ptr<LocalOracle> oracle,
          LocalOracle::Open(one, *weights_, precision(),
                            on_gpu_ ? Accumulation::kFloat32 : Accumulation::kFloat64));
      oracles_.push_back(std::move(oracle));
    }
    return OkStatus();
  }

  DraftSession& session() { return on_gpu_ ? timed_->session() : *reference_; }

  // Also measures the time.
  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* sink, double& seconds) {
    if (on_gpu_) {
      DM_ASSIGN_OR_RETURN(TimedBlocks timed, timed_->Propose(requests, sink));
      seconds = timed.milliseconds / 1e3;
      return std::move(timed.blocks);
    }
    watch_.Lap();
    StatusOr<std::vector<BlockResult>> blocks = reference_->Propose(requests, sink);
    seconds = watch_.Lap();
    return blocks;
  }

  Status Step(std::size_t s) {
    std::vector<BlockRequest> requests;
    for (std::size_t band = 0; band < cases_.size(); ++band) {
      const CaseStep& step = cases_[band].steps()[s];
      std::vector<std::int32_t> positions(step.new_context_rows);
      std::iota(
          positions.begin(), positions.end(),
          static_cast<std::int32_t>(step.start - static_cast<std::int64_t>(step.new_context_rows)));
      DM_RETURN_IF_ERROR(session().AppendContext(band, step.target_hidden, positions));
      requests.push_back({band, step.block_tokens, step.start});
    }
    DraftStepReport report;
    report.context_rows = cases_.front().steps()[s].new_context_rows;
    StageCollector collector;
    const bool staged = !on_gpu_ || options_.check;
    DM_ASSIGN_OR_RETURN(std::vector<BlockResult> blocks,
                        Propose(requests, staged ? &collector : nullptr, report.seconds));
    // Of kernels the comparison says which stage is off.
    if (!on_gpu_) {
      for (const auto& [band, stages] : collector.bands()) {
        DM_RETURN_IF_ERROR(CheckNumbers(s, band, cases_.front().config(), stages));
      }
    }
    for (BlockResult& block : blocks) report.tokens.push_back(std::move(block.draft_tokens));
    if (staged) report.stages = collector.band().size();
    for (std::size_t band = 0; band < oracles_.size(); ++band) {
      const TappedStages& tapped = collector.band(band);
      const LocalFindings findings =
          CompareWithLocal(cases_.front().config(), tapped, oracles_[band]->Step(s, tapped));
      if (!findings.without_oracle.empty()) {
        return InternalError(fmt::format("step {}: no second computation of {}", s,
                                         fmt::join(findings.without_oracle, ", ")));
      }
      Merge(findings, band, oracles_.size(), report.findings);
    }
    report_.steps.push_back(std::move(report));
    on_progress_(report_);
    return OkStatus();
  }

  const DraftOptions& options_;
  const OnDraftProgress& on_progress_;
  const bool on_gpu_;
  Stopwatch watch_;
  std::vector<DrafterCase> cases_;                 // by band
  std::shared_ptr<const DrafterWeights> weights_;  // on the host, where it needs them
  std::vector<std::unique_ptr<LocalOracle>> oracles_;
  std::unique_ptr<DraftSession> reference_;
  std::unique_ptr<CudaBackend> cuda_;
  std::unique_ptr<TimedDraft> timed_;  // of cuda_
  DraftReport report_;
};

}  // namespace

StatusOr<DraftReport> RunDraft(const DraftOptions& options, const OnDraftProgress& on_progress) {
  return Run(options, on_progress).Draft();
}

}  // namespace draftmark
