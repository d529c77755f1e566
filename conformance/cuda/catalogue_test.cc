// Every drafter of the catalogue that may be run, on the GPU at its true widths, heads, vocabulary
// and block: a graph replay has the bits of the run kernel by kernel, and the tokens follow from the
// run's own logits by the rules of spec/drafter.md sections 5 to 7. Weights are generated on the
// device; two layers, the first and the last, stand for all.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "conformance/drafts/token_rules.h"
#include "conformance/golden/draft_specs.h"
#include "conformance/plain/tapped_stages.h"
#include "kernels/draft/cuda_session.h"
#include "kernels/draft/draft_weights.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_name.h"
#include "src/cases/drafter_case.h"
#include "src/config/config_file.h"
#include "src/config/drafter_entry.h"
#include "src/cuda/cublaslt.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/stream.h"
#include "src/weights/weights.h"

namespace draftmark {
namespace {

constexpr DataGenerator kGenerator = {.seed = 20};
constexpr std::uint64_t kContext = 64;
constexpr std::uint64_t kLayers = 2;

std::string CataloguePath() { return TestData("golden/configs/drafter_configs.json"); }

std::vector<std::string> RunnableEntries() {
  std::vector<std::string> names;
  const StatusOr<Json> catalogue = ReadConfigFile(CataloguePath());
  if (!catalogue.ok()) return names;
  for (const std::string& name : DrafterEntryNames(*catalogue)) {
    if (FindRunnableEntry(*catalogue, "catalogue", name).ok()) names.push_back(name);
  }
  return names;
}

StatusOr<DrafterCase> CaseOf(const std::string& name) {
  DM_ASSIGN_OR_RETURN(const Json catalogue, ReadConfigFile(CataloguePath()));
  DM_ASSIGN_OR_RETURN(const DrafterEntry entry, FindRunnableEntry(catalogue, "catalogue", name));
  OrderedJson json(*entry.json);
  if (entry.config.num_hidden_layers > kLayers) {
    json["num_hidden_layers"] = kLayers;
    const OrderedJson types = json["layer_types"];
    json["layer_types"] = {types.front(), types.back()};
  }
  // Of all layers.
  json.erase("weights_params_computed");
  json.erase("weights_bytes_bf16_computed");
  AddGeneratedSteps(json, name, kContext, entry.config.vocab_size, kGenerator);
  return DrafterCase::WithoutWeights(Json(json), "catalogue");
}

// What one step gave.
struct StepRun {
  BlockResult block;
  std::vector<BFloat16> scores;  // the buffer of logits when everything is done
  TappedStages stages;           // of the run kernel by kernel
};

class CatalogueTest : public GpuTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    DM_ASSERT_OK_AND_ASSIGN(DrafterCase one, CaseOf(GetParam()));
    case_ = std::make_unique<DrafterCase>(std::move(one));
    DM_ASSERT_OK_AND_ASSIGN(library_, CublasLt::Create());
    DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
    const DrafterConfig& config = case_->config();
    DM_ASSERT_OK_AND_ASSIGN(auto weights, kernels::DraftWeights::Generate(
                                              config, kGenerator, allocator_, stream.get()));
    const SessionLimits limits = {.max_batch = 1,
                                  .max_context = case_->largest_context(),
                                  .ctx_window = kContext,
                                  .gamma = config.block_size};
    DM_ASSERT_OK_AND_ASSIGN(session_, kernels::OpenCudaSession(config, std::move(weights), limits,
                                                               allocator_, library_.get()));
  }

  // All steps, from an empty context.
  StatusOr<std::vector<StepRun>> Draft(bool eager) {
    DM_RETURN_IF_ERROR(session_->Reset(0));
    std::vector<StepRun> runs;
    for (const CaseStep& step : case_->steps()) {
      std::vector<std::int32_t> positions(step.new_context_rows);
      std::iota(
          positions.begin(), positions.end(),
          static_cast<std::int32_t>(step.start - static_cast<std::int64_t>(step.new_context_rows)));
      DM_RETURN_IF_ERROR(session_->AppendContext(0, step.target_hidden, positions));
      StageCollector collector;
      const BlockRequest request = {0, step.block_tokens, step.start};
      DM_ASSIGN_OR_RETURN(std::vector<BlockResult> blocks,
                          session_->Propose({&request, 1}, eager ? &collector : nullptr));
      StepRun run = {std::move(blocks.front()), {}, collector.band()};
      run.scores.resize(case_->gamma() * case_->config().vocab_size);
      const kernels::DraftParts& parts = session_->parts();
      DM_RETURN_IF_ERROR(CopyToHost(std::as_writable_bytes(std::span(run.scores)),
                                    parts.scratch.logits, parts.stream));
      DM_RETURN_IF_ERROR(SynchronizeDevice());
      runs.push_back(std::move(run));
    }
    return runs;
  }

  // A tensor of the weights, computed on the host.
  Bf16Matrix Tensor(const std::string& name) const {
    for (const GeneratedTensor& tensor : GeneratedTensors(case_->config(), kGenerator)) {
      if (tensor.name != name) continue;
      return Bf16Matrix(tensor.shape[0], tensor.shape[1],
                        GenerateValues(kGenerator, tensor).value());
    }
    return {};
  }
  // Those that the rules of tokens read.
  DrafterWeights HeadWeights() const {
    DrafterWeights weights;
    weights.selector = {Tensor("candidate_selector.predecessor_codebook"),
                        Tensor("candidate_selector.successor_codebook"),
                        Tensor("candidate_selector.hidden_projection.weight")};
    weights.markov.w1 = Tensor("markov_head.markov_w1.weight");
    weights.markov.w2 = Tensor("markov_head.markov_w2.weight");
    return weights;
  }

  // Biased logits are the logits plus the bias of the token before: a sample of the vocabulary.
  void ExpectBiased(const StepRun& run, std::uint32_t anchor, const MarkovWeights& markov) const {
    const std::uint64_t vocabulary = case_->config().vocab_size;
    const std::vector<double>& logits = run.stages.at("logits").values;
    const std::vector<double>& biased = run.stages.at("markov.logits").values;
    const std::vector<std::uint32_t>& tokens = run.block.draft_tokens;
    const std::size_t first = case_->gamma() - tokens.size();
    constexpr std::uint64_t kStride = 1009;  // a prime
    for (std::size_t d = 0; d < tokens.size(); ++d) {
      const auto e = markov.w1.row(d == 0 ? anchor : tokens[d - 1]);
      for (std::uint64_t v = tokens[d] % kStride; v < vocabulary; v += kStride) {
        const auto w = markov.w2.row(v);
        double bias = 0;
        for (std::size_t r = 0; r < e.size(); ++r) bias += e[r].ToDouble() * w[r].ToDouble();
        const std::size_t i = (first + d) * vocabulary + v;
        const double expected = logits[i] + bias;
        // Two roundings to BF16: of the bias, whose FP32 sum may fall to either side, and of the sum.
        ASSERT_NEAR(biased[i], expected, 0x1p-8 * std::abs(expected) + 0x1p-7 * std::abs(bias))
            << "draft " << d << ", token " << v;
      }
    }
  }

  std::unique_ptr<DrafterCase> case_;
  CudaAllocator allocator_;
  std::unique_ptr<CublasLt> library_;
  std::unique_ptr<kernels::CudaDraftSession> session_;
};

TEST_P(CatalogueTest, ReplaysAndKeepsTheRulesOfTokens) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<StepRun> replayed, Draft(/*eager=*/false));
  EXPECT_EQ(session_->replays(), replayed.size());
  EXPECT_EQ(session_->eager_runs(), 0u);
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<StepRun> eager, Draft(/*eager=*/true));
  EXPECT_EQ(session_->eager_runs(), eager.size());
  const DrafterWeights heads = HeadWeights();
  for (std::size_t s = 0; s < eager.size(); ++s) {
    SCOPED_TRACE("step " + std::to_string(s));
    EXPECT_EQ(replayed[s].block.draft_tokens, eager[s].block.draft_tokens);
    EXPECT_EQ(replayed[s].block.confidence, eager[s].block.confidence);
    EXPECT_TRUE(replayed[s].scores == eager[s].scores) << "the replay's logits have other bits";

    const std::vector<double>& logits = eager[s].stages.at("logits").values;
    EXPECT_TRUE(
        std::all_of(logits.begin(), logits.end(), [](double z) { return std::isfinite(z); }));
    const auto [least, most] = std::minmax_element(logits.begin(), logits.end());
    EXPECT_GT(*most - *least, 0.1) << "hardly anything was computed";
    // No stage of float64 is there, so that no bound of logits is asked for.
    DM_ASSERT_OK_AND_ASSIGN(const TokenFindings findings,
                            CheckBf16Tokens(*case_, heads, s, eager[s].stages, 0));
    EXPECT_EQ(findings.failure, "");
    if (heads.markov.present()) {
      ExpectBiased(eager[s], case_->steps()[s].block_tokens[0], heads.markov);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Entries, CatalogueTest, ::testing::ValuesIn(RunnableEntries()),
                         [](const auto& run) { return TestName(run.param); });

// The cases are as meant, whether or not there is a GPU.
TEST(CatalogueCasesTest, EveryEntryGivesACase) {
  const std::vector<std::string> names = RunnableEntries();
  EXPECT_EQ(names.size(), 32u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase one, CaseOf(name));
    EXPECT_EQ(one.config().num_hidden_layers, kLayers);
    EXPECT_EQ(one.gamma(), one.config().block_size);
    EXPECT_EQ(one.checkpoint(), nullptr);
    EXPECT_EQ(one.steps().size(), 2u);
  }
}

}  // namespace
}  // namespace draftmark
