// `draftmark verify --backend ./libmine.so`: lines, counts, JSON and exit codes.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_program.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kExample = TestData("kernels/plugin/examples/libcpu_plugin.so");
const std::string kSession = TestData("kernels/plugin/examples/libsession_plugin.so");
const std::string kMisbehaving = TestData("kernels/plugin/testing/libmisbehaving_plugin.so");
const std::string kCareless = TestData("kernels/plugin/testing/libcareless_plugin.so");
const std::string kReference = TestData("conformance/plugin/libreference_plugin.so");
const std::string kDraft = TestData("golden/drafter/dflash_yarn");

std::string Odd(const std::string& name) {
  return TestData("kernels/plugin/testing/libodd_" + name + ".so");
}

CommandResult Verify(const std::string& plugin, std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), {"verify", "--backend", plugin});
  return RunProgram(arguments);
}

TEST(VerifyPluginTest, TheExamplePasses) {
  const CommandResult result = Verify(kExample);
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(
          StartsWith("plug-in " + kExample +
                     ": plain C 1.0 (cpu, 5 operations, no draft sessions)\n"),
          ContainsRegex("\nPASS op/rms_norm: [0-9]+ cases [^ ]+ bf16, closest to its bound "
                        "op/rms_norm/"),
          ContainsRegex("\nSKIP op/rope: [0-9]+ cases [^ ]+ bf16: unsupported: the plug-in has no "
                        "such operation\n"),
          Not(HasSubstr("sizes/")),
          ContainsRegex("\n[0-9]+ checks passed, 0 failed, [0-9]+ skipped\n$")));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST(VerifyPluginTest, NamedCases) {
  const CommandResult result =
      Verify(kExample, {"op/rms_norm/rows=16,h=4096/bf16", "op/rms_norm/rows=1,h=20000/bf16"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\nPASS op/rms_norm/rows=16,h=4096/bf16 " + kExample + " bf16: "),
                    EndsWith("\nSKIP op/rms_norm/rows=1,h=20000/bf16 " + kExample +
                             " bf16: unsupported: h=20000 is outside of the plug-in's limits [1, "
                             "16384]\n1 checks passed, 0 failed, 1 skipped\n")));
}

TEST(VerifyPluginTest, AWholeOperation) {
  const CommandResult result = Verify(kExample, {"op/rms_norm"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              ContainsRegex("\nPASS op/rms_norm: [0-9]+ cases .*\n[0-9]+ checks passed, "
                            "0 failed\n$"));
  EXPECT_EQ(Verify(kExample, {"op/rms"}).code, 2);
}

// A crash and a hang cost their cases and no other.
TEST(VerifyPluginTest, WhatGoesWrongIsNamedAndTheRestGoesOn) {
  const CommandResult result = Verify(
      kMisbehaving,
      {"--time-limit", "0.5", "op/rms_norm/rows=1,h=8/bf16", "op/head_norm/rows=1,heads=1,d=8/bf16",
       "op/silu_mul/rows=1,width=2/bf16", "op/residual_add/rows=7,width=127/bf16",
       "op/kv_write/rows=2,kv=1,d=8,blocks=1/bf16"});
  EXPECT_EQ(result.code, 1) << result.out << result.err;
  const std::string reproduce = " --backend " + kMisbehaving + " --precision bf16\n";
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("\nFAIL op/rms_norm/rows=1,h=8/bf16 " + kMisbehaving +
                      " bf16\n  crashed: signal 11 (Segmentation fault); printed last: about to "
                      "crash in rms_norm\n  signature: run: crash\n  reproduce: draftmark verify "
                      "op/rms_norm/rows=1,h=8/bf16" +
                      reproduce),
            HasSubstr("\nFAIL op/head_norm/rows=1,heads=1,d=8/bf16 " + kMisbehaving +
                      " bf16\n  did not return within 0.5 s\n  signature: run: hang\n"),
            HasSubstr("\nFAIL op/silu_mul/rows=1,width=2/bf16 " + kMisbehaving +
                      " bf16\n  gate (T1): 2 of 2 elements off; worst [0, "),
            HasSubstr("\nPASS op/residual_add/rows=7,width=127/bf16 " + kMisbehaving + " bf16: "),
            EndsWith("\n1 checks passed, 3 failed, 1 skipped\n")));
}

TEST(VerifyPluginTest, WhatBelongsToNoCaseFailsTheRun) {
  const CommandResult result = Verify(kCareless, {"op/row_gather/rows=1,from=1,width=3/bf16",
                                                  "op/residual_add/rows=7,width=127/bf16"});
  EXPECT_EQ(result.code, 1) << result.out << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("\nPASS op/residual_add/rows=7,width=127/bf16 "),
            HasSubstr("\nFAIL plug-in/processes: 1 checks, 1 failed\n  crashed: signal 11 "),
            EndsWith("\n1 checks passed, 2 failed\n")));
}

TEST(VerifyPluginTest, Json) {
  const CommandResult result =
      Verify(kMisbehaving, {"op/residual_add/rows=1,width=8/bf16",
                            "op/rope/rows=1,heads=1,d=2,rotary=2,half_head=0/bf16",
                            "op/kv_write/rows=2,kv=1,d=8,blocks=1/bf16", "--format", "json"});
  EXPECT_EQ(result.code, 1) << result.out << result.err;
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(result.out, "stdout"));
  EXPECT_EQ(json["plugin"]["path"], kMisbehaving);
  EXPECT_EQ(json["plugin"]["name"], "misbehaving");
  EXPECT_EQ(json["plugin"]["version"], "1");
  EXPECT_EQ(json["plugin"]["device"], "cpu");
  EXPECT_EQ(json["plugin"]["sessions"], false);
  EXPECT_EQ(json["plugin"]["operations"].size(), 17u);
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["skipped"], 1);
  EXPECT_EQ(json["operations"][0]["outcome"], "PASS");
  EXPECT_EQ(json["operations"][0]["backend"], kMisbehaving);
  EXPECT_EQ(json["operations"][1]["outcome"], "FAIL");
  EXPECT_EQ(json["operations"][1]["signature"], "run: exit");
  EXPECT_EQ(json["operations"][1]["no_result"], "ended its process with exit code 0");
  EXPECT_EQ(json["operations"][2]["outcome"], "SKIP");
  EXPECT_EQ(json["operations"][2]["passed"], false);
  EXPECT_EQ(json["operations"][2]["no_result"], "an even number of rows");
}

TEST(VerifyPluginTest, DraftsStageByStage) {
  ::setenv("DRAFTMARK_TEST_FAULT", "stage:norm", 1);
  const CommandResult wrong = Verify(kReference, {kDraft});
  ::unsetenv("DRAFTMARK_TEST_FAULT");
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  EXPECT_THAT(wrong.out, AllOf(HasSubstr("\nFAIL draft/dflash_yarn/gamma=16,ctx=71,steps=2,nb=1 " +
                                         kReference + " bf16: first stage off is step0.norm ("),
                               HasSubstr("\n  reproduce: draftmark verify " + kDraft +
                                         " --backend " + kReference + " --precision bf16\n"),
                               EndsWith("0 checks passed, 1 failed\n")));
  const CommandResult right = Verify(kReference, {kDraft});
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_THAT(right.out, HasSubstr("\nPASS draft/dflash_yarn/gamma=16,ctx=71,steps=2,nb=1 " +
                                   kReference + " bf16: "));
}

// Windows, slides, YaRN, softcap, both conventions, biases, sinks; and what it does not know is
// skipped.
TEST(VerifyPluginTest, TheExampleOfASessionPasses) {
  const std::string drafts = TestData("golden/drafts");
  const CommandResult result =
      Verify(kSession, {TestData("golden/drafter"), drafts + "/dflash-qwen3-4b-block7",
                        drafts + "/gpt-oss-20b-dflash", drafts + "/synthetic-partial-rotary",
                        drafts + "/synthetic-half-of-head"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              AllOf(StartsWith("plug-in " + kSession +
                               ": plain C drafts 1.0 (cpu, 0 operations, draft sessions)\n"),
                    HasSubstr("\nSKIP draft/dflash2_taps3/gamma=16,ctx=21,steps=2,nb=1 " +
                              kSession + " bf16: unsupported: convolutions\n"),
                    HasSubstr(" bf16: unsupported: Markov heads\n"),
                    HasSubstr("\nPASS draft/dflash_window_slide/"),
                    HasSubstr("\nPASS draft/synthetic-partial-rotary/"),
                    EndsWith("\n8 checks passed, 0 failed, 3 skipped\n")));
  // Operations it has none of.
  const CommandResult operation = Verify(kSession, {"op/rms_norm/rows=1,h=8/bf16", kDraft});
  EXPECT_THAT(operation.out, HasSubstr("unsupported: the plug-in has no such operation\n"));
}

// Classes of conformance/README.md that no single sequence shows, or no short one: a port that fails so
// fails the golden drafts.
TEST(VerifyPluginTest, PublicFailuresFail) {
  struct Failure {
    const char* fault;
    const char* draft;
    const char* signature;
  };
  for (const Failure& failure :
       {Failure{"other bands", "sixteen-sequences", "step0."}, Failure{"no reset", "reset", ""},
        Failure{"rows cut at 8192", "long-append", "step0."},
        Failure{"unwatched", "replay", "step0.draft_tokens: replay"},
        Failure{"fp16", "large-taps", "step0.fc: "}}) {
    SCOPED_TRACE(failure.fault);
    const std::string draft = TestData("golden/drafts/failures-" + std::string(failure.draft));
    ::setenv("DRAFTMARK_TEST_FAULT", failure.fault, 1);
    const CommandResult wrong = Verify(kReference, {draft});
    ::unsetenv("DRAFTMARK_TEST_FAULT");
    EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
    EXPECT_THAT(wrong.out, AllOf(HasSubstr("\nFAIL draft/failures-"),
                                 HasSubstr("\n  signature: " + std::string(failure.signature))));
    const CommandResult right = Verify(kReference, {draft});
    EXPECT_EQ(right.code, 0) << right.out << right.err;
  }
}

TEST(VerifyPluginTest, ADraftThatCrashes) {
  ::setenv("DRAFTMARK_TEST_FAULT", "crash", 1);
  const CommandResult result = Verify(kReference, {kDraft, "op/rms_norm/rows=1,h=8/bf16"});
  ::unsetenv("DRAFTMARK_TEST_FAULT");
  EXPECT_EQ(result.code, 1) << result.out << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr(" bf16: propose: crashed: signal 11 (Segmentation fault)"),
                    EndsWith("\n1 checks passed, 1 failed\n")));
}

// The plug-in's own kernels are excused by entries for it, and by no file for our own.
TEST(VerifyPluginTest, Expectations) {
  const TestFolder folder;
  const std::string file = folder.Path("expectations.toml");
  ASSERT_THAT(WriteTextFile(file,
                            "schema_version = 1\n[[expectation]]\n"
                            "case = \"op/rope/*\"\nkind = \"known_failure\"\n"
                            "reason = \"ends the process\"\nowner = \"me\"\n"
                            "link = \"https://example.com/1\"\nexpires = 2099-01-01\n"
                            "signature = \"run: exit\"\n"),
              IsOk());
  const CommandResult result =
      Verify(kMisbehaving, {"op/rope/rows=1,heads=1,d=2,rotary=2,half_head=0/bf16",
                            "op/residual_add/rows=1,width=8/bf16", "--expectations", file});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nXFAIL op/rope/"),
                                EndsWith("1 checks passed, 0 failed, 1 expected failures\n")));
}

TEST(VerifyPluginTest, NothingCheckedIsNoSuccess) {
  const CommandResult result = Verify(Odd("supports_nothing"));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err,
              MatchesRegex("draftmark: nothing was checked: each of the [0-9]+ cases is "
                           "unsupported\n"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("unsupported: this is a Tuesday\n"),
                                ContainsRegex("\n0 checks passed, 0 failed, [0-9]+ skipped\n$")));
}

TEST(VerifyPluginTest, WhatCannotBeLoadedIsOneLine) {
  const std::pair<std::string, std::string> refusals[] = {
      {Odd("newer_abi"), "plug-in table: abi: expected 1, which this program knows, found 2"},
      {Odd("crashes_as_it_loads"), "crashed: signal 11 (Segmentation fault) while it was loaded"},
      {Odd("has_no_entry"),
       "is no plug-in: expected it to export draftmark_plugin_entry, found no such symbol"}};
  for (const auto& [plugin, reason] : refusals) {
    const CommandResult result = Verify(plugin);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err, "draftmark: " + plugin + ": " + reason + "\n");
    EXPECT_EQ(result.out, "0 checks passed, 0 failed\n");
  }
  EXPECT_THAT(Verify("./nowhere.so").err,
              StartsWith("draftmark: ./nowhere.so: cannot be loaded: ./nowhere.so: cannot open"));
}

TEST(VerifyPluginTest, WithoutAGpuCudaIsOneLine) {
  const CommandResult result = Verify(Odd("needs_a_gpu"));
  EXPECT_EQ(result.code, 2);
  // On a machine with one it is loaded, and supports nothing.
  EXPECT_THAT(result.err, StartsWith("draftmark: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST(VerifyPluginTest, Usage) {
  EXPECT_THAT(Verify("mine").err, HasSubstr("must be reference, cuda, or the path of a plug-in"));
  EXPECT_THAT(Verify(kExample, {"--precision", "exact"}).err,
              HasSubstr("--precision exact: --backend " + kExample + " computes in bf16 only"));
  EXPECT_THAT(Verify(kExample, {"--scratch", "v1"}).err,
              HasSubstr("--scratch: only --backend cuda runs on a scratch"));
  EXPECT_THAT(Verify("reference", {"--time-limit", "5"}).err,
              HasSubstr("--time-limit: only a plug-in has one"));
  for (const char* const limit : {"0", "nan", "inf", "-1"}) {
    EXPECT_EQ(Verify(kExample, {"--time-limit", limit}).code, 2) << limit;
  }
  EXPECT_THAT(RunProgram({"--help"}).out, Not(HasSubstr("plugin-host")));
}

}  // namespace
}  // namespace draftmark
