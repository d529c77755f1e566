// Linear steps against float64 on the host.
#include "kernels/stream_chain/stream_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/argmax/argmax.h"
#include "kernels/stream_chain/chain_device_test.h"
#include "kernels/stream_chain/linear_reference.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

constexpr float kEpsilon = 1e-5F;
constexpr std::int64_t kRows[] = {1, 7, 8, 9, 16};  // around those of the two kernels

struct Shape {
  std::int64_t n = 0, k = 0;
  std::string Name() const { return fmt::format("n {} k {}", n, k); }
};
constexpr Shape kShapes[] = {
    {64, 64},      // one block of columns, fewer tiles than SMs
    {1001, 320},   // outputs that are no multiple of 8, an odd number of blocks, two SMs for a tile
    {256, 128},    // one stage
    {1536, 4160},  // rows that do not all fit
    {12681, 64},   // several tiles for an SM
    {14000, 256},  // several tiles for two SMs
    {4300, 3840},  // rows that stay for several tiles, and just have room: 16 of them,
    {4300, 7680},  // 8 of them
};

class StreamLinearTest : public ChainDeviceTest {
 protected:
  static std::vector<BFloat16> X(std::int64_t k) { return Random("x", kReferenceRows * k, 2); }
  // Sums of some 2, of any k.
  static std::vector<BFloat16> Weight(const char* name, std::int64_t n, std::int64_t k) {
    return Random(name, n * k, 3 / std::sqrt(static_cast<double>(k)));
  }
  static std::vector<BFloat16> NormWeight(std::int64_t k) { return Random("norm", k, 2); }

  // `want`: a Near for a row and an output.
  template <typename Want>
  static void Compare(const std::vector<BFloat16>& got, std::int64_t rows, std::int64_t n,
                      const Want& want) {
    ASSERT_EQ(std::ssize(got), rows * n);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t output = 0; output < n; ++output) {
        const Near expected = want(row, output);
        const double value = got[row * n + output].ToDouble();
        ASSERT_LE(std::abs(value - expected.value), expected.Bound())
            << "row " << row << " output " << output << ": " << value << ", expected "
            << expected.value;
      }
    }
  }
  // The lowest of the greatest, NaN aside; 0 if nothing is above -1e30.
  static std::vector<std::uint32_t> Greatest(const std::vector<BFloat16>& stored, std::int64_t rows,
                                             std::int64_t n) {
    std::vector<std::uint32_t> tokens;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::uint32_t token = 0;
      double best = -1e30;
      for (std::int64_t i = 0; i < n; ++i) {
        const double value = stored[row * n + i].ToDouble();
        if (value > best) {
          best = value;
          token = static_cast<std::uint32_t>(i);
        }
      }
      tokens.push_back(token);
    }
    return tokens;
  }
  std::vector<std::uint32_t> TokensOf(const Output<std::uint64_t>& best, std::int64_t rows) {
    const DeviceBuffer tokens = Bytes(static_cast<std::uint64_t>(rows) * sizeof(std::uint32_t));
    EXPECT_THAT(LaunchBestOfRows({.keys = best.data(),
                                  .tokens = tokens.As<std::uint32_t>(),
                                  .rows = rows,
                                  .parts = StreamChainRowParts(),
                                  .rows_apart = kMostRows},
                                 stream()),
                IsOk());
    Take(best);  // the guards
    return Read<std::uint32_t>(tokens);
  }

  // Sums by blocks against what was stored.
  static void CompareSquares(const std::vector<float>& sums, const std::vector<BFloat16>& stored,
                             std::int64_t rows, std::int64_t n) {
    const std::int64_t parts = StreamChainRowParts();
    ASSERT_EQ(std::ssize(sums), kMostRows * parts);
    for (std::int64_t row = 0; row < rows; ++row) {
      double want = 0, got = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double value = stored[row * n + i].ToDouble();
        want += value * value;
      }
      for (std::int64_t part = 0; part < parts; ++part) got += sums[part * kMostRows + row];
      ASSERT_NEAR(got, want, 1e-5 * want) << "row " << row;
    }
  }
};

// Matrices that lie apart from each other, whose last tiles are not full, as one part and beside another.
TEST_F(StreamLinearTest, StoresGroups) {
  constexpr std::int64_t kN = 200, kK = 320, kGroups = 5, kStep = (kN + 60) * kK, kOther = 72;
  const std::vector<BFloat16> x = X(kK), w = Weight("w", kGroups * kStep / kK, kK),
                              bias = Random("bias", kGroups * kN, 2),
                              other = Weight("o", kOther, kK);
  const Product product(x, w, kGroups * kStep / kK, kK, false), beside(x, other, kOther, kK, false);
  const DeviceBuffer weight = Upload(w), biases = Upload(bias), second = Upload(other);
  for (const std::int64_t rows : kRows) {
    SCOPED_TRACE(fmt::format("rows {}", rows));
    const DeviceBuffer input = Upload(FirstRows(x, rows));
    const Output<BFloat16> y = MakeRows<BFloat16>(rows, kGroups * kN),
                           z = MakeRows<BFloat16>(rows, kOther);
    StreamLinear step = {.x = input.As<BFloat16>(), .rows = rows, .k = kK, .part_count = 2};
    step.parts[0] = {.weight = second.As<BFloat16>(), .y = z.data(), .n = kOther};
    step.parts[1] = {.weight = weight.As<BFloat16>(),
                     .bias = biases.As<BFloat16>(),
                     .y = y.data(),
                     .n = kN,
                     .groups = kGroups,
                     .group_step = kStep};
    ASSERT_THAT(LaunchStep(step), IsOk());
    Compare(Take(y), rows, kGroups * kN, [&](std::int64_t row, std::int64_t output) {
      return product.At(row, output / kN * (kStep / kK) + output % kN, bias[output].ToDouble());
    });
    Compare(Take(z), rows, kOther,
            [&](std::int64_t row, std::int64_t output) { return beside.At(row, output); });
    if (HasFatalFailure()) return;
  }
}

TEST_F(StreamLinearTest, Stores) {
  struct Variant {
    bool bias = false;
    float multiplier = 1, softcap = 0;
  };
  for (const Shape& shape : kShapes) {
    const auto [n, k] = shape;
    const std::vector<BFloat16> x = X(k), w = Weight("w", n, k), bias = Random("bias", n, 2);
    const Product product(x, w, n, k, false);
    const DeviceBuffer weight = Upload(w), biases = Upload(bias);
    for (const std::int64_t rows : kRows) {
      const DeviceBuffer input = Upload(FirstRows(x, rows));
      for (const Variant& v : {Variant{}, Variant{true, 1, 0}, Variant{true, 1.5F, 2}}) {
        SCOPED_TRACE(fmt::format("{} rows {} bias {} multiplier {} softcap {}", shape.Name(), rows,
                                 v.bias, v.multiplier, v.softcap));
        const Output<BFloat16> y = MakeRows<BFloat16>(rows, n);
        const Output<float> sums = MakeOutput<float>(kMostRows * StreamChainRowParts());
        StreamLinear step = {.x = input.As<BFloat16>(), .rows = rows, .k = k};
        step.parts[0] = {.weight = weight.As<BFloat16>(),
                         .bias = v.bias ? biases.As<BFloat16>() : nullptr,
                         .y = y.data(),
                         .n = n};
        step.multiplier = v.multiplier;
        step.softcap = v.softcap;
        step.row_sums = sums.data();
        const Output<std::uint64_t> best =
            MakeOutput<std::uint64_t>(kMostRows * StreamChainRowParts());
        step.row_best = best.data();
        ASSERT_THAT(LaunchStep(step), IsOk());
        const std::vector<BFloat16> got = Take(y);
        EXPECT_EQ(TokensOf(best, rows), Greatest(got, rows, n));
        ASSERT_NO_FATAL_FAILURE(Compare(got, rows, n, [&](std::int64_t row, std::int64_t output) {
          return Bent(product.At(row, output, v.bias ? bias[output].ToDouble() : 0), v.multiplier,
                      v.softcap);
        }));
        ASSERT_NO_FATAL_FAILURE(CompareSquares(Take(sums), got, rows, n));
      }
    }
  }
  EXPECT_EQ(Counter(), 0u);
}

TEST_F(StreamLinearTest, KeepsTheGreatestOfWhatIsStored) {
  constexpr std::int64_t kN = 14000, kK = 256, kRowCount = 16;
  const std::vector<BFloat16> x = X(kK), w = Weight("w", kN, kK);
  const DeviceBuffer weight = Upload(w), input = Upload(x);
  const auto tokens = [&](const std::vector<BFloat16>& bias) {
    const DeviceBuffer biases = Upload(bias);
    const Output<BFloat16> y = MakeRows<BFloat16>(kRowCount, kN);
    const Output<std::uint64_t> best = MakeOutput<std::uint64_t>(kMostRows * StreamChainRowParts());
    StreamLinear step = {.x = input.As<BFloat16>(), .rows = kRowCount, .k = kK};
    step.parts[0] = {
        .weight = weight.As<BFloat16>(), .bias = biases.As<BFloat16>(), .y = y.data(), .n = kN};
    step.row_best = best.data();
    EXPECT_THAT(LaunchStep(step), IsOk());
    std::vector<std::uint32_t> got = TokensOf(best, kRowCount);
    EXPECT_EQ(got, Greatest(Take(y), kRowCount, kN));
    return got;
  };
  const auto all = [](std::uint32_t token) { return std::vector<std::uint32_t>(16, token); };
  const BFloat16 nan = BFloat16{0x7FC0}, infinite = BFloat16{0x7F80}, least = BFloat16{0xFF80};
  std::vector<BFloat16> bias(kN, BFloat16{0});
  // Equals far from each other, beside what is no number: the first.
  bias[13999] = bias[9000] = bias[4711] = infinite;
  bias[3] = bias[4710] = nan;
  EXPECT_EQ(tokens(bias), all(4711));
  // Nothing that could be chosen, in the last place something.
  std::fill(bias.begin(), bias.end(), least);
  EXPECT_EQ(tokens(bias), all(0));
  bias[0] = nan;
  bias[13999] = BFloat16{0};
  EXPECT_EQ(tokens(bias), all(13999));
}

// Sums of squares come from one block, from a few, and from more than a warp adds at once.
TEST_F(StreamLinearTest, NormsItsRows) {
  for (const Shape& shape : kShapes) {
    const auto [n, k] = shape;
    const std::vector<BFloat16> x = X(k), w = Weight("w", n, k), norm = NormWeight(k);
    const std::vector<BFloat16> want = Normed(x, norm, SumsOfSquares(x, k, 1), kEpsilon, k);
    const Product product(want, w, n, k, true);
    const DeviceBuffer weight = Upload(w), norms = Upload(norm);
    for (const std::int64_t rows : kRows) {
      const DeviceBuffer input = Upload(FirstRows(x, rows));
      for (const std::int64_t parts : {1, 5, 170}) {
        const DeviceBuffer sums = Upload(SumsOfSquares(x, k, parts));
        std::vector<BFloat16> first;
        for (const bool shows : {true, false}) {
          SCOPED_TRACE(
              fmt::format("{} rows {} parts {} normed {}", shape.Name(), rows, parts, shows));
          const Output<BFloat16> y = MakeRows<BFloat16>(rows, n);
          const Output<BFloat16> normed = MakeRows<BFloat16>(rows, k);
          StreamLinear step = {.x = input.As<BFloat16>(), .rows = rows, .k = k};
          step.parts[0] = {.weight = weight.As<BFloat16>(), .y = y.data(), .n = n};
          step.norm_weight = norms.As<BFloat16>();
          step.norm_sums = sums.As<float>();
          step.norm_parts = parts;
          step.epsilon = kEpsilon;
          step.normed = shows ? normed.data() : nullptr;
          ASSERT_THAT(LaunchStep(step), IsOk());
          const std::vector<BFloat16> got = Take(y);
          ASSERT_NO_FATAL_FAILURE(Compare(got, rows, n, [&](std::int64_t row, std::int64_t output) {
            return product.At(row, output);
          }));
          if (!shows) {
            ASSERT_EQ(got, first) << "other results without normed";
            continue;
          }
          first = got;
          const std::vector<BFloat16> prepared = Take(normed);
          std::int64_t different = 0;
          for (std::int64_t i = 0; i < rows * k; ++i) {
            const std::int64_t steps = StepsBetween(prepared[i], want[i]);
            ASSERT_LE(steps, 1) << "row " << i / k << " column " << i % k;
            different += steps;
          }
          // The same FP32 arithmetic, unless the device's root is another one.
          EXPECT_LE(different, rows * 3);
        }
      }
    }
  }
}

TEST_F(StreamLinearTest, AddsToTheResidualStream) {
  for (const Shape& shape : kShapes) {
    const auto [n, k] = shape;
    const std::vector<BFloat16> x = X(k), w = Weight("w", n, k), bias = Random("bias", n, 2),
                                before = Random("residual", kReferenceRows * n, 4);
    const Product product(x, w, n, k, false);
    const DeviceBuffer weight = Upload(w), biases = Upload(bias);
    for (const std::int64_t rows : kRows) {
      const DeviceBuffer input = Upload(FirstRows(x, rows));
      std::vector<BFloat16> first;
      for (const bool shows : {true, false}) {
        SCOPED_TRACE(fmt::format("{} rows {} y {}", shape.Name(), rows, shows));
        const Output<BFloat16> y = MakeRows<BFloat16>(rows, n);
        const Output<BFloat16> residual = MakeRows(rows, n, before);
        const Output<float> sums = MakeOutput<float>(kMostRows * StreamChainRowParts());
        StreamLinear step = {.x = input.As<BFloat16>(), .rows = rows, .k = k};
        step.parts[0] = {.weight = weight.As<BFloat16>(),
                         .bias = biases.As<BFloat16>(),
                         .y = shows ? y.data() : nullptr,
                         .n = n};
        step.epilogue = StreamEpilogue::kResidual;
        step.residual = residual.data();
        step.row_sums = sums.data();
        ASSERT_THAT(LaunchStep(step), IsOk());
        const std::vector<BFloat16> stored = Take(residual);
        ASSERT_NO_FATAL_FAILURE(CompareSquares(Take(sums), stored, rows, n));
        if (!shows) {
          ASSERT_EQ(stored, first) << "other results without y";
          continue;
        }
        first = stored;
        const std::vector<BFloat16> added = Take(y);
        ASSERT_NO_FATAL_FAILURE(Compare(added, rows, n, [&](std::int64_t row, std::int64_t output) {
          return product.At(row, output, bias[output].ToDouble());
        }));
        for (std::int64_t i = 0; i < rows * n; ++i) {
          ASSERT_EQ(stored[i].bits,
                    BFloat16::FromFloat(before[i].ToFloat() + added[i].ToFloat()).bits)
              << "row " << i / n << " output " << i % n;
        }
      }
    }
  }
}

// One copy brings both matrices, the lower address first: gate in front of up, and behind it.
TEST_F(StreamLinearTest, MultipliesPairs) {
  struct Variant {
    Shape shape;
    bool norm = false;
  };
  std::vector<Variant> variants = {{{4232, 4160}, true}};  // rows come again for each tile
  for (const Shape& shape : kShapes) {
    variants.push_back({shape, false});
    variants.push_back({shape, true});
  }
  for (const auto& [shape, norm] : variants) {
    const auto [n, k] = shape;
    const std::vector<BFloat16> x = X(k), g = Weight("gate", n, k), u = Weight("up", n, k),
                                norms = NormWeight(k);
    const std::vector<float> squares = SumsOfSquares(x, k, 1);
    const std::vector<BFloat16> rows_in = norm ? Normed(x, norms, squares, kEpsilon, k) : x;
    const Product gate(rows_in, g, n, k, norm), up(rows_in, u, n, k, norm);
    const DeviceBuffer norm_weight = Upload(norms), norm_sums = Upload(squares);
    for (const bool up_first : {false, true}) {
      std::vector<BFloat16> both = up_first ? u : g;
      both.insert(both.end(), up_first ? g.begin() : u.begin(), up_first ? g.end() : u.end());
      const DeviceBuffer weights = Upload(both);
      const BFloat16* const low = weights.As<BFloat16>();
      const BFloat16* const high = low + n * k;
      for (const std::int64_t rows : kRows) {
        SCOPED_TRACE(
            fmt::format("{} rows {} norm {} up first {}", shape.Name(), rows, norm, up_first));
        const DeviceBuffer input = Upload(FirstRows(x, rows));
        const Output<BFloat16> y = MakeRows<BFloat16>(rows, n);
        StreamLinear step = {.x = input.As<BFloat16>(), .rows = rows, .k = k};
        step.parts[0] = {.weight = up_first ? high : low, .y = y.data(), .n = n};
        step.parts[1] = {.weight = up_first ? low : high, .n = n};
        step.part_count = 2;
        step.epilogue = StreamEpilogue::kSwiGlu;
        if (norm) {
          step.norm_weight = norm_weight.As<BFloat16>();
          step.norm_sums = norm_sums.As<float>();
          step.norm_parts = 1;
          step.epsilon = kEpsilon;
        }
        ASSERT_THAT(LaunchStep(step), IsOk());
        ASSERT_NO_FATAL_FAILURE(
            Compare(Take(y), rows, n, [&](std::int64_t row, std::int64_t output) {
              return SwiGlu(gate.At(row, output), up.At(row, output));
            }));
      }
    }
  }
}

// As q, k and v; a part of one output, and one with a bias.
TEST_F(StreamLinearTest, MultipliesThreeParts) {
  for (const Shape& shape : kShapes) {
    const std::int64_t k = shape.k, ns[3] = {shape.n, 1, 72};
    const std::vector<BFloat16> x = X(k), bias = Random("bias", 72, 2);
    const DeviceBuffer biases = Upload(bias);
    std::vector<DeviceBuffer> weights;
    std::vector<Product> products;
    for (int i = 0; i < 3; ++i) {
      const std::vector<BFloat16> w = Weight(fmt::format("w{}", i).c_str(), ns[i], k);
      weights.push_back(Upload(w));
      products.emplace_back(x, w, ns[i], k, false);
    }
    for (const std::int64_t rows : kRows) {
      SCOPED_TRACE(fmt::format("{} rows {}", shape.Name(), rows));
      const DeviceBuffer input = Upload(FirstRows(x, rows));
      StreamLinear step = {.x = input.As<BFloat16>(), .rows = rows, .k = k};
      std::vector<Output<BFloat16>> y;
      for (int i = 0; i < 3; ++i) {
        y.push_back(MakeRows<BFloat16>(rows, ns[i]));
        step.parts[i] = {.weight = weights[i].As<BFloat16>(), .y = y[i].data(), .n = ns[i]};
      }
      step.parts[2].bias = biases.As<BFloat16>();
      step.part_count = 3;
      ASSERT_THAT(LaunchStep(step), IsOk());
      for (int i = 0; i < 3; ++i) {
        SCOPED_TRACE(fmt::format("part {}", i));
        ASSERT_NO_FATAL_FAILURE(
            Compare(Take(y[i]), rows, ns[i], [&](std::int64_t row, std::int64_t output) {
              return products[i].At(row, output, i == 2 ? bias[output].ToDouble() : 0);
            }));
      }
    }
  }
}

}  // namespace
}  // namespace draftmark::kernels
