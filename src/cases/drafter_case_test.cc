// Case folders that lie: each test changes one thing in a copy of a golden case and expects one
// clear error.
#include "src/cases/drafter_case.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kGolden = Runfiles("golden/drafter");

// Tensors of a golden file with bytes of their own, so that a test can change them.
struct OwnedTensor {
  DType dtype;
  Shape shape;
  std::vector<std::byte> bytes;
};
using Tensors = std::map<std::string, OwnedTensor>;

class DrafterCaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::string(std::getenv("TEST_TMPDIR")) + "/case";
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    const std::string source = kGolden + "/dflash_softcap";
    for (const char* file : {"config.json", "model.safetensors", "golden.safetensors"}) {
      std::filesystem::copy_file(JoinPath(source, file), JoinPath(directory_, file));
    }
  }
  void ChangeConfig(const std::function<void(Json&)>& change) {
    const std::string path = JoinPath(directory_, "config.json");
    Json json = ParseJson(ReadTextFile(path).value(), path).value();
    change(json);
    ASSERT_THAT(WriteTextFile(path, json.dump()), IsOk());
  }
  void ChangeGolden(const std::function<void(Tensors&)>& change) {
    const std::string path = JoinPath(directory_, "golden.safetensors");
    Tensors tensors;
    {
      const SafetensorsFile file = SafetensorsFile::Open(path).value();
      for (const std::string& name : file.names()) {
        const TensorView view = file.Get(name).value();
        tensors[name] = {view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
      }
    }
    change(tensors);
    SafetensorsWriter writer;
    for (const auto& [name, tensor] : tensors) {
      ASSERT_THAT(writer.Add(name, {tensor.dtype, tensor.shape, tensor.bytes}), IsOk());
    }
    ASSERT_THAT(writer.Write(path), IsOk());
  }
  void ExpectRefused(StatusCode code, const std::string& file, const std::string& part) {
    EXPECT_THAT(DrafterCase::Load(directory_),
                StatusIs(code, AllOf(HasSubstr(file), HasSubstr(part))));
  }

  std::string directory_;
};

TEST_F(DrafterCaseTest, LoadsWhatTheGoldenCaseSays) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase loaded, DrafterCase::Load(directory_));
  EXPECT_EQ(loaded.id().ToString(), "draft/case/gamma=16,ctx=33,steps=2,nb=1");
  EXPECT_EQ(loaded.steps()[1].new_context_rows, 9u);
  EXPECT_EQ(loaded.steps()[1].start, 33);
  EXPECT_EQ(loaded.steps()[1].block_tokens[0], 150u);
  EXPECT_EQ(loaded.steps()[0].target_hidden.size(), 24 * loaded.config().tap_width());
  EXPECT_TRUE(loaded.Expected(1, "logits").value().has_value());
  EXPECT_FALSE(loaded.Expected(1, "layers.7.q_norm").value().has_value());
  EXPECT_GT(loaded.TorchError(0, "fc").value(), 0.001);
  EXPECT_FALSE(loaded.TorchError(2, "fc").has_value());
  EXPECT_GT(loaded.TorchMaxLogitError(0).value().value(), 0.01);
}

TEST_F(DrafterCaseTest, TorchLogitsInTheFileWinOverTheRecordedNumber) {
  ChangeGolden([](Tensors& tensors) {
    OwnedTensor logits = tensors.at("f64.step0.logits");
    float first;
    std::memcpy(&first, logits.bytes.data(), sizeof(first));
    first += 7;
    std::memcpy(logits.bytes.data(), &first, sizeof(first));
    tensors["torch_bf16.step0.logits"] = logits;
  });
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase loaded, DrafterCase::Load(directory_));
  EXPECT_NEAR(loaded.TorchMaxLogitError(0).value().value(), 7, 1e-6);
}

TEST_F(DrafterCaseTest, MissingFilesAreNamed) {
  EXPECT_THAT(DrafterCase::Load(directory_ + "/nowhere"),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere")));
  for (const char* file : {"config.json", "model.safetensors", "golden.safetensors"}) {
    SetUp();
    std::filesystem::remove(JoinPath(directory_, file));
    ExpectRefused(StatusCode::kNotFound, directory_, file);
  }
}

TEST_F(DrafterCaseTest, TruncatedFilesAreNamed) {
  for (const char* file : {"config.json", "model.safetensors", "golden.safetensors"}) {
    SetUp();
    const std::string path = JoinPath(directory_, file);
    std::filesystem::resize_file(path,
                                 std::filesystem::file_size(path) - 1 - (file[0] == 'c' ? 1 : 0));
    ExpectRefused(StatusCode::kDataLoss, file, "");
  }
}

TEST_F(DrafterCaseTest, StepsMustMakeSense) {
  const auto refuse = [&](const std::function<void(Json&)>& change, StatusCode code,
                          const std::string& part) {
    SetUp();
    ChangeConfig(change);
    ExpectRefused(code, "", part);
  };
  using enum StatusCode;
  refuse([](Json& c) { c.erase("steps"); }, kNotFound, "config.json: steps");
  refuse([](Json& c) { c["steps"] = Json::array(); }, kInvalidArgument, "at least one step");
  refuse([](Json& c) { c["steps"] = 3; }, kInvalidArgument, "array of objects");
  refuse([](Json& c) { c["steps"][0]["new_context_rows"] = -1; }, kInvalidArgument,
         "steps[0].new_context_rows");
  refuse([](Json& c) { c["steps"][0]["new_context_rows"] = 23; }, kInvalidArgument,
         "step0.inputs.target_hidden");
  refuse([](Json& c) { c["steps"][0]["start"] = 23; }, kInvalidArgument, "steps[0].start");
  refuse([](Json& c) { c["steps"][0]["start"] = 25; }, kDataLoss,
         "step0.inputs.start: expected 25");
  refuse([](Json& c) { c["steps"][0]["start"] = std::int64_t{1} << 40; }, kInvalidArgument,
         "32-bit");
  refuse([](Json& c) { c["steps"][1]["anchor"] = 1; }, kDataLoss, "expected anchor 1");
  refuse([](Json& c) { c["steps"][0].erase("anchor"); }, kNotFound, "steps[0].anchor");
  refuse([](Json& c) { c["steps"][1]["drop_front_rows"] = 25; }, kInvalidArgument,
         "at most the 24 rows");
  refuse([](Json& c) { c["steps"].push_back(c["steps"][1]); }, kNotFound,
         "step2.inputs.target_hidden");
  refuse([](Json& c) { c["steps"].erase(1); }, kDataLoss, "step1.");
  refuse([](Json& c) { c["torch_bf16_relative_error"]["step0.fc"] = "x"; }, kInvalidArgument,
         "step0.fc");
  refuse([](Json& c) { c["torch_bf16_relative_error"]["step0.fc"] = -0.5; }, kInvalidArgument,
         "not negative");
  refuse([](Json& c) { c["num_hidden_layers"] = 0; }, kInvalidArgument, "num_hidden_layers");
}

TEST_F(DrafterCaseTest, InputsMustMatchTheConfig) {
  const auto refuse = [&](const std::function<void(Tensors&)>& change, const std::string& part) {
    SetUp();
    ChangeGolden(change);
    EXPECT_THAT(DrafterCase::Load(directory_).status().message(), HasSubstr(part));
  };
  const auto set_token = [](Tensors& tensors, std::int32_t token) {
    std::memcpy(tensors.at("step0.inputs.block_tokens").bytes.data() + 4, &token, 4);
  };
  refuse([&](Tensors& t) { set_token(t, 512); }, "token 512 is outside the vocabulary of 512");
  refuse([&](Tensors& t) { set_token(t, -1); }, "token -1");
  refuse(
      [](Tensors& t) {
        const std::uint16_t nan = 0x7FC0;
        std::memcpy(t.at("step1.inputs.target_hidden").bytes.data() + 2, &nan, 2);
      },
      "step1.inputs.target_hidden: element [0, 1] is nan");
  refuse([](Tensors& t) { t.at("step0.inputs.target_hidden").dtype = DType::kF16; },
         "step0.inputs.target_hidden");
  refuse([](Tensors& t) { t.at("step0.inputs.block_tokens").dtype = DType::kF32; },
         "step0.inputs.block_tokens");
  refuse(
      [](Tensors& t) {
        t["step1.inputs.block_tokens"] = {DType::kI32, {1}, std::vector<std::byte>(4)};
      },
      "expected 16 tokens, found 1");
  refuse([](Tensors& t) { t["f64.step0.layers.0.qnorm"] = t.at("f64.step0.margin"); },
         "not a stage of this dflash");
  refuse([](Tensors& t) { t["f64.step0.layers.1.q_norm"] = t.at("f64.step0.margin"); },
         "with 1 layers");
  refuse([](Tensors& t) { t["f65.step0.fc"] = t.at("f64.step0.fc"); }, "f65.step0.fc: neither");
  refuse([](Tensors& t) { t["step2.inputs.start"] = t.at("step1.inputs.start"); },
         "step2.inputs.start: neither");
  for (const char* step : {"f64.step0.", "f64.step1."}) {
    refuse([&](Tensors& t) { t.erase(std::string(step) + "draft_tokens"); },
           std::string(step) + "draft_tokens: required");
    refuse(
        [&](Tensors& t) {
          std::erase_if(t, [&](const auto& e) { return e.first.starts_with(step); });
        },
        std::string(step) + "draft_tokens: required");
  }
}

TEST_F(DrafterCaseTest, GoldenStagesMustFitTheConfig) {
  const auto refuse = [&](const std::function<void(Tensors&)>& change, const std::string& part) {
    SetUp();
    ChangeGolden(change);
    ExpectRefused(StatusCode::kDataLoss, "golden.safetensors", part);
  };
  const auto set_value = [](OwnedTensor& tensor, float value) {
    std::memcpy(tensor.bytes.data() + 4, &value, 4);
  };
  const auto set_int = [](OwnedTensor& tensor, std::int32_t value) {
    std::memcpy(tensor.bytes.data() + 8, &value, 4);
  };
  refuse(
      [](Tensors& t) {
        t["f64.step0.margin"] = {DType::kF64, {3}, std::vector<std::byte>(24)};
      },
      "f64.step0.margin: expected shape [15], found [3]");
  refuse(
      [](Tensors& t) {
        t.at("f64.step1.norm").shape = {128, 16};
      },
      "f64.step1.norm: expected shape [16, 128], found [128, 16]");
  refuse([&](Tensors& t) { set_value(t.at("f64.step0.fc"), std::nanf("")); },
         "f64.step0.fc: element [0, 1] is nan");
  refuse([&](Tensors& t) { set_value(t.at("f64.step0.logits"), INFINITY); }, "f64.step0.logits");
  for (const std::int32_t token : {-1, 512, 1000000000}) {
    refuse([&](Tensors& t) { set_int(t.at("f64.step0.draft_tokens"), token); },
           "f64.step0.draft_tokens: element [2] is");
  }
}

TEST(FindDrafterCasesTest, FindsFoldersThatHoldAGolden) {
  EXPECT_EQ(FindDrafterCases(kGolden).size(), 7u);
  EXPECT_EQ(FindDrafterCases(kGolden + "/dflash_yarn"),
            std::vector<std::string>{kGolden + "/dflash_yarn"});
  EXPECT_TRUE(FindDrafterCases(kGolden + "/nowhere").empty());
}

TEST(FindDrafterCasesTest, ALoopOfLinksEnds) {
  const std::string folder = std::string(std::getenv("TEST_TMPDIR")) + "/loop";
  std::filesystem::create_directories(folder);
  std::filesystem::create_directory_symlink(folder, folder + "/again");
  EXPECT_TRUE(FindDrafterCases(folder).empty());
}

}  // namespace
}  // namespace draftmark
