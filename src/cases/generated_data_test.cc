#include "src/cases/generated_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/counter_hash.h"
#include "src/base/status_matchers.h"
#include "src/cases/drafter_case.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A whole generated case; `change` is merged into it.
Json CaseJson(const char* change = "{}") {
  Json json = ParseJson(R"({
    "kind": "dspark", "vocab_size": 61, "hidden_size": 32, "intermediate_size": 40,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "rms_norm_eps": 1e-6, "block_size": 5, "num_target_layers": 9, "markov_rank": 6,
    "markov_head_type": "rnn",
    "dflash_config": {"target_layer_ids": [1, 5], "mask_token_id": 60},
    "generator": {"name": "draftmark", "version": 1, "seed": 11, "sinks": true,
                  "mask_embedding": true},
    "steps": [{"new_context_rows": 40, "start": 50, "anchor": 7, "kept_context_rows": [0, 39]},
              {"new_context_rows": 2, "start": 52, "anchor": 8}]})",
                        "test")
                  .value();
  json.merge_patch(ParseJson(change, "change").value());
  return json;
}

StatusOr<DrafterCase> MakeGenerated(const char* change = "{}") {
  return DrafterCase::WithoutStages(CaseJson(change), "folder/made");
}

TEST(GeneratedData, ACaseNeedsNoFiles) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase made, MakeGenerated());
  EXPECT_EQ(made.id().ToString(), "draft/made/gamma=5,ctx=42,steps=2,nb=1");
  EXPECT_EQ(made.steps()[0].block_tokens, (std::vector<std::uint32_t>{7, 60, 60, 60, 60}));
  EXPECT_EQ(made.steps()[0].target_hidden.size(), 40u * 64);
  EXPECT_EQ(made.checkpoint()->path(), "folder/made/model.safetensors");
  for (const char* const name :
       {"markov_head.joint_proj.weight", "mask_embedding", "layers.1.self_attn.sinks",
        "confidence_head.proj.bias", "lm_head.weight"}) {
    EXPECT_TRUE(made.checkpoint()->Has(name)) << name;
  }
  EXPECT_FALSE(made.Expected(0, "fc").value().has_value());
}

// Element 77 of a tensor, from seed, name and index alone.
TEST(GeneratedData, ElementsAreCounterBased) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase made, MakeGenerated());
  const std::vector<double> embedding =
      ToDoubles(made.checkpoint()->Get("embed_tokens.weight").value()).value();
  EXPECT_EQ(
      embedding[77],
      BFloat16::FromDouble(2 * UniformAt(SeedOf("11/embed_tokens.weight"), 77) - 1).ToDouble());
  const std::vector<double> norm = ToDoubles(made.checkpoint()->Get("norm.weight").value()).value();
  EXPECT_EQ(
      norm[3],
      BFloat16::FromDouble(1 + 0.5 * (2 * UniformAt(SeedOf("11/norm.weight"), 3) - 1)).ToDouble());
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase other, MakeGenerated(R"({"generator": {"seed": 12}})"));
  EXPECT_NE(made.steps()[1].target_hidden, other.steps()[1].target_hidden);
}

TEST(GeneratedData, OtherGeneratorsAreRefused) {
  EXPECT_THAT(MakeGenerated(R"({"generator": {"version": 2}})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("generator.version: expected 1")));
  EXPECT_THAT(MakeGenerated(R"({"generator": {"name": "numpy"}})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("generator.name")));
  EXPECT_THAT(MakeGenerated(R"({"steps": [{"new_context_rows": 1, "start": 1, "anchor": 61}]})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("anchor")));
  EXPECT_THAT(MakeGenerated(R"({"dflash_config": {"mask_token_id": null}})"),
              StatusIs(StatusCode::kNotFound, HasSubstr("mask_token_id")));
}

TEST(GeneratedData, KeptRowsMustBeRowsOfTheStep) {
  for (const char* const rows : {"[40]", "[3, 3]", "[5, 2]"}) {
    const std::string change = std::string(R"({"steps": [{"new_context_rows": 40, "start": 50,
                                   "anchor": 7, "kept_context_rows": )") +
                               rows + "}]}";
    EXPECT_THAT(MakeGenerated(change.c_str()),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("kept_context_rows")))
        << rows;
  }
}

// A config may ask for anything: no attempt is made to allocate it.
TEST(GeneratedData, AbsurdSizesAreRefused) {
  EXPECT_THAT(MakeGenerated(R"({"vocab_size": 4000000000, "hidden_size": 65536})"),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("folder/made/model.safetensors: tensor"),
                             HasSubstr("elements in all"))));
  EXPECT_THAT(
      MakeGenerated(R"({"steps": [{"new_context_rows": 2000000000, "start": 2000000001,
                                           "anchor": 1}]})"),
      StatusIs(StatusCode::kResourceExhausted,
               AllOf(HasSubstr("folder/made/config.json: steps[0].new_context_rows"),
                     HasSubstr("may have 4294967296 elements in all; with these 2000000000 rows "
                               "of 64 they have more"))));
}

// The weights are counted before any taps are made: there is no waiting for an error that is certain.
TEST(GeneratedData, WeightsAreCountedFirst) {
  EXPECT_THAT(MakeGenerated(R"({"vocab_size": 4000000000, "hidden_size": 65536,
                                "steps": [{"new_context_rows": 5, "start": 5, "anchor": 1, "width": 99}]})"),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("model.safetensors: tensor")));
}

// Each step alone is legal. Were any made before all are counted, the error would come after minutes
// and 8 GB.
TEST(GeneratedData, SumsOverStepsAndNeighboursAreRefusedBeforeAnythingIsMade) {
  // 2^26 rows of 64 values are all that is allowed.
  constexpr char kHalf[] = R"({"new_context_rows": 33554432, "start": 40000000, "anchor": 1})";
  constexpr char kOne[] = R"({"new_context_rows": 1, "start": 40000001, "anchor": 1})";
  const auto with = [&](const std::string& steps, const std::string& neighbours) {
    return MakeGenerated(
               ("{\"steps\": [" + steps + "], \"neighbours\": [" + neighbours + "]}").c_str())
        .status();
  };
  const std::string half = kHalf, one = kOne;
  EXPECT_THAT(with(half + "," + half + "," + one, ""),
              StatusIs(StatusCode::kResourceExhausted,
                       HasSubstr("steps[2].new_context_rows: generated taps of all steps and "
                                 "neighbours may have 4294967296 elements in all")));
  EXPECT_THAT(with(half, "[" + one + "],[" + half + "]"),
              StatusIs(StatusCode::kResourceExhausted,
                       HasSubstr("neighbours[1]: steps[0].new_context_rows")));
  // The product overflows 64 bits.
  EXPECT_THAT(with(one, R"([{"new_context_rows": 18446744073709551615, "start": 1, "anchor": 1}])"),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("neighbours[0]")));
}

TEST(GeneratedData, TokensOfAllBlocksAreCounted) {
  std::string steps;
  // 257 blocks of 65536 rows.
  for (int i = 0; i < 257; ++i) {
    steps += std::string(i == 0 ? "" : ",") +
             R"({"new_context_rows": 0, "start": 1, "anchor": 1, "width": 65536})";
  }
  const std::string change = R"({"block_size": 65536, "steps": [)" + steps + "]}";
  EXPECT_THAT(MakeGenerated(change.c_str()),
              StatusIs(StatusCode::kResourceExhausted,
                       HasSubstr("steps[256].width: generated blocks of all steps and neighbours "
                                 "may have 16777216 rows in all")));
}

TEST(SelectRows, TakesWholeRows) {
  const std::vector<double> values = {0, 1, 10, 11, 20, 21};
  EXPECT_EQ(SelectRows({3, 2}, values, {0, 2}), (std::vector<double>{0, 1, 20, 21}));
  EXPECT_EQ(SelectRows({3, 2}, values, {}), values);
}

// A case's sequence among others: bands, resets and rests, each sequence with taps of its own.
TEST(GeneratedData, NeighboursAreSequencesOfTheSameSession) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase alone, MakeGenerated());
  EXPECT_TRUE(alone.neighbours().empty());
  EXPECT_EQ(alone.band(), 0u);
  EXPECT_FALSE(alone.replay());
  EXPECT_TRUE(alone.end_to_end());
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase made, MakeGenerated(R"({
      "band": 1, "replay": true, "end_to_end": false,
      "neighbours": [[{"new_context_rows": 90, "start": 90, "anchor": 1},
                      {"new_context_rows": 3, "start": 9, "anchor": 2, "reset": true, "rests": true}],
                     []]})"));
  EXPECT_EQ(made.id().ToString(), "draft/made/gamma=5,ctx=90,steps=2,nb=3");
  EXPECT_EQ(made.band(), 1u);
  EXPECT_TRUE(made.replay());
  EXPECT_FALSE(made.end_to_end());
  ASSERT_EQ(made.neighbours().size(), 2u);
  ASSERT_EQ(made.neighbours()[0].size(), 2u);
  EXPECT_TRUE(made.neighbours()[1].empty());
  const CaseStep& left = made.neighbours()[0][1];
  EXPECT_TRUE(left.reset);
  EXPECT_TRUE(left.rests);
  EXPECT_EQ(left.drop_front_rows, 90u);
  EXPECT_NE(made.neighbours()[0][0].target_hidden[0], made.steps()[0].target_hidden[0]);
  EXPECT_EQ(made.steps()[0].target_hidden, alone.steps()[0].target_hidden);
}

TEST(GeneratedData, NeighboursThatCannotBeAreRefused) {
  const auto refused = [](const char* change, const char* what) {
    EXPECT_THAT(MakeGenerated(change), StatusIs(StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  refused(R"({"band": 1})", "band: expected at most the number of neighbours, 0, found 1");
  refused(R"({"steps": [{"new_context_rows": 3, "start": 3, "anchor": 1, "width": 6}]})",
          "width: expected 2 to block_size, 5, found 6");
  refused(R"({"neighbours": 3})", "neighbours: expected a list of lists of steps");
  refused(R"({"neighbours": [[{"new_context_rows": 3, "start": 2, "anchor": 1}]]})",
          "neighbours[0]");
  refused(R"({"steps": [{"new_context_rows": 3, "start": 3, "anchor": 1, "rests": true}]})",
          "rests: expected a neighbour's step");
  refused(R"({"steps": [{"new_context_rows": 3, "start": 3, "anchor": 1},
                        {"new_context_rows": 3, "start": 6, "anchor": 1, "reset": true,
                         "drop_front_rows": 1}]})",
          "drop_front_rows: expected at most the 0 rows");
}

TEST(GeneratedData, TapsReachAsFarAsTheirScale) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase made,
                          MakeGenerated(R"({"generator": {"tap_scale": 65536}})"));
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase usual, MakeGenerated());
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(made.steps()[0].target_hidden[i].ToDouble(),
              32768 * usual.steps()[0].target_hidden[i].ToDouble());
  }
  EXPECT_EQ(GeneratorToJson(*made.generator()).at("tap_scale"), 65536);
  EXPECT_FALSE(GeneratorToJson(*usual.generator()).contains("tap_scale"));
  EXPECT_THAT(MakeGenerated(R"({"generator": {"tap_scale": 0}})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("tap_scale")));
}

}  // namespace
}  // namespace draftmark
