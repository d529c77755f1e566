// The float64 stages of golden/drafts as a foreign dump: without the ones in between, each case
// agrees end to end, however deep it is.

#include "conformance/diagnosis/diagnose.h"
#include "conformance/diagnosis/source.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/base/test_name.h"
#include "src/cases/drafter_case.h"
#include "src/tensor/safetensors.h"

namespace draftmark {
namespace {

class GoldenDraftsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenDraftsTest, ItsOwnStagesAgree) {
  constexpr std::string_view kPrefix = "f64.";
  const std::string& directory = GetParam();
  const TestFolder folder;
  DM_ASSERT_OK_AND_ASSIGN(const SafetensorsFile golden,
                          SafetensorsFile::Open(directory + "/golden.safetensors"));
  SafetensorsWriter writer;
  for (const std::string& name : golden.names()) {
    const std::string stage = name.substr(name.rfind('.') + 1);
    if (!name.starts_with(kPrefix) || name.find("markov") != std::string::npos) continue;
    if (stage != "norm" && stage != "logits" && stage != "draft_tokens") continue;
    DM_ASSERT_OK_AND_ASSIGN(const TensorView view, golden.Get(name));
    ASSERT_THAT(writer.Add(name.substr(kPrefix.size()), view), IsOk());
  }
  const std::string path = folder.Path("dump.safetensors");
  ASSERT_THAT(writer.Write(path), IsOk());
  DiagnosisPaths paths;
  paths.case_directory = directory;
  DM_ASSERT_OK_AND_ASSIGN(const DiagnosisSource source, LoadDiagnosisSource(paths));
  DM_ASSERT_OK_AND_ASSIGN(const Dump dump, LoadDump(path, source.config, source.bands));
  EXPECT_GE(dump.size(), 4u);
  DM_ASSERT_OK_AND_ASSIGN(const Diagnosis diagnosis,
                          Diagnose(source.config, source.weights, source.bands, dump));
  const StageFinding* const first = diagnosis.FirstOff();
  EXPECT_EQ(first, nullptr) << first->tensor << ": " << first->failure;
}

INSTANTIATE_TEST_SUITE_P(Golden, GoldenDraftsTest,
                         ::testing::ValuesIn(FindDrafterCases(Runfiles("golden/drafts"))),
                         [](const auto& run) {
                           return TestName(run.param.substr(run.param.rfind('/') + 1));
                         });

TEST(GoldenDraftsListTest, HasTheCases) {
  EXPECT_GE(FindDrafterCases(Runfiles("golden/drafts")).size(), 20u);
}

}  // namespace
}  // namespace draftmark
