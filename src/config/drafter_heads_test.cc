// Kinds, row conventions and heads: spec/drafter.md sections 1 and 2.
#include <string>

#include "src/config/drafter_testing.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

TEST(DrafterHeadsTest, KindAndConvention) {
  const auto kind = [](const Json& json) { return Read(json)->kind; };
  const auto convention = [](const Json& json) { return Read(json)->row_convention; };
  EXPECT_EQ(kind(Flat()), DrafterKind::kDflash);
  EXPECT_EQ(convention(Flat()), RowConvention::kInPlace);
  EXPECT_EQ(Read(Flat())->drafts(8), 7u);
  // Each of these alone says DSpark, and B.
  for (const char* patch : {R"({"architectures": ["DSparkDraftModel"]})",
                            R"({"dflash_config": {"projector_type": "dspark"}})",
                            R"({"speculators_model_type": "dspark"})",
                            R"({"dflash_config": {"markov_rank": 4}})", R"({"markov_rank": 4})"}) {
    EXPECT_EQ(kind(With(Flat(), patch)), DrafterKind::kDspark) << patch;
    EXPECT_EQ(convention(With(Flat(), patch)), RowConvention::kAnchorFirst) << patch;
  }
  EXPECT_EQ(Read(Dspark())->drafts(8), 8u);
  // DeepSpec's block-7 DFlash: told by the flag (or by the catalogue's entry).
  const Json told = With(Flat(), R"({"sample_from_anchor": true})");
  EXPECT_EQ(kind(told), DrafterKind::kDflash);
  EXPECT_EQ(convention(told), RowConvention::kAnchorFirst);
  EXPECT_TRUE(Read(told)->sample_from_anchor);
  // A flag that is false takes nothing back (section 7: "or").
  for (const Json& dspark : {Dspark(), Speculators(), With(Flat(), R"({"markov_rank": 4})")}) {
    DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig config,
                            Read(With(dspark, R"({"sample_from_anchor": false})")));
    EXPECT_EQ(config.row_convention, RowConvention::kAnchorFirst);
    EXPECT_TRUE(config.sample_from_anchor);
  }
  EXPECT_EQ(kind(Dflash2()), DrafterKind::kDflash2);
  EXPECT_EQ(kind(With(Dflash2(), R"({"architectures": ["DFlashDraftModel"]})")),
            DrafterKind::kDflash2);
  // In a case the kind decides.
  EXPECT_EQ(convention(OracleCase(R"({"kind": "dspark", "sample_from_anchor": false})")),
            RowConvention::kAnchorFirst);
  EXPECT_EQ(convention(OracleCase(R"({"sample_from_anchor": true})")), RowConvention::kInPlace);
}

TEST(DrafterHeadsTest, Heads) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig dspark, Read(Dspark()));
  EXPECT_TRUE(dspark.confidence_head);  // absent keys count as true in DSpark
  EXPECT_TRUE(dspark.confidence_head_with_markov);
  EXPECT_FALSE(Read(Flat())->confidence_head);
  EXPECT_FALSE(Read(With(Dspark(), R"({"dflash_config": {"confidence_head_with_markov": false}})"))
                   ->confidence_head_with_markov);
  DM_ASSERT_OK_AND_ASSIGN(
      const DrafterConfig no_heads,
      Read(OracleCase(R"({"kind": "dspark", "markov_rank": 0, "enable_confidence_head": false})")));
  EXPECT_FALSE(no_heads.confidence_head);
  EXPECT_FALSE(no_heads.confidence_head_with_markov);
  EXPECT_ERROR(With(Flat(), R"({"dflash_config": {"enable_confidence_head": true,
                                "confidence_head_with_markov": true}})"),
               kInvalidArgument, HasSubstr("confidence_head_with_markov"));
  EXPECT_ERROR(With(Dspark(), R"({"dflash_config": {"markov_head_type": "lstm"}})"), kUnimplemented,
               HasSubstr("markov_head_type"));
  for (const char* key :
       {"conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k"}) {
    Json json = Dflash2();
    json["dflash_config"].erase(key);
    EXPECT_ERROR(json, kNotFound, HasSubstr(std::string("dflash_config.") + key));
  }
  EXPECT_ERROR(With(Dflash2(), R"({"dflash_config": {"conv_group_size": 24}})"), kInvalidArgument,
               HasSubstr("conv_group_size"));
  EXPECT_ERROR(With(Dflash2(), R"({"dflash_config": {"selector_top_k": 258}})"), kInvalidArgument,
               HasSubstr("selector_top_k"));
  EXPECT_ERROR(With(Dflash2(), R"({"sample_from_anchor": true})"), kUnimplemented,
               HasSubstr("sample_from_anchor"));
  EXPECT_ERROR(With(Dflash2(), R"({"markov_rank": 4})"), kUnimplemented, HasSubstr("markov_rank"));
}

}  // namespace
}  // namespace draftmark
