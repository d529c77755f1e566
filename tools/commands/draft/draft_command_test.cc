// The contract of `draftmark draft`, on the reference.
#include <cmath>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "conformance/cuda/cuda_backend.h"
#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/tensor/safetensors.h"
#include "src/tensor/tensor_view.h"
#include "tools/commands/draft/generated_checkpoint.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kCatalogue = Runfiles("golden/configs/drafter_configs.json");
constexpr const char* kTiny[] = {"synthetic/tiny-dflash", "synthetic/tiny-dflash2",
                                 "synthetic/tiny-dspark"};

CommandResult Draft(const std::string& entry, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"draft", kCatalogue, "--entry", entry});
  return RunCommand(std::move(options));
}

Json DraftJson(const std::string& entry, std::vector<std::string> options = {}) {
  options.insert(options.end(), {"--format", "json"});
  const CommandResult result = Draft(entry, std::move(options));
  EXPECT_EQ(result.code, 0) << result.err;
  return ParseJson(result.out, "stdout").value();
}

TEST(DraftCommandTest, EveryKindIsDraftedAndChecked) {
  for (const char* const entry : kTiny) {
    for (const char* const precision : {"bf16", "exact"}) {
      SCOPED_TRACE(std::string(entry) + " " + precision);
      const CommandResult result = Draft(entry, {"--check", "--precision", precision});
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_THAT(result.err, IsEmpty());
      EXPECT_THAT(result.out, AllOf(StartsWith(std::string(entry) + " " + precision +
                                               ": weights generated in "),
                                    HasSubstr("\nstep 0: 64 context rows, block of "),
                                    HasSubstr("\nstep 1: 5 context rows, block of "),
                                    HasSubstr(" checked: all within their bounds\n  draft tokens "),
                                    HasSubstr("\npeak memory "), Not(HasSubstr("device"))));
    }
  }
}

TEST(DraftCommandTest, Json) {
  const Json json = DraftJson("synthetic/tiny-dspark", {"--check"});
  EXPECT_EQ(json["entry"], "synthetic/tiny-dspark");
  EXPECT_EQ(json["case"], "draft/drafter_configs.json/gamma=7,ctx=69,steps=2,nb=1");
  EXPECT_FALSE(json.contains("device"));
  ASSERT_EQ(json["steps"].size(), 2u);
  for (const Json& step : json["steps"]) {
    EXPECT_EQ(step["draft_tokens"].size(), 7u);
    EXPECT_EQ(step["off"], "");
    EXPECT_EQ(step["checked"], step["stages"]);
    EXPECT_GT(step["checked"], 20);
  }
}

TEST(DraftCommandTest, TheSeedDecides) {
  const Json first = DraftJson(kTiny[0]);
  EXPECT_EQ(DraftJson(kTiny[0], {"--seed", "1"})["steps"][0]["draft_tokens"],
            first["steps"][0]["draft_tokens"]);
  EXPECT_NE(DraftJson(kTiny[0], {"--seed", "2"})["steps"][0]["draft_tokens"],
            first["steps"][0]["draft_tokens"]);
}

// The same weights from files: the same drafts.
TEST(DraftCommandTest, ACheckpointOfHuggingFaceLayout) {
  for (const char* const entry : kTiny) {
    SCOPED_TRACE(entry);
    const TestFolder folder;
    const CheckpointFiles files = WriteGeneratedCheckpoint(folder, kCatalogue, entry, 1);
    const std::vector<std::string> options = {"--weights", files.drafter, "--target-weights",
                                              files.target};
    const Json generated = DraftJson(entry);
    Json loaded = DraftJson(entry, options);
    for (const std::size_t s : {0u, 1u}) {
      EXPECT_EQ(loaded["steps"][s]["draft_tokens"], generated["steps"][s]["draft_tokens"]);
    }
    EXPECT_EQ(generated["weights"], "generated");
    EXPECT_EQ(loaded["weights"], files.drafter);
    // The seed is that of the inputs alone.
    const CommandResult checked =
        Draft(entry, {options[0], options[1], options[2], options[3], "--seed", "2", "--check"});
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_THAT(checked.out, AllOf(HasSubstr(": weights loaded in "),
                                   HasSubstr(" checked: all within their bounds\n")));
  }
}

// Tokens that come of NaN are not to be had, however the argmax takes one.
TEST(DraftCommandTest, ACheckpointWithNanIsRefusedByItsFirstStage) {
  const TestFolder folder;
  const CheckpointFiles files = WriteGeneratedCheckpoint(folder, kCatalogue, kTiny[0], 1);
  DM_ASSERT_OK_AND_ASSIGN(const SafetensorsFile good, SafetensorsFile::Open(files.drafter));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"fc.weight", "step 0, band 0: fc: element [0, 0]: expected a number, found NaN"},
      {"norm.weight", "step 0, band 0: norm: element [0, 0]: expected a number, found NaN"}};
  for (const auto& [broken, message] : cases) {
    SafetensorsWriter writer;
    std::vector<BFloat16> nan;
    for (const std::string& name : good.names()) {
      TensorView view = good.Get(name).value();
      if (name == "model." + broken || name == broken) {
        nan.assign(view.bytes.size() / sizeof(BFloat16), BFloat16::FromDouble(NAN));
        view.bytes = std::as_bytes(std::span(nan));
      }
      ASSERT_THAT(writer.Add(name, view), IsOk());
    }
    ASSERT_FALSE(nan.empty());
    const std::string path = folder.Path("nan.safetensors");
    ASSERT_THAT(writer.Write(path), IsOk());
    const CommandResult result =
        Draft(kTiny[0], {"--weights", path, "--target-weights", files.target});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err, "draftmark: " + message + " (are all weights finite?)\n");
    EXPECT_THAT(result.out, Not(HasSubstr("tokens")));
  }
}

TEST(DraftCommandTest, ACheckpointThatDoesNotFitIsOneSentence) {
  const TestFolder folder;
  const CheckpointFiles files = WriteGeneratedCheckpoint(folder, kCatalogue, kTiny[0], 1);
  ASSERT_THAT(WriteTextFile(folder.Path("short.safetensors"), "\x08"), IsOk());
  const std::string absent = folder.Path("absent.safetensors");
  for (const auto& [weights, target, message] :
       {std::tuple(files.drafter, std::string(), "embed_tokens.weight is absent"),
        std::tuple(files.target, files.target, "fc.weight"),
        std::tuple(absent, files.target, "absent.safetensors"),
        std::tuple(files.drafter, absent, "absent.safetensors"),
        std::tuple(folder.Path("short.safetensors"), files.target, "short.safetensors")}) {
    std::vector<std::string> options = {"--weights", weights};
    if (!target.empty()) options.insert(options.end(), {"--target-weights", target});
    const CommandResult result = Draft(kTiny[0], options);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_THAT(result.err, AllOf(StartsWith("draftmark: "), HasSubstr(message)));
    EXPECT_THAT(result.out, IsEmpty());
  }
  for (const char* const option : {"--weights", "--target-weights"}) {
    const CommandResult result = Draft(kTiny[0], {option, ""});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr(std::string(option) + ": empty path"));
    EXPECT_THAT(result.out, IsEmpty());
  }
  // Of another drafter.
  EXPECT_THAT(Draft(kTiny[2], {"--weights", files.drafter, "--target-weights", files.target}).err,
              AllOf(HasSubstr(files.drafter), HasSubstr("expected")));
  EXPECT_EQ(Draft(kTiny[0], {"--target-weights", files.target}).err,
            "draftmark: --target-weights: expected --weights with the drafter's own\n");
}

TEST(DraftCommandTest, BandsDraftTheirOwnBlocks) {
  for (const char* const entry : kTiny) {
    SCOPED_TRACE(entry);
    const Json alone = DraftJson(entry);
    const Json together = DraftJson(entry, {"--bands", "3", "--check"});
    for (const std::size_t s : {0u, 1u}) {
      const Json& tokens = together["steps"][s]["draft_tokens"];
      ASSERT_EQ(tokens.size(), 3u);
      EXPECT_EQ(tokens[0], alone["steps"][s]["draft_tokens"]);
      EXPECT_NE(tokens[1], tokens[0]);
      EXPECT_NE(tokens[2], tokens[0]);
      EXPECT_EQ(together["steps"][s]["checked"], 3 * together["steps"][s]["stages"].get<int>());
    }
  }
  EXPECT_THAT(Draft(kTiny[0], {"--bands", "2"}).out,
              AllOf(HasSubstr("64 context rows, 2 blocks of 5: "), HasSubstr("\n  band 1: ")));
}

TEST(DraftCommandTest, ABlockOfAnotherWidthAndALongContext) {
  for (const auto& [entry, drafts] :
       {std::pair(kTiny[0], 10u), std::pair(kTiny[1], 10u), std::pair(kTiny[2], 11u)}) {
    const Json json = DraftJson(entry, {"--gamma", "11", "--context", "600", "--check"});
    EXPECT_EQ(json["steps"][0]["draft_tokens"].size(), drafts) << entry;
    EXPECT_THAT(json["case"].get<std::string>(), HasSubstr("/gamma=11,ctx=605,"));
  }
}

// Published files keep the block's size in an object of its own.
TEST(DraftCommandTest, ABlockOfAnotherWidthOfAPublishedFile) {
  Json config = ParseJson(R"({"architectures": ["DFlashDraftModel"], "hidden_size": 32,
      "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
      "intermediate_size": 48, "vocab_size": 67, "rms_norm_eps": 1e-6, "rope_theta": 10000,
      "dflash_config": {"block_size": 8, "target_layer_ids": [0, 1], "mask_token_id": 66}})",
                          "text")
                    .value();
  const TestFolder folder;
  const std::string path = folder.Path("config.json");
  for (const bool both : {false, true}) {
    if (both) config["block_size"] = 8;
    ASSERT_THAT(WriteTextFile(path, config.dump()), IsOk());
    const CommandResult result = RunCommand({"draft", path, "--gamma", "4"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("step 0: 64 context rows, block of 4: "));
  }
}

TEST(DraftCommandTest, WhatTheCatalogueDoesNotVouchForIsRefused) {
  for (const auto& [entry, reason] :
       {std::pair("z-lab/Qwen3.5-9B-DFlash", "confirm too little of it; not known: all geometry"),
        std::pair("MiMo-V2.5 DFlash", "its layers are of another architecture"),
        std::pair("recipe/qwen3-8b-domino", "GRU head has no place in the scratch")}) {
    for (const char* const backend : {"reference", "cuda"}) {
      const CommandResult result = Draft(entry, {"--backend", backend});
      EXPECT_EQ(result.code, 2) << entry;
      EXPECT_THAT(result.out, IsEmpty());
      EXPECT_THAT(result.err, AllOf(StartsWith("draftmark: " + kCatalogue + ": entry " + entry),
                                    HasSubstr(reason)));
    }
  }
}

TEST(DraftCommandTest, OptionsThatCannotBe) {
  for (const auto& [options, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--backend", "cuda", "--precision", "exact"}, "computes in bf16 only"},
           {{"--backend", "tpu"}, "--backend"}}) {
    const CommandResult result = Draft(kTiny[0], options);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

// Before the config is read or a device is opened.
TEST(DraftCommandTest, NumbersOutOfRangeAreOneSentence) {
  for (const auto& [option, found, range] :
       {std::tuple("--bands", "0", "1 to 64"), std::tuple("--bands", "65", "1 to 64"),
        std::tuple("--bands", "18446744073709551615", "1 to 64"),
        std::tuple("--gamma", "0", "2 to 32"), std::tuple("--gamma", "1", "2 to 32"),
        std::tuple("--gamma", "33", "2 to 32"),
        std::tuple("--context", "2147482624", "0 to 2147482623"),
        std::tuple("--context", "18446744073709551615", "0 to 2147482623")}) {
    for (const char* const backend : {"reference", "cuda"}) {
      const CommandResult result =
          RunCommand({"draft", "/nowhere", option, found, "--backend", backend});
      EXPECT_EQ(result.code, 2);
      EXPECT_EQ(result.err, std::string("draftmark: ") + option + ": expected " + range +
                                ", found " + found + "\n");
      EXPECT_THAT(result.out, IsEmpty());
    }
  }
}

TEST(DraftCommandTest, TheEndsOfTheRanges) {
  EXPECT_EQ(DraftJson(kTiny[0], {"--bands", "64", "--gamma", "2", "--context",
                                 "0"})["steps"][1]["draft_tokens"]
                .size(),
            64u);
  EXPECT_EQ(DraftJson(kTiny[0], {"--gamma", "32"})["steps"][1]["draft_tokens"].size(), 31u);
  // In range, and more than anybody generates.
  EXPECT_THAT(Draft(kTiny[0], {"--context", "2147482623"}).err,
              HasSubstr("generated taps of all steps and neighbours may have "));
}

// Keeps what had been printed at each flush.
class Flushes : public std::stringbuf {
 public:
  std::vector<std::string> texts;

 protected:
  int sync() override {
    texts.push_back(str());
    return 0;
  }
};

TEST(DraftCommandTest, LinesArePrintedAsTheyCome) {
  Flushes flushes;
  std::ostream out(&flushes);
  std::ostringstream err;
  EXPECT_EQ(RunDraftmark({"draft", kCatalogue, "--entry", kTiny[0]}, out, err), 0) << err.str();
  ASSERT_GE(flushes.texts.size(), 3u);
  EXPECT_THAT(flushes.texts[0], AllOf(HasSubstr(": weights generated in "),
                                      Not(HasSubstr("\nstep ")), EndsWith(" s\n")));
  EXPECT_THAT(flushes.texts[1], AllOf(HasSubstr("\nstep 0: "), Not(HasSubstr("\nstep 1: "))));
  EXPECT_THAT(flushes.texts[2], AllOf(HasSubstr("\nstep 1: "), Not(HasSubstr("\npeak "))));
}

TEST(DraftCommandTest, WithoutAGpuTheReasonIsOneLine) {
  const StatusOr<std::unique_ptr<CudaBackend>> cuda = CudaBackend::Open();
  if (cuda.ok()) GTEST_SKIP() << "there is a GPU";
  const CommandResult result = Draft(kTiny[0], {"--backend", "cuda"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "draftmark: " + cuda.status().message() + "\n");
}

}  // namespace
}  // namespace draftmark
