#include "kernels/registry/device_operands.h"

#include "src/base/status_matchers.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/stream.h"
#include "src/operations/registry.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

using ::testing::HasSubstr;

class DeviceOperandsTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    stream_.emplace(CudaStream::Create().value());
    operands_ = MakeOperands(FindCase("op/residual_add/rows=3,width=5/bf16").value()).value();
  }
  // A kernel's stray write.
  void Write(std::byte* at, std::uint8_t value, std::uint64_t bytes) {
    ASSERT_THAT(allocator_.SetBytes({at}, bytes, value, HandleOf(stream_->get())), IsOk());
  }

  CudaAllocator allocator_;
  std::optional<CudaStream> stream_;
  OperandSet operands_;
};

TEST_F(DeviceOperandsTest, BytesArriveWhereverTheyLie) {
  for (const bool misaligned : {false, true}) {
    DM_ASSERT_OK_AND_ASSIGN(
        const DeviceOperands on_device,
        DeviceOperands::Upload(operands_, allocator_, stream_->get(), {.misaligned = misaligned}));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(on_device.Get<BFloat16>("x")) % 256,
              misaligned ? 2u : 0u);
    EXPECT_EQ(on_device.Get<BFloat16>("none"), nullptr);
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes,
                            on_device.Download("delta", stream_->get()));
    EXPECT_EQ(bytes, operands_.Get("delta").bytes);
    EXPECT_THAT(on_device.CheckUntouched(operands_, stream_->get()), IsOk());
    DM_ASSERT_OK_AND_ASSIGN(const OperandValues values, on_device.Outputs(stream_->get()));
    EXPECT_EQ(values.size(), 1u);
    EXPECT_EQ(values.at("x").size(), 15u);
  }
}

// The mutants of the check: a byte before, a byte behind, a byte of an input, a -1 on either side.
TEST_F(DeviceOperandsTest, StrayWritesAreFound) {
  struct Stray {
    const char* operand;
    std::ptrdiff_t offset;
    const char* found;
    std::uint8_t value = 0;
    std::uint64_t bytes = 1;
  };
  for (const Stray& stray : {Stray{"x", -1, "x: a kernel wrote beside its 30 bytes, at offset -1"},
                             Stray{"x", 30, "x: a kernel wrote beside its 30 bytes, at offset 30"},
                             Stray{"x", 32, "x: a kernel wrote beside", 0xFF, 8},
                             Stray{"x", -4, "x: a kernel wrote beside", 0xFF, 4},
                             Stray{"delta", 7, "delta: a kernel changed byte 7"}}) {
    DM_ASSERT_OK_AND_ASSIGN(const DeviceOperands on_device,
                            DeviceOperands::Upload(operands_, allocator_, stream_->get(), {}));
    Write(reinterpret_cast<std::byte*>(on_device.Get<BFloat16>(stray.operand)) + stray.offset,
          stray.value, stray.bytes);
    EXPECT_THAT(on_device.CheckUntouched(operands_, stream_->get()),
                StatusIs(StatusCode::kInternal, HasSubstr(stray.found)));
  }
}

}  // namespace
}  // namespace draftmark::kernels
