#include "conformance/expectations/architectures.h"

#include <map>
#include <set>

#include "src/base/json.h"
#include "src/base/memory_file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(RunsOnTest, MachineCodeFamiliesAndPtx) {
  // As tools/bundle/environment.sh has it: what a bundle refuses is not called compiled.
  EXPECT_TRUE(RunsOn("sm_80", "sm_80"));
  EXPECT_TRUE(RunsOn("sm_80", "sm_86"));
  EXPECT_TRUE(RunsOn("sm_80", "sm_89"));
  EXPECT_FALSE(RunsOn("sm_89", "sm_86"));
  EXPECT_FALSE(RunsOn("sm_80", "sm_90"));
  EXPECT_FALSE(RunsOn("sm_80", "sm_75"));
  EXPECT_TRUE(RunsOn("sm_90a", "sm_90"));
  EXPECT_FALSE(RunsOn("sm_100a", "sm_103"));
  EXPECT_TRUE(RunsOn("sm_100f", "sm_103"));
  EXPECT_FALSE(RunsOn("sm_100f", "sm_110"));
  EXPECT_TRUE(RunsOn("sm_120", "sm_121"));
  EXPECT_FALSE(RunsOn("sm_120a", "sm_121"));
  EXPECT_TRUE(RunsOn("compute_90", "sm_121"));
  EXPECT_FALSE(RunsOn("compute_90", "sm_89"));
  EXPECT_FALSE(RunsOn("compute_120a", "sm_121"));
  EXPECT_FALSE(RunsOn("sm", "sm_90"));
  EXPECT_FALSE(RunsOn("sm_90", "cpu"));
}

class ArchitecturesTest : public ::testing::Test {
 protected:
  ArchitecturesTest() {
    for (const char* const arch : {"sm_80", "sm_90", "sm_100"})
      Expect(arch, "schema_version = 1\n");
    Write("e/cpu.toml", "schema_version = 1\n");
    Expect("sm_75", "schema_version = 1\n[architecture]\nnot_built = \"no BF16\"\n");
    Write("r/h200.json", R"({"compute_capability": "sm_90", "conformance": {
        "operations": {"argmax": {"judged_runs": 26}, "conv": {"judged_runs": 0}},
        "programs": {"conformance.cuda.cuda_cases_test": {"passed": 130, "failed": 0}}}})");
    Write("r/bench.json", R"({"compute_capability": "sm_90", "benchmarks": {}})");
  }
  void Write(const std::string& path, const std::string& text) {
    ASSERT_THAT(WriteTextFile(path, text, files_), IsOk());
  }
  void Expect(const std::string& arch, const std::string& text) {
    Write("e/" + arch + ".toml", text);
  }
  StatusOr<Architectures> Known(std::vector<std::string> built = {"sm_80", "sm_90a"}) {
    return ReadArchitectures({.expectations = "e",
                              .results = "r",
                              .built = std::move(built),
                              .operations = {"argmax", "conv"}},
                             files_);
  }
  StatusOr<std::vector<ArchitectureRow>> Read(std::vector<std::string> built = {"sm_80",
                                                                                "sm_90a"}) {
    DM_ASSIGN_OR_RETURN(Architectures known, Known(std::move(built)));
    return std::move(known.rows);
  }
  MemoryFileSystem files_;
};

TEST_F(ArchitecturesTest, StatesAreDerived) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<ArchitectureRow> rows, Read());
  std::vector<std::string> order;
  std::map<std::string, std::string> texts;
  for (const ArchitectureRow& row : rows) {
    if (order.empty() || order.back() != row.architecture) order.push_back(row.architecture);
    texts[row.architecture + " " + row.operation] = row.Text();
  }
  EXPECT_EQ(order, (std::vector<std::string>{"sm_75", "sm_80", "sm_90", "sm_100"}));
  ASSERT_EQ(rows.size(), 4u * 3u);
  EXPECT_EQ(texts["sm_90 op/argmax"], "run: 26 runs in h200.json");
  EXPECT_EQ(texts["sm_90 draft"], "run: 130 runs in h200.json");
  // Judged no time is not run.
  EXPECT_EQ(texts["sm_90 op/conv"], "compiled: this build has code for it, sm_90a");
  EXPECT_EQ(texts["sm_80 draft"], "compiled: this build has code for it, sm_80");
  EXPECT_EQ(texts["sm_100 op/conv"], "never run: not built: this build has code for sm_80, sm_90a");
  EXPECT_EQ(texts["sm_75 op/conv"], "never run: not built: no BF16");
}

TEST_F(ArchitecturesTest, WhatRanIsRunInEveryBuild) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<ArchitectureRow> rows, Read({}));
  for (const ArchitectureRow& row : rows) {
    EXPECT_NE(row.state, ArchitectureState::kCompiled) << row.operation << row.architecture;
    if (row.architecture == "sm_90" && row.operation == "draft") {
      EXPECT_EQ(row.state, ArchitectureState::kRun);
    }
    if (row.architecture == "sm_80") {
      EXPECT_THAT(row.detail, HasSubstr("code for none"));
    }
  }
}

TEST_F(ArchitecturesTest, OneFileAndOneSettingAddAnArchitecture) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<ArchitectureRow> before, Read());
  Expect("sm_121", "schema_version = 1\n");
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<ArchitectureRow> after,
                          Read({"sm_80", "sm_90a", "sm_121a"}));
  EXPECT_EQ(after.size(), before.size() + 3);
  EXPECT_EQ(after.back().architecture, "sm_121");
  EXPECT_EQ(after.back().Text(), "compiled: this build has code for it, sm_121a");
}

TEST_F(ArchitecturesTest, Contradictions) {
  EXPECT_THAT(
      Read({"sm_75"}),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("sm_75.toml: architecture.not_built: this build has code for it")));
  Write("r/t4.json", R"({"compute_capability": "sm_75",
                         "conformance": {"operations": {"argmax": {"judged_runs": 1}}}})");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("t4.json"), HasSubstr("not built: no BF16"))));
  Write("r/t4.json", R"({"compute_capability": "sm_87",
                         "conformance": {"operations": {"argmax": {"judged_runs": 1}}}})");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kNotFound, HasSubstr("for which e has no file")));
  Write("r/t4.json", R"({"conformance": {}})");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("compute_capability")));
  Write("r/t4.json", "[");
  EXPECT_FALSE(Read().ok());
  Write("r/t4.json", R"({"compute_capability": "sm_90"})");
  Expect("sm_90a", "schema_version = 1\n");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("sm_90a.toml")));
}

// Another name of an architecture that is there, or of none.
TEST(ArchitectureNamesTest, MustBeThoseOfArchitectures) {
  for (const std::string arch :
       {"sm_-5", "sm_0", "sm_9", "sm_090", "sm_+90", "sm_", "sm_9x0", "sm_90aa"}) {
    MemoryFileSystem files;
    const auto read = [&] {
      return ReadArchitectures(
                 {.expectations = "e", .results = "r", .built = {}, .operations = {"argmax"}},
                 files)
          .status();
    };
    const std::string expectations = "schema_version = 1\n";
    ASSERT_THAT(WriteTextFile("e/sm_90.toml", expectations, files), IsOk());
    const std::string result = R"({"compute_capability": ")" + arch + R"("})";
    ASSERT_THAT(WriteTextFile("r/x.json", result, files), IsOk());
    EXPECT_THAT(read(), StatusIs(StatusCode::kInvalidArgument,
                                 HasSubstr("r/x.json: compute_capability: expected one such as")))
        << arch;
    ASSERT_THAT(WriteTextFile("e/" + arch + ".toml", expectations, files), IsOk());
    EXPECT_THAT(read(), StatusIs(StatusCode::kInvalidArgument,
                                 HasSubstr(arch + ".toml: expected a name such as sm_90.toml")));
  }
}

TEST_F(ArchitecturesTest, WhatCannotBeCountedIsRefused) {
  const std::pair<const char*, const char*> kCases[] = {
      {"[1]", "r/x.json: expected an object"},
      {R"({"compute_capability": 90})",
       "r/x.json: compute_capability: expected one such as \"sm_90\", found 90"},
      {R"({"compute_capability": "sm_80", "conformance": []})",
       "r/x.json: conformance: expected an object, found []"},
      {R"({"compute_capability": "sm_80", "conformance": {"operations": ["argmax"]}})",
       "r/x.json: conformance.operations: expected an object, found [\"argmax\"]"},
      {R"({"compute_capability": "sm_80", "conformance": {"operations": {"argmaxx": {}}}})",
       "r/x.json: conformance.operations.argmaxx: there is no such operation"},
      {R"({"compute_capability": "sm_80", "conformance": {"operations": {"argmax": 26}}})",
       "r/x.json: conformance.operations.argmax: expected an object, found 26"},
      {R"({"compute_capability": "sm_80", "conformance": {"operations": {"argmax": {"runs": 1}}}})",
       "r/x.json: conformance.operations.argmax.judged_runs: expected a count, found none"},
      {R"({"compute_capability": "sm_80",
           "conformance": {"operations": {"argmax": {"judged_runs": -1}}}})",
       "r/x.json: conformance.operations.argmax.judged_runs: expected a count, found -1"},
      {R"({"compute_capability": "sm_80", "conformance": {"programs": 1}})",
       "r/x.json: conformance.programs: expected an object, found 1"},
      {R"({"compute_capability": "sm_80",
           "conformance": {"programs": {"conformance.cuda.cuda_cases_test": {"passed": "1"}}}})",
       "r/x.json: conformance.programs.conformance.cuda.cuda_cases_test.passed: expected a count, "
       "found \"1\""}};
  for (const auto& [text, message] : kCases) {
    Write("r/x.json", text);
    EXPECT_THAT(Known().status(), StatusIs(StatusCode::kInvalidArgument, message));
  }
}

TEST_F(ArchitecturesTest, ResultsOfOtherThingsAreListed) {
  Write("r/mistyped.json", R"({"compute_capability": "sm_80", "conformence": {}})");
  Write("r/total.json", R"({"compute_capability": "sm_80", "conformance": {
      "passed": 7, "operations": {}, "programs": {"another": {"passed": 7}}}})");
  DM_ASSERT_OK_AND_ASSIGN(const Architectures known, Known());
  EXPECT_THAT(known.not_counted,
              ::testing::ElementsAre("bench.json: it has no `conformance`",
                                     "mistyped.json: it has no `conformance`",
                                     "total.json: its `conformance` has neither `operations` nor "
                                     "conformance.cuda.cuda_cases_test"));
}

TEST(ArchitecturesOfCheckoutTest, TheCommittedFilesAgree) {
  std::vector<std::string> operations;
  for (const Operation& operation : AllOperations()) operations.emplace_back(operation.name);
  DM_ASSERT_OK_AND_ASSIGN(const Architectures known,
                          ReadArchitectures({.expectations = TestData("conformance/expectations"),
                                             .results = TestData("conformance/results"),
                                             .built = BuiltArchs(),
                                             .operations = operations}));
  std::map<std::string, std::set<ArchitectureState>> states;
  for (const ArchitectureRow& row : known.rows) states[row.architecture].insert(row.state);
  // sm_75 to sm_121, every architecture that CUDA 13 compiles for.
  const std::vector<std::string> all = {"sm_75", "sm_80",  "sm_86",  "sm_87",  "sm_88",  "sm_89",
                                        "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};
  for (const std::string& arch : all) EXPECT_EQ(states.count(arch), 1u) << arch;
  EXPECT_EQ(states.size(), all.size());
  EXPECT_EQ(states["sm_90"], std::set<ArchitectureState>{ArchitectureState::kRun});
  EXPECT_EQ(states["sm_75"], std::set<ArchitectureState>{ArchitectureState::kNeverRun});
  // What people wrote into the results by hand says the same.
  for (const char* const file : {"h200_operations.json", "h200_drafts.json"}) {
    DM_ASSERT_OK_AND_ASSIGN(const std::string text,
                            ReadTextFile(TestData("conformance/results/" + std::string(file))));
    const Json results = Json::parse(text);  // a temporary would end before its elements are read
    for (const Json& arch : results.at("never_run")) {
      EXPECT_EQ(states[arch.get<std::string>()].count(ArchitectureState::kRun), 0u) << arch;
    }
  }
}

}  // namespace
}  // namespace draftmark
