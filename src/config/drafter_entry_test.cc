// The catalogue's rule: what is verified and drafter.md describes runs, everything else is refused
// by name with the reason.
#include "src/config/drafter_entry.h"

#include <map>
#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/config/config_file.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kCatalogue[] = "golden/configs/drafter_configs.json";

const std::vector<std::string> kRunnable = {
    "z-lab/Qwen3-4B-DFlash-b16",
    "z-lab/Qwen3-8B-DFlash-b16",
    "z-lab/Qwen3-Coder-30B-A3B-DFlash",
    "z-lab/Qwen3.5-4B-DFlash",
    "z-lab/Qwen3.5-35B-A3B-DFlash",
    "z-lab/Qwen3.6-27B-DFlash",
    "z-lab/Qwen3.6-35B-A3B-DFlash",
    "z-lab/gpt-oss-20b-DFlash",
    "z-lab/gpt-oss-120b-DFlash",
    "z-lab/Kimi-K2.5-DFlash",
    "z-lab/gemma-4-31B-it-DFlash",
    "z-lab/Qwen3.8-27B-DFlash2 (incoai)",
    "incoai/GLM-5.3-Flash-DFlash2",
    "RadixArk/Qwen3.8-27B-DSpark",
    "deepseek-ai/dspark_qwen3_4b_block7",
    "deepseek-ai/dflash_qwen3_4b_block7",
    "deepseek-ai/dspark_qwen3_8b_block7",
    "deepseek-ai/dflash_qwen3_8b_block7",
    "deepseek-ai/dspark_qwen3_14b_block7",
    "deepseek-ai/dflash_qwen3_14b_block7",
    "recipe/kimi-k3-dspark",
    "recipe/glm-5.2-dspark",
    "recipe/inkling-dspark",
    "recipe/qwen3-4b-dspark",
    "recipe/qwen3-8b-dspark",
    "recipe/qwen3.6-27b-dspark",
    "recipe/longcat-flash-dflash",
    "recipe/lfm2.5-1.2b-dflash",
    "recipe/qwen2.5-0.5b-dflash",
    "synthetic/tiny-dflash",
    "synthetic/tiny-dflash2",
    "synthetic/tiny-dspark",
};

constexpr char kTooLittle[] = "is not run: its sources confirm too little of it; not known: ";
constexpr char kOtherLayers[] = "is not run: its layers are of another architecture; not known: ";

// Behind the entry's name.
const std::map<std::string, std::string> kRefused = {
    {"z-lab/Qwen3-Coder-Next-DFlash", std::string(kTooLittle) + "everything except published_size"},
    {"z-lab/Qwen3.5-9B-DFlash",
     std::string(kTooLittle) + "all geometry inferred from size, target_layer_ids"},
    {"z-lab/Qwen3.5-27B-DFlash",
     std::string(kTooLittle) + "target_layer_ids, layer_types, sliding_window, is_causal"},
    {"z-lab/Qwen3.5-122B-A10B-DFlash",
     std::string(kTooLittle) +
         "every null field, mask_token_id, vocab_size, layer_types (Two revisions of one name"},
    {"z-lab/Kimi-K2.6-DFlash", std::string(kTooLittle) + "everything except published_size"},
    {"z-lab/gemma-4-26B-A4B-it-DFlash",
     std::string(kTooLittle) + "everything except published_size"},
    {"z-lab/MiniMax-M2.7-DFlash", std::string(kTooLittle) + "everything except published_size"},
    {"z-lab/LLaMA3.1-8B-Instruct-DFlash-UltraChat",
     std::string(kTooLittle) + "all geometry inferred from size"},
    {"deepseek-ai/dspark_gemma4_12b_block7",
     std::string(kOtherLayers) + "hidden_size, num_attention_heads, num_key_value_heads, head_dim"},
    {"poolside Laguna DFlash",
     std::string(kOtherLayers) +
         "exact repository name, layer_types, rms_norm_eps (GQA ratio 9 (not a power of two); "
         "per-head output gating and extra norms.)"},
    {"MiMo-V2.5 DFlash",
     std::string(kOtherLayers) +
         "exact repository name, layer_types, rms_norm_eps, num_target_layers (Attention sink "
         "bias; a separate mask embedding vector; tap 0.)"},
    {"recipe/qwen3-8b-domino", "gru_hidden_dim: Domino's GRU head has no place in the scratch"},
};

class DrafterEntryTest : public ::testing::Test {
 protected:
  const Json catalogue_ = ReadConfigFile(kCatalogue).value();
};

TEST_F(DrafterEntryTest, EveryEntryRunsOrIsRefusedWithItsReason) {
  std::vector<std::string> runnable;
  std::size_t refused = 0;
  for (const std::string& name : DrafterEntryNames(catalogue_)) {
    SCOPED_TRACE(name);
    const StatusOr<DrafterEntry> entry = FindRunnableEntry(catalogue_, kCatalogue, name);
    if (entry.ok()) {
      runnable.push_back(name);
      EXPECT_EQ((*entry->json)["name"], name);
      EXPECT_EQ(entry->config.hidden_size, (*entry->json)["hidden_size"]);
      continue;
    }
    ++refused;
    ASSERT_TRUE(kRefused.contains(name)) << entry.status().ToString();
    EXPECT_THAT(entry.status().message(),
                AllOf(StartsWith(std::string(kCatalogue) + ": entry " + name),
                      HasSubstr(": " + kRefused.at(name)), Not(HasSubstr("\n"))));
  }
  EXPECT_THAT(runnable, ElementsAreArray(kRunnable));
  EXPECT_EQ(refused, kRefused.size());
}

TEST_F(DrafterEntryTest, ABareEntryIsJudgedAsInItsCatalogue) {
  for (const Json& entry : catalogue_["configs"]) {
    SCOPED_TRACE(entry["name"]);
    EXPECT_EQ(FindRunnableEntry(entry, "entry.json").ok(), !kRefused.contains(entry["name"]));
  }
}

TEST_F(DrafterEntryTest, NamesThatAreNotThere) {
  EXPECT_THAT(FindRunnableEntry(catalogue_, kCatalogue, "z-lab/nothing"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no entry \"z-lab/nothing\"")));
  EXPECT_THAT(FindRunnableEntry(catalogue_, kCatalogue),
              StatusIs(StatusCode::kNotFound, HasSubstr("one entry must be named")));
}

// A config of a checkpoint's own says nothing of being verified.
TEST_F(DrafterEntryTest, OtherFilesNeedNoMark) {
  Json entry = FindRunnableEntry(catalogue_, kCatalogue, "synthetic/tiny-dflash").value().json[0];
  entry.erase("verified");
  EXPECT_THAT(FindRunnableEntry(entry, "config.json"), IsOk());
  entry["verified"] = false;
  EXPECT_THAT(FindRunnableEntry(entry, "config.json"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("too little")));
}

}  // namespace
}  // namespace draftmark
