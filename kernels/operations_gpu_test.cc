// Every operation of the registry on the GPU, judged like the CPU reference: boundary shapes within
// their bounds, wherever the operands lie; the same bits in every run; a row the same with other rows
// and without. Each run also proves that nothing outside of the outputs was written (RunOnDevice).
//
// Prints a line for each case with the share of its bound that it used.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/operations/check_operation.h"
#include "kernels/registry/device_operations.h"
#include "src/base/status_matchers.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/stream.h"
#include "src/operations/registry.h"

namespace draftmark::kernels {
namespace {

constexpr int kRuns = 5;

class OperationOnGpu : public GpuTest, public ::testing::WithParamInterface<std::string_view> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    StatusOr<CudaStream> stream = CudaStream::Create();
    ASSERT_TRUE(stream.ok()) << stream.status().ToString();
    stream_.emplace(*std::move(stream));
    StatusOr<std::unique_ptr<CublasLt>> library = CublasLt::Create();
    ASSERT_TRUE(library.ok()) << library.status().ToString();
    library_ = *std::move(library);
  }

  const Operation& operation() const { return *FindOperation(GetParam()); }
  // Without the library: own kernels, and those of every GPU.
  DeviceContext Context(bool with_library = true) {
    return {.allocator = &allocator_,
            .cublaslt = with_library ? library_.get() : nullptr,
            .stream = stream_->get(),
            .placement = {},
            .generic = !with_library};
  }
  void Judge(const OperationCase& c, const DeviceContext& context, std::string_view how) {
    const StatusOr<OperationReport> report =
        CheckOperation(c, Precision::kBf16, "cuda", SumType::kFloat32,
                       [&](const OperationCase& one, const OperandSet& operands) {
                         return RunOnDevice(one, operands, context);
                       });
    ASSERT_TRUE(report.ok()) << how << ": " << report.status().ToString();
    EXPECT_TRUE(report->passed()) << how << ": " << ReportText(*report);
    EXPECT_FALSE(report->verdicts.empty());
    fmt::print("{}: {}", how, ReportText(*report));
  }

  CudaAllocator allocator_;
  std::optional<CudaStream> stream_;
  std::unique_ptr<CublasLt> library_;
};

std::vector<std::string_view> Names() {
  std::vector<std::string_view> names;
  for (const Operation& operation : AllOperations()) names.push_back(operation.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, OperationOnGpu, ::testing::ValuesIn(Names()),
                         [](const auto& operation) { return std::string(operation.param); });

TEST_P(OperationOnGpu, BoundaryCasesAreWithinTheirBounds) {
  for (const OperationCase& c : BoundaryCases(operation())) Judge(c, Context(), "aligned");
}

// One element behind the alignment: 16-byte access is impossible, and must not be tried.
TEST_P(OperationOnGpu, OperandsMayLieAnywhere) {
  DeviceContext context = Context();
  context.placement.misaligned = true;
  for (const OperationCase& c : BoundaryCases(operation())) Judge(c, context, "misaligned");
}

// Shapes that matter to these kernels and are no boundary of the operation: the kernels' own tile
// borders, each padded head dim, rows wider than what stays in registers, the library's epilogues.
constexpr std::string_view kKernelCases[] = {
    "op/rms_norm/rows=2,h=32768/bf16",
    "op/rms_norm/rows=2,h=33001/bf16",
    "op/rms_norm/rows=3,h=36864/bf16",
    "op/head_norm/rows=2,heads=3,d=256/bf16",
    "op/head_norm/rows=2,heads=3,d=520/bf16",
    "op/rope/rows=3,heads=17,d=256,rotary=256,half_head=0/bf16",
    "op/row_gather/rows=3,from=5,width=16392/bf16",
    "op/conv_prepare/rows=14,h=4096,taps=2,group=16,band=7/bf16",
    "op/conv_finish/rows=6,h=1032,taps=3,group=8,band=3/bf16",
    "op/linear/rows=16,n=1536,k=2560,bias=0,cap=0/bf16",
    "op/linear/rows=33,n=264,k=520,bias=1,cap=1/bf16",
    "op/linear/rows=5,n=520,k=1024,bias=1,cap=0/bf16",
    "op/linear/rows=9,n=72,k=1024,bias=0,cap=1/bf16",
    "op/argmax/rows=3,v=4095/bf16",
    "op/argmax/rows=3,v=4097/bf16",
    "op/argmax/rows=5,v=131080/bf16",
    "op/top16/rows=3,v=4095/bf16",
    "op/top16/rows=3,v=4097/bf16",
    "op/top16/rows=5,v=8200/bf16",
    "op/top16/rows=4,v=131080/bf16",
    "op/selector_walk/rows=10,band=5,v=300,r=512/bf16",
    "op/selector_walk/rows=6,band=2,v=300,r=264/bf16",
    "op/markov_step/rows=3,v=1000,r=256,h=64,type=1/bf16",
    "op/markov_step/rows=5,v=333,r=256,h=512,type=2/bf16",
    "op/markov_step/rows=9,v=4100,r=256,h=8,type=0/bf16",
    "op/paged_attention/rows=5,heads=4,kv=2,d=16,ctx=100,window=0,causal=0,sink=0/bf16",
    "op/paged_attention/rows=5,heads=4,kv=2,d=48,ctx=100,window=0,causal=0,sink=0/bf16",
    "op/paged_attention/rows=5,heads=4,kv=2,d=80,ctx=100,window=33,causal=1,sink=0/bf16",
    "op/paged_attention/rows=5,heads=4,kv=2,d=96,ctx=100,window=0,causal=0,sink=1/bf16",
    "op/paged_attention/rows=5,heads=4,kv=2,d=130,ctx=100,window=0,causal=1,sink=0/bf16",
    "op/paged_attention/rows=5,heads=4,kv=2,d=192,ctx=100,window=50,causal=0,sink=0/bf16",
    "op/paged_attention/rows=5,heads=4,kv=2,d=255,ctx=100,window=0,causal=0,sink=0/bf16",
    "op/paged_attention/rows=7,heads=10,kv=2,d=256,ctx=333,window=0,causal=0,sink=1/bf16",
    "op/paged_attention/rows=32,heads=16,kv=2,d=256,ctx=70,window=40,causal=1,sink=0/bf16",
    "op/paged_attention/rows=16,heads=32,kv=8,d=128,ctx=1500,window=0,causal=0,sink=0/bf16",
    "op/paged_attention/rows=8,heads=9,kv=1,d=64,ctx=2000,window=1,causal=1,sink=0/bf16",
    "op/paged_attention/rows=64,heads=5,kv=1,d=128,ctx=300,window=0,causal=0,sink=0/bf16",
};

TEST_P(OperationOnGpu, KernelBordersAreWithinTheirBounds) {
  std::size_t judged = 0;
  DeviceContext misaligned = Context();
  misaligned.placement.misaligned = true;
  for (const std::string_view id : kKernelCases) {
    DM_ASSERT_OK_AND_ASSIGN(const OperationCase c, FindCase(id));
    if (c.operation->name != GetParam()) continue;
    Judge(c, Context(), "aligned");
    Judge(c, misaligned, "misaligned");
    ++judged;
  }
  if (judged == 0) GTEST_SKIP() << "the boundary cases reach all borders of this kernel";
}

// These have a second way to compute; for the others this repeats what is above.
TEST_P(OperationOnGpu, OwnKernelsAloneAreWithinTheirBounds) {
  if (GetParam() != "linear" && GetParam() != "paged_attention") {
    GTEST_SKIP() << "one way to compute this operation";
  }
  for (const OperationCase& c : BoundaryCases(operation())) Judge(c, Context(false), "own kernel");
}

TEST_P(OperationOnGpu, RunsAreDeterministic) {
  for (const OperationCase& c : BoundaryCases(operation())) {
    DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
    DM_ASSERT_OK_AND_ASSIGN(const OutputBytes first, RunOnDeviceToBytes(c, operands, Context()));
    for (int run = 1; run < kRuns; ++run) {
      DM_ASSERT_OK_AND_ASSIGN(const OutputBytes again, RunOnDeviceToBytes(c, operands, Context()));
      EXPECT_EQ(again, first) << c.Id() << " run " << run;
    }
  }
}

// Wide and scalar access are two ways to the same bits.
TEST_P(OperationOnGpu, WhereOperandsLieChangesNoBit) {
  DeviceContext misaligned = Context(false);
  misaligned.placement.misaligned = true;
  for (const OperationCase& c : BoundaryCases(operation())) {
    DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
    DM_ASSERT_OK_AND_ASSIGN(const OutputBytes wide,
                            RunOnDeviceToBytes(c, operands, Context(false)));
    DM_ASSERT_OK_AND_ASSIGN(const OutputBytes scalar, RunOnDeviceToBytes(c, operands, misaligned));
    EXPECT_EQ(scalar, wide) << c.Id();
  }
}

// The operands of one row of a case: those that have a row for each row are cut, the rest is whole.
OperandSet RowOf(const OperationCase& c, const OperandSet& all, std::uint64_t row) {
  OperandSet one;
  for (const Operand& operand : all.operands()) {
    Operand cut = operand;
    if (c.operation->operand(operand.name)->shape.front() == "rows") {
      const std::size_t bytes = operand.bytes.size() / c["rows"];
      cut.shape.front() = 1;
      cut.bytes.assign(operand.bytes.begin() + static_cast<std::ptrdiff_t>(row * bytes),
                       operand.bytes.begin() + static_cast<std::ptrdiff_t>((row + 1) * bytes));
    }
    one.Add(std::move(cut));
  }
  return one;
}

// Operations whose rows know nothing of each other. The others: bands (slots, convolution, walk),
// one order of rows in several outputs (kv_split), a pool that all rows write (kv_write), keys of
// the block's rows (attention).
bool IsPerRow(const OperationCase& c) {
  static constexpr std::string_view kPerRow[] = {
      "embed",    "row_gather",   "linear", "rms_norm", "head_norm",   "rope",
      "silu_mul", "residual_add", "argmax", "top16",    "markov_step", "confidence"};
  constexpr std::uint64_t kRecurrent = 2;  // the rnn head's rows are steps
  return std::find(std::begin(kPerRow), std::end(kPerRow), c.operation->name) !=
             std::end(kPerRow) &&
         (c.operation->name != "markov_step" || c["type"] != kRecurrent);
}

TEST_P(OperationOnGpu, ARowHasTheSameBitsAloneAndAmongOthers) {
  std::size_t compared = 0;
  for (const OperationCase& c : BoundaryCases(operation())) {
    if (!IsPerRow(c)) continue;
    ShapeValues values;
    for (const auto& [key, value] : c.keys.values()) values.push_back(key == "rows" ? 1 : value);
    DM_ASSERT_OK_AND_ASSIGN(const OperationCase one_row, MakeCase(operation(), values));
    DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
    // The library may choose another order of sums for another number of rows.
    DM_ASSERT_OK_AND_ASSIGN(const OutputBytes all, RunOnDeviceToBytes(c, operands, Context(false)));
    for (const std::uint64_t row : {std::uint64_t{0}, c["rows"] / 2, c["rows"] - 1}) {
      DM_ASSERT_OK_AND_ASSIGN(const OutputBytes alone,
                              RunOnDeviceToBytes(one_row, RowOf(c, operands, row), Context(false)));
      for (const auto& [name, bytes] : alone) {
        const std::vector<std::byte>& whole = all.at(name);
        ASSERT_EQ(bytes.size() * c["rows"], whole.size()) << c.Id() << " " << name;
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(),
                               whole.begin() + static_cast<std::ptrdiff_t>(row * bytes.size())))
            << c.Id() << " " << name << " row " << row;
        ++compared;
      }
    }
  }
  if (compared == 0) GTEST_SKIP() << "the rows of this operation depend on each other";
  fmt::print("{}: {} rows compared\n", GetParam(), compared);
}

}  // namespace
}  // namespace draftmark::kernels
