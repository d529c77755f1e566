// PyTorch's BF16 runs of the oracle cases, as foreign dumps: every stage agrees, most of them with
// Hugging Face's rounding. They lie in ../shared/cases; the copies in golden/ are trimmed.

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

std::vector<std::string> OracleCases() {
  return FindDrafterCases(ExternalRunfiles("oracle_cases", "cases/drafter"));
}

class TorchRunsTest : public ::testing::TestWithParam<std::string> {};
// Empty without ../shared/cases; TorchRunsListTest says so.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TorchRunsTest);

TEST_P(TorchRunsTest, PyTorchsRunAgrees) {
  constexpr std::string_view kPrefix = "torch_bf16.";
  const std::string& directory = GetParam();
  const TestFolder folder;
  DM_ASSERT_OK_AND_ASSIGN(const SafetensorsFile golden,
                          SafetensorsFile::Open(directory + "/golden.safetensors"));
  SafetensorsWriter writer;
  for (const std::string& name : golden.names()) {
    if (!name.starts_with(kPrefix)) continue;
    DM_ASSERT_OK_AND_ASSIGN(const TensorView view, golden.Get(name));
    ASSERT_THAT(writer.Add(name.substr(kPrefix.size()), view), IsOk());
  }
  const std::string path = folder.Path("torch.safetensors");
  ASSERT_THAT(writer.Write(path), IsOk());
  DiagnosisPaths paths;
  paths.case_directory = directory;
  DM_ASSERT_OK_AND_ASSIGN(const DiagnosisSource source, LoadDiagnosisSource(paths));
  DM_ASSERT_OK_AND_ASSIGN(const Dump dump, LoadDump(path, source.config, source.bands));
  DM_ASSERT_OK_AND_ASSIGN(const Diagnosis diagnosis,
                          Diagnose(source.config, source.weights, source.bands, dump));
  const StageFinding* const first = diagnosis.FirstOff();
  EXPECT_EQ(first, nullptr) << first->tensor << ": " << first->failure;
  EXPECT_GT(diagnosis.Count(Agreement::kAlternateRounding), 0u);
}

INSTANTIATE_TEST_SUITE_P(Oracle, TorchRunsTest, ::testing::ValuesIn(OracleCases()),
                         [](const auto& run) {
                           return TestName(run.param.substr(run.param.rfind('/') + 1));
                         });

TEST(TorchRunsListTest, OracleCasesAreBesideTheCheckout) {
  if (OracleCases().empty()) {
    GTEST_SKIP() << "no oracle cases beside the checkout (../shared/cases)";
  }
}

}  // namespace
}  // namespace draftmark
