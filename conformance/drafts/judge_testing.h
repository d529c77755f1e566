// For tests of the judge: runs of golden cases whose stages are tampered with on their way to it.
#ifndef DRAFTMARK_CONFORMANCE_DRAFTS_JUDGE_TESTING_H_
#define DRAFTMARK_CONFORMANCE_DRAFTS_JUDGE_TESTING_H_

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/drafts/judge.h"
#include "conformance/drafts/run_case.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {

inline std::string GoldenCase(const std::string& name) {
  // A path stays what it is.
  if (name.starts_with("/")) return name;
  return Runfiles("golden/drafter/") + name;
}

// Changes stages on their way from a backend to the judge.
using Tamper =
    std::function<void(const std::string& stage, Shape& shape, std::vector<double>& values)>;

class TamperingSink : public StageSink {
 public:
  TamperingSink(StageSink* next, const Tamper& tamper) : next_(next), tamper_(tamper) {}
  void OnStage(const StageValue& stage) override {
    std::vector<double> values(stage.values.begin(), stage.values.end());
    Shape shape = stage.shape;
    tamper_(std::string(stage.name), shape, values);
    if (!shape.empty()) next_->OnStage({stage.band, stage.name, shape, values});
  }

 private:
  StageSink* next_;
  const Tamper& tamper_;
};

class TamperingSession : public DraftSession {
 public:
  TamperingSession(std::unique_ptr<DraftSession> inner, Tamper tamper)
      : inner_(std::move(inner)), tamper_(std::move(tamper)) {}
  Status AppendContext(std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) override {
    return inner_->AppendContext(band, taps, positions);
  }
  Status DropFront(std::size_t band, std::uint64_t rows) override {
    return inner_->DropFront(band, rows);
  }
  Status Reset(std::size_t band) override { return inner_->Reset(band); }
  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* sink) override {
    TamperingSink tampering(sink, tamper_);
    return inner_->Propose(requests, &tampering);
  }

 private:
  std::unique_ptr<DraftSession> inner_;
  Tamper tamper_;
};

// Runs a golden case with a tampered backend that computes in `compute` and is judged as `judged`.
inline StatusOr<CaseReport> RunTampered(const std::string& name, Precision compute,
                                        Precision judged, Tamper tamper) {
  DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(GoldenCase(name)));
  const OpenSession open = [&](const DrafterCase& c, const SessionLimits& limits,
                               Precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    DM_ASSIGN_OR_RETURN(std::unique_ptr<DraftSession> inner,
                        OpenReferenceForCase(c, limits, compute));
    return std::unique_ptr<DraftSession>(
        std::make_unique<TamperingSession>(std::move(inner), tamper));
  };
  return RunDrafterCase(drafter_case, judged, kReferenceBackend, open);
}

inline Tamper Only(const std::string& target, const std::function<double(double)>& change) {
  return [=](const std::string& stage, Shape&, std::vector<double>& values) {
    if (stage != target) return;
    for (double& value : values) value = change(value);
  };
}

inline DrafterWeights WeightsOf(const DrafterCase& drafter_case) {
  return LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()).value();
}

inline ExpectedStage Golden(const DrafterCase& drafter_case, const std::string& stage) {
  StatusOr<std::optional<ExpectedStage>> expected = drafter_case.Expected(0, stage);
  EXPECT_TRUE(expected.ok() && expected->has_value()) << stage;
  return std::move(expected).value().value();
}

inline const StageVerdict& Find(const std::vector<StageVerdict>& verdicts, std::string_view name) {
  const auto found =
      std::find_if(verdicts.begin(), verdicts.end(),
                   [&](const StageVerdict& verdict) { return verdict.Name() == name; });
  EXPECT_NE(found, verdicts.end()) << name;
  return *found;
}

inline std::string GoldenDraft(const std::string& name) {
  return Runfiles("golden/drafts/") + name;
}

inline const Tamper kNone = [](const std::string&, Shape&, std::vector<double>&) {};

inline double TruncateToBf16(double value) {
  BFloat16 rounded = BFloat16::FromDouble(value);
  if (std::abs(rounded.ToDouble()) > std::abs(value)) --rounded.bits;
  return rounded.ToDouble();
}

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DRAFTS_JUDGE_TESTING_H_
