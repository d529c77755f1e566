#include "conformance/drafts/local_oracle.h"

#include <cmath>
#include <string>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Data flows from "norm" to "logits"; the alphabet goes the other way.
class CompareWithLocalTest : public ::testing::Test {
 protected:
  CompareWithLocalTest() {
    config_.num_hidden_layers = 1;
    for (const char* stage : {"norm", "logits"}) {
      tapped_[stage] = {{1, 2}, {1, 2}};
      local_[stage] = {.oracle = {1, 2}, .magnitude = {1, 2}, .allowed = {0.5, 0.5}};
    }
  }
  LocalFindings Compare() const { return CompareWithLocal(config_, tapped_, local_); }

  DrafterConfig config_;
  TappedStages tapped_;
  LocalStages local_;
};

TEST_F(CompareWithLocalTest, TheFirstStageOffIsTheFirstInDataFlow) {
  EXPECT_THAT(Compare().first_off, IsEmpty());
  EXPECT_EQ(Compare().checked, 2u);
  tapped_["logits"].values[0] = 2;
  EXPECT_EQ(Compare().first_off, "logits");
  tapped_["norm"].values[1] = 3;
  EXPECT_EQ(Compare().first_off, "norm");
  EXPECT_DOUBLE_EQ(Compare().used_share, 2);
}

TEST_F(CompareWithLocalTest, AStageWithoutAnOracleIsNotChecked) {
  local_.erase("norm");
  tapped_["unheard_of"] = {{1}, {1}};
  EXPECT_EQ(Compare().checked, 1u);
  EXPECT_THAT(Compare().without_oracle, ElementsAre("norm", "unheard_of"));
}

TEST(LocalOracleTest, WhatThePlainForwardRefusesIsAnError) {
  const std::string folder = Runfiles("golden/drafts/qwen3-4b-dflash");
  Json json = ParseJson(ReadTextFile(folder + "/config.json").value(), "config.json").value();
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase sound, DrafterCase::WithoutStages(json, folder));
  DM_ASSERT_OK_AND_ASSIGN(const DrafterWeights weights,
                          LoadDrafterWeights(sound.config(), sound.checkpoint()));
  EXPECT_THAT(LocalOracle::Open(sound, weights, Precision::kExact, Accumulation::kFloat64), IsOk());
  json["steps"][0]["start"] = 0x7fffffff;  // the block's positions would not fit 32 bits
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase odd, DrafterCase::WithoutStages(json, folder));
  EXPECT_THAT(LocalOracle::Open(odd, weights, Precision::kExact, Accumulation::kFloat64),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("start: expected a 32-bit")));
}

}  // namespace
}  // namespace draftmark
