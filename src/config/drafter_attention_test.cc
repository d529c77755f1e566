// spec/drafter.md section 4.4: causality, windows and layer types.
#include <string>

#include "src/config/drafter_testing.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DrafterAttentionTest, Causality) {
  const auto causal = [](const Json& json) { return Read(json)->layer_causal; };
  EXPECT_THAT(causal(Flat()), ElementsAre(false, false));
  EXPECT_THAT(causal(Sliding()), ElementsAre(true, false));  // no key: by layer type
  EXPECT_THAT(causal(Sliding(R"({"is_causal": false})")), ElementsAre(false, false));
  EXPECT_THAT(causal(Sliding(R"({"is_causal": true})")), ElementsAre(true, true));
  EXPECT_THAT(causal(Sliding(R"({"dflash_config": {"causal": false}})")),
              ElementsAre(false, false));
  EXPECT_THAT(causal(Sliding(R"({"is_causal": true, "dflash_config": {"causal": false}})")),
              ElementsAre(true, true));
  EXPECT_THAT(causal(Sliding(R"({"sliding_window_non_causal": true})")), ElementsAre(false, false));
  EXPECT_THAT(causal(Sliding(R"({"sliding_window_non_causal": false})")), ElementsAre(true, false));
  const Json sliding_case = OracleCase(R"({"sliding_window": 24,
      "layer_types": ["sliding_attention", "full_attention"]})");
  EXPECT_THAT(causal(With(sliding_case, R"({"causal_sliding": true})")), ElementsAre(true, false));
  EXPECT_THAT(causal(With(sliding_case, R"({"causal_sliding": false})")),
              ElementsAre(false, false));
  EXPECT_EQ(Read(With(sliding_case, R"({"causal_sliding": false})"))->is_causal, std::nullopt);
}

TEST(DrafterAttentionTest, WindowAndLayerTypes) {
  EXPECT_EQ(Read(Sliding())->sliding_window, 24u);
  // A number without a sliding layer means nothing.
  EXPECT_EQ(Read(With(Flat(), R"({"sliding_window": 4096, "use_sliding_window": false})"))
                ->sliding_window,
            std::nullopt);
  EXPECT_EQ(Read(With(Flat(), R"({"sliding_window": 4096})"))->sliding_window, std::nullopt);
  EXPECT_ERROR(Sliding(R"({"sliding_window": null})"), kNotFound, HasSubstr("sliding_window"));
  EXPECT_ERROR(Sliding(R"({"sliding_window": 0})"), kInvalidArgument, HasSubstr("sliding_window"));
  EXPECT_ERROR(Sliding(R"({"layer_types": ["sliding_attention"]})"), kInvalidArgument,
               HasSubstr("layer_types"));
  EXPECT_ERROR(Sliding(R"({"layer_types": ["linear_attention", "full_attention"]})"),
               kUnimplemented, HasSubstr("layer_types[0]"));
  // No layer types are filled in for a hostile count.
  EXPECT_ERROR(With(Flat(), R"({"num_hidden_layers": 1000000000000})"), kInvalidArgument,
               HasSubstr("num_hidden_layers"));
}

// Section 7: no window. Layers written as sliding then see as far as full ones, and are as causal as
// sliding layers are.
TEST(DrafterAttentionTest, WindowSwitchedOff) {
  const auto off = [](const std::string& patch) {
    const StatusOr<DrafterConfig> config =
        Read(With(Sliding(R"({"use_sliding_window": false})"), patch));
    EXPECT_THAT(config, IsOk());
    return config.ok() ? *config : DrafterConfig();
  };
  for (const char* patch : {"{}", R"({"sliding_window": null})", R"({"sliding_window": 0})"}) {
    const DrafterConfig config = off(patch);
    EXPECT_EQ(config.sliding_window, std::nullopt);
    EXPECT_THAT(config.layer_types,
                ElementsAre(LayerType::kFullAttention, LayerType::kFullAttention));
    EXPECT_THAT(config.layer_causal, ElementsAre(true, false));
  }
  EXPECT_THAT(off(R"({"is_causal": false})").layer_causal, ElementsAre(false, false));
  EXPECT_THAT(off(R"({"sliding_window_non_causal": true})").layer_causal,
              ElementsAre(false, false));
}

// A printed geometry has the resolved types; the causality that only the file's own types explain
// reads back, one that nothing explains is refused.
TEST(DrafterAttentionTest, RecordedCausality) {
  const DrafterConfig off = Read(Sliding(R"({"use_sliding_window": false})")).value();
  const Json printed = Json::parse(GeometryToJson(off).dump());
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig again, Read(printed));
  EXPECT_EQ(again.layer_causal, off.layer_causal);
  EXPECT_EQ(Json::parse(GeometryToJson(again).dump()), printed);
  for (const char* patch :
       {R"({"is_causal": false})", R"({"sliding_window_non_causal": true})",
        R"({"layer_causal_resolved": [true]})", R"({"layer_causal_resolved": [1, 0]})"}) {
    EXPECT_ERROR(With(printed, patch), kInvalidArgument, HasSubstr("layer_causal_resolved"));
  }
  const Json sliding = Json::parse(GeometryToJson(Read(Sliding()).value()).dump());
  EXPECT_ERROR(With(sliding, R"({"layer_causal_resolved": [false, false]})"), kInvalidArgument,
               HasSubstr("layer_causal_resolved[0]: recorded as false"));
}

}  // namespace
}  // namespace draftmark
