#include "src/cuda/cublaslt.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/graph.h"
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

// What was tried out has the bits of the library's first choice, which a capture takes.
TEST_F(CublasLtGpuTest, TunedOrNotTheSameBits) {
  constexpr std::int64_t kRows = 48, kN = 16384, kK = 8192;  // 256 MiB: more than any L2 twice
  DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
  const auto create = [&](std::uint64_t bytes) {
    return DeviceBuffer::Create(allocator_, {.bytes = bytes, .tag = "operand"}).value();
  };
  const DeviceBuffer weight = create(kN * kK * sizeof(BFloat16)),
                     y = create(kRows * kN * sizeof(BFloat16)),
                     workspace = create(kCublasLtWorkspaceBytes);
  // Rows that repeat at no power of two, so that all outputs differ.
  std::vector<BFloat16> pattern(kK * 7 + 3), x(kRows * kK);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    pattern[i] = BFloat16::FromDouble(std::sin(static_cast<double>(i) * 1.7) / 64);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = BFloat16::FromDouble(std::cos(static_cast<double>(i) * 0.37));
  }
  const std::uint64_t piece = pattern.size() * sizeof(BFloat16);
  for (std::uint64_t at = 0; at < weight.bytes(); at += piece) {
    const auto bytes =
        std::as_bytes(std::span(pattern)).first(std::min(piece, weight.bytes() - at));
    ASSERT_EQ(cudaMemcpyAsync(weight.As<std::byte>() + at, bytes.data(), bytes.size(),
                              cudaMemcpyHostToDevice, stream.get()),
              cudaSuccess);
  }
  const DeviceBuffer dx = Upload(x, stream);
  const GemmArgs args = {.x = dx.As<BFloat16>(),
                         .weight = weight.As<BFloat16>(),
                         .y = y.address().value,
                         .rows = kRows,
                         .n = kN,
                         .k = kK,
                         .workspace = workspace.address().value,
                         .workspace_bytes = workspace.bytes()};
  const auto results = [&] {
    std::vector<BFloat16> host(kRows * kN);
    EXPECT_THAT(CopyToHost(std::as_writable_bytes(std::span(host)), y.address(), stream.get()),
                IsOk());
    EXPECT_THAT(stream.Synchronize(), IsOk());
    return host;
  };
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CublasLt> tuned, CublasLt::Create());
  ASSERT_THAT(tuned->Multiply(args, stream.get()), IsOk());
  const std::vector<BFloat16> got = results();
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CublasLt> captured, CublasLt::Create());
  DM_ASSERT_OK_AND_ASSIGN(const CudaGraph graph, CudaGraph::Capture(stream.get(), [&] {
                            return captured->Multiply(args, stream.get());
                          }));
  ASSERT_EQ(cudaMemsetAsync(y.address().value, 0, y.bytes(), stream.get()), cudaSuccess);
  ASSERT_THAT(graph.Launch(stream.get()), IsOk());
  EXPECT_TRUE(results() == got);
}

}  // namespace
}  // namespace draftmark
