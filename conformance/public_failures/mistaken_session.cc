#include "conformance/public_failures/mistaken_session.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "conformance/plain/forward.h"
#include "conformance/plain/tapped_stages.h"
#include "src/backend/stages.h"
#include "src/weights/weights.h"

namespace draftmark {
namespace {

// Runs all steps so far again at every propose: short histories only.
class MistakenSession final : public DraftSession {
 public:
  MistakenSession(DrafterConfig config, DrafterWeights weights, std::uint64_t bands,
                  Precision precision, std::set<plain::Mistake> mistakes)
      : config_(std::move(config)),
        weights_(std::move(weights)),
        precision_(precision),
        pending_(bands),
        context_(bands),
        history_(bands) {
    options_.float32_angles = precision == Precision::kBf16;
    options_.mistakes = std::move(mistakes);
    options_.products = &products_;
  }

  Status AppendContext(std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) override {
    CaseStep& step = pending_[band];
    step.target_hidden.insert(step.target_hidden.end(), taps.begin(), taps.end());
    step.new_context_rows += positions.size();
    return OkStatus();
  }
  Status DropFront(std::size_t band, std::uint64_t rows) override {
    pending_[band].drop_front_rows += rows;
    return OkStatus();
  }
  Status Reset(std::size_t band) override {
    pending_[band].drop_front_rows = context_[band];
    return OkStatus();
  }
  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* sink) override {
    if (requests.size() != pending_.size()) {
      return UnimplementedError("the plain forward runs all of its bands");
    }
    for (const BlockRequest& request : requests) {
      CaseStep step = std::exchange(pending_[request.band], {});
      step.start = request.start;
      step.block_tokens = request.tokens;
      context_[request.band] += step.new_context_rows - step.drop_front_rows;
      history_[request.band].push_back(std::move(step));
    }
    plain::Recorder run(precision_ == Precision::kBf16 ? plain::Rounding::kBf16
                                                       : plain::Rounding::kNothing);
    DM_RETURN_IF_ERROR(plain::Run(config_, weights_, history_, options_, run));
    std::vector<BlockResult> results;
    for (const BlockRequest& request : requests) results.push_back(Show(run, request.band, sink));
    return results;
  }

 private:
  BlockResult Show(const plain::Recorder& run, std::size_t band, StageSink* sink) const {
    const std::size_t step = history_[band].size() - 1;
    BlockResult result;
    for (const auto& [id, values] : run.values()) {
      if (id.step != step || id.band != band) continue;
      Shape shape = StageShape(config_, id.stage, history_[band][step].new_context_rows,
                               history_[band][step].block_tokens.size());
      if (shape.empty()) continue;
      // Mistakes with rows give more or fewer drafts.
      if (shape.size() == 1) shape[0] = values.size();
      if (sink != nullptr) sink->OnStage({band, id.stage, shape, values});
      if (id.stage == "draft_tokens") {
        result.draft_tokens.assign(values.begin(), values.end());
      }
    }
    return result;
  }

  const DrafterConfig config_;
  const DrafterWeights weights_;
  const Precision precision_;
  plain::ProductCache products_;
  plain::Options options_;
  std::vector<CaseStep> pending_;
  std::vector<std::uint64_t> context_;
  plain::Bands history_;
};

class HookedSession final : public DraftSession {
 public:
  HookedSession(std::unique_ptr<DraftSession> inner, SessionHooks hooks)
      : inner_(std::move(inner)), hooks_(std::move(hooks)) {}

  Status AppendContext(std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) override {
    return hooks_.append ? hooks_.append(*inner_, band, taps, positions)
                         : inner_->AppendContext(band, taps, positions);
  }
  Status DropFront(std::size_t band, std::uint64_t rows) override {
    return inner_->DropFront(band, rows);
  }
  Status Reset(std::size_t band) override {
    return hooks_.reset ? hooks_.reset(*inner_, band) : inner_->Reset(band);
  }
  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* sink) override {
    std::vector<BlockRequest> changed(requests.begin(), requests.end());
    if (hooks_.propose) hooks_.propose(changed, sink != nullptr);
    Sink changing(sink, hooks_);
    return inner_->Propose(changed, sink == nullptr ? nullptr : &changing);
  }

 private:
  class Sink final : public StageSink {
   public:
    Sink(StageSink* next, const SessionHooks& hooks) : next_(next), hooks_(hooks) {}
    bool Wants(std::string_view name) const override { return next_->Wants(name); }
    void OnStage(const StageValue& stage) override {
      std::vector<double> values(stage.values.begin(), stage.values.end());
      if (hooks_.stage) hooks_.stage(stage.name, values);
      next_->OnStage({stage.band, stage.name, stage.shape, values});
    }

   private:
    StageSink* const next_;
    const SessionHooks& hooks_;
  };

  const std::unique_ptr<DraftSession> inner_;
  const SessionHooks hooks_;
};

class SplitSession final : public DraftSession {
 public:
  SplitSession(std::unique_ptr<DraftSession> shown, std::unique_ptr<DraftSession> used)
      : shown_(std::move(shown)), used_(std::move(used)) {}

  Status AppendContext(std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) override {
    DM_RETURN_IF_ERROR(shown_->AppendContext(band, taps, positions));
    return used_->AppendContext(band, taps, positions);
  }
  Status DropFront(std::size_t band, std::uint64_t rows) override {
    DM_RETURN_IF_ERROR(shown_->DropFront(band, rows));
    return used_->DropFront(band, rows);
  }
  Status Reset(std::size_t band) override {
    DM_RETURN_IF_ERROR(shown_->Reset(band));
    return used_->Reset(band);
  }
  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* sink) override {
    StageCollector of_context, of_block;
    DM_RETURN_IF_ERROR(shown_->Propose(requests, &of_context).status());
    DM_ASSIGN_OR_RETURN(std::vector<BlockResult> results, used_->Propose(requests, &of_block));
    const std::size_t block_rows = requests.front().tokens.size();
    for (const auto& [band, stages] : of_context.bands()) {
      const TappedStages& others = of_block.bands().at(band);
      for (const auto& [name, stage] : stages) {
        const std::vector<double> values = Joined(name, block_rows, stage, others.at(name).values);
        if (sink != nullptr) sink->OnStage({band, name, stage.shape, values});
      }
    }
    return results;
  }

 private:
  // Context rows of `shown`, block rows of `used`, which may have fewer context rows. K and V have
  // both, context rows first.
  static std::vector<double> Joined(std::string_view stage, std::size_t block_rows,
                                    const TappedStage& shown, const std::vector<double>& used) {
    if (stage == "fc" || stage == "hidden_norm") return shown.values;
    if (!stage.ends_with(".k_norm") && !stage.ends_with(".k_new") && !stage.ends_with(".v_new")) {
      return used;
    }
    const auto block =
        static_cast<std::ptrdiff_t>(block_rows * shown.values.size() / shown.shape.front());
    std::vector<double> joined = shown.values;
    std::copy(used.end() - block, used.end(), joined.end() - block);
    return joined;
  }

  const std::unique_ptr<DraftSession> shown_, used_;
};

}  // namespace

OpenSession OpenMistaken(std::set<plain::Mistake> mistakes) {
  return [mistakes = std::move(mistakes)](
             const DrafterCase& drafter_case, const SessionLimits& limits,
             Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    DM_ASSIGN_OR_RETURN(DrafterWeights weights,
                        LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
    return std::unique_ptr<DraftSession>(std::make_unique<MistakenSession>(
        drafter_case.config(), std::move(weights), limits.max_batch, precision, mistakes));
  };
}

OpenSession OpenHooked(MakeHooks make, OpenSession inner) {
  return [make = std::move(make), inner = std::move(inner)](
             const DrafterCase& drafter_case, const SessionLimits& limits,
             Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    DM_ASSIGN_OR_RETURN(std::unique_ptr<DraftSession> session,
                        inner(drafter_case, limits, precision));
    return std::unique_ptr<DraftSession>(
        std::make_unique<HookedSession>(std::move(session), make(drafter_case)));
  };
}

OpenSession OpenSplit(OpenSession shown, OpenSession used) {
  return [shown = std::move(shown), used = std::move(used)](
             const DrafterCase& drafter_case, const SessionLimits& limits,
             Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    DM_ASSIGN_OR_RETURN(std::unique_ptr<DraftSession> one, shown(drafter_case, limits, precision));
    DM_ASSIGN_OR_RETURN(std::unique_ptr<DraftSession> two, used(drafter_case, limits, precision));
    return std::unique_ptr<DraftSession>(
        std::make_unique<SplitSession>(std::move(one), std::move(two)));
  };
}

}  // namespace draftmark
