#include "kernels/plugin/contained_plugin.h"

#include <algorithm>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "src/operations/registry.h"

namespace draftmark::plugin {
namespace {

class ContainedPluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DM_ASSERT_OK_AND_ASSIGN(
        plugin_,
        ContainedPlugin::Open(
            {.library = log_, .host = {TestData("kernels/plugin/testing/device_error_host")}}));
  }
  PluginAnswer Query(const std::string& id) { return plugin_->Query(FindCase(id).value()); }
  std::size_t Processes() const {
    const std::string text = ReadTextFile(log_).value();
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  TestFolder folder_;
  const std::string log_ = folder_.Path("processes");
  std::unique_ptr<ContainedPlugin> plugin_;
};

// CUDA's errors stay with their process; the cases behind it must not have them, too.
TEST_F(ContainedPluginTest, BehindADeviceErrorIsAFreshProcess) {
  EXPECT_TRUE(Query("op/argmax/rows=1,v=100/bf16").ok());
  EXPECT_EQ(Processes(), 1u);
  const PluginAnswer answer = Query("op/rms_norm/rows=1,h=8/bf16");
  EXPECT_EQ(answer.kind, "device error");
  EXPECT_EQ(answer.message, "an illegal memory access");
  EXPECT_TRUE(Query("op/argmax/rows=1,v=100/bf16").ok());
  EXPECT_EQ(Processes(), 2u);
  EXPECT_TRUE(Query("op/argmax/rows=2,v=100/bf16").ok());
  EXPECT_EQ(Processes(), 2u);
  EXPECT_TRUE(plugin_->late_deaths().empty());
}

}  // namespace
}  // namespace draftmark::plugin
