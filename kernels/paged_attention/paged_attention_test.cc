// What the registry's cases of one band do not reach: several bands, the record of scratch v1, and
// arguments that change under a captured launch.
#include "kernels/paged_attention/paged_attention.h"

#include <cmath>
#include <vector>

#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"

namespace draftmark::kernels {
namespace {

constexpr std::int64_t kRows = 7, kHeads = 10, kKv = 2, kD = 64, kTable = 20, kBands = 3;
constexpr std::int64_t kPool = kBands * kTable + 2;
constexpr std::int64_t kQueries = kRows * kHeads * kD;  // elements of a band

class PagedAttentionTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    q_ = Upload(Random("q", kBands * kQueries, 2));
    k_ = Upload(Random("k", kPool * 16 * kKv * kD, 2));
    v_ = Upload(Random("v", kPool * 16 * kKv * kD, 2));
    std::vector<std::uint32_t> tables(kBands * kTable);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      tables[i] = static_cast<std::uint32_t>(i * 7 % tables.size());  // every block once
    }
    tables_ = Upload(tables);
    out_ = Bytes(kBands * kQueries * sizeof(BFloat16));
    workspace_ = Bytes(PagedAttentionTraits::WorkspaceBytes(kBands, kRows, kHeads, kKv, kD));
  }

  // The results, whose place is poisoned again.
  std::vector<BFloat16> Out() {
    std::vector<BFloat16> values = Read<BFloat16>(out_);
    Set(out_, 0xFF);
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

  DeviceBuffer q_, k_, v_, tables_, out_, workspace_;
};

// Of the kernels of every GPU; Hopper's promise less (hopper_paths_test.cc).
TEST_F(PagedAttentionTest, ABandHasTheSameBitsAloneAndAmongOthers) {
  const DeviceBuffer records = Upload(Records(0));
  for (const std::int64_t window : {0, 40}) {
    for (const bool causal : {false, true}) {
      PagedAttentionArgs args = Args(records);
      args.generic = true;
      args.window = window;
      args.causal = causal;
      ASSERT_THAT(LaunchPagedAttention(args, stream()), IsOk());
      const std::vector<BFloat16> together = Out();
      for (std::int64_t band = 0; band < kBands; ++band) {
        PagedAttentionArgs alone = args;
        alone.bands = 1;
        alone.q += band * kQueries;
        alone.block_tables += band * kTable;
        alone.arguments += band * 3;
        ASSERT_THAT(LaunchPagedAttention(alone, stream()), IsOk());
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
  ASSERT_THAT(LaunchPagedAttention(args, stream()), IsOk());
  const std::vector<BFloat16> expected = Out();
  args.arguments = two.As<std::uint32_t>();
  args.record_words = 2;
  ASSERT_THAT(LaunchPagedAttention(args, stream()), IsOk());
  EXPECT_EQ(Out(), expected);
}

// Spec section 4.5: records are read when the kernel starts, so a replay sees new ones.
TEST_F(PagedAttentionTest, AReplayReadsItsArgumentsAnew) {
  const DeviceBuffer records = Upload(Records(0));
  const PagedAttentionArgs args = Args(records);
  ASSERT_THAT(LaunchPagedAttention(args, stream()), IsOk());  // loads the code
  (void)Out();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t program = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_THAT(LaunchPagedAttention(args, stream()), IsOk());
  ASSERT_EQ(cudaStreamEndCapture(stream(), &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&program, graph, 0), cudaSuccess);
  for (const std::uint32_t shift : {0u, 13u, 101u}) {
    Write(records, Records(shift));
    ASSERT_EQ(cudaGraphLaunch(program, stream()), cudaSuccess);
    const std::vector<BFloat16> replayed = Out();
    ASSERT_THAT(LaunchPagedAttention(args, stream()), IsOk());
    EXPECT_EQ(Out(), replayed) << "shift " << shift;
  }
  EXPECT_EQ(cudaGraphExecDestroy(program), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// Two keys of nearly the same score and opposite values: with probabilities rounded to BF16 both
// would weigh 1, and nothing would be left.
TEST_F(PagedAttentionTest, ProbabilitiesKeepMoreThanBf16) {
  std::vector<BFloat16> q(kD), k(16 * kD), v(16 * kD);
  q[0] = BFloat16::FromDouble(1);
  for (std::int64_t i = 2 * kD; i < 16 * kD; ++i) k[i].bits = v[i].bits = 0xFFFF;  // not to be read
  k[kD] = BFloat16::FromDouble(-0.012);
  for (std::int64_t i = 0; i < kD; ++i) {
    v[i] = BFloat16::FromDouble(1);
    v[kD + i] = BFloat16::FromDouble(-1);
  }
  const DeviceBuffer on_q = Upload(q), on_k = Upload(k), on_v = Upload(v),
                     table = Upload(std::vector<std::uint32_t>{0}),
                     record = Upload(std::vector<std::uint32_t>{2, 1, 1}),
                     out = Bytes(kD * sizeof(BFloat16));
  PagedAttentionArgs args = Args(record);
  args.q = on_q.As<BFloat16>();
  args.k_pool = on_k.As<BFloat16>();
  args.v_pool = on_v.As<BFloat16>();
  args.block_tables = table.As<std::uint32_t>();
  args.out = out.As<BFloat16>();
  args.bands = args.rows = args.heads = args.kv = args.table = 1;
  ASSERT_THAT(LaunchPagedAttention(args, stream()), IsOk());
  // (1 - e^s) / (1 + e^s), s = k q / sqrt(d)
  const double expected = std::tanh(-k[kD].ToDouble() / std::sqrt(double{kD}) / 2);
  for (const BFloat16 value : Read<BFloat16>(out)) {
    ASSERT_NEAR(value.ToDouble(), expected, 0.02 * expected);
  }
}

}  // namespace
}  // namespace draftmark::kernels
