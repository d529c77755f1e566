// The contract of `draftmark verify --expectations`: outcome lines, exit codes, totals, JSON. A
// deliberately broken case stands for a known failure.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "src/base/fake_clock.h"
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
using ::testing::Not;
using ::testing::StartsWith;

const std::string kGolden = Runfiles("golden");
const std::string kId = "draft/dflash_softcap/gamma=16,ctx=33,steps=2,nb=1";
const std::string kDetails = " (one weight overwritten, tests, issue 1, until 2026-10-31)\n";

class VerifyExpectationsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    broken_ = folder_.Path("dflash_softcap");  // the case id has the name of its folder
    std::filesystem::create_directory(broken_);
    for (const char* file : {"config.json", "model.safetensors", "golden.safetensors"}) {
      const std::string copy = broken_ + "/" + file;
      std::filesystem::copy_file(kGolden + "/drafter/dflash_softcap/" + file, copy);
      std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
    }
    // The file ends with norm.weight: its last element becomes 2.
    std::fstream model(broken_ + "/model.safetensors",
                       std::ios::in | std::ios::out | std::ios::binary);
    model.seekp(-2, std::ios::end);
    const std::uint16_t two = 0x4000;
    model.write(reinterpret_cast<const char*>(&two), 2);
  }

  // A file with one entry.
  std::string Expecting(const std::string& case_pattern, const std::string& signature,
                        const std::string& more = "") {
    std::string path = folder_.Path("expectations.toml");
    EXPECT_THAT(WriteTextFile(path, "schema_version = 1\n[[expectation]]\ncase = \"" +
                                        case_pattern + "\"\nkind = \"known_failure\"\n" +
                                        "reason = \"one weight overwritten\"\nowner = \"tests\"\n" +
                                        "link = \"issue 1\"\nexpires = 2026-10-31\nsignature = \"" +
                                        signature + "\"\n" + more),
                IsOk());
    return path;
  }

  static CommandResult Verify(std::vector<std::string> arguments,
                              const Clock& clock = FakeClock(2026, 10, 31)) {
    arguments.insert(arguments.begin(), "verify");
    return RunCommand(std::move(arguments), false, clock);
  }

  const TestFolder folder_;
  std::string broken_;
};

TEST_F(VerifyExpectationsTest, TheSignatureIsShownSoThatItCanBeCopied) {
  const CommandResult result = Verify({broken_});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("\n  signature: step0.norm: bound\n"));
}

TEST_F(VerifyExpectationsTest, ExpectedFailure) {
  const std::string file = Expecting(kId, "step0.norm: bound");
  const CommandResult result =
      Verify({broken_, kGolden + "/drafter/dflash_yarn", "--expectations", file});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              AllOf(StartsWith("XFAIL " + kId + " reference exact: step0.norm: bound" + kDetails),
                    HasSubstr("\nPASS draft/dflash_yarn/"), Not(HasSubstr("signature:")),
                    EndsWith("1 checks passed, 0 failed, 1 expected failures\n")));
}

TEST_F(VerifyExpectationsTest, UnexpectedPass) {
  const std::string file = Expecting(kId, "step0.norm: bound");
  const CommandResult result =
      Verify({kGolden + "/drafter/dflash_softcap", "--expectations", file});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "UNEXPECTED PASS " + kId +
                            " reference exact: expected step0.norm: bound; remove " + file + ":3" +
                            kDetails + "0 checks passed, 1 failed\n");
}

TEST_F(VerifyExpectationsTest, OperationsAreCasesAsWell) {
  const std::string id = "op/rms_norm/rows=4,h=96/bf16";
  const CommandResult result = Verify({id, "--expectations", Expecting(id, "y: bound")});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out,
              StartsWith("UNEXPECTED PASS " + id + " reference exact: expected y: bound"));
  EXPECT_THAT(result.out, EndsWith("0 checks passed, 1 failed\n"));
}

TEST_F(VerifyExpectationsTest, Expired) {
  const std::string file = Expecting(kId, "step0.norm: bound");
  const CommandResult result = Verify({broken_, "--expectations", file}, FakeClock(2026, 11, 1));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out,
              AllOf(StartsWith("EXPIRED " + kId + " reference exact: step0.norm: bound" + kDetails),
                    HasSubstr("\nFAIL " + kId), HasSubstr("reproduce: draftmark verify "),
                    EndsWith("0 checks passed, 1 failed\n")));
}

TEST_F(VerifyExpectationsTest, ChangedSignature) {
  const std::string file = Expecting(kId, "step0.fc: bound");
  const CommandResult result = Verify({broken_, "--expectations", file});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out,
              AllOf(StartsWith("CHANGED SIGNATURE " + kId +
                               " reference exact: expected step0.fc: bound found "
                               "step0.norm: bound" +
                               kDetails),
                    HasSubstr("\nFAIL " + kId), EndsWith("0 checks passed, 1 failed\n")));
}

TEST_F(VerifyExpectationsTest, AnEntryForAnotherPrecisionExcusesNothing) {
  const std::string file = Expecting(kId, "step0.norm: bound", "precision = \"bf16\"\n");
  const CommandResult result = Verify({broken_, "--expectations", file});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, StartsWith("FAIL " + kId));
  EXPECT_EQ(Verify({broken_, "--expectations", file, "--precision", "bf16"}).code, 0);
}

TEST_F(VerifyExpectationsTest, Json) {
  const std::string file = Expecting(kId, "step0.norm: bound");
  const CommandResult result = Verify(
      {broken_, kGolden + "/drafter/dflash_yarn", "--expectations", file, "--format", "json"});
  EXPECT_EQ(result.code, 0);
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(result.out, "stdout"));
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 0);
  EXPECT_EQ(json["expected_failures"], 1);
  EXPECT_EQ(json["drafts"][0]["outcome"], "XFAIL");
  EXPECT_EQ(json["drafts"][0]["passed"], false);
  EXPECT_EQ(json["drafts"][0]["signature"], "step0.norm: bound");
  EXPECT_EQ(json["drafts"][0]["expectation"]["kind"], "known_failure");
  EXPECT_EQ(json["drafts"][0]["expectation"]["expires"], "2026-10-31");
  EXPECT_EQ(json["drafts"][1]["outcome"], "PASS");
  EXPECT_EQ(json["drafts"][1]["signature"], nullptr);
  EXPECT_EQ(json["drafts"][1]["expectation"], nullptr);
}

TEST_F(VerifyExpectationsTest, StaleOnlyWhereTheWholeSetRan) {
  const std::string file = Expecting("draft/no_such_case/*", "step0.norm: bound");
  EXPECT_EQ(Verify({kGolden + "/drafter/dflash_yarn", "--expectations", file}).code, 0);
  const CommandResult whole = Verify({"--golden", kGolden, "--expectations", file});
  EXPECT_EQ(whole.code, 2);
  EXPECT_THAT(whole.err, AllOf(StartsWith("draftmark: " + file + ":3: case: expected the id of a"),
                               HasSubstr("\"draft/no_such_case/*\", which matches none of ")));
  EXPECT_THAT(whole.out, EndsWith(" checks passed, 0 failed\n"));
}

TEST_F(VerifyExpectationsTest, NothingIsStaleWhereACaseCouldNotRun) {
  const std::string golden = folder_.Path("golden");
  std::filesystem::copy(kGolden, golden, std::filesystem::copy_options::recursive);
  std::filesystem::remove(golden + "/drafter/dflash_yarn/golden.safetensors");
  ASSERT_THAT(WriteTextFile(golden + "/drafter/dflash_yarn/golden.safetensors", "short"), IsOk());
  const std::string file = Expecting("draft/dflash_yarn/*", "step0.norm: bound");
  const CommandResult result = Verify({"--golden", golden, "--expectations", file});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("dflash_yarn/golden.safetensors"),
                                Not(HasSubstr("expectations.toml"))));
}

TEST_F(VerifyExpectationsTest, AMalformedFileStopsTheRun) {
  const std::string file = Expecting("nonsense", "step0.norm: bound");
  const CommandResult result = Verify({broken_, "--expectations", file});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(StartsWith("draftmark: " + file + ":3: expectation[0].case: "),
                                EndsWith("\n")));
  EXPECT_THAT(result.out, Not(HasSubstr("FAIL")));
}

TEST_F(VerifyExpectationsTest, ArchitecturesAreFoundInTheCheckout) {
  // In the runfiles the working directory is the checkout's root.
  EXPECT_EQ(Verify({kGolden + "/drafter/dflash_yarn", "--arch", "sm_90"}).code, 0);
  const CommandResult unknown = Verify({broken_, "--arch", "sm_17"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no conformance/expectations/sm_17.toml found"));
  for (const char* arch : {"../cpu", "", "SM90"}) {
    EXPECT_EQ(Verify({broken_, "--arch", arch}).code, 2) << arch;
  }
  EXPECT_EQ(Verify({broken_, "--arch", "cpu", "--expectations", "x.toml"}).code, 2);
}

TEST_F(VerifyExpectationsTest, CpuIsTheReferencesArchitecture) {
  // A workspace of its own: what its cpu.toml expects holds without any option.
  const std::string folder = folder_.Path("conformance");
  std::filesystem::create_directories(folder + "/expectations");
  std::filesystem::rename(Expecting(kId, "step0.norm: bound"), folder + "/expectations/cpu.toml");
  ::setenv("BUILD_WORKSPACE_DIRECTORY", folder_.Path("").c_str(), 1);
  const CommandResult result = Verify({broken_});
  ::unsetenv("BUILD_WORKSPACE_DIRECTORY");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, StartsWith("XFAIL "));
}

}  // namespace
}  // namespace draftmark
