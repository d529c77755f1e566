#include "tools/commands/dump_template/dump_template_command.h"

#include "src/base/json.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Case() { return Runfiles("golden/drafter/dflash_yarn"); }

TEST(DumpTemplateCommandTest, NamesDtypesAndShapes) {
  const CommandResult result = RunCommand({"dump-template", Case()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("step0.layers.0.q_norm"));
  EXPECT_THAT(result.out, HasSubstr("step1.draft_tokens                           U32  [15]"));
  EXPECT_THAT(result.out, HasSubstr("safetensors.torch.save_file(dump"));
}

TEST(DumpTemplateCommandTest, Json) {
  const CommandResult result = RunCommand({"dump-template", Case(), "--format", "json"});
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(result.out, "template"));
  ASSERT_THAT(json["tensors"], SizeIs(52));
  EXPECT_EQ(json["tensors"][0]["name"], "step0.fc");
  EXPECT_EQ(json["tensors"][0]["dtype"], "BF16");
  EXPECT_THAT(json["python"].get<std::string>(), HasSubstr("register_forward_hook"));
}

TEST(DumpTemplateCommandTest, WrongUsageIsAnError) {
  EXPECT_EQ(RunCommand({"dump-template"}).code, 2);
  EXPECT_EQ(RunCommand({"dump-template", "/nowhere"}).code, 2);
}

}  // namespace
}  // namespace draftmark
