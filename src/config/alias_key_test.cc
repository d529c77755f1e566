#include "src/config/alias_key.h"

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AliasKeyTest : public ::testing::Test {
 protected:
  JsonObject Root(const char* text) {
    json_ = Json::parse(text);
    return JsonObject::Root(json_, "x.json").value();
  }

  Json json_;
};

TEST_F(AliasKeyTest, ReadsTheSpellingThatIsThere) {
  const JsonObject root = Root(R"({"b": 7, "a": null, "inner": {"a": 7}})");
  const JsonObject inner = root.Object("inner").value();
  EXPECT_EQ(AliasKey({&root}, {"a", "b"}).Read(&JsonObject::U64).value(), 7u);
  EXPECT_EQ(AliasKey({&inner, &root}, {"a"}).Read(&JsonObject::U64).value(), 7u);
  EXPECT_EQ(AliasKey({&root}, {"c", "d"}).ReadOr(&JsonObject::U64, std::uint64_t{3}).value(), 3u);
  EXPECT_EQ(AliasKey({&root}, {"c"}).ReadOptional(&JsonObject::Bool).value(), std::nullopt);
}

TEST_F(AliasKeyTest, DifferentValuesNameBothKeys) {
  const JsonObject root = Root(R"({"a": 7, "b": 8, "c": 7.0, "inner": {"a": 9}})");
  const JsonObject inner = root.Object("inner").value();
  EXPECT_THAT(AliasKey({&root}, {"a", "b"}).Read(&JsonObject::U64),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("x.json: a is 7"), HasSubstr("b is 8"))));
  EXPECT_THAT(AliasKey({&inner, &root}, {"a"}).Read(&JsonObject::U64),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("x.json: inner.a is 9"), HasSubstr("x.json: a is 7"))));
  // Equal as numbers.
  EXPECT_EQ(AliasKey({&root}, {"a", "c"}).Read(&JsonObject::U64).value(), 7u);
}

TEST_F(AliasKeyTest, ErrorsNameTheKeyAndItsSpellings) {
  const JsonObject root = Root(R"({"a": "x"})");
  EXPECT_THAT(AliasKey({&root}, {"a", "b"}).Read(&JsonObject::U64),
              StatusIs(StatusCode::kInvalidArgument,
                       "x.json: a: expected an unsigned 64-bit integer, found \"x\""));
  EXPECT_THAT(AliasKey({&root}, {"c", "d", "e"}).Read(&JsonObject::U64),
              StatusIs(StatusCode::kNotFound,
                       "x.json: c: required, but absent (so are its other spellings: d, e)"));
  EXPECT_THAT(AliasKey({&root}, {"c"}).Read(&JsonObject::U64),
              StatusIs(StatusCode::kNotFound,
                       "x.json: c: required, but absent (expected an unsigned 64-bit integer)"));
}

TEST_F(AliasKeyTest, ZeroCanCountAsAbsent) {
  const JsonObject root = Root(R"({"a": 0, "b": 5})");
  const AliasKey key({&root}, {"a", "b"});
  EXPECT_EQ(key.FindNonzero().value()->key, "b");
  EXPECT_THAT(key.Find(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("a is 0")));
}

}  // namespace
}  // namespace draftmark
