#include "conformance/configs/check_configs.h"

#include <fmt/format.h>

#include <functional>
#include <string>

#include "src/base/file_system.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<ConfigCheck> Failures(const std::vector<ConfigCheck>& checks) {
  std::vector<ConfigCheck> failures;
  for (const ConfigCheck& check : checks) {
    if (!check.passed()) failures.push_back(check);
  }
  return failures;
}

std::vector<std::string> Lines(const std::vector<ConfigCheck>& checks) {
  std::vector<std::string> lines;
  lines.reserve(checks.size());
  for (const ConfigCheck& check : checks) lines.push_back(check.ToString());
  return lines;
}

TEST(CheckConfigsTest, GoldenConfigsPass) {
  DM_ASSERT_OK_AND_ASSIGN(const auto checks, CheckConfigs("golden/configs"));
  EXPECT_EQ(checks.size(), 20u + 8u + 44u);
  EXPECT_THAT(Lines(Failures(checks)), ElementsAre());
  EXPECT_EQ(checks.front().ToString(), "ok   target/deepseek_v3");
}

// The folder in ../shared, where it may have more files than ours.
TEST(CheckConfigsTest, OracleConfigsPass) {
  const std::string directory = ExternalRunfiles("oracle_cases", "cases/hf_configs");
  if (!RealFileSystem().IsFile(directory + "/expected.json")) {
    GTEST_SKIP() << "../shared/cases is not there";
  }
  DM_ASSERT_OK_AND_ASSIGN(const auto checks, CheckConfigs(directory));
  EXPECT_GE(checks.size(), 28u);
  EXPECT_THAT(Lines(Failures(checks)), ElementsAre());
}

// A folder with one target and one drafter, of which `change` alters what is expected.
void WriteFolder(const TestFolder& folder, const std::function<void(Json&)>& change) {
  const auto read = [](const std::string& file) {
    return Json::parse(ReadTextFile("golden/configs/" + file).value());
  };
  const Json all = read("expected.json");
  Json expected;
  expected["targets"]["qwen3_8b"] = all["targets"]["qwen3_8b"];
  expected["drafters"]["d"] = all["drafters"]["drafter_specforge_qwen3_8b_dflash"];
  for (const Json* member : {&expected["targets"]["qwen3_8b"], &expected["drafters"]["d"]}) {
    const std::string file = (*member)["file"];
    ASSERT_THAT(WriteTextFile(folder.Path(file), read(file).dump()), IsOk());
  }
  change(expected);
  ASSERT_THAT(WriteTextFile(folder.Path("expected.json"), expected.dump()), IsOk());
}

TEST(CheckConfigsMutantTest, AChangedExpectationIsReported) {
  const TestFolder test_folder;
  const std::string& folder = test_folder.path();
  WriteFolder(test_folder, [](Json&) {});
  EXPECT_THAT(Lines(CheckConfigs(folder).value()),
              ElementsAre("ok   target/qwen3_8b", "ok   drafter/d"));
  WriteFolder(test_folder, [](Json& expected) {
    expected["targets"]["qwen3_8b"]["config"]["head_dim"] = 256;
    expected["drafters"]["d"]["geometry"]["layer_causal_resolved"][4] = true;
  });
  EXPECT_THAT(
      Lines(CheckConfigs(folder).value()),
      ElementsAre("FAIL target/qwen3_8b: head_dim: expected 256, found 128",
                  "FAIL drafter/d: layer_causal_resolved: expected [false,false,false,false,true], "
                  "found [false,false,false,false,false]"));
  WriteFolder(test_folder, [](Json& expected) {
    expected["targets"]["qwen3_8b"]["config"].erase("hc_mult");
    expected["drafters"]["d"]["geometry"]["more"] = 1;
  });
  EXPECT_THAT(Lines(CheckConfigs(folder).value()),
              ElementsAre("FAIL target/qwen3_8b: hc_mult: expected nothing, found 0",
                          "FAIL drafter/d: more: expected 1, found nothing"));
  WriteFolder(test_folder, [](Json& expected) {
    expected["targets"]["qwen3_8b"]["family"] = "qwen3_moe (words)";
  });
  EXPECT_THAT(Lines(CheckConfigs(folder).value()),
              ElementsAre("FAIL target/qwen3_8b: family: expected qwen3_moe, found qwen3",
                          "ok   drafter/d"));
  WriteFolder(test_folder, [](Json& expected) { expected["drafters"]["d"].erase("file"); });
  EXPECT_THAT(CheckConfigs(folder),
              StatusIs(StatusCode::kNotFound, HasSubstr("drafters.d.file: required")));
  EXPECT_THAT(CheckConfigs("nowhere"), StatusIs(StatusCode::kNotFound, HasSubstr("nowhere")));
}

// Implementations with one fault each fail the checks that are about it.
TEST(CheckConfigsMutantTest, AFaultyReaderIsReported) {
  ConfigImplementation gates_all;  // as upstream's flat fallback does
  gates_all.target = [](const std::string& path) -> StatusOr<ModelConfig> {
    DM_ASSIGN_OR_RETURN(ModelConfig config, LoadModelConfig(path));
    config.fields.attn_gated = true;
    return config;
  };
  DM_ASSERT_OK_AND_ASSIGN(auto checks, CheckConfigs("golden/configs", gates_all));
  EXPECT_EQ(Failures(checks).size(), 14u);

  ConfigImplementation shifts_no_taps;
  shifts_no_taps.drafter = [](const std::string& path,
                              const std::string& entry) -> StatusOr<DrafterConfig> {
    DM_ASSIGN_OR_RETURN(DrafterConfig config, LoadDrafterConfig(path, entry));
    config.target_layer_ids = config.target_layer_ids_as_written;
    return config;
  };
  DM_ASSERT_OK_AND_ASSIGN(checks, CheckConfigs("golden/configs", shifts_no_taps));
  EXPECT_THAT(Lines(Failures(checks)),
              ElementsAre("FAIL drafter/drafter_redhat_glm_5_3_dspark_speculators: "
                          "target_layer_ids: expected [1,19,38,57,74], found [2,20,39,58,75]"));

  ConfigImplementation ignores_bias;
  ignores_bias.drafter = [](const std::string& path,
                            const std::string& entry) -> StatusOr<DrafterConfig> {
    DM_ASSIGN_OR_RETURN(DrafterConfig config, LoadDrafterConfig(path, entry));
    config.attention_bias = false;
    return config;
  };
  DM_ASSERT_OK_AND_ASSIGN(checks, CheckConfigs("golden/configs", ignores_bias));
  EXPECT_EQ(Failures(checks).size(), 2u);  // the two gpt-oss drafters

  ConfigImplementation refuses_all;
  refuses_all.drafter = [](const std::string&, const std::string&) -> StatusOr<DrafterConfig> {
    return UnimplementedError("no");
  };
  DM_ASSERT_OK_AND_ASSIGN(checks, CheckConfigs("golden/configs", refuses_all));
  EXPECT_EQ(Failures(checks).size(), 8u + 33u);
}

}  // namespace
}  // namespace draftmark
