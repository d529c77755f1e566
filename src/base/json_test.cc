#include "src/base/json.h"

#include <string>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

JsonParseOptions Lenient() {
  JsonParseOptions options;
  options.allow_nonfinite = true;
  options.allow_equal_duplicates = true;
  return options;
}

TEST(ParseJsonTest, SyntaxErrorNamesFileAndByte) {
  EXPECT_THAT(ParseJson("{\"a\": 1,}", "x.json"),
              StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("x.json"), HasSubstr("byte 9"))));
  EXPECT_THAT(ParseJson("", "x.json"), StatusIs(StatusCode::kDataLoss, HasSubstr("x.json")));
  EXPECT_THAT(ParseJson("{} {}", "x.json"), StatusIs(StatusCode::kDataLoss, HasSubstr("x.json")));
  EXPECT_THAT(ParseJson("{\"a\": \"\xff\"}", "x.json"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("x.json")));
}

// The position is said once, and is the file's own also after tokens that only we accept.
TEST(ParseJsonTest, PositionsAreThoseOfTheFile) {
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {R"({"a": 1, "b": })", "x.json: not valid JSON at byte 15: syntax error"},
      {R"({"a": NaN, "b": })", "x.json: not valid JSON at byte 17: syntax error"},
      {R"({"a": [Infinity, -Infinity, NaN], "b": })", "x.json: not valid JSON at byte 40: syntax"},
      {R"([1 NaN])", "x.json: not valid JSON at byte 6: syntax error"},
      {R"([] NaN)", "x.json: not valid JSON at byte 6: syntax error"},
      {R"([}, NaN])", "x.json: not valid JSON at byte 2: syntax error"},
      {R"([NaN)", "x.json: not valid JSON at byte 5: syntax error"},
      {R"({NaN: 1})", "x.json: not valid JSON: expected a key in quotes, found NaN"},
      {R"([NaN, 1e999])", "x.json: not valid JSON at byte 11: number overflow"},
  };
  for (const auto& [text, message] : cases) {
    const StatusOr<Json> json = ParseJson(text, "x.json", Lenient());
    ASSERT_FALSE(json.ok()) << text;
    const std::string& found = json.status().message();
    EXPECT_THAT(found, StartsWith(message)) << text;
    EXPECT_THAT(found, Not(AnyOf(HasSubstr("column"), HasSubstr("\xEE\x80\x80")))) << text;
  }
}

// What a file holds must neither make a message of many lines nor speak to a terminal.
TEST(ParseJsonTest, MessagesAreOneShortPrintableLine) {
  const std::string files[] = {
      "[\x7f]",
      "[\"\x1b[2J]",
      R"({"a\nPASS b": 1, "a\nPASS b": 2})",
      "[\"" + std::string(100'000, 'a'),
      "{\"" + std::string(100'000, 'a') + R"(": 1, ")" + std::string(100'000, 'a') + "\": 2}",
      "[tru" + std::string(100'000, 'e')};
  for (const std::string& text : files) {
    const Status status = ParseJson(text, "x.json").status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_LT(status.message().size(), 700u);
    for (const char c : status.message()) {
      EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ' && c != 0x7f) << status.message();
    }
  }
  const Json json = {{"a\n\x1b", {{std::string(5000, 'b'), -1}}}};
  const JsonObject root = JsonObject::Root(json, "x.json").value();
  EXPECT_EQ(root.Where("a\n\x1b"), "x.json: a\\n\\x1b");
  EXPECT_LT(root.Object("a\n\x1b").value().U64(std::string(5000, 'b')).status().message().size(),
            500u);
}

TEST(ParseJsonTest, NothingHidesBehindAZeroByte) {
  const std::string_view text("{}\0garbage", 10);
  EXPECT_THAT(ParseJson(text, "x.json"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("byte 3: a zero byte")));
}

TEST(ParseJsonTest, DuplicateKeysNameKeyAndValues) {
  EXPECT_THAT(
      ParseJson(R"({"o": {"h": 1, "h": 2}})", "x.json"),
      StatusIs(StatusCode::kDataLoss, HasSubstr("o.h: key given twice, with values 1 and 2")));
  EXPECT_THAT(ParseJson(R"({"h": 1, "h": 1})", "x.json"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("twice")));
  EXPECT_THAT(ParseJson(R"({"h": 1, "h": 1})", "x.json", Lenient()), IsOk());
  EXPECT_THAT(ParseJson(R"({"h": 1, "h": 2})", "x.json", Lenient()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("twice")));
}

TEST(ParseJsonTest, DepthIsBounded) {
  const std::string deep = std::string(100000, '[');
  EXPECT_THAT(ParseJson(deep, "x.json"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("nested deeper than 64")));
}

TEST(ParseJsonTest, NonfiniteTokens) {
  const std::string text =
      R"({"t": [0.0, Infinity, -Infinity], "n":NaN, "s": "NaN, Infinity \" NaN"})";
  EXPECT_THAT(ParseJson(text, "x.json"), StatusIs(StatusCode::kDataLoss, HasSubstr("x.json")));
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(text, "x.json", Lenient()));
  EXPECT_EQ(json["s"], "NaN, Infinity \" NaN");
  DM_ASSERT_OK_AND_ASSIGN(const JsonObject root, JsonObject::Root(json, "x.json"));
  EXPECT_THAT(root.U64("n"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("found NaN")));
  EXPECT_THAT(root.Number("n"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("found NaN")));
  EXPECT_THAT(root.String("n"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("found NaN")));
  DM_ASSERT_OK_AND_ASSIGN(const Json lists,
                          ParseJson(R"({"names": ["NaN", NaN]})", "x.json", Lenient()));
  DM_ASSERT_OK_AND_ASSIGN(const JsonObject names, JsonObject::Root(lists, "x.json"));
  EXPECT_THAT(
      names.StringList("names"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("names[1]: expected a string, found NaN")));
  EXPECT_THAT(ParseJson("{\"n\": NaNx}", "x.json", Lenient()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("x.json")));
}

// Tokens become strings that begin with U+E000; a string of the file may begin so too.
TEST(ParseJsonTest, StringsThatOnlyBeginLikeTokensAreStrings) {
  DM_ASSERT_OK_AND_ASSIGN(const Json line, ParseJson("\"\xEE\x80\x80Na\\nN\"", "x.json"));
  EXPECT_THAT(JsonObject::Root(line, "x.json"),
              StatusIs(StatusCode::kDataLoss,
                       HasSubstr("expected a JSON object, found \"\\ue000Na\\nN\"")));
  DM_ASSERT_OK_AND_ASSIGN(const Json json,
                          ParseJson("{\"s\": \"\xEE\x80\x80Nano\"}", "x.json", Lenient()));
  DM_ASSERT_OK_AND_ASSIGN(const JsonObject root, JsonObject::Root(json, "x.json"));
  EXPECT_EQ(root.String("s").value(), "\xEE\x80\x80Nano");
}

TEST(JsonObjectTest, ReadsTypedValues) {
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(R"({
    "u": 18446744073709551615, "neg": -3, "frac": 1.5, "big": 18446744073709551616, "b": true, "s": "x",
    "null": null, "list": [1, 2], "mixed": [1, -2], "flags": [true, false], "o": {"inner": "no"}, "steps": [{"a": 1}, {"a": "q"}]})",
                                                     "x.json"));
  DM_ASSERT_OK_AND_ASSIGN(const JsonObject root, JsonObject::Root(json, "x.json"));
  EXPECT_EQ(root.U64("u").value(), 18446744073709551615u);
  EXPECT_EQ(root.I64("neg").value(), -3);
  EXPECT_EQ(root.Number("frac").value(), 1.5);
  EXPECT_TRUE(root.Bool("b").value());
  EXPECT_THAT(root.U64List("list").value(), ElementsAre(1, 2));
  EXPECT_THAT(root.I64List("mixed").value(), ElementsAre(1, -2));
  EXPECT_FALSE(root.Has("null"));
  EXPECT_EQ(root.U64Or("null", 7).value(), 7u);
  EXPECT_EQ(root.OptionalU64("absent").value(), std::nullopt);

  EXPECT_THAT(root.U64("neg"),
              StatusIs(StatusCode::kInvalidArgument,
                       "x.json: neg: expected an unsigned 64-bit integer, found -3"));
  for (const char* key : {"frac", "big", "b", "s", "list", "o"}) {
    EXPECT_THAT(root.U64(key), StatusIs(StatusCode::kInvalidArgument, HasSubstr(key)));
  }
  EXPECT_THAT(root.U64("null"),
              StatusIs(StatusCode::kNotFound, HasSubstr("x.json: null: required")));
  EXPECT_THAT(root.U64List("mixed"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("mixed[1]")));
  EXPECT_THAT(root.BoolList("flags").value(), ElementsAre(true, false));
  EXPECT_THAT(root.BoolList("list"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("list[0]")));
  EXPECT_THAT(root.I64("u"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("u: expected a signed")));
  DM_ASSERT_OK_AND_ASSIGN(const JsonObject inner, root.Object("o"));
  EXPECT_THAT(inner.Bool("inner"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("x.json: o.inner")));
  DM_ASSERT_OK_AND_ASSIGN(const auto steps, root.ObjectList("steps"));
  EXPECT_THAT(steps[1].U64("a"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("steps[1].a")));
}

// Each names the element, or what is there instead of a list.
TEST(JsonObjectTest, ListsNameTheElementThatIsOff) {
  DM_ASSERT_OK_AND_ASSIGN(
      const Json json,
      ParseJson(R"({"in": {"u": [1, -1], "i": [1, 9223372036854775808], "b": [true, 1],
                           "s": ["x", 1], "o": [{}, 1], "none": 1}})",
                "x.json"));
  DM_ASSERT_OK_AND_ASSIGN(const JsonObject root, JsonObject::Root(json, "x.json"));
  DM_ASSERT_OK_AND_ASSIGN(const JsonObject in, root.Object("in"));
  const auto is = [](const std::string& message) {
    return StatusIs(StatusCode::kInvalidArgument, HasSubstr("x.json: in." + message));
  };
  EXPECT_THAT(in.U64List("u"), is("u[1]: expected an unsigned 64-bit integer, found -1"));
  EXPECT_THAT(in.I64List("i"),
              is("i[1]: expected a signed 64-bit integer, found 9223372036854775808"));
  EXPECT_THAT(in.BoolList("b"), is("b[1]: expected true or false, found 1"));
  EXPECT_THAT(in.StringList("s"), is("s[1]: expected a string, found 1"));
  EXPECT_THAT(in.ObjectList("o"), is("o[1]: expected an object, found 1"));
  EXPECT_THAT(in.StringList("none"), is("none: expected an array of strings, found 1"));
  EXPECT_THAT(
      in.ObjectList("absent"),
      StatusIs(StatusCode::kNotFound, HasSubstr("x.json: in.absent: required, but absent")));
}

TEST(JsonTextTest, KeepsWhatTheFileSays) {
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(R"(["a", -Infinity, 1.5, true])", "x.json",
                                                     {.allow_nonfinite = true}));
  EXPECT_EQ(JsonText(json[0]), "a");
  EXPECT_EQ(JsonText(json[1]), "-Infinity");
  EXPECT_EQ(JsonText(json[2]), "1.5");
  EXPECT_EQ(JsonText(json[3]), "true");
}

}  // namespace
}  // namespace draftmark
