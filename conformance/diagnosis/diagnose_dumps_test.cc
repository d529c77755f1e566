// Diagnoses of dumps that an independent forward wrote (numpy_drafter.py), each with one mistake
// (numpy_dumps.py), or with one that nobody lists (unlisted_dumps.py):
// the right one is named, and nothing is where there is nothing to name.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "conformance/diagnosis/diagnose.h"
#include "conformance/diagnosis/inputs.h"
#include "conformance/diagnosis/mutants.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

class DiagnoseDumpsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TestFolder();
    python_ok_ = Python("check", "");
    if (python_ok_) {
      ASSERT_TRUE(Python("write", folder_->path()));
    }
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (python_ok_) return;
    GTEST_SKIP() << "no Python packages for this test; tools/setup installs them";
  }

  // Runs the script that BUILD names.
  static bool Python(const std::string& command, const std::string& argument) {
    const std::string line = fmt::format("'{}' '{}' {} '{}'", std::getenv("PYTHON"),
                                         std::getenv("SCRIPT"), command, argument);
    const int status =
        std::system((command == "check" ? line.substr(0, line.size() - 3) : line).c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  struct Geometry {
    DrafterConfig config;
    DrafterWeights weights;
    plain::Bands bands;
  };
  static StatusOr<Geometry> Load(const std::string& folder) {
    Geometry g;
    DM_ASSIGN_OR_RETURN(g.config, LoadDrafterConfig(folder + "/config.json"));
    DM_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(folder + "/model.safetensors"));
    DM_ASSIGN_OR_RETURN(
        g.weights,
        LoadDrafterWeights(g.config, std::make_shared<const Checkpoint>(std::move(checkpoint))));
    DM_ASSIGN_OR_RETURN(g.bands, LoadInputs(folder + "/inputs.safetensors", g.config));
    return g;
  }

  static std::vector<std::string> Names(const Diagnosis& diagnosis) {
    std::vector<std::string> names;
    for (const Hypothesis& hypothesis : diagnosis.explanations) {
      std::vector<std::string> parts;
      for (const plain::Mistake mistake : hypothesis)
        parts.emplace_back(plain::InfoOf(mistake).name);
      std::sort(parts.begin(), parts.end());
      names.push_back(fmt::format("{}", fmt::join(parts, " and ")));
    }
    return names;
  }

  static std::string FirstOff(const Diagnosis& diagnosis) {
    const StageFinding* const first = diagnosis.FirstOff();
    return first == nullptr ? "" : first->tensor;
  }

  static const TestFolder* folder_;
  static bool python_ok_;
};
const TestFolder* DiagnoseDumpsTest::folder_ = nullptr;
bool DiagnoseDumpsTest::python_ok_ = false;

TEST_F(DiagnoseDumpsTest, EachMistakeIsNamed) {
  DM_ASSERT_OK_AND_ASSIGN(const std::string text, ReadTextFile(folder_->Path("expected.json")));
  DM_ASSERT_OK_AND_ASSIGN(const Json expected, ParseJson(text, "expected.json"));
  EXPECT_GT(expected.size(), 100u);
  std::map<std::string, Geometry> geometries;
  for (const Json& entry : expected) {
    const std::string geometry = entry["folder"];
    const std::string path =
        folder_->Path(geometry) + "/" + std::string(entry["dump"]) + ".safetensors";
    SCOPED_TRACE(geometry + "/" + std::string(entry["dump"]));
    if (!geometries.contains(geometry)) {
      DM_ASSERT_OK_AND_ASSIGN(geometries[geometry], Load(folder_->Path(geometry)));
    }
    const Geometry& g = geometries[geometry];
    DM_ASSERT_OK_AND_ASSIGN(const Dump dump, LoadDump(path, g.config, g.bands));
    DM_ASSERT_OK_AND_ASSIGN(const Diagnosis diagnosis,
                            Diagnose(g.config, g.weights, g.bands, dump));
    const std::vector<std::string> names = Names(diagnosis);
    const StageFinding* const first = diagnosis.FirstOff();
    const std::string why = first == nullptr ? "agrees" : first->tensor + ": " + first->failure;
    if (entry["mistake"].is_null()) {
      EXPECT_TRUE(names.empty()) << fmt::format("{}", fmt::join(names, ", "));
      // Tokens alone may not show it: each is within its margin. A small mistake may be within the
      // end-to-end bound.
      const bool tokens_alone = std::string(entry["dump"]).ends_with("_tokens");
      EXPECT_TRUE(first != nullptr || tokens_alone || entry.value("may_agree", false));
    } else if (const auto mistake = entry["mistake"].get<std::string>(); mistake.empty()) {
      EXPECT_EQ(first, nullptr) << why;
    } else {
      EXPECT_THAT(names, ::testing::ElementsAre(mistake)) << why;
    }
    if (entry["first"].is_string()) {
      EXPECT_EQ(FirstOff(diagnosis), entry["first"].get<std::string>()) << why;
    }
  }
}

// What the table of mutants claims, EachMistakeIsNamed shows on a dump: one that is named for each
// named mutant, and one that is off without an explanation for each that is located.
TEST_F(DiagnoseDumpsTest, EveryMutantThatShowsHasADump) {
  DM_ASSERT_OK_AND_ASSIGN(const std::string text, ReadTextFile(folder_->Path("expected.json")));
  DM_ASSERT_OK_AND_ASSIGN(const Json expected, ParseJson(text, "expected.json"));
  std::map<std::string, std::string, std::less<>> rules;  // by name of a mistake
  for (const plain::MistakeInfo& info : plain::AllMistakes())
    rules[std::string(info.name)] = std::string(info.rule);
  std::set<std::string, std::less<>> named, located;
  for (const Json& entry : expected) {
    if (entry["mistake"].is_string() && rules.contains(entry["mistake"].get<std::string>()))
      named.insert(rules.at(entry["mistake"].get<std::string>()));
    if (!entry["mutant"].is_string()) continue;
    EXPECT_TRUE(entry["mistake"].is_null()) << entry;
    EXPECT_TRUE(entry["first"].is_string()) << entry;
    located.insert(entry["mutant"].get<std::string>());
  }
  for (const MutantInfo& mutant : AllMutants()) {
    EXPECT_EQ(located.contains(mutant.id), mutant.visibility == Visibility::kLocated) << mutant.id;
    if (mutant.visibility == Visibility::kNamed) {
      EXPECT_TRUE(named.contains(mutant.id)) << mutant.id;
    }
  }
}

}  // namespace
}  // namespace draftmark
