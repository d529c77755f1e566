// `draftmark draft --backend cuda` on a GPU.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/cuda/gpu_test.h"
#include "tools/commands/run_program.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kCatalogue =
    std::string(std::getenv("TEST_SRCDIR")) + "/draftmark/golden/configs/drafter_configs.json";
constexpr const char* kTiny[] = {"synthetic/tiny-dflash", "synthetic/tiny-dflash2",
                                 "synthetic/tiny-dspark"};

class DraftCudaTest : public GpuTest {
 protected:
  static CommandResult Draft(const std::string& entry, std::vector<std::string> options) {
    options.insert(options.begin(), {"draft", kCatalogue, "--entry", entry, "--backend", "cuda"});
    return RunProgram(options);
  }
  static Json DraftJson(const std::string& entry, std::vector<std::string> options) {
    options.insert(options.end(), {"--format", "json"});
    const CommandResult result = Draft(entry, std::move(options));
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    return ParseJson(result.out, "stdout").value();
  }
};

// The stages of the run kernel by kernel, whose weights the host has generated as well.
TEST_F(DraftCudaTest, EveryStageIsSound) {
  for (const char* const entry : kTiny) {
    for (const char* const bands : {"1", "3"}) {
      SCOPED_TRACE(entry);
      const CommandResult result = Draft(entry, {"--check", "--bands", bands});
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_THAT(result.out, AllOf(HasSubstr(" on " + device().Describe() + ": weights "),
                                    HasSubstr(" checked: all within their bounds\n"),
                                    HasSubstr("\ndevice memory ")));
    }
  }
}

TEST_F(DraftCudaTest, AReplayDraftsWhatTheStagesShow) {
  for (const char* const entry : kTiny) {
    for (const char* const bands : {"1", "3"}) {
      SCOPED_TRACE(entry);
      const std::vector<std::string> options = {"--bands", bands,       "--gamma",
                                                "9",       "--context", "600"};
      std::vector<std::string> checked = options;
      checked.push_back("--check");
      const Json replayed = DraftJson(entry, options);
      const Json eager = DraftJson(entry, checked);
      for (const std::size_t s : {0u, 1u}) {
        EXPECT_EQ(replayed["steps"][s]["draft_tokens"], eager["steps"][s]["draft_tokens"]);
        EXPECT_EQ(replayed["steps"][s]["stages"], 0);
        EXPECT_GT(replayed["steps"][s]["seconds"], 0);
        EXPECT_LT(replayed["steps"][s]["seconds"], 10) << "no seconds";
      }
    }
  }
}

TEST_F(DraftCudaTest, MemoryIsExact) {
  const Json json = DraftJson(kTiny[0], {});
  EXPECT_EQ(json["device"], device().Describe());
  const Json& bytes = json["device_bytes"];
  // The drafter's parameters, embedding and LM head, in BF16.
  EXPECT_EQ(bytes["weights"], 2 * (70080 + 2 * 257 * 64));
  EXPECT_EQ(bytes["total"], bytes["weights"].get<int>() + bytes["cache"].get<int>() +
                                bytes["scratch"].get<int>() + bytes["workspace"].get<int>());
  for (const char* const part : {"cache", "scratch", "workspace"}) EXPECT_GT(bytes[part], 0);
}

}  // namespace
}  // namespace draftmark
