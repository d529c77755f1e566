// What the registry's cases do not reach: both ways to compute a layer against each other.
#include "kernels/linear/linear.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/linear/linear_traits.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"

namespace draftmark::kernels {
namespace {

class LinearTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    library_ = CublasLt::Create().value();
  }

  std::unique_ptr<CublasLt> library_;
};

// cuBLASLt with FP32 output and our epilogue, cuBLASLt's own epilogue, and the own kernel agree up
// to the place where a sum falls beside a midpoint: one BF16 step.
TEST_F(LinearTest, LibraryAndOwnKernelAgree) {
  constexpr std::int64_t kRows = 16, kN = 264, kK = 1024;
  const DeviceBuffer x = Upload(Random("x", kRows * kK, 2)), w = Upload(Random("w", kN * kK, 0.05)),
                     bias = Upload(Random("bias", kN, 2)), y = Bytes(kRows * kN * sizeof(BFloat16)),
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
        ASSERT_THAT(LaunchLinear(args, library_.get(), stream()), IsOk());
        const std::vector<BFloat16> by_library = Read<BFloat16>(y);
        ASSERT_THAT(LaunchLinear(args, nullptr, stream()), IsOk());
        const std::vector<BFloat16> own = Read<BFloat16>(y);
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

// Three layers whose matrices, biases and results lie apart, in one launch of the library, by the library one
// by one (with a bias), and by the own kernel: each layer is what it is alone, and nothing is written between.
TEST_F(LinearTest, SeveralLayersOfTheSameInput) {
  constexpr std::int64_t kRows = 40, kN = 136, kK = 256, kCount = 3, kStride = 1000,
                         kWeights = 150 * kK, kBiases = 144, kResults = 160;
  const DeviceBuffer x = Upload(Random("x", kRows * kK, 2)),
                     w = Upload(Random("w", kCount * kWeights, 0.05)),
                     bias = Upload(Random("bias", kCount * kBiases, 2)),
                     alone = Bytes(kRows * kN * sizeof(BFloat16)),
                     workspace = Bytes(LinearTraits::WorkspaceBytes(kRows, kN, true));
  for (const bool with_bias : {false, true}) {
    for (CublasLt* const library : {library_.get(), static_cast<CublasLt*>(nullptr)}) {
      SCOPED_TRACE(fmt::format("bias {} library {}", with_bias, library != nullptr));
      const std::vector<BFloat16> untouched(kRows * kStride, BFloat16::FromDouble(77));
      const DeviceBuffer y = Upload(untouched);
      const LinearArgs first = {.x = x.As<BFloat16>(),
                                .weight = w.As<BFloat16>(),
                                .bias = with_bias ? bias.As<BFloat16>() : nullptr,
                                .y = y.As<BFloat16>(),
                                .y_stride = kStride,
                                .rows = kRows,
                                .n = kN,
                                .k = kK,
                                .workspace = workspace.address().value,
                                .workspace_bytes = workspace.bytes()};
      ASSERT_THAT(LaunchLinears(
                      first, {.count = kCount, .weight = kWeights, .bias = kBiases, .y = kResults},
                      library, stream()),
                  IsOk());
      std::vector<BFloat16> got = Read<BFloat16>(y);
      for (std::int64_t layer = 0; layer < kCount; ++layer) {
        LinearArgs one = first;
        one.weight += layer * kWeights;
        if (with_bias) one.bias += layer * kBiases;
        one.y = alone.As<BFloat16>();
        one.y_stride = 0;
        ASSERT_THAT(LaunchLinear(one, nullptr, stream()), IsOk());
        const std::vector<BFloat16> want = Read<BFloat16>(alone);
        for (std::int64_t i = 0; i < kRows * kN; ++i) {
          BFloat16& value = got[i / kN * kStride + layer * kResults + i % kN];
          ASSERT_NEAR(value.ToDouble(), want[i].ToDouble(),
                      std::abs(want[i].ToDouble()) / 128 + 1e-4)
              << "layer " << layer << " element " << i;
          value = untouched.front();
        }
      }
      EXPECT_EQ(got, untouched);
    }
  }
}

// A pair lies wherever it lies: the second matrix and result behind, in front, or one of each.
TEST_F(LinearTest, APairInAnyOrder) {
  constexpr std::int64_t kRows = 20, kN = 64, kK = 128, kWeights = kN * kK, kResults = kRows * kN;
  const DeviceBuffer x = Upload(Random("x", kRows * kK, 2)),
                     w = Upload(Random("w", 2 * kWeights, 0.05)),
                     y = Bytes(2 * kResults * sizeof(BFloat16)),
                     workspace = Bytes(LinearTraits::WorkspaceBytes(kRows, kN, true));
  const LinearArgs low = {.x = x.As<BFloat16>(),
                          .weight = w.As<BFloat16>(),
                          .y = y.As<BFloat16>(),
                          .rows = kRows,
                          .n = kN,
                          .k = kK,
                          .workspace = workspace.address().value,
                          .workspace_bytes = workspace.bytes()};
  ASSERT_THAT(LaunchLinear(low, nullptr, stream()), IsOk());
  LinearArgs high = low;
  high.weight += kWeights;
  high.y += kResults;
  ASSERT_THAT(LaunchLinear(high, nullptr, stream()), IsOk());
  const std::vector<BFloat16> want = Read<BFloat16>(y);
  for (CublasLt* const library : {library_.get(), static_cast<CublasLt*>(nullptr)}) {
    for (const bool weights_turned : {false, true}) {
      for (const bool results_turned : {false, true}) {
        LinearArgs first = weights_turned ? high : low;
        BFloat16* const first_y = results_turned ? high.y : low.y;
        BFloat16* const second_y = results_turned ? low.y : high.y;
        first.y = first_y;
        ASSERT_THAT(LaunchLinearPair(first, weights_turned ? low.weight : high.weight, nullptr,
                                     second_y, library, stream()),
                    IsOk());
        const std::vector<BFloat16> got = Read<BFloat16>(y);
        const std::int64_t from = weights_turned == results_turned ? 0 : kResults;
        for (std::int64_t i = 0; i < 2 * kResults; ++i) {
          const double expected = want[(i + from) % (2 * kResults)].ToDouble();
          ASSERT_NEAR(got[i].ToDouble(), expected, std::abs(expected) / 128 + 1e-4)
              << weights_turned << results_turned << " " << i;
        }
      }
    }
  }
}

// A workspace is asked for only where the library multiplies.
TEST_F(LinearTest, WorkspaceIsChecked) {
  const DeviceBuffer x = Upload(Random("x", 64, 1)), y = Bytes(64);
  LinearArgs args = {.x = x.As<BFloat16>(),
                     .weight = x.As<BFloat16>(),
                     .y = y.As<BFloat16>(),
                     .rows = 1,
                     .n = 8,
                     .k = 8};
  EXPECT_THAT(LaunchLinear(args, library_.get(), stream()),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("workspace")));
  EXPECT_THAT(LaunchLinear(args, nullptr, stream()), IsOk());
  args.k = 7;
  EXPECT_THAT(LaunchLinear(args, library_.get(), stream()), IsOk());
  (void)Read<BFloat16>(y);
}

}  // namespace
}  // namespace draftmark::kernels
