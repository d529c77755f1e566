// spec/drafter.md section 4.3.
#include <string>

#include "src/config/drafter_testing.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DrafterRopeTest, RopePlaces) {
  const Json bare = With(Flat(), R"({"rope_theta": null})");
  EXPECT_ERROR(bare, kNotFound, HasSubstr("rope_theta"));
  EXPECT_EQ(Read(OracleCase())->rope.theta, 1e6);  // only cases have a default
  EXPECT_EQ(Read(With(bare, R"({"rope_parameters": {"rope_theta": 5e5}})"))->rope.theta, 5e5);
  EXPECT_ERROR(
      With(Flat(), R"({"rope_parameters": {"rope_theta": 5e5}})"), kInvalidArgument,
      AllOf(HasSubstr("rope_parameters.rope_theta is 500000.0"), HasSubstr("rope_theta is 10000")));
  EXPECT_THAT(Read(With(Flat(), R"({"rope_parameters": {"rope_theta": 10000.0}})")), IsOk());
  for (const char* theta : {"0", "1", "-10000", "\"x\""}) {
    EXPECT_ERROR(With(Flat(), std::string(R"({"rope_theta": )") + theta + "}"), kInvalidArgument,
                 HasSubstr("rope_theta"));
  }
  EXPECT_ERROR(With(Flat(), R"({"rope_scaling": {"rope_type": "llama3"}})"), kUnimplemented,
               HasSubstr("llama3"));
  EXPECT_ERROR(With(Flat(), R"({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}})"),
               kUnimplemented, HasSubstr("rope_parameters.full_attention"));
  EXPECT_ERROR(With(Flat(), R"({"rope_parameters": {"rope_type": "default"},
                                "rope_scaling": {"type": "yarn"}})"),
               kInvalidArgument, AllOf(HasSubstr("rope_type"), HasSubstr("type is \"yarn\"")));
}

TEST(DrafterRopeTest, PartialRotary) {
  EXPECT_EQ(Read(With(Flat(), R"({"partial_rotary_factor": 0.5})"))->rope.partial_rotary_factor,
            0.5);
  EXPECT_EQ(Read(With(Flat(), R"({"rope_scaling": {"rope_type": "default",
                                  "partial_rotary_factor": 0.25}})"))
                ->rope.partial_rotary_factor,
            0.25);
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig proportional,
                          Read(With(Flat(), R"({"rope_parameters": {"rope_type": "proportional",
                                                "partial_rotary_factor": 0.25}})")));
  EXPECT_EQ(proportional.rope.pairing, RopePairing::kHalfOfHead);
  EXPECT_EQ(Read(Flat())->rope.pairing, RopePairing::kHalfOfRotary);
  EXPECT_EQ(Read(With(Flat(), R"({"rope_pairing": "half_of_head"})"))->rope.pairing,
            RopePairing::kHalfOfHead);
  EXPECT_ERROR(With(Flat(), R"({"rope_pairing": "interleaved"})"), kInvalidArgument,
               HasSubstr("rope_pairing"));
  // 16 * factor must be even and between 2 and 16.
  for (const char* factor : {"0.3", "0.0625", "0", "-0.5", "1.5"}) {
    EXPECT_ERROR(With(Flat(), std::string(R"({"partial_rotary_factor": )") + factor + "}"),
                 kInvalidArgument, HasSubstr("partial_rotary_factor"));
  }
  EXPECT_ERROR(With(Flat(), R"({"head_dim": 15})"), kInvalidArgument, HasSubstr("head_dim"));
}

TEST(DrafterRopeTest, Yarn) {
  const Json yarn = With(Flat(), R"({"rope_scaling": {"type": "yarn", "factor": 32.0,
      "original_max_position_embeddings": 4096}})");
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig plain, Read(yarn));
  EXPECT_EQ(plain.rope.type, "yarn");
  EXPECT_EQ(plain.rope.factor, 32);
  EXPECT_EQ(plain.rope.original_max_position_embeddings, 4096);
  EXPECT_EQ(plain.rope.beta_fast, 32);
  EXPECT_EQ(plain.rope.beta_slow, 1);
  EXPECT_TRUE(plain.rope.truncate);
  EXPECT_EQ(plain.rope.attention_factor, std::nullopt);
  DM_ASSERT_OK_AND_ASSIGN(
      const DrafterConfig full,
      Read(With(yarn, R"({"rope_scaling": {"beta_fast": 16, "beta_slow": 2, "mscale": 1.0,
          "mscale_all_dim": 0.5, "attention_factor": 1.25, "truncate": false}})")));
  EXPECT_EQ(full.rope.beta_fast, 16);
  EXPECT_EQ(full.rope.beta_slow, 2);
  EXPECT_EQ(full.rope.mscale, 1.0);
  EXPECT_EQ(full.rope.mscale_all_dim, 0.5);
  EXPECT_EQ(full.rope.attention_factor, 1.25);
  EXPECT_FALSE(full.rope.truncate);
  const struct {
    const char* patch;
    StatusCode code;
    const char* key;
  } errors[] = {
      {R"({"factor": null})", StatusCode::kNotFound, "factor"},
      {R"({"factor": 0.5})", StatusCode::kInvalidArgument, "factor"},
      {R"({"original_max_position_embeddings": null})", StatusCode::kNotFound, "original_max"},
      {R"({"original_max_position_embeddings": 0})", StatusCode::kInvalidArgument, "original_max"},
      {R"({"beta_slow": 0})", StatusCode::kInvalidArgument, "beta_slow"},
      {R"({"beta_fast": 0.5})", StatusCode::kInvalidArgument, "beta_fast"},
      {R"({"attention_factor": 0})", StatusCode::kInvalidArgument, "attention_factor"},
      {R"({"mscale": -1})", StatusCode::kInvalidArgument, "mscale"},
      {R"({"attn_factor": 2})", StatusCode::kUnimplemented, "attn_factor"},
  };
  for (const auto& [patch, code, key] : errors) {
    EXPECT_THAT(Read(With(yarn, std::string(R"({"rope_scaling": )") + patch + "}")),
                StatusIs(code, HasSubstr(key)));
  }
}

}  // namespace
}  // namespace draftmark
