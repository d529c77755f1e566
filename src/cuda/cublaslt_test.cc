#include "src/cuda/cublaslt.h"

#include <cmath>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/stream.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

class CublasLtGpuTest : public GpuTest {
 protected:
  template <typename T>
  DeviceBuffer Upload(const std::vector<T>& values, const CudaStream& stream) {
    DeviceBuffer buffer =
        DeviceBuffer::Create(allocator_, {.bytes = values.size() * sizeof(T), .tag = "operand"})
            .value();
    DM_CHECK(CopyToDevice(buffer.address(), std::as_bytes(std::span(values)), stream.get()).ok());
    return buffer;
  }

  CudaAllocator allocator_;
};

// Small whole numbers, whose sums are exact: any wrong index, transpose or bias shows.
TEST_F(CublasLtGpuTest, RowMajorProductWithBias) {
  constexpr std::int64_t kRows = 5, kN = 24, kK = 40;
  std::vector<BFloat16> x(kRows * kK), weight(kN * kK), bias(kN), y(kRows * kN);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = BFloat16::FromDouble(double(i * 7 % 5) - 2);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight[i] = BFloat16::FromDouble(double(i * 11 % 7) - 3);
  }
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = BFloat16::FromDouble(double(i) - 10);
  DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CublasLt> gemm, CublasLt::Create());
  const DeviceBuffer dx = Upload(x, stream), dw = Upload(weight, stream), db = Upload(bias, stream),
                     dy = Upload(y, stream);
  DM_ASSERT_OK_AND_ASSIGN(
      const DeviceBuffer workspace,
      DeviceBuffer::Create(allocator_, {.bytes = kCublasLtWorkspaceBytes, .tag = "workspace"}));
  const GemmArgs args = {.x = dx.As<BFloat16>(),
                         .weight = dw.As<BFloat16>(),
                         .bias = db.As<BFloat16>(),
                         .y = dy.address().value,
                         .rows = kRows,
                         .n = kN,
                         .k = kK,
                         .workspace = workspace.address().value,
                         .workspace_bytes = workspace.bytes()};
  for (int call = 0; call < 2; ++call) {  // the second one from the cache
    ASSERT_THAT(gemm->Multiply(args, stream.get()), IsOk());
  }
  ASSERT_THAT(CopyToHost(std::as_writable_bytes(std::span(y)), dy.address(), stream.get()), IsOk());
  ASSERT_THAT(stream.Synchronize(), IsOk());
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t o = 0; o < kN; ++o) {
      double expected = bias[o].ToDouble();
      for (std::size_t i = 0; i < kK; ++i) {
        expected += x[row * kK + i].ToDouble() * weight[o * kK + i].ToDouble();
      }
      EXPECT_EQ(y[row * kN + o].ToDouble(), BFloat16::FromDouble(expected).ToDouble())
          << row << "," << o;
    }
  }
  GemmArgs odd = args;
  odd.x = args.x + 1;
  EXPECT_THAT(gemm->Multiply(odd, stream.get()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("aligned to 16 bytes")));
  odd = args;
  odd.rows = 0;
  EXPECT_THAT(gemm->Multiply(odd, stream.get()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least 1")));
}

}  // namespace
}  // namespace draftmark
