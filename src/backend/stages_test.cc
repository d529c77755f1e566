#include "src/backend/stages.h"

#include <algorithm>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;

TEST(StagesTest, PlainDflashInDataFlowOrder) {
  DrafterConfig config;
  config.num_hidden_layers = 1;
  EXPECT_THAT(
      StagesInDataFlowOrder(config),
      ElementsAre("fc", "hidden_norm", "layers.0.input_layernorm", "layers.0.q_norm",
                  "layers.0.k_norm", "layers.0.k_new", "layers.0.v_new", "layers.0.attn_out",
                  "layers.0.o_proj", "layers.0.post_attention_layernorm", "layers.0.mlp",
                  "layers.0.output", "norm", "logits", "draft_tokens", "margin"));
}

TEST(StagesTest, NamesAreUniqueForEveryKind) {
  for (const DrafterKind kind :
       {DrafterKind::kDflash, DrafterKind::kDflash2, DrafterKind::kDspark}) {
    DrafterConfig config;
    config.kind = kind;
    config.num_hidden_layers = 3;
    const std::vector<std::string> order = StagesInDataFlowOrder(config);
    EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), order.size());
  }
}

TEST(StagesTest, ShapesOfEveryKindOfStage) {
  DrafterConfig c;
  c.kind = DrafterKind::kDflash2;
  c.num_hidden_layers = 11;
  c.hidden_size = 64;
  c.num_attention_heads = 6;
  c.num_key_value_heads = 2;
  c.head_dim = 16;
  c.vocab_size = 100;
  c.conv_kernel_size = 3;
  c.conv_group_size = 16;
  c.selector_rank = 8;
  c.selector_top_k = 16;
  const auto shape = [&](std::string_view stage) { return StageShape(c, stage, 5, 7); };
  EXPECT_THAT(shape("fc"), ElementsAre(5, 64));
  EXPECT_THAT(shape("layers.10.k_new"), ElementsAre(12, 2, 16));
  EXPECT_THAT(shape("layers.0.q_norm"), ElementsAre(7, 6, 16));
  EXPECT_THAT(shape("layers.0.attn_out"), ElementsAre(7, 96));
  EXPECT_THAT(shape("layers.3.mlp_conv.dynamic"), ElementsAre(7, 2, 3, 4));
  EXPECT_THAT(shape("layers.3.mlp_conv.finish"), ElementsAre(7, 64));
  EXPECT_THAT(shape("logits"), ElementsAre(7, 100));
  EXPECT_THAT(shape("selector.unary"), ElementsAre(6, 16));
  EXPECT_THAT(shape("selector.topk_gap"), ElementsAre(6));
  EXPECT_THAT(shape("draft_tokens"), ElementsAre(6));
  EXPECT_TRUE(shape("layers.11.k_new").empty());
  EXPECT_TRUE(shape("markov.logits").empty());  // not of this kind
}

}  // namespace
}  // namespace draftmark
