// Strides, which the registry's dense cases do not have: logits inside of wider rows, tokens of one
// step of several bands.
#include "kernels/argmax/argmax.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/argmax/argmax_traits.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"

namespace draftmark::kernels {
namespace {

class ArgmaxTest : public DeviceTest {
 protected:
  // `args` has the sizes; `expected` are all words of the tokens, those between them untouched.
  void Expect(const std::vector<BFloat16>& logits, ArgmaxArgs args,
              const std::vector<std::uint32_t>& expected) {
    const DeviceBuffer on_device = Upload(logits),
                       tokens = Bytes(expected.size() * sizeof(std::uint32_t)),
                       workspace = Bytes(ArgmaxTraits::WorkspaceBytes(args.rows, args.v));
    args.logits = on_device.As<BFloat16>();
    args.tokens = tokens.As<std::uint32_t>();
    args.workspace = workspace.address().value;
    args.workspace_bytes = workspace.bytes();
    ASSERT_THAT(LaunchArgmax(args, stream()), IsOk());
    EXPECT_EQ(Read<std::uint32_t>(tokens), expected);
  }
};

TEST_F(ArgmaxTest, RowsAndTokensMayBeApart) {
  constexpr std::int64_t kRows = 5, kV = 5000, kStride = 5003, kStep = 3;
  std::vector<BFloat16> logits = Random("logits", kRows * kStride, 16);
  std::vector<std::uint32_t> expected(kRows * kStep, 0xFFFFFFFFu);
  for (std::int64_t row = 0; row < kRows; ++row) {
    // What lies between the rows is greater than anything in them.
    for (std::int64_t i = kV; i < kStride; ++i) {
      logits[row * kStride + i] = BFloat16::FromDouble(100);
    }
    const std::int64_t best = row * 1111 + 7;
    logits[row * kStride + best] = BFloat16::FromDouble(20);
    logits[row * kStride + kV - 1] = BFloat16::FromDouble(20);  // a tie, lost by the higher id
    expected[row * kStep] = static_cast<std::uint32_t>(best);
  }
  Expect(logits, {.rows = kRows, .v = kV, .row_stride = kStride, .token_step = kStep}, expected);
}

// So many rows that a piece is longer than the least, with rows that begin anywhere in 16 bytes: a tie across two
// pieces, one within a chunk of eight, NaN beside the greatest, zeros of both signs, the greatest among the single
// elements at a row's ends, and rows without a candidate.
TEST_F(ArgmaxTest, ManyRowsHaveLongPieces) {
  constexpr std::int64_t kRows = 300, kV = 20003, kStride = 20005;
  constexpr std::int64_t kPieces = ArgmaxTraits::Pieces(kRows, kV);
  constexpr std::int64_t kPiece = ArgmaxTraits::PieceElements(kV, kPieces);
  static_assert(kPieces == 3 && kPiece == 6672);
  const BFloat16 nan = BFloat16::FromDouble(NAN), best = BFloat16::FromDouble(50);
  std::vector<BFloat16> logits = Random("logits", kRows * kStride, 16);
  std::vector<std::uint32_t> expected(kRows);
  for (std::int64_t row = 0; row < kRows; ++row) {
    BFloat16* const own = logits.data() + row * kStride;
    std::int64_t token = 0;
    switch (row % 7) {
      case 0:  // the lower of two pieces
        token = kPiece - 1 - row % 11;
        own[token] = own[kPiece + 5] = own[2 * kPiece + 7] = best;
        break;
      case 1:  // the lower of a chunk, wherever chunks begin, and NaN in front
        token = 2 * kPiece + row;
        own[token - 1] = nan;
        own[token] = own[token + 1] = own[token + 2] = best;
        break;
      case 2:  // the row's first element
        own[0] = best;
        break;
      case 3:  // its last one
        token = kV - 1;
        own[token] = best;
        break;
      case 4:  // -0 in front of 0 is the same value
        std::fill(own, own + kV, BFloat16::FromDouble(-3));
        token = row * 31 % (kV - 1);
        own[token] = BFloat16::FromDouble(-0.0);
        own[token + 1] = BFloat16::FromDouble(0.0);
        break;
      case 5:  // nothing above -1e30
        std::fill(own, own + kV, row % 2 == 0 ? nan : BFloat16::FromDouble(-INFINITY));
        break;
      default:  // one candidate
        std::fill(own, own + kV, nan);
        token = row * 67 % kV;
        own[token] = BFloat16::FromDouble(-1e29);
    }
    expected[row] = static_cast<std::uint32_t>(token);
  }
  Expect(logits, {.rows = kRows, .v = kV, .row_stride = kStride}, expected);
}

}  // namespace
}  // namespace draftmark::kernels
