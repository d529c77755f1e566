// What the registry's cases of one band do not reach: several bands, the record of scratch v1, and
// arguments that change under a captured launch.
#include "kernels/paged_attention/paged_attention.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/paged_attention/paged_attention_traits.h"
#include "src/base/counter_hash.h"
#include "src/base/status_matchers.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/stream.h"

namespace draftmark::kernels {
namespace {

constexpr std::int64_t kRows = 7, kHeads = 10, kKv = 2, kD = 64, kTable = 20, kBands = 3;
constexpr std::int64_t kPool = kBands * kTable + 2;
constexpr std::int64_t kQueries = kRows * kHeads * kD;  // elements of a band

class PagedAttentionTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    stream_.emplace(CudaStream::Create().value());
    q_ = Upload(Random("q", kBands * kQueries));
    k_ = Upload(Random("k", kPool * 16 * kKv * kD));
    v_ = Upload(Random("v", kPool * 16 * kKv * kD));
    std::vector<std::uint32_t> tables(kBands * kTable);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      tables[i] = static_cast<std::uint32_t>(i * 7 % tables.size());  // every block once
    }
    tables_ = Upload(tables);
    out_ = Bytes(kBands * kQueries * sizeof(BFloat16));
    workspace_ = Bytes(PagedAttentionTraits::WorkspaceBytes(kBands, kRows, kHeads, kKv, kD));
  }

  static std::vector<BFloat16> Random(const char* name, std::int64_t count) {
    std::vector<BFloat16> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = BFloat16::FromDouble(4 * UniformAt(SeedOf(name), i) - 2);
    }
    return values;
  }
  DeviceBuffer Bytes(std::uint64_t bytes) {
    return DeviceBuffer::Create(allocator_, {.bytes = bytes, .tag = "operand"}).value();
  }
  template <typename T>
  DeviceBuffer Upload(const std::vector<T>& values) {
    DeviceBuffer buffer = Bytes(values.size() * sizeof(T));
    Write(buffer, values);
    return buffer;
  }
  template <typename T>
  void Write(const DeviceBuffer& buffer, const std::vector<T>& values) {
    DM_CHECK(CopyToDevice(buffer.address(), std::as_bytes(std::span(values)), stream_->get()).ok());
    DM_CHECK(stream_->Synchronize().ok());
  }
  std::vector<BFloat16> Out() {
    std::vector<BFloat16> values(kBands * kQueries);
    DM_CHECK(
        CopyToHost(std::as_writable_bytes(std::span(values)), out_.address(), stream_->get()).ok());
    DM_CHECK(stream_->Synchronize().ok());
    DM_CHECK(
        allocator_.SetBytes(out_.address(), out_.bytes(), 0xFF, HandleOf(stream_->get())).ok());
    return values;
  }
  PagedAttentionArgs Args(const DeviceBuffer& records) const {
    return {.q = q_.As<BFloat16>(),
            .k_pool = k_.As<BFloat16>(),
            .v_pool = v_.As<BFloat16>(),
            .block_tables = tables_.As<std::uint32_t>(),
            .arguments = records.As<std::uint32_t>(),
            .out = out_.As<BFloat16>(),
            .bands = kBands,
            .rows = kRows,
            .heads = kHeads,
            .kv = kKv,
            .d = kD,
            .table = kTable,
            .workspace = workspace_.address().value,
            .workspace_bytes = workspace_.bytes()};
  }
  // Contexts of the bands, and positions far from them.
  static std::vector<std::uint32_t> Records(std::uint32_t shift) {
    std::vector<std::uint32_t> records;
    for (const std::uint32_t ctx : {3u + shift, 200u + shift, 311u - shift}) {
      records.insert(records.end(), {ctx + std::uint32_t{kRows}, ctx, ctx + 5000});
    }
    return records;
  }

  CudaAllocator allocator_;
  std::optional<CudaStream> stream_;
  DeviceBuffer q_, k_, v_, tables_, out_, workspace_;
};

TEST_F(PagedAttentionTest, ABandHasTheSameBitsAloneAndAmongOthers) {
  const DeviceBuffer records = Upload(Records(0));
  for (const std::int64_t window : {0, 40}) {
    for (const bool causal : {false, true}) {
      PagedAttentionArgs args = Args(records);
      args.window = window;
      args.causal = causal;
      ASSERT_THAT(LaunchPagedAttention(args, stream_->get()), IsOk());
      const std::vector<BFloat16> together = Out();
      for (std::int64_t band = 0; band < kBands; ++band) {
        PagedAttentionArgs alone = args;
        alone.bands = 1;
        alone.q += band * kQueries;
        alone.block_tables += band * kTable;
        alone.arguments += band * 3;
        ASSERT_THAT(LaunchPagedAttention(alone, stream_->get()), IsOk());
        const std::vector<BFloat16> one = Out();
        for (std::int64_t i = 0; i < kQueries; ++i) {
          ASSERT_EQ(one[i], together[band * kQueries + i])
              << "band " << band << " element " << i << " window " << window;
        }
      }
    }
  }
}

TEST_F(PagedAttentionTest, RecordsOfTwoAndOfThreeWordsMeanTheSame) {
  const DeviceBuffer three = Upload(Records(0));
  std::vector<std::uint32_t> words = Records(0), two_words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i % 3 != 2) two_words.push_back(words[i]);
  }
  const DeviceBuffer two = Upload(two_words);
  PagedAttentionArgs args = Args(three);
  args.window = 64;
  args.causal = true;
  ASSERT_THAT(LaunchPagedAttention(args, stream_->get()), IsOk());
  const std::vector<BFloat16> expected = Out();
  args.arguments = two.As<std::uint32_t>();
  args.record_words = 2;
  ASSERT_THAT(LaunchPagedAttention(args, stream_->get()), IsOk());
  EXPECT_EQ(Out(), expected);
}

// Spec section 4.5: records are read when the kernel starts, so a replay sees new ones.
TEST_F(PagedAttentionTest, AReplayReadsItsArgumentsAnew) {
  const DeviceBuffer records = Upload(Records(0));
  const PagedAttentionArgs args = Args(records);
  ASSERT_THAT(LaunchPagedAttention(args, stream_->get()), IsOk());  // loads the code
  (void)Out();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t program = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream_->get(), cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_THAT(LaunchPagedAttention(args, stream_->get()), IsOk());
  ASSERT_EQ(cudaStreamEndCapture(stream_->get(), &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&program, graph, 0), cudaSuccess);
  for (const std::uint32_t shift : {0u, 13u, 101u}) {
    Write(records, Records(shift));
    ASSERT_EQ(cudaGraphLaunch(program, stream_->get()), cudaSuccess);
    const std::vector<BFloat16> replayed = Out();
    ASSERT_THAT(LaunchPagedAttention(args, stream_->get()), IsOk());
    EXPECT_EQ(Out(), replayed) << "shift " << shift;
  }
  EXPECT_EQ(cudaGraphExecDestroy(program), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace
}  // namespace draftmark::kernels
