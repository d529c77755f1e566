#include "src/operations/shape_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

ShapeKeys Keys() {
  ShapeKeys keys({{"rows", 3}, {"h", 64}, {"group", 16}, {"huge", UINT64_MAX}, {"zero", 0}});
  keys.Derive("bands", 5);
  return keys;
}

std::uint64_t Value(std::string_view expression) {
  const StatusOr<std::uint64_t> value = EvaluateDim(expression, Keys());
  EXPECT_THAT(value, IsOk());
  return value.ok() ? *value : UINT64_MAX;
}

TEST(EvaluateDim, MultipliesAndDividesFromLeftToRight) {
  EXPECT_EQ(Value("16"), 16u);
  EXPECT_EQ(Value("rows"), 3u);
  EXPECT_EQ(Value("2*rows*h/group"), 24u);
  EXPECT_EQ(Value("h/group*rows"), 12u);
  EXPECT_EQ(Value("bands*rows"), 15u);
  EXPECT_EQ(Value("zero*h"), 0u);
}

TEST(EvaluateDim, NamesWhatIsWrong) {
  EXPECT_THAT(EvaluateDim("rows*width", Keys()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"width\"")));
  for (const char* const malformed : {"", "*", "rows*", "rows**h", "2h", "-1", "rows+h"}) {
    EXPECT_THAT(EvaluateDim(malformed, Keys()),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("neither a key nor a number")))
        << malformed;
  }
  EXPECT_THAT(EvaluateDim("rows/group", Keys()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("3 is not divisible by 16")));
  EXPECT_THAT(EvaluateDim("rows/zero", Keys()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not divisible by 0")));
  EXPECT_THAT(EvaluateDim("huge*2", Keys()),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("exceeds 64 bits")));
}

TEST(ShapeKeys, DerivedSizesAreNoPartOfTheId) {
  const ShapeKeys keys = Keys();
  EXPECT_EQ(keys.values().size(), 5u);
  EXPECT_TRUE(keys.Has("bands"));
  EXPECT_FALSE(keys.Has("band"));
  EXPECT_EQ(keys["bands"], 5u);
}

}  // namespace
}  // namespace draftmark
