// What the registry's cases do not reach: both ways to compute a layer against each other.
#include "kernels/linear/linear.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "kernels/linear/linear_traits.h"
#include "src/base/counter_hash.h"
#include "src/base/status_matchers.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/stream.h"

namespace draftmark::kernels {
namespace {

class LinearTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    library_ = CublasLt::Create().value();
    stream_.emplace(CudaStream::Create().value());
  }

  DeviceBuffer Random(const char* name, std::int64_t count, double scale) {
    std::vector<BFloat16> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = BFloat16::FromDouble(scale * (2 * UniformAt(SeedOf(name), i) - 1));
    }
    DeviceBuffer buffer = Bytes(values.size() * sizeof(BFloat16));
    DM_CHECK(CopyToDevice(buffer.address(), std::as_bytes(std::span(values)), stream_->get()).ok());
    return buffer;
  }
  DeviceBuffer Bytes(std::uint64_t bytes) {
    return DeviceBuffer::Create(allocator_, {.bytes = bytes, .tag = "operand"}).value();
  }
  std::vector<BFloat16> Read(const DeviceBuffer& buffer) {
    std::vector<BFloat16> values(buffer.bytes() / sizeof(BFloat16));
    DM_CHECK(CopyToHost(std::as_writable_bytes(std::span(values)), buffer.address(), stream_->get())
                 .ok());
    DM_CHECK(stream_->Synchronize().ok());
    return values;
  }

  CudaAllocator allocator_;
  std::unique_ptr<CublasLt> library_;
  std::optional<CudaStream> stream_;
};

// cuBLASLt with FP32 output and our epilogue, cuBLASLt's own epilogue, and the own kernel agree up
// to the place where a sum falls beside a midpoint: one BF16 step.
TEST_F(LinearTest, LibraryAndOwnKernelAgree) {
  constexpr std::int64_t kRows = 16, kN = 264, kK = 1024;
  const DeviceBuffer x = Random("x", kRows * kK, 2), w = Random("w", kN * kK, 0.05),
                     bias = Random("bias", kN, 2), y = Bytes(kRows * kN * sizeof(BFloat16)),
                     workspace = Bytes(LinearTraits::WorkspaceBytes(kRows, kN, true));
  for (const bool with_bias : {false, true}) {
    for (const float multiplier : {1.0F, 1.5F}) {
      for (const float softcap : {0.0F, 2.0F}) {
        const LinearArgs args = {.x = x.As<BFloat16>(),
                                 .weight = w.As<BFloat16>(),
                                 .bias = with_bias ? bias.As<BFloat16>() : nullptr,
                                 .y = y.As<BFloat16>(),
                                 .multiplier = multiplier,
                                 .softcap = softcap,
                                 .rows = kRows,
                                 .n = kN,
                                 .k = kK,
                                 .workspace = workspace.address().value,
                                 .workspace_bytes = workspace.bytes()};
        SCOPED_TRACE(fmt::format("bias {} multiplier {} softcap {} epilogue {}", with_bias,
                                 multiplier, softcap, NeedsEpilogue(args)));
        ASSERT_THAT(LaunchLinear(args, library_.get(), stream_->get()), IsOk());
        const std::vector<BFloat16> by_library = Read(y);
        ASSERT_THAT(LaunchLinear(args, nullptr, stream_->get()), IsOk());
        const std::vector<BFloat16> own = Read(y);
        std::size_t different = 0;
        for (std::size_t i = 0; i < own.size(); ++i) {
          different += own[i] == by_library[i] ? 0 : 1;
          // A step of BF16, and the error of an FP32 sum where terms cancel.
          ASSERT_NEAR(own[i].ToDouble(), by_library[i].ToDouble(),
                      std::abs(own[i].ToDouble()) / 128 + 1e-4)
              << i;
        }
        fmt::print("linear 16x264x1024: {} of {} elements a step apart\n", different, own.size());
        EXPECT_LT(different, own.size() / 50);
      }
    }
  }
}

// A workspace is asked for only where the library multiplies.
TEST_F(LinearTest, WorkspaceIsChecked) {
  const DeviceBuffer x = Random("x", 64, 1), y = Bytes(64);
  LinearArgs args = {.x = x.As<BFloat16>(),
                     .weight = x.As<BFloat16>(),
                     .y = y.As<BFloat16>(),
                     .rows = 1,
                     .n = 8,
                     .k = 8};
  EXPECT_THAT(LaunchLinear(args, library_.get(), stream_->get()),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("workspace")));
  EXPECT_THAT(LaunchLinear(args, nullptr, stream_->get()), IsOk());
  args.k = 7;
  EXPECT_THAT(LaunchLinear(args, library_.get(), stream_->get()), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
}

}  // namespace
}  // namespace draftmark::kernels
