// Our files in the reference library (PyPI's `safetensors`) and its files in ours.
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/tensor/safetensors.h"
#include "src/tensor/safetensors_samples.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

struct Output {
  bool ok = false;
  std::string text;  // standard output and error
};

// Runs safetensors_interop.py of this folder. Arguments hold no quotes.
Output RunPython(const std::vector<std::string>& arguments) {
  // Set by BUILD.
  std::string command = fmt::format("'{}' '{}'", std::getenv("PYTHON"), std::getenv("SCRIPT"));
  for (const std::string& argument : arguments) command += fmt::format(" '{}'", argument);
  command += " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return {false, "popen failed"};
  Output output;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.text.append(buffer.data(), count);
  }
  const int status = ::pclose(pipe);
  output.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return output;
}

std::string Hex(const TensorView& view) {
  std::string hex;
  for (const std::byte byte : view.bytes) hex += fmt::format("{:02x}", static_cast<int>(byte));
  return hex;
}

class InteropTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Output output = RunPython({"check"});
    if (!output.ok) GTEST_SKIP() << "no Python packages for this test: " << output.text;
  }

  // Runs the script, which must succeed, and parses what it printed.
  Json Run(const std::vector<std::string>& arguments) {
    const Output output = RunPython(arguments);
    EXPECT_TRUE(output.ok) << output.text;
    StatusOr<Json> json = ParseJson(output.text.empty() ? "null" : output.text, "python");
    EXPECT_THAT(json, IsOk());
    return json.ok() ? *json : Json();
  }

  // What the package reads from each of the files is what we read.
  void ExpectSameContent(const std::vector<std::string>& paths) {
    std::vector<std::string> arguments = {"dump"};
    arguments.insert(arguments.end(), paths.begin(), paths.end());
    const Json theirs = Run(arguments);
    ASSERT_EQ(theirs.size(), paths.size());
    for (const std::string& path : paths) ExpectSameContent(path, theirs[path]);
  }
  static void ExpectSameContent(const std::string& path, const Json& theirs) {
    SCOPED_TRACE(path);
    DM_ASSERT_OK_AND_ASSIGN(const SafetensorsFile ours, SafetensorsFile::Open(path));
    EXPECT_EQ(Json(ours.metadata()), theirs["metadata"]);
    const Json& tensors = theirs["tensors"];
    ASSERT_EQ(ours.names().size(), tensors.size());
    for (const std::string& name : ours.names()) {
      ASSERT_TRUE(tensors.contains(name)) << name;
      const TensorView view = ours.Get(name).value();
      const Json& tensor = tensors[name];
      EXPECT_EQ(DTypeName(view.dtype), tensor["dtype"]) << name;
      EXPECT_EQ(Json(view.shape), tensor["shape"]) << name;
      EXPECT_EQ(Hex(view), tensor["hex"]) << name;
    }
  }

  // One tensor of each dtype, without the F6 types unless asked for.
  SafetensorsWriter EveryDType(bool with_f6) {
    SafetensorsWriter writer;
    storage_.assign(AllDTypes().size(), {});
    for (std::size_t d = 0; d < storage_.size(); ++d) {
      const DType dtype = AllDTypes()[d];
      if (!with_f6 && DTypeBits(dtype) == 6) continue;
      storage_[d].resize(TensorBytes(dtype, {2, 3, 4}).value());
      for (std::size_t i = 0; i < storage_[d].size(); ++i) {
        storage_[d][i] = static_cast<std::byte>(dtype == DType::kBool ? i % 2 : d * 7 + i * 29);
      }
      EXPECT_THAT(writer.Add(fmt::format("t.{}", DTypeName(dtype)),
                             TensorView{dtype, {2, 3, 4}, storage_[d]}),
                  IsOk());
    }
    EXPECT_THAT(writer.Add("empty", TensorView{DType::kF4, {0, 4}, {}}), IsOk());
    EXPECT_THAT(writer.Add("scalar", TensorView{DType::kU8, {}, std::span(storage_[0]).first(1)}),
                IsOk());
    EXPECT_THAT(writer.Add("\xE5\xB1\x82 \"\\\n\x01\x7F/",
                           TensorView{DType::kU8, {1}, std::span(storage_[0]).first(1)}),
                IsOk());
    return writer;
  }

  const TestFolder folder_;
  std::vector<std::vector<std::byte>> storage_;
};

TEST_F(InteropTest, WeReadWhatThePackageWrites) {
  const std::string path = folder_.Path("theirs.safetensors");
  Run({"write", path});
  ExpectSameContent({path});
  DM_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(path));
  EXPECT_EQ(file.names().size(), AllDTypes().size() - 2 + 3);  // all but the F6 types
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("format", "\xE2\x82\xAC")));
  EXPECT_THAT(file.Get("layer.F4", DType::kF4, {3, 2, 4}), IsOk());
}

TEST_F(InteropTest, ThePackageReadsWhatWeWrite) {
  const std::string path = folder_.Path("ours.safetensors");
  SafetensorsWriter writer = EveryDType(/*with_f6=*/true);
  writer.SetMetadata("format", "pt");
  writer.SetMetadata("\xE2\x82\xAC", "\"\\\n\x01");
  ASSERT_THAT(writer.Write(path), IsOk());
  ExpectSameContent({path});
}

// Equal bytes, for no metadata and for one key. With more the package's order changes from run to
// run (a hash map), so there is nothing to be equal to.
TEST_F(InteropTest, BothWriteTheSameBytes) {
  for (const bool with_metadata : {false, true}) {
    SafetensorsWriter writer = EveryDType(/*with_f6=*/false);
    if (with_metadata) writer.SetMetadata("k\n", "\xE2\x82\xAC\x1F");
    const std::string ours = folder_.Path("ours.safetensors");
    const std::string theirs = folder_.Path("theirs.safetensors");
    ASSERT_THAT(writer.Write(ours), IsOk());
    Run({"rewrite", ours, theirs});
    EXPECT_EQ(ReadTextFile(ours).value(), ReadTextFile(theirs).value());
  }
}

// Values and not only bytes: numpy's reading of each dtype that it has.
TEST_F(InteropTest, NumpyAgreesOnValues) {
  const std::string path = folder_.Path("values.safetensors");
  SafetensorsWriter writer;
  std::vector<std::vector<std::byte>> storage(AllDTypes().size());
  for (std::size_t d = 0; d < storage.size(); ++d) {
    const DType dtype = AllDTypes()[d];
    switch (dtype) {
      case DType::kU8:
      case DType::kI8:
      case DType::kI16:
      case DType::kU16:
      case DType::kF16:
      case DType::kI32:
      case DType::kU32:
      case DType::kF32:
      case DType::kF64:
        break;
      default:
        continue;
    }
    storage[d].resize(TensorBytes(dtype, {8}).value());
    for (std::size_t i = 0; i < storage[d].size(); ++i) {
      // Top bytes below 0x60 keep the floats finite.
      storage[d][i] = static_cast<std::byte>(i * 53 % 0x60 + (DTypeBits(dtype) == 8 ? i * 20 : 0));
    }
    ASSERT_THAT(writer.Add(std::string(DTypeName(dtype)), TensorView{dtype, {8}, storage[d]}),
                IsOk());
  }
  ASSERT_THAT(writer.Write(path), IsOk());
  const Json theirs = Run({"values", path});
  DM_ASSERT_OK_AND_ASSIGN(const SafetensorsFile ours, SafetensorsFile::Open(path));
  ASSERT_EQ(theirs.size(), ours.names().size());
  for (const std::string& name : ours.names()) {
    EXPECT_EQ(ToDoubles(ours.Get(name).value()).value(), theirs[name].get<std::vector<double>>())
        << name;
  }
}

// Whatever we take, the package takes; what only we refuse is marked so in the samples.
TEST_F(InteropTest, TheSameFilesAreRefused) {
  std::map<std::string, bool> expected;
  for (const SampleFile& sample : MalformedSafetensors()) {
    ASSERT_THAT(WriteTextFile(folder_.Path(sample.name), sample.bytes), IsOk());
    expected[sample.name] = sample.reference_accepts;
  }
  std::vector<std::string> legal;
  for (const SampleFile& sample : OddSafetensors()) {
    ASSERT_THAT(WriteTextFile(folder_.Path(sample.name), sample.bytes), IsOk());
    expected[sample.name] = true;
    legal.push_back(folder_.Path(sample.name));
  }
  const Json accepted = Run({"accepts", folder_.path()});
  for (const auto& [name, expected_accepted] : expected) {
    EXPECT_EQ(accepted[name], expected_accepted) << name;
  }
  ExpectSameContent(legal);
}

}  // namespace
}  // namespace draftmark
