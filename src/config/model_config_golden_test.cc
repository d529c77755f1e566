// The published target files of golden/configs against expected.json, and mutants of them.
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/config/model_config.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

constexpr char kConfigs[] = "golden/configs/";

StatusOr<Json> ReadJson(const std::string& path) {
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  JsonParseOptions options;
  options.allow_nonfinite = true;
  return ParseJson(text, path, options);
}

class ModelGoldenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DM_ASSERT_OK_AND_ASSIGN(const Json expected, ReadJson(std::string(kConfigs) + "expected.json"));
    targets_ = expected["targets"];
    ASSERT_EQ(targets_.size(), 20u);
  }

  Json targets_;
};

TEST_F(ModelGoldenTest, EveryFileGivesItsExpectedFields) {
  for (const auto& [name, target] : targets_.items()) {
    SCOPED_TRACE(name);
    DM_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                            LoadModelConfig(kConfigs + target["file"].get<std::string>()));
    const OrderedJson fields = ToJson(config.fields);
    EXPECT_EQ(Json::parse(fields.dump()), target["config"]) << fields.dump(1);
    const std::string family = target["family"];
    EXPECT_EQ(config.family, family.substr(0, family.find(' ')));
  }
}

// Our flat form of each of them reads back the same.
TEST_F(ModelGoldenTest, FlatFormReadsBack) {
  for (const auto& [name, target] : targets_.items()) {
    SCOPED_TRACE(name);
    DM_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                            ParseModelConfig(target["config"], "flat.json"));
    EXPECT_EQ(config.family, "flat");
    EXPECT_EQ(Json::parse(ToJson(config.fields).dump()), target["config"]);
  }
}

// What section 3 or the family's row gives when a key is absent.
struct Fallback {
  std::string_view key;
  std::string_view field;
  Json value;
};
const std::vector<Fallback>& Fallbacks() {
  static const auto* const kFallbacks = new std::vector<Fallback>{
      {"intermediate_size", "intermediate_size", 0},  // a pure mixture
      {"n_shared_experts", "shared_expert_intermediate_size", 0},
      {"num_shared_experts", "shared_expert_intermediate_size", 0},
      {"shared_expert_intermediate_size", "shared_expert_intermediate_size", 0},  // Flash-Next
      {"q_lora_rank", "q_lora_rank", 0},  // a direct query projection
      {"rope_parameters", "mrope_interleaved", false},
      {"output_gate_type", "attn_gated", false},
      {"mla_use_output_gate", "attn_gated", false},
      {"moe_latent_size", "moe_latent_size", 0},
      {"routed_expert_hidden_size", "moe_latent_size", 0},
      {"num_attention_heads_per_layer", "num_attention_heads", 48},  // Laguna's scalar
  };
  return *kFallbacks;
}

// True if the mutant's fields differ from the real ones only by a documented fallback.
bool IsDocumented(std::string_view key, const Json& real, const Json& mutant) {
  for (const auto& [field, value] : real.items()) {
    if (mutant[field] == value) continue;
    if (key == "num_key_value_heads" && field == key &&
        mutant[field] == real["num_attention_heads"]) {
      continue;
    }
    bool found = false;
    for (const Fallback& fallback : Fallbacks()) {
      found = found ||
              (fallback.key == key && fallback.field == field && fallback.value == mutant[field]);
    }
    if (!found) return false;
  }
  return true;
}

// Values of another type, or outside the range, of what the file has.
std::vector<Json> WrongValues(const Json& value) {
  if (value.is_number()) return {"12", -1, 1.5, 1e30, true, Json::object(), Json::array({"x"})};
  if (value.is_boolean()) return {"true", 1, Json::object()};
  if (value.is_string()) return {7, true, Json::object()};
  return {"x", -7, true};
}

class KeyMutants {
 public:
  explicit KeyMutants(const std::string& name, const Json& target)
      : target_(target), path_(kConfigs + target["file"].get<std::string>()), name_(name) {}

  void Run() {
    DM_ASSERT_OK_AND_ASSIGN(json_, ReadJson(path_));
    nested_ = json_.contains("text_config");
    const Json text = Text(json_);
    for (const auto& [key, value] : text.items()) {
      SCOPED_TRACE(name_ + "." + key);
      if (Drop(key)) ChangeType(key, value);
    }
  }
  int errors() const { return errors_; }
  int changed_types() const { return changed_types_; }

 private:
  Json& Text(Json& json) const { return nested_ ? json["text_config"] : json; }

  // True if the key matters: without it the file is refused or gives other fields.
  bool Drop(const std::string& key) {
    Json mutant = json_;
    Text(mutant).erase(key);
    const StatusOr<ModelConfig> config = ParseModelConfig(mutant, path_);
    if (!config.ok()) {
      ++errors_;
      EXPECT_THAT(config.status().message(), HasSubstr(key));
      return true;
    }
    const Json fields = Json::parse(ToJson(config->fields).dump());
    EXPECT_TRUE(IsDocumented(key, target_["config"], fields)) << fields.dump(1);
    return fields != target_["config"];
  }

  void ChangeType(const std::string& key, const Json& value) {
    for (const Json& wrong : WrongValues(value)) {
      Json mutant = json_;
      Text(mutant)[key] = wrong;
      ++changed_types_;
      const StatusOr<ModelConfig> config = ParseModelConfig(mutant, path_);
      ASSERT_FALSE(config.ok()) << wrong.dump();
      EXPECT_THAT(config.status().message(), HasSubstr(key)) << wrong.dump();
    }
  }

  const Json& target_;
  const std::string path_;
  const std::string name_;
  Json json_;
  bool nested_ = false;
  int errors_ = 0;
  int changed_types_ = 0;
};

// Drops each key of each file in turn, and gives each key that matters a wrong type.
TEST_F(ModelGoldenTest, EveryMutantIsAnErrorOrADocumentedFallback) {
  int errors = 0;
  int changed_types = 0;
  for (const auto& [name, target] : targets_.items()) {
    KeyMutants mutants(name, target);
    mutants.Run();
    errors += mutants.errors();
    changed_types += mutants.changed_types();
  }
  // The loops ran: about ten keys of each of the 20 files are required.
  EXPECT_GT(errors, 180);
  EXPECT_GT(changed_types, 1200);
}

// Files cut short or with one byte changed are read or refused, and never worse (the sanitizer runs
// see what this test cannot).
TEST_F(ModelGoldenTest, DamagedFilesAreReadOrRefused) {
  std::uint64_t random = 1;
  int refused = 0;
  for (const auto& [name, target] : targets_.items()) {
    const std::string path = kConfigs + target["file"].get<std::string>();
    DM_ASSERT_OK_AND_ASSIGN(const std::string text, ReadTextFile(path));
    for (int i = 0; i < 60; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::size_t at = (random >> 33) % text.size();
      std::string damaged = text;
      if (i % 2 == 0) {
        damaged.resize(at);
      } else {
        damaged[at] = static_cast<char>(random >> 24);
      }
      JsonParseOptions options;
      options.allow_nonfinite = true;
      const StatusOr<Json> json = ParseJson(damaged, path, options);
      const Status status = json.ok() ? ParseModelConfig(*json, path).status() : json.status();
      if (status.ok()) continue;
      ++refused;
      EXPECT_THAT(status.message(), HasSubstr(path));
    }
  }
  EXPECT_GE(refused, 600);  // at least every one that was cut
}

}  // namespace
}  // namespace draftmark
