// `draftmark sizes`, in-process.
#include <algorithm>
#include <string>
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
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CommandResult Sizes(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "sizes");
  return RunCommand(std::move(arguments));
}

std::string WriteTemporary(const std::string& name, const std::string& text) {
  std::string path = ::testing::TempDir() + "/" + name;
  DM_CHECK(WriteTextFile(path, text).ok());
  return path;
}

Json Rows(const std::string& file) {
  const StatusOr<std::string> text = ReadTextFile("golden/buffer_sizes/" + file);
  DM_CHECK(text.ok());
  return ParseJson(*text, file).value();
}

// A flat config file of a row, and the arguments that belong to it.
std::vector<std::string> ArgumentsOf(const Json& row) {
  std::vector<std::string> arguments = {
      WriteTemporary(row["name"].get<std::string>() + ".json", row["config"].dump())};
  for (const char* name : {"max_batch_tokens", "max_seq_len", "kv_block_size", "max_batch_size"}) {
    std::string option = std::string("--") + name;
    std::replace(option.begin(), option.end(), '_', '-');
    arguments.push_back(option);
    arguments.push_back(std::to_string(row["args"][name].get<std::uint64_t>()));
  }
  if (row["flags"]["native_q2"].get<bool>()) arguments.push_back("--native-q2");
  if (row["flags"]["native_q2_mmq"].get<bool>()) arguments.push_back("--native-q2-mmq");
  return arguments;
}

constexpr char kLlama[] = "golden/configs/llama_3_1_8b.json";
const std::vector<std::string> kNumbers = {"--max-batch-tokens", "64", "--max-seq-len",    "4096",
                                           "--kv-block-size",    "16", "--max-batch-size", "8"};

std::vector<std::string> With(std::vector<std::string> first, std::vector<std::string> more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

TEST(SizesCommandTest, JsonOfEveryRowIsTheRow) {
  for (const char* file : {"models_qwen_dense.json", "models_mamba_mla_hc.json", "lora_and_q2.json",
                           "scratch_boundaries.json", "synthetic_edges.json"}) {
    for (const Json& row : Rows(file)) {
      const CommandResult result = Sizes(With(ArgumentsOf(row), {"--format", "json"}));
      ASSERT_EQ(result.code, 0) << row["name"] << result.err;
      const Json json = Json::parse(result.out);
      EXPECT_EQ(json["buffers"], row["expected"]) << row["name"];
      EXPECT_EQ(json["total_bytes"], row["sum_of_41"]) << row["name"];
      EXPECT_EQ(json["upstream_reported_total_bytes"], row["upstream_total_bytes"]);
      EXPECT_EQ(json["sub_offsets"], row["sub_offsets"]) << row["name"];
      EXPECT_EQ(json["family"], "flat");
    }
  }
}

TEST(SizesCommandTest, OverflowRowsAreDataErrors) {
  for (const Json& row : Rows("overflow_errors.json")) {
    const CommandResult result = Sizes(ArgumentsOf(row));
    EXPECT_EQ(result.code, 2) << row["name"];
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, AllOf(HasSubstr(row["name"].get<std::string>() + ".json: "),
                                  HasSubstr(row["field"].get<std::string>())));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST(SizesCommandTest, TextIsATableForPeople) {
  const CommandResult result = Sizes(With({kLlama}, kNumbers));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("golden/configs/llama_3_1_8b.json (llama)"),
                    HasSubstr("[64, 4096] BF16"), HasSubstr("q2_act_q8"), HasSubstr("100.00 %"),
                    HasSubstr("total_bytes"), HasSubstr("upstream_reported_total_bytes")));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST(SizesCommandTest, BatchedDecodeNeedsEnoughRows) {
  std::vector<std::string> numbers = kNumbers;
  numbers[1] = "4";
  EXPECT_THAT(Sizes(With({kLlama}, numbers)).out, HasSubstr("note: 4 token rows cannot decode 8"));
}

TEST(SizesCommandTest, SmCountIsAnOption) {
  const auto splitk = [](const std::vector<std::string>& more) {
    const CommandResult result =
        Sizes(With(With({kLlama}, kNumbers), With(more, {"--format", "json"})));
    return Json::parse(result.out)["buffers"]["splitk_workspace"].get<std::uint64_t>();
  };
  EXPECT_EQ(splitk({}), 48u * 130 * 4);
  EXPECT_EQ(splitk({"--sm-count", "132"}), 132u * 130 * 4);
}

TEST(SizesCommandTest, NumbersMustBeUnsigned64) {
  for (const char* bad : {"-1", "1.5", "1e3", "18446744073709551616", "x", ""}) {
    std::vector<std::string> numbers = kNumbers;
    numbers[3] = bad;
    const CommandResult result = Sizes(With({kLlama}, numbers));
    EXPECT_EQ(result.code, 2) << bad;
    EXPECT_THAT(result.err, HasSubstr("--max-seq-len")) << bad;
    EXPECT_THAT(result.out, IsEmpty());
  }
  std::vector<std::string> numbers = kNumbers;
  numbers[3] = "18446744073709551615";
  numbers[5] = "1099511627776";  // 2^24 blocks
  EXPECT_EQ(Sizes(With({kLlama}, numbers)).code, 0);
}

TEST(SizesCommandTest, UsageErrors) {
  EXPECT_EQ(Sizes({}).code, 2);
  EXPECT_THAT(Sizes({}).err, HasSubstr("CONFIG or --rows"));
  const CommandResult missing = Sizes({kLlama, "--max-batch-tokens", "1"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("--max-seq-len is required"));
  EXPECT_EQ(Sizes({"--rows"}).code, 2);
  EXPECT_EQ(Sizes({"--rows", "a.json", "--max-seq-len", "3"}).code, 2);
  EXPECT_EQ(Sizes({kLlama, "--rows", "a.json"}).code, 2);
  EXPECT_EQ(Sizes(With(With({kLlama}, kNumbers), {"--format", "xml"})).code, 2);
  EXPECT_EQ(Sizes(With(With({kLlama}, kNumbers), {"--no-such"})).code, 2);
  EXPECT_EQ(Sizes(With(With({kLlama}, kNumbers), {"--max-seq-len", "5"})).code, 2);  // twice
  const CommandResult help = Sizes({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--native-q2-mmq"), HasSubstr("--rows")));
}

TEST(SizesCommandTest, UnusableConfigs) {
  const CommandResult absent = Sizes(With({"no/such.json"}, kNumbers));
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err, HasSubstr("no/such.json"));
  const CommandResult broken =
      Sizes(With({WriteTemporary("broken.json", "{\"hidden_size\": ")}, kNumbers));
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("broken.json"));
  Json flat = Rows("models_qwen_dense.json")[0]["config"];
  flat["hidden_size"] = -5;
  const CommandResult negative =
      Sizes(With({WriteTemporary("negative.json", flat.dump())}, kNumbers));
  EXPECT_EQ(negative.code, 2);
  EXPECT_THAT(negative.err, AllOf(HasSubstr("negative.json: hidden_size"), HasSubstr("found -5")));
}

TEST(SizesCommandTest, RowsThatPass) {
  const CommandResult result = Sizes(
      {"--rows", "golden/buffer_sizes/models_qwen_dense.json",
       "golden/buffer_sizes/models_mamba_mla_hc.json", "golden/buffer_sizes/lora_and_q2.json",
       "golden/buffer_sizes/scratch_boundaries.json", "golden/buffer_sizes/synthetic_edges.json",
       "golden/buffer_sizes/overflow_errors.json"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.out, "152 rows, 0 mismatches\n");
}

TEST(SizesCommandTest, RowsThatDiffer) {
  Json rows = Rows("models_qwen_dense.json");
  rows[0]["expected"]["logits"] = 17u;
  rows[1]["sum_of_41"] = 18u;
  const std::string path = WriteTemporary("differ.json", rows.dump());
  const CommandResult result = Sizes({"--rows", path});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("differ.json: qwen3_next_80b_a3b__m1_s4096_kb16_bs1: "
                              "expected.logits: expected 17, found 303872\n"),
                    HasSubstr("sum_of_41: expected 18"), EndsWith("34 rows, 2 mismatches\n")));
  const CommandResult json = Sizes({"--rows", path, "--format", "json"});
  EXPECT_EQ(json.code, 1);
  const Json parsed = Json::parse(json.out);
  EXPECT_EQ(parsed["rows"], 34);
  ASSERT_EQ(parsed["mismatches"].size(), 2u);
  EXPECT_EQ(parsed["mismatches"][0]["what"], "expected.logits");
}

TEST(SizesCommandTest, UnusableRowsFilesWinOverMismatches) {
  Json rows = Rows("models_qwen_dense.json");
  rows[3].erase("args");
  const std::string malformed = WriteTemporary("malformed.json", rows.dump());
  const CommandResult result =
      Sizes({"--rows", malformed, "golden/buffer_sizes/overflow_errors.json"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("malformed.json: row 3"), HasSubstr("args")));
  EXPECT_EQ(result.out, "17 rows, 0 mismatches\n");
  EXPECT_EQ(Sizes({"--rows", "no/such.json"}).code, 2);
}

}  // namespace
}  // namespace draftmark
