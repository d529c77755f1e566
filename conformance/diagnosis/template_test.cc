#include "conformance/diagnosis/template.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "conformance/diagnosis/diagnose.h"
#include "conformance/diagnosis/source.h"
#include "conformance/diagnosis/write_dump.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/weights/random_drafter.h"

namespace draftmark {
namespace {

using ::testing::SizeIs;

TEST(TemplateTest, ADumpOfTheTemplateLoads) {
  const DrafterConfig config = SmallDrafterConfig();
  plain::Bands bands(2);
  for (std::size_t b = 0; b < 2; ++b) {
    CaseStep step;
    step.new_context_rows = 3 + b;
    step.start = 9;
    step.target_hidden = RandomBf16(1, step.new_context_rows * config.tap_width(), 1);
    step.block_tokens = {1, 100, 100};
    bands[b].push_back(step);
  }
  const std::vector<TemplateTensor> tensors = DumpTemplate(config, bands);
  EXPECT_EQ(tensors.front().name, "step0.fc");
  EXPECT_EQ(tensors.front().shape, (Shape{3, 48}));
  EXPECT_EQ(tensors.back().name, "step0.band1.margin");
  DumpWriter writer;
  for (const TemplateTensor& tensor : tensors) {
    std::uint64_t count = 1;
    for (const std::uint64_t n : tensor.shape) count *= n;
    writer.Add(tensor.name, tensor.dtype, tensor.shape, std::vector<double>(count, 1.0));
  }
  const TestFolder folder;
  ASSERT_THAT(writer.Write(folder.Path("d.safetensors")), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const Dump dump, LoadDump(folder.Path("d.safetensors"), config, bands));
  EXPECT_THAT(dump, SizeIs(tensors.size()));
}

bool RunPython(const std::string& arguments) {
  const std::string line =
      fmt::format("'{}' '{}' {}", std::getenv("PYTHON"), std::getenv("SCRIPT"), arguments);
  const int status = std::system(line.c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class SnippetTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SnippetTest, TheSnippetRunsAndItsDumpAgrees) {
  if (!RunPython("check"))
    GTEST_SKIP() << "no Python packages for this test; tools/setup installs them";
  const TestFolder folder;
  const std::string geometry = GetParam();
  DrafterConfig config;
  config.kind = geometry == "dflash2" ? DrafterKind::kDflash2 : DrafterKind::kDflash;
  const std::string snippet = PythonSnippet(config);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = snippet.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    EXPECT_LE(end - begin, 100u) << snippet.substr(begin, end - begin);
  }
  ASSERT_THAT(WriteTextFile(folder.Path("snippet.py"), snippet), IsOk());
  ASSERT_TRUE(
      RunPython(fmt::format("{} '{}' '{}'", geometry, folder.Path("snippet.py"), folder.path())));
  const std::string path = folder.Path(geometry);
  DiagnosisPaths paths;
  paths.weights = path;
  paths.inputs = path + "/inputs.safetensors";
  DM_ASSERT_OK_AND_ASSIGN(const DiagnosisSource source, LoadDiagnosisSource(paths));
  DM_ASSERT_OK_AND_ASSIGN(const Dump dump,
                          LoadDump(path + "/dump.safetensors", source.config, source.bands));
  EXPECT_THAT(dump, SizeIs(geometry == "dflash2" ? 19 : 15));
  DM_ASSERT_OK_AND_ASSIGN(const Diagnosis diagnosis,
                          Diagnose(source.config, source.weights, source.bands, dump));
  const StageFinding* const first = diagnosis.FirstOff();
  EXPECT_EQ(first, nullptr) << first->tensor << ": " << first->failure;
}

INSTANTIATE_TEST_SUITE_P(Geometries, SnippetTest, ::testing::Values("dflash", "dflash2", "dspark"));

}  // namespace
}  // namespace draftmark
