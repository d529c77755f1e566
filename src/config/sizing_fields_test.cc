#include "src/config/sizing_fields.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

StatusOr<SizingFields> Parse(const std::string& text) {
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, "flat.json"));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, "flat.json"));
  return ParseSizingFields(root);
}

// The flat form of the default fields with one key replaced.
std::string With(const std::string& key, const std::string& literal) {
  OrderedJson json = ToJson(SizingFields());
  json[key] = "@";
  std::string text = json.dump();
  return text.replace(text.find("\"@\""), 3, literal);
}

TEST(SizingFieldsTest, DefaultsAreTheSpecs) {
  for (const SizingField& field : kSizingFields) {
    ASSERT_NE(field.count == nullptr, field.flag == nullptr) << field.name;
    if (field.flag != nullptr) {
      EXPECT_FALSE(SizingFields().*field.flag) << field.name;
    } else {
      EXPECT_EQ(SizingFields().*field.count, field.name == "num_experts_per_tok" ? 1u : 0u)
          << field.name;
    }
  }
}

TEST(SizingFieldsTest, EveryFieldSurvivesPrintingAndParsing) {
  SizingFields fields;
  std::uint64_t next = 18446744073709551615u;
  bool flag = true;
  for (const SizingField& field : kSizingFields) {
    if (field.flag != nullptr) {
      fields.*field.flag = flag;
      flag = !flag;
    } else {
      fields.*field.count = next--;
    }
  }
  DM_ASSERT_OK_AND_ASSIGN(const SizingFields back, Parse(ToJson(fields).dump()));
  EXPECT_EQ(back, fields);
}

TEST(SizingFieldsTest, EachKeyIsRequiredAndNamed) {
  for (const SizingField& field : kSizingFields) {
    OrderedJson json = ToJson(SizingFields());
    json.erase(std::string(field.name));
    EXPECT_THAT(Parse(json.dump()), StatusIs(StatusCode::kNotFound,
                                             HasSubstr("flat.json: " + std::string(field.name))));
    EXPECT_THAT(Parse(With(std::string(field.name), "null")),
                StatusIs(StatusCode::kNotFound, HasSubstr(std::string(field.name))));
    EXPECT_THAT(Parse(With(std::string(field.name), "\"7\"")),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("flat.json: " + std::string(field.name)),
                               HasSubstr("found \"7\""))));
  }
}

TEST(SizingFieldsTest, NumbersThatAreNoCountsAreRefused) {
  for (const char* literal : {"-3", "4096.0", "0.5", "18446744073709551616", "1e3", "true"}) {
    EXPECT_THAT(Parse(With("hidden_size", literal)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("flat.json: hidden_size: ")))
        << literal;
  }
  EXPECT_THAT(Parse(With("attn_gated", "1")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("true or false, found 1")));
}

TEST(SizingFieldsTest, AnUnknownKeyIsRefused) {
  EXPECT_THAT(Parse(With("hidden_sise", "4096")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("flat.json: hidden_sise")));
}

}  // namespace
}  // namespace draftmark
