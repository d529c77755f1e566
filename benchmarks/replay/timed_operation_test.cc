#include "benchmarks/replay/timed_operation.h"

#include <cuda_runtime_api.h>

#include <vector>

#include "benchmarks/replay/replay_kernels.h"
#include "src/base/status_matchers.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/gpu_test.h"
#include "src/operations/registry.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNorm = "op/rms_norm/rows=16,h=4096/bf16";

// What the operations of these tests do; launchers are plain functions.
int g_launches = 0;

Status RealNorm(const OperationCase& c, const kernels::DeviceOperands& operands,
                const kernels::LaunchContext& context) {
  return kernels::FindDeviceOperation("rms_norm")->launch(c, operands, context);
}

Status Set(const kernels::DeviceOperands& operands, std::int64_t offset, int value,
           std::size_t bytes, cudaStream_t stream) {
  auto* const y = static_cast<std::byte*>(operands.Address("y").value);
  return CudaStatus(cudaMemsetAsync(y + offset, value, bytes, stream), "cudaMemsetAsync");
}

class TimedOperationTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    gpu_ = BenchmarkGpu::Create().value();
    kit_ = ReplayKit::Create(*gpu_).value();
    g_launches = 0;
  }

  StatusOr<std::unique_ptr<TimedOperation>> Make(std::string_view id,
                                                 const kernels::DeviceOperation& operation,
                                                 const TimedOperationOptions& options = {}) {
    return TimedOperation::Create(*kit_, FindCase(id).value(), operation, options);
  }
  StatusOr<std::unique_ptr<TimedOperation>> MakeReal(std::string_view id,
                                                     const TimedOperationOptions& options = {}) {
    return Make(id, *kernels::FindDeviceOperation(FindCase(id)->operation->name), options);
  }
  static kernels::DeviceOperation Norm(Status (*launch)(const OperationCase&,
                                                        const kernels::DeviceOperands&,
                                                        const kernels::LaunchContext&)) {
    return {"rms_norm", [](const OperationCase&) { return std::uint64_t{0}; }, launch};
  }

  std::unique_ptr<BenchmarkGpu> gpu_;
  std::unique_ptr<ReplayKit> kit_;
};

TEST_F(TimedOperationTest, AnHonestOperationIsTimedAndJudged) {
  DM_ASSERT_OK_AND_ASSIGN(const auto timed, MakeReal(kNorm));
  EXPECT_TRUE(timed->facts().judged);
  EXPECT_EQ(timed->facts().kernels, 1u);
  EXPECT_EQ(timed->facts().peak_bytes, 2u * (2 * 16 * 4096 + 4096));
  EXPECT_EQ(timed->plan().launches(), kMostLaunches);
  for (int i = 0; i < 5; ++i) {
    DM_ASSERT_OK_AND_ASSIGN(const TimedSample sample, timed->Run());
    EXPECT_GT(sample.seconds, 0);
    EXPECT_LT(sample.seconds, 1e-3);
    if (sample.clock_hz) {
      EXPECT_GT(*sample.clock_hz, 1e8);
      EXPECT_LT(*sample.clock_hz, 5e9);
    }
  }
}

// In place, so that every replay needs the first values again; and a workspace, and a library.
TEST_F(TimedOperationTest, AllKindsOfOperandsComeBack) {
  for (const char* const id :
       {"op/residual_add/rows=16,width=4096/bf16", "op/silu_mul/rows=16,width=12288/bf16",
        "op/kv_write/rows=16,kv=8,d=128,blocks=64/bf16", "op/argmax/rows=16,v=151936/bf16",
        "op/markov_step/rows=1,v=32000,r=256,h=4096,type=2/bf16",
        "op/linear/rows=16,n=4096,k=4096,bias=0,cap=0/bf16"}) {
    SCOPED_TRACE(id);
    DM_ASSERT_OK_AND_ASSIGN(const auto timed, MakeReal(id));
    EXPECT_GE(timed->plan().reuse_bytes, 2 * static_cast<std::uint64_t>(gpu_->info().l2_bytes));
    for (int i = 0; i < 3; ++i) EXPECT_THAT(timed->Run().status(), IsOk());
  }
}

TEST_F(TimedOperationTest, WarmOnesRepeatOneCopyIfItFits) {
  for (const char* const id : {kNorm, "op/residual_add/rows=16,width=4096/bf16"}) {
    DM_ASSERT_OK_AND_ASSIGN(const auto timed, MakeReal(id, {.cache = CacheState::kWarm}));
    EXPECT_EQ(timed->plan().copies, 1u);
    for (int i = 0; i < 3; ++i) EXPECT_THAT(timed->Run().status(), IsOk());
  }
  EXPECT_THAT(
      MakeReal("op/linear/rows=16,n=151936,k=4096,bias=0,cap=0/bf16", {.cache = CacheState::kWarm})
          .status(),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not warm")));
}

TEST_F(TimedOperationTest, WhoWritesNothingIsFound) {
  const auto nothing = Norm([](const OperationCase&, const kernels::DeviceOperands&,
                               const kernels::LaunchContext&) { return OkStatus(); });
  EXPECT_THAT(Make(kNorm, nothing).status(),
              StatusIs(StatusCode::kInternal, HasSubstr("nothing was written to y")));
}

TEST_F(TimedOperationTest, AWrongResultIsFoundByTheOracle) {
  const auto zeros = Norm([](const OperationCase&, const kernels::DeviceOperands& operands,
                             const kernels::LaunchContext& context) {
    return Set(operands, 0, 0, operands.Bytes("y"), context.stream);
  });
  EXPECT_THAT(Make(kNorm, zeros).status(),
              StatusIs(StatusCode::kInternal, HasSubstr("op/rms_norm/rows=16,h=4096/bf16")));
}

// Right when it is looked at, and idle when it is timed.
TEST_F(TimedOperationTest, WhoWorksOnlyOnceIsFound) {
  const auto lazy = Norm([](const OperationCase& c, const kernels::DeviceOperands& operands,
                            const kernels::LaunchContext& context) -> Status {
    if (++g_launches == 3) return OkStatus();  // the second copy of the graph
    return RealNorm(c, operands, context);
  });
  DM_ASSERT_OK_AND_ASSIGN(const auto timed, Make(kNorm, lazy));
  EXPECT_THAT(timed->Run().status(),
              StatusIs(StatusCode::kInternal, HasSubstr("8192 16-byte words")));
}

TEST_F(TimedOperationTest, WhoWritesBesideItsOutputWhenTimedIsFound) {
  const auto beside = Norm([](const OperationCase& c, const kernels::DeviceOperands& operands,
                              const kernels::LaunchContext& context) -> Status {
    DM_RETURN_IF_ERROR(RealNorm(c, operands, context));
    if (++g_launches != 2) return OkStatus();
    return Set(operands, static_cast<std::int64_t>(operands.Bytes("y")), 0, 1, context.stream);
  });
  DM_ASSERT_OK_AND_ASSIGN(const auto timed, Make(kNorm, beside));
  EXPECT_THAT(timed->Run().status(), StatusIs(StatusCode::kInternal, HasSubstr("1 16-byte words")));
  // The counter begins anew.
  DM_ASSERT_OK_AND_ASSIGN(const auto honest, MakeReal(kNorm));
  EXPECT_THAT(honest->Run().status(), IsOk());
}

TEST_F(TimedOperationTest, TheSweepIsReadAndReadsNothingElse) {
  ReplayKit::Steps steps;
  steps.timed = [] { return OkStatus(); };
  steps.sweep_bytes = 2 * static_cast<std::uint64_t>(gpu_->info().l2_bytes);
  EXPECT_THAT(kit_->Sample(steps, gpu_->stream().get()).status(), IsOk());
  steps.sweep_bytes += 16;
  EXPECT_THAT(kit_->Sample(steps, gpu_->stream().get()).status(),
              StatusIs(StatusCode::kInternal, HasSubstr("a sweep of")));
}

}  // namespace
}  // namespace draftmark
