#include "benchmarks/roofline/machine.h"

#include <cmath>

#include "benchmarks/benchmark_gpu.h"
#include "benchmarks/roofline/linear_chain.h"
#include "src/base/status_matchers.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/gpu_test.h"

namespace draftmark {
namespace {

class RooflineMachineTest : public GpuTest {
 protected:
  // kernels/stream_chain is for sm_90 alone.
  bool HasChains() const { return device().compute_major == 9 && device().compute_minor == 0; }
};

TEST_F(RooflineMachineTest, TimesADraftOnEveryPath) {
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RooflineMachine> machine, OpenRooflineMachine());
  EXPECT_EQ(machine->facts().gpu, device().Describe());
  EXPECT_GT(machine->facts().copy_bytes_per_second, 1e9);
  if (const auto theoretical = machine->facts().theoretical_bytes_per_second) {
    EXPECT_GT(*theoretical, machine->facts().copy_bytes_per_second);
  }
  const DraftCase draft =
      FindDraftCases({.catalogue = "", .drafts = {"synthetic/tiny-dflash,ctx=33,new=4"}})
          .value()
          .front();
  DM_ASSERT_OK_AND_ASSIGN(const ByPath<TimedRuns> times, machine->TimeDraft(draft, 3));
  for (const TimedRuns& runs : {times.simple, times.taken()}) {
    EXPECT_GT(runs.min_ms, 0);
    EXPECT_LE(runs.min_ms, runs.median_ms);
    EXPECT_LE(runs.median_ms, runs.p90_ms);
    EXPECT_GT(runs.queued_ms, 0);
  }
}

TEST_F(RooflineMachineTest, TimesALinearLayerOnEveryPath) {
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RooflineMachine> machine, OpenRooflineMachine());
  const LinearShape shape = {.n = 256, .k = 4096, .used_as = "test"};
  for (const std::uint64_t rows : {1u, 16u, 32u}) {
    DM_ASSERT_OK_AND_ASSIGN(const ByPath<double> seconds, machine->TimeLinear(shape, rows));
    EXPECT_GT(seconds.simple, 0);
    EXPECT_LT(seconds.simple, 1e-3);
    ASSERT_EQ(seconds.fast.has_value(), HasChains() && rows <= 16) << rows;
    if (!seconds.fast) continue;
    EXPECT_GT(*seconds.fast, 0);
    EXPECT_LT(*seconds.fast, 1e-3);
  }
}

// What is timed on the fast path is the same computation, for few outputs and for many.
TEST_F(RooflineMachineTest, TheFastPathComputesWhatTheSimpleOneDoes) {
  if (!HasChains()) GTEST_SKIP() << "no chains on this device";
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BenchmarkGpu> gpu, BenchmarkGpu::Create());
  const ByPath<LinearPath> paths = LinearPaths(*gpu->cublaslt());
  for (const LinearShape& shape : {LinearShape{.n = 256, .k = 20480, .used_as = "test"},
                                   LinearShape{.n = 24576, .k = 2560, .used_as = "test"}}) {
    DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LinearChain> chain,
                            LinearChain::Create(*gpu, shape, 16));
    for (const std::uint64_t rows : {1u, 8u, 16u}) {
      // y of the last call
      const auto result = [&](const LinearPath& path) {
        BFloat16* y = nullptr;
        LinearPath observed = path;
        observed.launch = [&](const LinearCalls& calls, cudaStream_t stream) -> Status {
          y = calls.calls.front().y;
          // NaN: nothing is left of another path.
          DM_RETURN_IF_ERROR(
              CudaStatus(cudaMemsetAsync(y, 0xff, rows * shape.n * sizeof(BFloat16), stream),
                         "cudaMemsetAsync"));
          return path.launch(calls, stream);
        };
        const StatusOr<std::optional<double>> seconds = chain->Time(observed, rows);
        EXPECT_THAT(seconds.status(), IsOk());
        std::vector<BFloat16> values(rows * shape.n);
        EXPECT_THAT(CopyToHost(std::as_writable_bytes(std::span(values)), DeviceAddress{y},
                               gpu->stream().get()),
                    IsOk());
        EXPECT_THAT(gpu->stream().Synchronize(), IsOk());
        return values;
      };
      const std::vector<BFloat16> expected = result(paths.simple);
      const std::vector<BFloat16> found = result(*paths.fast);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const float e = expected[i].ToFloat();
        // One rounding apart, or near zero the order of the sum.
        ASSERT_NEAR(found[i].ToFloat(), e, std::abs(e) / 64 + 1e-4f)
            << shape.Id(rows) << ", element " << i;
      }
    }
  }
}

TEST_F(RooflineMachineTest, AChainReadsEveryCopyInTurns) {
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BenchmarkGpu> gpu, BenchmarkGpu::Create());
  const LinearShape shape = {.n = 1024, .k = 4096, .used_as = "test"};
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LinearChain> chain,
                          LinearChain::Create(*gpu, shape, 8));
  std::vector<const BFloat16*> weights;
  const LinearPath nothing = {.takes = [](const kernels::LinearArgs&) { return true; },
                              .launch =
                                  [&](const LinearCalls& calls, cudaStream_t) {
                                    EXPECT_NE(calls.counter, nullptr);
                                    for (const kernels::LinearArgs& call : calls.calls) {
                                      weights.push_back(call.weight);
                                    }
                                    return OkStatus();
                                  }};
  // A graph of nothing still has a time.
  (void)chain->Time(nothing, 8);
  const ChainPlan plan = PlanChain(shape.bytes(), static_cast<std::uint64_t>(gpu->info().l2_bytes));
  ASSERT_EQ(weights.size(), 1 + plan.calls);
  for (std::size_t i = 1; i + plan.copies < weights.size(); ++i) {
    EXPECT_EQ(weights[i], weights[i + plan.copies]);
    EXPECT_NE(weights[i], weights[i + 1]);
  }
}

TEST_F(RooflineMachineTest, APathThatTakesNoSuchCallsHasNoTime) {
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BenchmarkGpu> gpu, BenchmarkGpu::Create());
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LinearChain> chain,
                          LinearChain::Create(*gpu, {.n = 1024, .k = 4096, .used_as = "test"}, 32));
  const LinearPath none = {
      .takes = [](const kernels::LinearArgs& call) { return call.rows < 32; },
      .launch = [](const LinearCalls&, cudaStream_t) { return InternalError("launched"); }};
  DM_ASSERT_OK_AND_ASSIGN(const std::optional<double> seconds, chain->Time(none, 32));
  EXPECT_FALSE(seconds.has_value());
  EXPECT_THAT(chain->Time(none, 16).status(), StatusIs(StatusCode::kInternal, "launched"));
}

}  // namespace
}  // namespace draftmark
