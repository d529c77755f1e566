// `draftmark verify --backend cuda` on a GPU.
#include <string>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
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

}  // namespace
}  // namespace draftmark
