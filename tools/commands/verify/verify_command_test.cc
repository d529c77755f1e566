// The contract of `draftmark verify`: exit codes, last line, what a failure shows.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "conformance/cuda/cuda_backend.h"
#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kGolden = Runfiles("golden");

CommandResult Verify(std::vector<std::string> arguments, bool terminal = false) {
  arguments.insert(arguments.begin(), "verify");
  return RunCommand(std::move(arguments), terminal);
}

// A copy of a golden case that may be changed.
std::string CopyOfCase(const std::string& name) {
  std::string target = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::remove_all(target);
  std::filesystem::create_directories(target);
  for (const char* file : {"config.json", "model.safetensors", "golden.safetensors"}) {
    std::filesystem::copy_file(kGolden + "/drafter/" + name + "/" + file, target + "/" + file);
    std::filesystem::permissions(target + "/" + file, std::filesystem::perms::owner_all);
  }
  return target;
}

TEST(VerifyCommandTest, OneCasePassesInBothPrecisions) {
  for (const char* precision : {"exact", "bf16"}) {
    const CommandResult outcome =
        Verify({kGolden + "/drafter/dflash_yarn", "--precision", precision});
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out,
                StartsWith("PASS draft/dflash_yarn/gamma=16,ctx=71,steps=2,nb=1 reference"));
    EXPECT_THAT(outcome.out, EndsWith("1 checks passed, 0 failed\n"));
    EXPECT_THAT(outcome.err, IsEmpty());
  }
}

TEST(VerifyCommandTest, EverythingInGolden) {
  const CommandResult outcome = Verify({"--golden", kGolden});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("PASS sizes/synthetic_edges.json: "),
                                 HasSubstr("PASS configs/published: "),
                                 HasSubstr("PASS scratch/worked_examples: "),
                                 HasSubstr("PASS op/rms_norm: 10 cases reference exact, closest to "
                                           "its bound op/rms_norm/"),
                                 HasSubstr("PASS draft/dflash_wide_head/"),
                                 HasSubstr("PASS draft/qwen3.8-27b-dspark/")));
  EXPECT_THAT(outcome.out, EndsWith(" checks passed, 0 failed\n"));
}

// A copy of the golden data; each test takes something out of it or puts something in.
class IncompleteGoldenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(kGolden, golden_, std::filesystem::copy_options::recursive);
  }
  // Everything else runs, and exactly these lines are errors.
  void ExpectErrors(const std::vector<std::string>& errors) {
    const CommandResult outcome = Verify({"--golden", golden_});
    EXPECT_EQ(outcome.code, 2);
    std::string lines;
    for (const std::string& error : errors) {
      lines += "draftmark: " + golden_ + "/" + error + "\n";
    }
    EXPECT_EQ(outcome.err, lines);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("PASS draft/dflash_yarn/"),
                                   HasSubstr("PASS draft/qwen3.8-27b-dspark/"),
                                   EndsWith(" checks passed, 0 failed\n")));
  }

  const TestFolder folder_;
  const std::string golden_ = folder_.Path("golden");
};

TEST_F(IncompleteGoldenTest, MissingFilesAreNamed) {
  for (const char* const path :
       {"buffer_sizes/lora_and_q2.json", "configs/kimi_k3.json", "drafter/dflash_softcap",
        "drafts/kimi-k3-dspark/golden.safetensors", "drafts/qwen3-4b-dflash/config.json"}) {
    std::filesystem::remove_all(golden_ + "/" + path);
  }
  const CommandResult outcome = Verify({"--golden", golden_});
  EXPECT_EQ(outcome.code, 2);
  for (const char* const path :
       {"buffer_sizes/lora_and_q2.json", "configs/kimi_k3.json",
        "drafter/dflash_softcap/config.json", "drafter/dflash_softcap/golden.safetensors",
        "drafter/dflash_softcap/model.safetensors", "drafts/kimi-k3-dspark/golden.safetensors",
        "drafts/qwen3-4b-dflash/config.json"}) {
    EXPECT_THAT(outcome.err, HasSubstr("draftmark: " + golden_ + "/" + path +
                                       ": not there; manifest.json lists it\n"));
  }
}

TEST_F(IncompleteGoldenTest, AMissingFileOfACaseIsOneLine) {
  std::filesystem::remove(golden_ + "/drafts/kimi-k3-dspark/golden.safetensors");
  std::filesystem::remove(golden_ + "/drafts/qwen3-4b-dflash/config.json");
  ExpectErrors({"drafts/kimi-k3-dspark/golden.safetensors: not there; manifest.json lists it",
                "drafts/qwen3-4b-dflash/config.json: not there; manifest.json lists it"});
}

TEST_F(IncompleteGoldenTest, FilesThatTheManifestDoesNotListAreNamed) {
  std::filesystem::copy(golden_ + "/drafter/dflash_yarn", golden_ + "/drafter/mine");
  const std::string reason =
      ": not listed in manifest.json; draftmark golden regen adds what belongs there";
  ExpectErrors({"drafter/mine/config.json" + reason, "drafter/mine/golden.safetensors" + reason,
                "drafter/mine/model.safetensors" + reason});
}

TEST_F(IncompleteGoldenTest, AMissingManifestIsAnError) {
  std::filesystem::remove(golden_ + "/manifest.json");
  const CommandResult outcome = Verify({"--golden", golden_});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(golden_ + "/manifest.json: No such file"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  EXPECT_THAT(outcome.out, HasSubstr("PASS draft/dflash_yarn/"));
}

TEST(VerifyCommandTest, DefaultPrecisionIsExactAndFoldersAreSearched) {
  const CommandResult outcome = Verify({kGolden + "/drafter"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              HasSubstr("draft/dflash_softcap/gamma=16,ctx=33,steps=2,nb=1 reference exact: "));
  EXPECT_THAT(outcome.out, EndsWith("7 checks passed, 0 failed\n"));
}

TEST(VerifyCommandTest, AnOperationCaseByItsId) {
  const CommandResult outcome = Verify({"op/rms_norm/rows=4,h=96/bf16", "--precision", "bf16"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("PASS op/rms_norm/rows=4,h=96/bf16 reference bf16: 0."));
  EXPECT_THAT(outcome.out, EndsWith("1 checks passed, 0 failed\n"));
  const CommandResult unknown = Verify({"op/rms_norm/rows=4/bf16"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("expected 2 keys (rows,h), found 1"));
  const CommandResult json = Verify({"op/rms_norm/rows=4,h=96/bf16", "--format", "json"});
  EXPECT_EQ(ParseJson(json.out, "stdout").value()["operations"][0]["outcome"], "PASS");
}

TEST(VerifyCommandTest, ProgressOnATerminalOnly) {
  EXPECT_THAT(Verify({kGolden + "/drafter/dflash_yarn"}).out, Not(HasSubstr("\033")));
  EXPECT_THAT(Verify({kGolden + "/drafter/dflash_yarn"}, true).out, HasSubstr("[1/1] "));
}

TEST(VerifyCommandTest, FailureNamesStageElementHistogramAndReproduction) {
  const std::string directory = CopyOfCase("dflash_softcap");
  {
    // The last weight of the file's data belongs to the last tensor by name order of equal
    // alignment: norm.weight.
    std::fstream file(directory + "/model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-2, std::ios::end);
    const std::uint16_t two = 0x4000;
    file.write(reinterpret_cast<const char*>(&two), 2);
  }
  const CommandResult outcome = Verify({directory, "--precision", "bf16"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(
      outcome.out,
      StartsWith(
          "FAIL draft/dflash_softcap/gamma=16,ctx=33,steps=2,nb=1 reference bf16: first stage "
          "off is step0.norm"));
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("worst element ["), HasSubstr(", 127]: expected "),
                    HasSubstr(" BF16 ULPs\n"), HasSubstr("error histogram in BF16 ULPs: ")));
  EXPECT_THAT(outcome.out, HasSubstr("reproduce: draftmark verify " + directory +
                                     " --backend reference --precision bf16\n"));
  EXPECT_THAT(outcome.out, EndsWith("0 checks passed, 1 failed\n"));
}

TEST(VerifyCommandTest, Json) {
  const CommandResult outcome = Verify({kGolden + "/drafter/dflash_softcap", "--format", "json"});
  EXPECT_EQ(outcome.code, 0);
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(outcome.out, "stdout"));
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 0);
  EXPECT_EQ(json["drafts"][0]["stages"][0]["stage"], "step0.fc");
  EXPECT_EQ(json["drafts"][0]["first_failure"], nullptr);
}

TEST(VerifyCommandTest, DataErrorsAreExitCode2WithOneLine) {
  const std::string directory = CopyOfCase("dflash_softcap");
  std::filesystem::resize_file(directory + "/golden.safetensors", 1000);
  for (const std::string& path : {directory, std::string("/nowhere")}) {
    const CommandResult outcome = Verify({path});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, AllOf(StartsWith("draftmark: "), HasSubstr(path)));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  }
}

TEST(VerifyCommandTest, OneUnusableCaseDoesNotStopTheOthers) {
  const std::vector<std::string> cases = {"/nowhere", kGolden + "/drafter/dflash_softcap"};
  const CommandResult text = Verify(cases);
  EXPECT_EQ(text.code, 2);
  EXPECT_THAT(text.err, HasSubstr("/nowhere"));
  EXPECT_THAT(text.out, AllOf(HasSubstr("PASS draft/dflash_softcap/"),
                              EndsWith("1 checks passed, 0 failed\n")));
  const CommandResult document = Verify({cases[0], cases[1], "--format", "json"});
  EXPECT_EQ(document.code, 2);
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(document.out, "stdout"));
  EXPECT_EQ(json["errors"].size(), 1u);
  EXPECT_EQ(json["passed"], 1);
}

TEST(VerifyCommandTest, OptionsThatBelongToOneBackend) {
  const CommandResult exact = Verify({"--backend", "cuda", "--precision", "exact"});
  EXPECT_EQ(exact.code, 2);
  EXPECT_EQ(exact.err,
            "draftmark: --precision exact: --backend cuda computes in bf16 only; exact is the "
            "reference's\n");
  const CommandResult scratch = Verify({kGolden + "/drafter/dflash_yarn", "--scratch", "v2"});
  EXPECT_EQ(scratch.code, 2);
  EXPECT_EQ(scratch.err, "draftmark: --scratch: only --backend cuda runs on a scratch\n");
  const CommandResult path = Verify({kGolden + "/drafter/dflash_yarn", "--path", "fast"});
  EXPECT_EQ(path.code, 2);
  EXPECT_EQ(path.err, "draftmark: --path: only --backend cuda has a fast and a simple one\n");
}

TEST(VerifyCommandTest, WithoutAGpuTheReasonIsOneLine) {
  const StatusOr<std::unique_ptr<CudaBackend>> cuda = CudaBackend::Open();
  if (cuda.ok()) GTEST_SKIP() << "there is a GPU";
  const CommandResult outcome = Verify({kGolden + "/drafter/dflash_yarn", "--backend", "cuda"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "draftmark: " + cuda.status().message() + "\n");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  EXPECT_THAT(outcome.out, Not(HasSubstr("draft/")));
}

// Who computes on the CPU has no name in the report.
TEST(VerifyCommandTest, TheReferenceNamesNoDevice) {
  const CommandResult json =
      Verify({"op/rms_norm/rows=4,h=96/bf16", "--backend", "reference", "--format", "json"});
  EXPECT_FALSE(ParseJson(json.out, "stdout").value().contains("device"));
  EXPECT_THAT(Verify({"op/rms_norm/rows=4,h=96/bf16"}).out, Not(HasSubstr("device")));
}

TEST(VerifyCommandTest, UsageErrorsAreExitCode2) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--precision", "fp8"},
                                             {"--backend", "cuda13"},
                                             {"--scratch", "v3"},
                                             {"--path", "slow"},
                                             {"--format", "xml"},
                                             {"--golden", ""},
                                             {"--golden="},
                                             {"--expectations", ""},
                                             {"--nonsense"}}) {
    const CommandResult outcome = Verify(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments[0];
    EXPECT_THAT(outcome.err, Not(IsEmpty()));
  }
  EXPECT_EQ(Verify({"--help"}).code, 0);
}

}  // namespace
}  // namespace draftmark
