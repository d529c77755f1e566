#include "src/tensor/tensor_view.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A tensor of one dimension whose data starts at an odd address.
template <typename T>
class Unaligned {
 public:
  Unaligned(DType dtype, const std::vector<T>& elements) {
    storage_.resize(elements.size() * sizeof(T) + 1);
    std::memcpy(storage_.data() + 1, elements.data(), elements.size() * sizeof(T));
    view_ = {dtype, {elements.size()}, std::span(storage_).subspan(1)};
  }
  const TensorView& view() const { return view_; }

 private:
  std::vector<std::byte> storage_;
  TensorView view_;
};

template <typename T>
std::vector<double> Doubles(DType dtype, const std::vector<T>& elements) {
  return ToDoubles(Unaligned<T>(dtype, elements).view()).value();
}

TEST(DTypeTest, NamesAndWidths) {
  EXPECT_EQ(AllDTypes().size(), 22u);
  for (const DType dtype : AllDTypes()) {
    EXPECT_EQ(DTypeFromName(DTypeName(dtype)), dtype);
    EXPECT_GE(DTypeBits(dtype), 4u);
  }
  EXPECT_EQ(DTypeName(DType::kF8E8M0), "F8_E8M0");
  EXPECT_EQ(DTypeBits(DType::kF4), 4u);
  EXPECT_EQ(DTypeBits(DType::kF6E2M3), 6u);
  EXPECT_EQ(DTypeBits(DType::kC64), 64u);
  EXPECT_EQ(DTypeFromName("f32"), std::nullopt);
  EXPECT_EQ(DTypeFromName(""), std::nullopt);
}

TEST(TensorViewTest, ShapesAndIndices) {
  EXPECT_EQ((TensorView{DType::kU8, {3, 8}, {}}.elements()), 24u);
  EXPECT_EQ((TensorView{DType::kU8, {}, {}}.elements()), 1u);
  EXPECT_EQ((TensorView{DType::kU8, {3, 0}, {}}.elements()), 0u);
  EXPECT_EQ(ShapeToString({3, 8, 32}), "[3, 8, 32]");
  EXPECT_EQ(ShapeToString({}), "[]");
  EXPECT_EQ(LogicalIndex({3, 8, 32}, 0), "[0, 0, 0]");
  EXPECT_EQ(LogicalIndex({3, 8, 32}, 81), "[0, 2, 17]");
  EXPECT_EQ(LogicalIndex({3, 8, 32}, 767), "[2, 7, 31]");
  EXPECT_EQ(LogicalIndex({3, 8, 32}, 768), "[flat 768, outside of [3, 8, 32]]");
  EXPECT_EQ(LogicalIndex({}, 0), "[]");
  EXPECT_EQ(LogicalIndex({}, 1), "[flat 1, outside of []]");
  EXPECT_EQ(LogicalIndex({3, 0}, 0), "[flat 0, outside of [3, 0]]");
  EXPECT_EQ(LogicalIndex({0, 3}, 2), "[flat 2, outside of [0, 3]]");
}

TEST(TensorViewTest, SizesAreChecked) {
  EXPECT_EQ(TensorBytes(DType::kBF16, {3, 8}).value(), 48u);
  EXPECT_EQ(TensorBytes(DType::kF4, {4, 3}).value(), 6u);
  EXPECT_EQ(TensorBytes(DType::kF64, {}).value(), 8u);
  EXPECT_EQ(TensorBytes(DType::kF64, {0, 1ull << 63, 4}).value(), 0u);
  EXPECT_THAT(TensorBytes(DType::kF64, {1ull << 61}),
              StatusIs(StatusCode::kOutOfRange, testing::_));
  EXPECT_THAT(TensorBytes(DType::kF4, {3}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("12 bits")));
  EXPECT_THAT(
      MakeTensorView(DType::kF32, {2}, {}),
      StatusIs(StatusCode::kInvalidArgument, "expected 8 bytes for shape [2] of F32, found 0"));
}

TEST(ToDoublesTest, IntegersFromUnalignedData) {
  EXPECT_THAT((Doubles<std::uint8_t>(DType::kBool, {0, 1, 2, 255})), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT((Doubles<std::uint8_t>(DType::kU8, {0, 255})), ElementsAre(0, 255));
  EXPECT_THAT((Doubles<std::int8_t>(DType::kI8, {-128, 127})), ElementsAre(-128, 127));
  EXPECT_THAT((Doubles<std::int16_t>(DType::kI16, {-32768, 32767})), ElementsAre(-32768, 32767));
  EXPECT_THAT((Doubles<std::uint16_t>(DType::kU16, {65535})), ElementsAre(65535));
  EXPECT_THAT((Doubles<std::int32_t>(DType::kI32, {INT32_MIN, 7})), ElementsAre(-2147483648.0, 7));
  EXPECT_THAT((Doubles<std::uint32_t>(DType::kU32, {UINT32_MAX})), ElementsAre(4294967295.0));
  EXPECT_THAT((Doubles<std::int64_t>(DType::kI64, {-5, 1ll << 53, -(1ll << 53)})),
              ElementsAre(-5, 0x1p53, -0x1p53));
  EXPECT_THAT((Doubles<std::uint64_t>(DType::kU64, {1ull << 53})), ElementsAre(0x1p53));
}

TEST(ToDoublesTest, FloatsFromUnalignedData) {
  EXPECT_THAT((Doubles<float>(DType::kF32, {1.5f, -0.1f, INFINITY})),
              ElementsAre(1.5, static_cast<double>(-0.1f), kInfinity));
  EXPECT_THAT((Doubles<double>(DType::kF64, {1e300, 5e-324})), ElementsAre(1e300, 5e-324));
  EXPECT_THAT((Doubles<std::uint16_t>(DType::kF16, {0x3C00, 0x8001, 0xFC00})),
              ElementsAre(1, -0x1p-24, -kInfinity));
  EXPECT_THAT((Doubles<std::uint16_t>(DType::kBF16, {0x3F80, 0x0001, 0xC049})),
              ElementsAre(1, 0x1p-133, -3.140625));
  EXPECT_THAT((Doubles<std::uint8_t>(DType::kF8E4M3, {0x38, 0x81, 0x7E})),
              ElementsAre(1, -0x1p-9, 448));
  EXPECT_THAT((Doubles<std::uint8_t>(DType::kF8E5M2, {0x3C, 0x7C})), ElementsAre(1, kInfinity));
  EXPECT_THAT((Doubles<std::uint8_t>(DType::kF8E8M0, {127, 0})), ElementsAre(1, 0x1p-127));
  EXPECT_THAT((Doubles<std::uint8_t>(DType::kF8E4M3Fnuz, {0x40})), ElementsAre(1));
  EXPECT_THAT((Doubles<std::uint8_t>(DType::kF8E5M2Fnuz, {0x40})), ElementsAre(1));
  EXPECT_TRUE(std::isnan(Doubles<std::uint8_t>(DType::kF8E4M3, {0x7F})[0]));
  EXPECT_TRUE(std::isnan(Doubles<std::uint16_t>(DType::kBF16, {0x7FC0})[0]));
  // Minus zero keeps its sign.
  EXPECT_TRUE(std::signbit(Doubles<std::uint16_t>(DType::kBF16, {0x8000})[0]));
}

TEST(ToDoublesTest, WhatDoesNotFitIsNamed) {
  const Unaligned<std::int64_t> large(DType::kI64, {0, (1ll << 53) + 1});
  EXPECT_THAT(ToDoubles(large.view()),
              StatusIs(StatusCode::kOutOfRange,
                       "element [1] of a I64 tensor: 9007199254740993 does not fit exactly into "
                       "float64"));
  for (const std::int64_t element : {std::int64_t{INT64_MIN}, -(std::int64_t{1} << 53) - 1}) {
    const Unaligned<std::int64_t> tensor(DType::kI64, {element});
    EXPECT_THAT(ToDoubles(tensor.view()), StatusIs(StatusCode::kOutOfRange, HasSubstr("[0]")));
  }
  for (const std::uint64_t element : {std::uint64_t{UINT64_MAX}, ~((std::uint64_t{1} << 53) - 1)}) {
    const Unaligned<std::uint64_t> tensor(DType::kU64, {element});
    EXPECT_THAT(ToDoubles(tensor.view()), StatusIs(StatusCode::kOutOfRange, HasSubstr("[0]")));
  }
}

TEST(ToDoublesTest, PackedComplexAndContradictoryViews) {
  const std::vector<std::byte> bytes(24);
  for (const DType dtype : {DType::kF4, DType::kF6E2M3, DType::kF6E3M2, DType::kC64}) {
    const Shape shape = {24 * 8 / DTypeBits(dtype)};
    EXPECT_THAT(ToDoubles({dtype, shape, bytes}),
                StatusIs(StatusCode::kUnimplemented, HasSubstr(std::string(DTypeName(dtype)))));
  }
  EXPECT_THAT(
      ToDoubles({DType::kF32, {7}, bytes}),
      StatusIs(StatusCode::kInvalidArgument, "expected 28 bytes for shape [7] of F32, found 24"));
  EXPECT_THAT(ToInt64s({DType::kI32, {7}, bytes}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("found 24")));
  EXPECT_THAT(ToDoubles({DType::kF32, {0, 5}, {}}).value(), IsEmpty());
}

TEST(ToInt64sTest, EveryIntegerAndNoOther) {
  EXPECT_THAT(ToInt64s(Unaligned<std::int64_t>(DType::kI64, {INT64_MIN, INT64_MAX}).view()).value(),
              ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(ToInt64s(Unaligned<std::uint64_t>(DType::kU64, {INT64_MAX}).view()).value(),
              ElementsAre(INT64_MAX));
  EXPECT_THAT(ToInt64s(Unaligned<std::uint64_t>(DType::kU64, {1, 1ull << 63}).view()),
              StatusIs(StatusCode::kOutOfRange,
                       AllOf(HasSubstr("element [1]"), HasSubstr("9223372036854775808"))));
  EXPECT_THAT(ToInt64s(Unaligned<std::int8_t>(DType::kI8, {-1}).view()).value(), ElementsAre(-1));
  EXPECT_THAT(ToInt64s(Unaligned<std::uint8_t>(DType::kU8, {255}).view()).value(),
              ElementsAre(255));
  EXPECT_THAT(ToInt64s(Unaligned<std::int16_t>(DType::kI16, {-300}).view()).value(),
              ElementsAre(-300));
  EXPECT_THAT(ToInt64s(Unaligned<std::uint16_t>(DType::kU16, {65535}).view()).value(),
              ElementsAre(65535));
  EXPECT_THAT(ToInt64s(Unaligned<std::int32_t>(DType::kI32, {-70000}).view()).value(),
              ElementsAre(-70000));
  EXPECT_THAT(ToInt64s(Unaligned<std::uint32_t>(DType::kU32, {UINT32_MAX}).view()).value(),
              ElementsAre(4294967295));
  EXPECT_THAT(ToInt64s(Unaligned<float>(DType::kF32, {1.0f}).view()),
              StatusIs(StatusCode::kInvalidArgument, "expected a tensor of integers, found F32"));
  EXPECT_THAT(ToInt64s(Unaligned<std::uint8_t>(DType::kBool, {1}).view()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("found BOOL")));
}

}  // namespace
}  // namespace draftmark
