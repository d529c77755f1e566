// `draftmark scratch`, in-process.
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

CommandResult Scratch(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "scratch");
  return RunCommand(std::move(arguments));
}

constexpr char kCatalogue[] = "golden/configs/drafter_configs.json";
constexpr char kQwen8b[] = "golden/configs/drafter_specforge_qwen3_8b_dflash.json";
constexpr char kQwen27bDflash2[] = "golden/configs/drafter_specforge_qwen3_6_27b_dflash2.json";

std::vector<std::string> Arguments(const std::string& file, const std::string& version,
                                   const std::string& ctx_window, const std::string& max_batch,
                                   std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {file,       "--version",   version,  "--ctx-window",
                                        ctx_window, "--max-batch", max_batch};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Json JsonOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const CommandResult result = Scratch(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  return result.code == 0 ? Json::parse(result.out) : Json();
}

// Seed 001's worked example, from the catalogue's entry.
TEST(ScratchCommandTest, Seed001FromTheCatalogue) {
  for (const auto& [bands, device, pinned] :
       {std::tuple("1", 640238940u, 40u), std::tuple("8", 675944624u, 320u)}) {
    const Json json =
        JsonOf(Arguments(kCatalogue, "2", "4096", bands,
                         {"--entry", "z-lab/Qwen3.8-27B-DFlash2 (incoai)", "--gamma", "10"}));
    EXPECT_EQ(json["device_bytes"], device);
    EXPECT_EQ(json["host_pinned_bytes"], pinned);
    EXPECT_EQ(json["fields"].size(), 27u);
    EXPECT_EQ(json["fields"]["precompute_in"]["bytes"], 13107200u);
    EXPECT_EQ(json["fields"]["conf_out"]["null"], true);
    EXPECT_EQ(json["max_precompute_rows"], 4096u);
    EXPECT_TRUE(json["warnings"].empty());
  }
}

TEST(ScratchCommandTest, GammaDefaultsToTheBlockSize) {
  EXPECT_EQ(JsonOf(Arguments(kQwen8b, "2", "512", "1"))["gamma"], 16u);
}

TEST(ScratchCommandTest, LayoutsOfVersionOne) {
  const auto fields = [](const std::vector<std::string>& more) {
    const Json json = JsonOf(Arguments(kQwen8b, "1", "16", "1", more));
    EXPECT_EQ(json["fields"].size(), 26u);
    std::vector<std::uint64_t> bytes;
    for (const char* name : {"slot_mapping_dev", "option_b_indirect_args_dev", "logits"}) {
      bytes.push_back(json["fields"][name]["bytes"].get<std::uint64_t>());
    }
    return bytes;
  };
  using Bytes = std::vector<std::uint64_t>;
  EXPECT_EQ(fields({}), (Bytes{64, 8, 32 * 151936 * 2}));
  EXPECT_EQ(fields({"--layout", "doc"}), (Bytes{64, 8, 32 * 151936 * 2}));
  EXPECT_EQ(fields({"--layout", "code-a"}), (Bytes{128, 8, 32 * 151936 * 2}));
  EXPECT_EQ(fields({"--layout", "code-b"}), (Bytes{128, 12, 16 * 151936 * 2}));
}

TEST(ScratchCommandTest, AsUpstreamWarnsWhereTooSmall) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--gamma", "16", "--as-upstream"},
        {"--gamma", "16", "--layout", "as-upstream"}}) {
    const std::vector<std::string> arguments = Arguments(kQwen27bDflash2, "2", "512", "64", more);
    const CommandResult text = Scratch(arguments);
    EXPECT_EQ(text.code, 0);
    EXPECT_THAT(text.err, AllOf(HasSubstr("draftmark: warning: "), HasSubstr("slot_mapping_dev")));
    EXPECT_THAT(text.out, HasSubstr("DOES NOT HOLD"));
    EXPECT_EQ(JsonOf(arguments)["warnings"].size(), 1u);
  }
  EXPECT_THAT(Scratch(Arguments(kQwen27bDflash2, "2", "512", "64", {"--gamma", "16"})).err,
              IsEmpty());
}

TEST(ScratchCommandTest, BatchedHeads) {
  constexpr char kDspark[] = "golden/configs/drafter_specforge_qwen3_4b_dspark.json";
  const Json one = JsonOf(Arguments(kDspark, "2", "512", "4"));
  const Json all = JsonOf(Arguments(kDspark, "2", "512", "4", {"--batched-heads"}));
  const auto bytes = [](const Json& json) {
    return json["fields"]["conf_out"]["bytes"].get<std::uint64_t>();
  };
  EXPECT_GT(bytes(one), 0u);
  EXPECT_EQ(bytes(all), 4 * bytes(one));
}

TEST(ScratchCommandTest, TextIsATable) {
  const CommandResult result = Scratch(Arguments(kQwen8b, "2", "512", "2"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("version 2, layout normative, ctx_window 512, max_batch 2, gamma 16"),
            HasSubstr("[528, 4096] BF16"), HasSubstr("64-bit handle"), HasSubstr("host pinned"),
            HasSubstr("K stage in mlp_intermediate"), Not(HasSubstr("DOES NOT HOLD"))));
}

TEST(ScratchCommandTest, UsageErrors) {
  const auto fails = [](const std::vector<std::string>& arguments, const std::string& message) {
    const CommandResult result = Scratch(arguments);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_THAT(result.out, IsEmpty());
  };
  fails({}, "required");
  fails({kQwen8b, "--version", "2", "--ctx-window", "16"}, "--max-batch is required");
  fails(Arguments(kQwen8b, "3", "16", "1"), "version: expected 1 or 2, found 3");
  fails(Arguments(kQwen8b, "1", "16", "2"), "max_batch: version 1");
  fails(Arguments(kQwen8b, "2", "0", "1"), "ctx_window: expected a number above 0");
  fails(Arguments(kQwen8b, "2", "16", "0"), "max_batch: ");
  fails(Arguments(kQwen8b, "2", "16", "1", {"--gamma", "0"}), "gamma: ");
  fails(Arguments(kQwen8b, "2", "16", "1", {"--gamma", "1.5"}), "--gamma");
  fails(Arguments(kQwen8b, "2", "-16", "1"), "--ctx-window");
  fails(Arguments(kQwen8b, "2", "16", "1", {"--layout", "doc"}),
        "layout: expected one of normative");
  fails(Arguments(kQwen8b, "1", "16", "1", {"--as-upstream"}), "layout: expected one of doc");
  fails(Arguments(kQwen8b, "2", "16", "1", {"--as-upstream", "--layout", "normative"}), "exclude");
  fails(Arguments(kQwen8b, "2", "18446744073709551615", "1"), "stream_buf: ");
  fails(Arguments("no/such.json", "2", "16", "1"), "no/such.json");
  fails(Arguments(kCatalogue, "2", "16", "1", {"--entry", "nobody/nothing"}), "nobody/nothing");
  EXPECT_EQ(Scratch({"--help"}).code, 0);
  EXPECT_THAT(Scratch({"--help"}).out, HasSubstr("--batched-heads"));
}

}  // namespace
}  // namespace draftmark
