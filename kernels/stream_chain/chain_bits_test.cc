// Chains: the same bits in every run, step by step or at once, for a row alone or among others; and what
// is refused.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/stream_chain/chain_device_test.h"
#include "kernels/stream_chain/stream_chain.h"
#include "kernels/stream_chain/stream_chain_traits.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

constexpr float kEpsilon = 1e-5F;

std::vector<float> Squares(const std::vector<BFloat16>& x, std::int64_t rows) {
  const auto k = static_cast<std::int64_t>(x.size()) / rows;
  std::vector<float> sums(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows * k; ++i) sums[i / k] += x[i].ToFloat() * x[i].ToFloat();
  return sums;
}

// Of a layer: the output projection, the MLP's two, and q, k and v of the next one.
class StreamChainTest : public ChainDeviceTest {
 protected:
  static constexpr std::int64_t kAttended = 448, kHidden = 1024, kInner = 1536;
  static constexpr std::int64_t kNs[3] = {448, 136, 1};

  void SetUp() override {
    ChainDeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto matrix = [](const char* name, std::int64_t n, std::int64_t k) {
      return Random(name, n * k, 3 / std::sqrt(static_cast<double>(k)));
    };
    output_ = Upload(matrix("output", kHidden, kAttended));
    gate_ = Upload(matrix("gate", kInner, kHidden));
    up_ = Upload(matrix("up", kInner, kHidden));
    down_ = Upload(matrix("down", kHidden, kInner));
    for (int i = 0; i < 3; ++i) {
      qkv_[i] = Upload(matrix(fmt::format("qkv{}", i).c_str(), kNs[i], kHidden));
    }
    norms_[0] = Upload(Random("norm 0", kHidden, 1));
    norms_[1] = Upload(Random("norm 1", kHidden, 1));
  }

  // Of one run.
  struct Memory {
    std::int64_t rows = 0;
    DeviceBuffer attended;
    Output<BFloat16> residual, normed[2], act, y[3];
    Output<float> sums;
  };
  Memory MakeMemory(std::int64_t rows) {
    Memory m;
    m.rows = rows;
    m.attended = Upload(FirstRows(Random("attended", kMostRows * kAttended, 2), rows));
    m.residual = MakeRows(rows, kHidden, Random("residual", kMostRows * kHidden, 3));
    m.act = MakeRows<BFloat16>(rows, kInner);
    for (Output<BFloat16>& normed : m.normed) normed = MakeRows<BFloat16>(rows, kHidden);
    for (int i = 0; i < 3; ++i) m.y[i] = MakeRows<BFloat16>(rows, kNs[i]);
    m.sums = MakeOutput<float>(kMostRows * StreamChainRowParts());
    return m;
  }

  StreamLinear AddedStep(const Memory& m, const BFloat16* x, std::int64_t k,
                         const DeviceBuffer& weight) const {
    StreamLinear step = {.x = x, .rows = m.rows, .k = k};
    step.parts[0] = {.weight = weight.As<BFloat16>(), .n = kHidden};
    step.row_sums = m.sums.data();
    step.epilogue = StreamEpilogue::kResidual;
    step.residual = m.residual.data();
    return step;
  }
  StreamLinear NormedStep(const Memory& m, int i) const {
    return {.x = m.residual.data(),
            .rows = m.rows,
            .k = kHidden,
            .norm_weight = norms_[i].As<BFloat16>(),
            .norm_sums = m.sums.data(),
            .norm_parts = StreamChainRowParts(),
            .epsilon = kEpsilon,
            .normed = m.normed[i].data()};
  }
  std::vector<StreamLinear> Steps(const Memory& m) const {
    StreamLinear mlp = NormedStep(m, 0), next = NormedStep(m, 1);
    mlp.parts[0] = {.weight = gate_.As<BFloat16>(), .y = m.act.data(), .n = kInner};
    mlp.parts[1] = {.weight = up_.As<BFloat16>(), .n = kInner};
    mlp.part_count = 2;
    mlp.epilogue = StreamEpilogue::kSwiGlu;
    for (int i = 0; i < 3; ++i) {
      next.parts[i] = {.weight = qkv_[i].As<BFloat16>(), .y = m.y[i].data(), .n = kNs[i]};
    }
    next.part_count = 3;
    return {AddedStep(m, m.attended.As<BFloat16>(), kAttended, output_), mlp,
            AddedStep(m, m.act.data(), kInner, down_), next};
  }
  Status LaunchAll(const Memory& m) {
    StreamChain chain;
    for (const StreamLinear& step : Steps(m)) chain.Add(step);
    return Launch(chain);
  }

  struct Results {
    std::vector<std::vector<BFloat16>> rows;
    std::vector<float> sums;
    bool operator==(const Results&) const = default;
  };
  Results ResultsOf(const Memory& m) {
    Results results = {{Take(m.residual), Take(m.normed[0]), Take(m.act), Take(m.normed[1]),
                        Take(m.y[0]), Take(m.y[1]), Take(m.y[2])},
                       {}};
    const std::vector<float> sums = Take(m.sums);
    for (std::int64_t i = 0; i < std::ssize(sums); ++i) {
      if (i % kMostRows < m.rows) results.sums.push_back(sums[i]);
    }
    for (const std::vector<BFloat16>& values : results.rows) {
      for (const BFloat16 value : values) {
        // Poison is one, too.
        if (std::isnan(value.ToFloat())) {
          ADD_FAILURE() << "not a number";
          return results;
        }
      }
    }
    return results;
  }

 private:
  DeviceBuffer output_, gate_, up_, down_, qkv_[3], norms_[2];
};

TEST_F(StreamChainTest, AtOnceAndStepByStep) {
  for (const std::int64_t rows : {16, 9, 8, 5}) {
    SCOPED_TRACE(fmt::format("rows {}", rows));
    const Memory memory = MakeMemory(rows);
    for (const StreamLinear& step : Steps(memory)) ASSERT_THAT(LaunchStep(step), IsOk());
    const Results want = ResultsOf(memory);
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(Counter(), 0u);
    // One behind the other without a pause: the next one's weights come while the last one still runs.
    std::vector<Memory> memories;
    memories.reserve(20);
    for (int i = 0; i < 20; ++i) memories.push_back(MakeMemory(rows));
    for (const Memory& m : memories) ASSERT_THAT(LaunchAll(m), IsOk());
    ASSERT_EQ(Counter(), 0u);
    for (std::size_t i = 0; i < memories.size(); ++i) {
      ASSERT_TRUE(ResultsOf(memories[i]) == want) << "repetition " << i;
    }
  }
}

// Two layers' steps in turn, each beside the other layer's.
TEST_F(StreamChainTest, StepsBesideOthers) {
  const Memory alone = MakeMemory(kMostRows);
  ASSERT_THAT(LaunchAll(alone), IsOk());
  const Results want = ResultsOf(alone);
  for (int run = 0; run < 20; ++run) {
    const Memory a = MakeMemory(kMostRows), b = MakeMemory(kMostRows);
    const std::vector<StreamLinear> first = Steps(a), second = Steps(b);
    StreamChain chain;
    for (std::size_t i = 0; i < first.size(); ++i) {
      chain.AddBeside(first[i]);
      if (i + 1 < first.size()) chain.AddBeside(second[i]);
    }
    chain.Add(second.back());
    ASSERT_THAT(Launch(chain), IsOk());
    ASSERT_TRUE(ResultsOf(a) == want) << "run " << run;
    ASSERT_TRUE(ResultsOf(b) == want) << "run " << run;
    ASSERT_EQ(Counter(), 0u);
  }
}

struct RowCase {
  std::int64_t n = 0, k = 0;
  bool pair = false;
};
class StreamRowsTest : public ChainDeviceTest {
 protected:
  // Rows from `first` on, normed.
  std::vector<BFloat16> Run(const RowCase& c, const DeviceBuffer& x, const DeviceBuffer& norm,
                            const std::vector<float>& squares, const DeviceBuffer& weights,
                            std::int64_t first, std::int64_t rows) {
    std::vector<float> of_rows(kMostRows, NAN);  // not read behind the last row
    std::copy_n(squares.begin() + first, rows, of_rows.begin());
    const DeviceBuffer sums = Upload(of_rows);
    const Output<BFloat16> y = MakeRows<BFloat16>(rows, c.n);
    StreamLinear step = {.x = x.As<BFloat16>() + first * c.k, .rows = rows, .k = c.k};
    step.parts[0] = {.weight = weights.As<BFloat16>(), .y = y.data(), .n = c.n};
    if (c.pair) {
      step.parts[1] = {.weight = weights.As<BFloat16>() + c.n * c.k, .n = c.n};
      step.part_count = 2;
      step.epilogue = StreamEpilogue::kSwiGlu;
    }
    step.norm_weight = norm.As<BFloat16>();
    step.norm_sums = sums.As<float>();
    step.norm_parts = 1;
    step.epsilon = kEpsilon;
    EXPECT_THAT(LaunchStep(step), IsOk());
    return Take(y);
  }
};

TEST_F(StreamRowsTest, ARowIsTheSameAloneAndAmongOthers) {
  // Behind the first ones: where two SMs for a tile are worth it or not by a little, on 132 of them, so that
  // a choice that looked at the number of rows would differ.
  for (const RowCase& c : {RowCase{64, 64},
                           {1001, 320},
                           {256, 128},
                           {1536, 4160},
                           {2944, 192},
                           {4288, 256},
                           {6144, 2880},
                           {1001, 320, true},
                           {1216, 192, true},
                           {2560, 2880, true}}) {
    SCOPED_TRACE(fmt::format("n {} k {} pair {}", c.n, c.k, c.pair));
    const std::vector<BFloat16> values = Random("x", kMostRows * c.k, 2);
    const std::vector<float> sums = Squares(values, kMostRows);
    const DeviceBuffer x = Upload(values), norm = Upload(Random("norm", c.k, 2)),
                       weights = Upload(Random("w", (c.pair ? 2 : 1) * c.n * c.k,
                                               3 / std::sqrt(static_cast<double>(c.k))));
    const std::vector<BFloat16> all = Run(c, x, norm, sums, weights, 0, kMostRows);
    for (const BFloat16 value : all) ASSERT_FALSE(std::isnan(value.ToFloat()));
    for (const std::int64_t rows : {1, 7, 8, 9}) {
      for (std::int64_t first = 0; first + rows <= kMostRows; first += rows) {
        const std::vector<BFloat16> got = Run(c, x, norm, sums, weights, first, rows);
        const std::vector<BFloat16> want(all.begin() + first * c.n,
                                         all.begin() + (first + rows) * c.n);
        ASSERT_TRUE(got == want) << rows << " rows from " << first;
      }
    }
  }
}

class StreamArgumentsTest : public ChainDeviceTest {};

TEST_F(StreamArgumentsTest, LinearStepsAreChecked) {
  const DeviceBuffer x = Bytes(64 * 64 * sizeof(BFloat16)), w = Bytes(64 * 64 * sizeof(BFloat16)),
                     sums = Bytes(16 * 1024);
  const Output<BFloat16> y = MakeRows<BFloat16>(1, 64);
  StreamLinear good = {.x = x.As<BFloat16>(), .rows = 1, .k = 64};
  good.parts[0] = {.weight = w.As<BFloat16>(), .y = y.data(), .n = 64};
  ASSERT_TRUE(StreamLinearFits(good));
  struct Case {
    const char* reason;
    std::function<void(StreamLinear&)> spoil;
  };
  const auto parts = [&](StreamLinear& step, int count, std::int64_t n) {
    step.part_count = count;
    for (int i = 1; i < count; ++i) {
      step.parts[i] = step.parts[0];
      step.parts[i].n = n;
    }
  };
  const Case cases[] = {
      {"k is a multiple of 64", [&](StreamLinear& step) { step.k = 96; }},
      {"expected k in", [&](StreamLinear& step) { step.k = 0; }},
      {"expected rows in [1, 16], found 17", [&](StreamLinear& step) { step.rows = 17; }},
      {"expected part_count in [1, 3], found 4", [&](StreamLinear& step) { step.part_count = 4; }},
      {"expected n in", [&](StreamLinear& step) { step.parts[0].n = 0; }},
      {"x is null", [&](StreamLinear& step) { step.x = nullptr; }},
      {"weight is null", [&](StreamLinear& step) { step.parts[0].weight = nullptr; }},
      {"y is not null", [&](StreamLinear& step) { step.parts[0].y = nullptr; }},
      {"a residual has one part",
       [&](StreamLinear& step) { step.epilogue = StreamEpilogue::kResidual; }},
      {"a pair has two parts of the same n",
       [&](StreamLinear& step) {
         parts(step, 2, 56);
         step.epilogue = StreamEpilogue::kSwiGlu;
       }},
      {"a pair has two parts of the same n",
       [&](StreamLinear& step) { step.epilogue = StreamEpilogue::kSwiGlu; }},
      {"row_sums are of one part",
       [&](StreamLinear& step) {
         parts(step, 3, 64);
         step.row_sums = sums.As<float>();
       }},
      {"a norm has sums of squares",
       [&](StreamLinear& step) { step.norm_weight = w.As<BFloat16>(); }},
      {"normed rows go elsewhere", [&](StreamLinear& step) { step.normed = x.As<BFloat16>(); }},
      {"softcap is not negative", [&](StreamLinear& step) { step.softcap = -1; }},
      {"rows are aligned to 16 bytes", [&](StreamLinear& step) { step.x += 1; }},
      {"weights are aligned to 16 bytes", [&](StreamLinear& step) { step.parts[0].weight += 1; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.reason);
    StreamLinear step = good;
    c.spoil(step);
    EXPECT_FALSE(StreamLinearFits(step));
    // Behind a good one, too: nothing of such a chain runs.
    StreamChain chain;
    chain.Add(good);
    chain.Add(step);
    EXPECT_THAT(Launch(chain),
                StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr(c.reason)));
  }
  for (const BFloat16 value : Take(y)) ASSERT_EQ(value.bits, 0xFFFF);
  EXPECT_EQ(Counter(), 0u);
}

TEST_F(StreamArgumentsTest, ChainsAreChecked) {
  EXPECT_THAT(Launch({}), IsOk());
  EXPECT_THAT(LaunchStreamChain({}, nullptr, stream()), IsOk());

  const DeviceBuffer x = Bytes(64 * 64 * sizeof(BFloat16));
  const Output<BFloat16> y = MakeRows<BFloat16>(1, 64);
  StreamLinear step = {.x = x.As<BFloat16>(), .rows = 1, .k = 64};
  step.parts[0] = {.weight = x.As<BFloat16>(), .y = y.data(), .n = 64};
  StreamChain chain;
  chain.Add(step);
  EXPECT_THAT(LaunchStreamChain(chain, nullptr, stream()),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("counters is null")));
  while (std::ssize(chain.steps()) <= StreamChainTraits::kMostSteps) chain.Add(step);
  EXPECT_THAT(Launch(chain), StatusIs(StatusCode::kInvalidArgument,
                                      ::testing::HasSubstr("expected steps in [1, 17], found 18")));
  chain = {};
  chain.Add(step);
  chain.AddBeside(step);
  EXPECT_THAT(Launch(chain), StatusIs(StatusCode::kInvalidArgument,
                                      ::testing::HasSubstr("the last step is not beside")));
  chain = {};
  chain.Add(std::vector<StreamHeads>{{.x = x.As<BFloat16>(),
                                      .x_stride = 64,
                                      .rows = 1,
                                      .heads = 1,
                                      .d = 64,
                                      .y = x.As<BFloat16>(),
                                      .y_stride = 64}});
  chain.AddBeside(step);
  chain.Add(step);
  EXPECT_THAT(Launch(chain),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("follows a linear one")));
  for (const BFloat16 value : Take(y)) ASSERT_EQ(value.bits, 0xFFFF);
}

}  // namespace
}  // namespace draftmark::kernels
