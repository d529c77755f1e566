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

}  // namespace
}  // namespace draftmark
