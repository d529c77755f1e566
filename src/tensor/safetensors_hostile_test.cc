// Every rule of the format, broken: the reader must say which file, which tensor, what it expected
// and what it found, and must never read outside the file.
#include <fmt/format.h>

#include <random>

#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/tensor/safetensors.h"
#include "src/tensor/safetensors_samples.h"

namespace draftmark {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

StatusOr<SafetensorsFile> OpenBytes(std::string_view bytes) {
  return SafetensorsFile::FromBytes("hostile.safetensors", std::make_shared<MemoryFile>(bytes));
}

std::vector<std::string> NamesOf(const std::vector<SampleFile>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const SampleFile& file : files) names.push_back(file.name);
  return names;
}

class MalformedTest : public ::testing::TestWithParam<SampleFile> {};

TEST_P(MalformedTest, IsRefusedWithItsReason) {
  EXPECT_THAT(OpenBytes(GetParam().bytes),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(StartsWith("hostile.safetensors: "), HasSubstr(GetParam().message))));
}

TEST_P(MalformedTest, OnDiskToo) {
  const TestFolder folder;
  const std::string path = folder.Path("f.safetensors");
  ASSERT_THAT(WriteTextFile(path, GetParam().bytes), IsOk());
  EXPECT_THAT(SafetensorsFile::Open(path),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(StartsWith(path + ": "), HasSubstr(GetParam().message))));
}

std::string SampleName(const ::testing::TestParamInfo<SampleFile>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, MalformedTest, ::testing::ValuesIn(MalformedSafetensors()),
                         SampleName);

class OddTest : public ::testing::TestWithParam<SampleFile> {};

TEST_P(OddTest, IsLegal) { EXPECT_THAT(OpenBytes(GetParam().bytes), IsOk()); }
INSTANTIATE_TEST_SUITE_P(All, OddTest, ::testing::ValuesIn(OddSafetensors()), SampleName);

// A file of the largest header; one byte more is refused before it is parsed.
TEST(SafetensorsHeaderTest, LimitIsInclusive) {
  const std::string largest = "{}" + std::string(kLargestSafetensorsHeader - 2, ' ');
  EXPECT_THAT(OpenBytes(SafetensorsBytes(largest)), IsOk());
  EXPECT_THAT(OpenBytes(SafetensorsBytes(largest + " ")),
              StatusIs(StatusCode::kDataLoss, HasSubstr("at most 100000000 bytes")));
}

TEST(SafetensorsHeaderTest, EveryTruncationIsRefused) {
  const std::string whole = SafetensorsBytes(
      "{" + EntryJson("a", "F32", "2", "0,8") + "," + EntryJson("b", "U8", "3", "8,11") + "}",
      "12345678abc");
  ASSERT_THAT(OpenBytes(whole), IsOk());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_THAT(OpenBytes(whole.substr(0, size)), StatusIs(StatusCode::kDataLoss, _)) << size;
  }
}

// Random damage: whatever still opens must have all its views inside the file.
TEST(SafetensorsHeaderTest, MutatedFilesNeverLeadOutside) {
  const std::string whole =
      SafetensorsBytes("{\"__metadata__\":{\"k\":\"v\"}," + EntryJson("a", "F32", "2,1", "0,8") +
                           "," + EntryJson("b", "F4", "2,3", "8,11") + "}",
                       "12345678abc");
  std::mt19937 random(7);
  int opened = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (unsigned edit = 0; edit <= random() % 3; ++edit) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = "0123456789,[]{}\":-.e"[random() % 20];
          break;
        case 2:
          bytes.erase(at, 1 + random() % 3);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 20));
      }
      if (bytes.empty()) bytes = "x";
    }
    const auto memory = std::make_shared<MemoryFile>(bytes);
    const StatusOr<SafetensorsFile> file = SafetensorsFile::FromBytes("mutant", memory);
    if (!file.ok()) {
      EXPECT_THAT(file, StatusIs(StatusCode::kDataLoss, StartsWith("mutant: ")));
      continue;
    }
    ++opened;
    const std::byte* const begin = memory->bytes().data();
    for (const std::string& name : file->names()) {
      const TensorView view = file->Get(name).value();
      ASSERT_GE(view.bytes.data(), begin);
      ASSERT_LE(view.bytes.data() + view.bytes.size(), begin + bytes.size());
      ASSERT_EQ(TensorBytes(view.dtype, view.shape).value(), view.bytes.size());
    }
  }
  EXPECT_GT(opened, 100);  // harmless edits exist, or the loop above tests nothing
}

TEST(SafetensorsSamplesTest, NamesAreUnique) {
  std::vector<std::string> names = NamesOf(MalformedSafetensors());
  const std::vector<std::string> odd = NamesOf(OddSafetensors());
  names.insert(names.end(), odd.begin(), odd.end());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace draftmark
