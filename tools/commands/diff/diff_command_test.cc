#include "tools/commands/diff/diff_command.h"

#include "conformance/diagnosis/write_dump.h"
#include "conformance/plain/mistakes.h"
#include "src/base/json.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/cases/drafter_case.h"
#include "src/weights/weights.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class DiffCommandTest : public ::testing::Test {
 protected:
  void SetUp() override { case_ = Runfiles("golden/drafter/dflash_sliding_noncausal"); }
  // A dump of the case, with the mistakes.
  std::string WriteDump(std::set<plain::Mistake> mistakes) {
    const DrafterCase drafter_case = DrafterCase::Load(case_).value();
    const auto weights =
        LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()).value();
    const plain::Bands bands = {drafter_case.steps()};
    plain::Recorder run(plain::Rounding::kBf16);
    plain::Options options;
    options.mistakes = std::move(mistakes);
    EXPECT_THAT(plain::Run(drafter_case.config(), weights, bands, options, run), IsOk());
    DumpWriter writer;
    writer.AddRun(drafter_case.config(), bands, run.values());
    EXPECT_THAT(writer.Write(dump_), IsOk());
    return dump_;
  }

  const TestFolder folder_;
  const std::string dump_ = folder_.Path("dump.safetensors");
  std::string case_;
};

TEST_F(DiffCommandTest, ASoundDumpAgrees) {
  const CommandResult result = RunCommand({"diff", WriteDump({}), "--case", case_});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("AGREES"), HasSubstr("52 of 52 stages agree")));
}

TEST_F(DiffCommandTest, AMistakeIsNamedWithItsFix) {
  const CommandResult result =
      RunCommand({"diff", WriteDump({plain::Mistake::kSlidingCausal}), "--case", case_});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out,
              AllOf(StartsWith("OFF"), HasSubstr("first stage off is step0.layers.0.attn_out"),
                    HasSubstr("worst element"), HasSubstr("error histogram in BF16 ULPs"),
                    HasSubstr("sliding-causal (M14)"), HasSubstr("fix: two-sided")));
}

TEST_F(DiffCommandTest, JsonHoldsTheSame) {
  const CommandResult result = RunCommand(
      {"diff", WriteDump({plain::Mistake::kGqaModulo}), "--case", case_, "--format", "json"});
  EXPECT_EQ(result.code, 1) << result.err;
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(result.out, "diff"));
  EXPECT_EQ(json["agrees"], false);
  EXPECT_EQ(json["first_off"], "step0.layers.0.attn_out");
  ASSERT_THAT(json["explanations"], SizeIs(1));
  EXPECT_EQ(json["explanations"][0][0]["name"], "gqa-modulo");
  EXPECT_THAT(json["stages"], SizeIs(52));
}

TEST_F(DiffCommandTest, WeightsAndInputsInsteadOfACase) {
  const std::vector<std::string> arguments = {"diff",      WriteDump({}),
                                              "--config",  case_ + "/config.json",
                                              "--weights", case_ + "/model.safetensors",
                                              "--inputs",  case_ + "/golden.safetensors"};
  const CommandResult result = RunCommand(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("AGREES"));
}

TEST_F(DiffCommandTest, ADrafterWithoutEmbeddingTakesItsTargets) {
  DM_ASSERT_OK_AND_ASSIGN(const SafetensorsFile model,
                          SafetensorsFile::Open(case_ + "/model.safetensors"));
  SafetensorsWriter drafter, target;
  for (const std::string& name : model.names()) {
    DM_ASSERT_OK_AND_ASSIGN(const TensorView view, model.Get(name));
    const bool of_target = name == "embed_tokens.weight" || name == "lm_head.weight";
    const std::string in_target =
        name == "embed_tokens.weight" ? "model.embed_tokens.weight" : name;
    ASSERT_THAT(of_target ? target.Add(in_target, view) : drafter.Add(name, view), IsOk());
  }
  const std::string drafter_path = folder_.Path("drafter.safetensors");
  const std::string target_path = folder_.Path("target.safetensors");
  ASSERT_THAT(drafter.Write(drafter_path), IsOk());
  ASSERT_THAT(target.Write(target_path), IsOk());
  std::vector<std::string> arguments = {
      "diff",      WriteDump({}), "--config", case_ + "/config.json",
      "--weights", drafter_path,  "--inputs", case_ + "/golden.safetensors"};
  const CommandResult without = RunCommand(arguments);
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("expected --target-weights"));
  arguments.insert(arguments.end(), {"--target-weights", target_path});
  const CommandResult result = RunCommand(arguments);
  EXPECT_EQ(result.code, 0) << result.err << result.out;
}

TEST_F(DiffCommandTest, TheListNamesEveryMutant) {
  const CommandResult text = RunCommand({"diff", "--list-mistakes"});
  EXPECT_EQ(text.code, 0) << text.err;
  const CommandResult result = RunCommand({"diff", "--list-mistakes", "--format", "json"});
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(result.out, "list"));
  std::size_t mutants = 0;
  for (const Json& mutant : json["mutants"]) {
    const std::string id = mutant["id"];
    mutants += id.starts_with("M") ? 1 : 0;
    EXPECT_THAT(text.out, HasSubstr("  " + id + " "));
    const bool has_mistake =
        std::any_of(json["mistakes"].begin(), json["mistakes"].end(),
                    [&](const Json& mistake) { return mistake["rule"] == id; });
    if (mutant["visibility"] == "named") {
      EXPECT_TRUE(has_mistake) << id;
    } else if (id.starts_with("M")) {
      EXPECT_FALSE(has_mistake) << id;
      EXPECT_NE(mutant["reason"], "") << id;
    }
  }
  EXPECT_EQ(mutants, 25u);
  EXPECT_EQ(json["mistakes"].size(), plain::AllMistakes().size());
}

TEST_F(DiffCommandTest, WrongUsageIsAnError) {
  const auto error = [](std::vector<std::string> arguments) {
    const CommandResult result = RunCommand(std::move(arguments));
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.out, IsEmpty());
    return result.err;
  };
  EXPECT_THAT(error({"diff"}), HasSubstr("expected DUMP.safetensors"));
  EXPECT_THAT(error({"diff", dump_}), HasSubstr("expected --case CASE, or --weights"));
  EXPECT_THAT(error({"diff", dump_, "--weights", case_}), HasSubstr("expected --inputs"));
  EXPECT_THAT(error({"diff", dump_, "--case", case_, "--weights", case_}),
              HasSubstr("brings its own"));
  EXPECT_THAT(error({"diff", dump_, "--case", case_}), HasSubstr(dump_));
  EXPECT_THAT(error({"diff", case_ + "/model.safetensors", "--case", case_}),
              HasSubstr("expected a stage of this dflash drafter"));
}

}  // namespace
}  // namespace draftmark
