// `draftmark verify --backend cuda` on a GPU.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "src/cuda/gpu_test.h"
#include "tools/commands/run_program.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kGolden = TestData("golden");
const std::string kCase = kGolden + "/drafter/dflash_yarn";
constexpr char kId[] = "draft/dflash_yarn/gamma=16,ctx=71,steps=2,nb=1 cuda bf16";

class VerifyCudaTest : public GpuTest {
 protected:
  static CommandResult Verify(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"verify", "--backend", "cuda"});
    return RunProgram(arguments);
  }
};

TEST_F(VerifyCudaTest, NamesTheDeviceOnce) {
  const CommandResult outcome = Verify({kCase, "op/rms_norm/rows=4,h=96/bf16"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("device " + device().Describe() +
                                      "\nPASS op/rms_norm/rows=4,h=96/bf16 cuda bf16: "));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\nPASS " + std::string(kId) + ": "),
                                 EndsWith("2 checks passed, 0 failed\n")));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(VerifyCudaTest, EveryScratchIsACheckOfItsOwn) {
  const CommandResult outcome = Verify({kCase, "--scratch", "all"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (const char* const scratch : {": ", " scratch v1: ", " scratch contiguous: "}) {
    EXPECT_THAT(outcome.out, HasSubstr("PASS " + std::string(kId) + scratch));
  }
  EXPECT_THAT(outcome.out, EndsWith("\n3 checks passed, 0 failed\n"));
}

TEST_F(VerifyCudaTest, TheSimplePath) {
  const CommandResult outcome = Verify({kCase, "--path", "simple"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("PASS " + std::string(kId) + " path simple: "));
}

TEST_F(VerifyCudaTest, Json) {
  const CommandResult outcome = Verify({kCase, "--scratch", "v1", "--format", "json"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(outcome.out, "stdout"));
  EXPECT_EQ(json["device"], device().Describe());
  const Json& draft = json["drafts"][0];
  EXPECT_EQ(draft["backend"], "cuda");
  EXPECT_EQ(draft["precision"], "bf16");
  EXPECT_EQ(draft["scratch"], "v1");
  EXPECT_EQ(draft["reproduce"],
            "draftmark verify " + kCase + " --backend cuda --precision bf16 --scratch v1");
}

TEST_F(VerifyCudaTest, EverythingInGolden) {
  const CommandResult outcome = Verify({"--golden", kGolden});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("PASS sizes/synthetic_edges.json: "),
                                 HasSubstr("PASS op/rms_norm: 10 cases cuda bf16, closest to its "
                                           "bound op/rms_norm/"),
                                 HasSubstr("PASS draft/qwen3.8-27b-dspark/")));
}

// Compiles a plug-in as kernels/plugin/README.md says; empty where there is no compiler.
std::string Compile(const TestFolder& folder, const std::string& source) {
  const std::string library = folder.Path("libplugin.so");
  const std::string command =
      "PATH=\"$PATH:/usr/local/cuda/bin\"; nvcc -O3 -shared -Xcompiler=-fPIC -arch=native -I " +
      ShellWord(TestData("kernels/plugin")) + " -o " + ShellWord(library) + " " +
      ShellWord(TestData(source)) + " >&2";
  return std::system(command.c_str()) == 0 ? library : "";
}

// The library in place of "cuda".
CommandResult VerifyPlugin(const std::string& library, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"verify", "--backend", library});
  return RunProgram(arguments);
}

TEST_F(VerifyCudaTest, TheExamplePluginAndItsMistake) {
  const TestFolder folder;
  const std::string library = Compile(folder, "kernels/plugin/examples/cuda/cuda_plugin.cu");
  if (library.empty()) GTEST_SKIP() << "no nvcc that compiles for this GPU";
  const CommandResult outcome = VerifyPlugin(library, {});
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("device " + device().Describe() + "\nplug-in " + library +
                               ": plain CUDA 1.0 (cuda, 4 operations, no draft sessions)\n"),
                    HasSubstr("\nPASS op/rms_norm: "), HasSubstr("\nPASS op/silu_mul: "),
                    HasSubstr("\nPASS op/linear: "),
                    HasSubstr(": unsupported: cap=1 is outside of the plug-in's limits [0, 0]\n"),
                    HasSubstr("\nFAIL op/residual_add/rows=7,width=127/bf16 "),
                    HasSubstr("\n  x (T1): 1 of 889 elements off; worst [6, 126]: expected "),
                    HasSubstr("\nPASS op/residual_add: ")));
}

TEST_F(VerifyCudaTest, WhatAPluginDoesToTheGpuCostsItsCaseAlone) {
  const TestFolder folder;
  const std::string library = Compile(folder, "kernels/plugin/testing/misbehaving_cuda_plugin.cu");
  if (library.empty()) GTEST_SKIP() << "no nvcc that compiles for this GPU";
  const CommandResult outcome = VerifyPlugin(
      library,
      {"--time-limit", "3", "op/rms_norm/rows=1,h=8/bf16", "op/head_norm/rows=1,heads=1,d=8/bf16",
       "op/linear/rows=1,n=8,k=8,bias=0,cap=0/bf16", "op/row_gather/rows=1,from=1,width=3/bf16",
       "op/argmax/rows=1,v=100/bf16", "op/confidence/rows=1,h=4,r=0/bf16",
       "op/residual_add/rows=7,width=127/bf16"});
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("FAIL op/rms_norm/rows=1,h=8/bf16 " + library + " bf16\n  "),
            HasSubstr("\n  signature: run: device error\n"),
            HasSubstr("\n  did not return within 3 s\n  signature: run: hang\n"),
            HasSubstr("\n  crashed: signal 11 (Segmentation fault)\n  signature: run: crash\n"),
            HasSubstr("\n  out: a kernel wrote beside its 6 bytes, at offset 6\n  signature: run: "
                      "wrote outside\n"),
            HasSubstr("\n  logits: a kernel changed byte 1 of an operand that it reads\n  "
                      "signature: run: changed an input\n"),
            HasSubstr("\n  workspace: a kernel wrote beside its 100 bytes, at offset 103\n"),
            HasSubstr("\nPASS op/residual_add/rows=7,width=127/bf16 "),
            EndsWith("\n1 checks passed, 6 failed\n")));
}

}  // namespace
}  // namespace draftmark
