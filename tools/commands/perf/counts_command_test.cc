// `draftmark perf counts` and `draftmark perf accept`, in-process, on a copy of the record.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/base/fake_clock.h"
#include "src/base/file_system.h"
#include "src/base/folder_lock.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kCase[] = "scratch/dflash_v2/z-lab.qwen3-8b-dflash-b16/ctx_window=4096,nb=8";

class CountsCommandTest : public testing::Test {
 protected:
  CountsCommandTest() {
    text_ = ReadTextFile(TestData("benchmarks/recorded/counts.json")).value();
    Write(text_);
  }
  void Write(const std::string& text) const { EXPECT_THAT(WriteTextFile(path_, text), IsOk()); }
  // With `from` replaced by `to` within the line of the case, as if that had been recorded.
  std::string Edited(const std::string& name, const std::string& from,
                     const std::string& to) const {
    std::string text = text_;
    const std::size_t at = text.find(from, text.find(name));
    EXPECT_NE(at, std::string::npos);
    return text.replace(at, from.size(), to);
  }
  // Those of the record, whatever was accepted last.
  std::vector<Json> GpuCases() const {
    std::vector<Json> cases;
    const Json record = Json::parse(text_);
    for (const Json& one : record["cases"]) {
      if (!one["architecture"].get<std::string>().empty()) cases.push_back(one);
    }
    return cases;
  }
  CommandResult Run(const std::string& command, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"perf", command,     "--recorded",
                                          path_,  "--configs", TestData("golden/configs")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    static const FakeClock clock(2026, 12, 1);
    return RunCommand(std::move(arguments), false, clock);
  }

  TestFolder folder_;
  std::string path_ = folder_.Path("counts.json");
  std::string text_;
};

TEST_F(CountsCommandTest, NothingLargerIs0) {
  const CommandResult result = Run("counts");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              StartsWith(fmt::format("102 cases counted, 0 findings, {} cases of GPUs not looked "
                                     "at\nreproduce: draftmark perf counts --recorded ",
                                     GpuCases().size())));
}

TEST_F(CountsCommandTest, OneByteMoreIs1AndAccepted) {
  // 136 rows of 151936 BF16 logits: recorded as a byte less.
  Write(Edited(kCase, "\"logits\":", "\"logits\":1,\"was\":"));
  const CommandResult larger = Run("counts");
  EXPECT_EQ(larger.code, 1);
  EXPECT_THAT(larger.out, HasSubstr(std::string("LARGER ") + kCase +
                                    ": logits: expected 1 as recorded, found "));
  EXPECT_THAT(larger.out, HasSubstr(std::string("MISSING ") + kCase + ": was: expected "));
  EXPECT_THAT(larger.out,
              HasSubstr(std::string("\n  accept: draftmark perf accept ") + kCase +
                        " --reason TEXT --recorded " + path_ + " --configs " +
                        TestData("golden/configs") + "\n102 cases counted, 2 findings"));
  const Json json = Json::parse(Run("counts", {"--format", "json"}).out);
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["findings"][0]["kind"], "larger");
  EXPECT_EQ(json["findings"][0]["case"], kCase);
  EXPECT_EQ(json["findings"][0]["field"], "logits");
  EXPECT_EQ(json["findings"][0]["expected"], 1);

  EXPECT_EQ(Run("accept", {kCase}).code, 2);
  EXPECT_THAT(Run("accept", {kCase}).err, HasSubstr("--reason is required"));
  EXPECT_EQ(Run("accept", {kCase, "--reason", " "}).code, 2);
  const CommandResult other = Run("accept", {"scratch/other", "--reason", "x"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("scratch/other: no count of such a case differs"));
  EXPECT_EQ(Run("counts").code, 1);

  const CommandResult accepted = Run("accept", {kCase, "--reason", "Wider logits"});
  EXPECT_EQ(accepted.code, 0) << accepted.err;
  EXPECT_THAT(accepted.out, HasSubstr(std::string("ACCEPTED ") + kCase + ": logits: 1 -> "));
  EXPECT_EQ(Run("counts").code, 0);
  const Json file = Json::parse(ReadTextFile(path_).value());
  const std::size_t before = Json::parse(text_)["accepted"].size();
  ASSERT_EQ(file["accepted"].size(), before + 2);
  EXPECT_EQ(file["accepted"][before]["date"], "2026-12-01");
  EXPECT_EQ(file["accepted"][before]["reason"], "Wider logits");
  EXPECT_EQ(file["accepted"][before]["old"], 1);
}

TEST_F(CountsCommandTest, GoneIs1AndNewIs5) {
  Write(Edited(kCase, "nb=8", "nb=9"));
  const CommandResult both = Run("counts");
  EXPECT_EQ(both.code, 1);
  EXPECT_THAT(both.out, AllOf(HasSubstr("GONE scratch/dflash_v2/z-lab.qwen3-8b-dflash-b16/"
                                        "ctx_window=4096,nb=9: it is recorded"),
                              HasSubstr(std::string("NEW ") + kCase)));
  EXPECT_EQ(Run("accept", {"*nb=9", "--reason", "x"}).code, 0);
  const CommandResult fresh = Run("counts");
  EXPECT_EQ(fresh.code, 5);
  EXPECT_EQ(Run("accept", {kCase, "--reason", "x"}).code, 0);
  EXPECT_EQ(Run("counts").code, 0);
}

TEST_F(CountsCommandTest, GpuResults) {
  const std::string report = folder_.Path("gpu.json");
  const auto run_with = [&](const std::string& counters, const std::string& gpu) {
    EXPECT_THAT(WriteTextFile(report, R"({"context": {"gpu": ")" + gpu + R"("}, "benchmarks": [
      {"name": "x", "label": "draft/qwen3-4b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1", )" +
                                          counters + "}]}"),
                IsOk());
    return Run("counts", {"--results", report});
  };
  // All that is recorded of it but one count.
  std::string rest;
  const Json record = Json::parse(text_);
  for (const Json& one : record["cases"]) {
    if (one["case"] != "draft/qwen3-4b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1") continue;
    for (const auto& [name, value] : one["counts"].items()) {
      if (name != "memory_scratch") rest += "\"" + name + "\": " + value.dump() + ", ";
    }
  }
  // The other five drafts were not measured in this run.
  const CommandResult same = run_with(rest + R"("memory_scratch": 218968332)", "H200 (sm_90, 132)");
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  const CommandResult larger =
      run_with(rest + R"("memory_scratch": 218968333)", "H200 (sm_90, 132)");
  EXPECT_EQ(larger.code, 1);
  EXPECT_THAT(larger.out, HasSubstr("nb=1 on sm_90: memory_scratch: expected 218968332 as "
                                    "recorded, found 218968333 (+1)"));
  // The line that accepts it names the report, without which this case is not counted.
  EXPECT_THAT(larger.out, HasSubstr(" --configs " + TestData("golden/configs") + " --results " +
                                    report + "\n103 cases counted, 1 findings"));
  const CommandResult blind = Run("accept", {"draft/*,nb=1", "--reason", "x"});
  EXPECT_EQ(blind.code, 2) << blind.out;
  const CommandResult accepted =
      Run("accept", {"draft/*,nb=1", "--reason", "x", "--results", report});
  EXPECT_EQ(accepted.code, 0) << accepted.err;
  EXPECT_EQ(Run("counts", {"--results", report}).code, 0);
  EXPECT_EQ(run_with(rest + R"("memory_scratch": 1)", "B200 (sm_100, 148)").code, 5);
  const CommandResult nameless = run_with(rest + R"("memory_scratch": 1)", "a GPU");
  EXPECT_EQ(nameless.code, 2);
  EXPECT_THAT(nameless.err, HasSubstr("context.gpu: expected"));
}

// Folders as a night has them: a bundle's with more than benchmarks, one of checks alone.
TEST_F(CountsCommandTest, FoldersOfResults) {
  constexpr char kDraft[] = "draft/qwen3-4b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1";
  const auto report = [&](const std::string& counters) {
    return R"json({"context": {"gpu": "H200 (sm_90, 132)"}, "benchmarks": [{"name": "x", "label": ")json" +
           std::string(kDraft) + "\", " + counters + "}]}";
  };
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::string path = folder_.Path(name);
    ASSERT_THAT(RealFileSystem().CreateDirectories(path.substr(0, path.rfind('/'))), IsOk());
    ASSERT_THAT(WriteTextFile(path, text), IsOk());
  };
  write("night/checks/summary.json", "{}");
  write("night/bench0/summary.json", "{}");
  write("night/bench0/bench/draftmark_roofline.json", R"({"works": [], "linear": []})");
  write("night/bench0/bench/draft_benchmark.json", report(R"("memory_scratch": 218968333)"));
  const CommandResult larger = Run("counts", {"--results", folder_.Path("night")});
  EXPECT_EQ(larger.code, 1) << larger.err;
  EXPECT_THAT(larger.out, HasSubstr(std::string("LARGER ") + kDraft +
                                    " on sm_90: memory_scratch: expected 218968332"));
  // A counter that is gone is no smaller one, and other drafts are named.
  std::uint64_t launches = 0;
  for (const Json& one : GpuCases()) {
    if (one["case"] == kDraft) launches = one["counts"]["launches"].get<std::uint64_t>();
  }
  EXPECT_THAT(larger.out,
              HasSubstr(fmt::format("MISSING {} on sm_90: launches: expected {} as recorded, and "
                                    "it is not counted any more",
                                    kDraft, launches)));
  EXPECT_THAT(larger.out, HasSubstr("UNSEEN draft/qwen3.8-27b-dspark/gamma=7,ctx=4096,new=7,nb=1 "
                                    "on sm_90: it is recorded, and not in these results"));
  write("night/bench0/bench/draft_benchmark.json",
        report(fmt::format(R"("launches": {})", launches)));
  const CommandResult missing = Run("counts", {"--results", folder_.Path("night")});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.out,
              HasSubstr(": memory_scratch: expected 218968332 as recorded, and it is"));
  const CommandResult complete = Run("counts", {"--results", folder_.Path("night"), "--complete"});
  EXPECT_THAT(complete.out, HasSubstr("GONE draft/qwen3.8-27b-dspark/"));
  EXPECT_THAT(complete.out, HasSubstr(" --complete\n"));
  const Json json =
      Json::parse(Run("counts", {"--results", folder_.Path("night"), "--format", "json"}).out);
  EXPECT_EQ(json["unseen"].size(), GpuCases().size() - 1);
  // Checks alone count nothing, which is said.
  const CommandResult checks = Run("counts", {"--results", folder_.Path("night/checks")});
  EXPECT_EQ(checks.code, 0) << checks.err;
  EXPECT_THAT(checks.out,
              HasSubstr("night/checks: no report of Google Benchmark, so nothing of a"));
  EXPECT_EQ(Run("counts", {"--results", folder_.Path("none")}).code, 2);
}

TEST_F(CountsCommandTest, ErrorsAre2AndNoRecordIs5) {
  Write("{");
  EXPECT_EQ(Run("counts").code, 2);
  EXPECT_EQ(Run("accept", {kCase, "--reason", "x"}).code, 2);
  EXPECT_EQ(ReadTextFile(path_).value(), "{");
  Write("{}");
  const CommandResult damaged = Run("counts");
  EXPECT_EQ(damaged.code, 2);
  EXPECT_THAT(damaged.err, HasSubstr(path_ + ": schema_version: required, but absent"));
  EXPECT_EQ(RunCommand({"perf", "counts", "--configs", folder_.Path("none")}).code, 2);
  const CommandResult none = RunCommand({"perf", "counts", "--recorded", folder_.Path("none"),
                                         "--configs", TestData("golden/configs")});
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("no baseline: "));
}

// Each of two at once would write a record without what the other accepted.
TEST_F(CountsCommandTest, AcceptIsForOneProcessAtATime) {
  {
    DM_ASSERT_OK_AND_ASSIGN(const FolderLock other, FolderLock::Take(folder_.path()));
    const CommandResult refused = Run("accept", {"*", "--reason", "x"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("another process is changing it"));
  }
  EXPECT_THAT(Run("accept", {"*", "--reason", "x"}).err,
              testing::Not(HasSubstr("another process")));
}

TEST_F(CountsCommandTest, TheFirstRecord) {
  const std::string path = folder_.Path("first.json");
  const CommandResult first = RunCommand({"perf", "accept", "*", "--reason", "First", "--recorded",
                                          path, "--configs", TestData("golden/configs")});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(Json::parse(ReadTextFile(path).value())["cases"].size(), 102u);
}

}  // namespace
}  // namespace draftmark
