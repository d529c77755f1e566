#include "src/tensor/safetensors.h"

#include <fmt/format.h>

#include <cstring>

#include "src/base/faulty_file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/tensor/safetensors_samples.h"

namespace draftmark {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
TensorView View(DType dtype, Shape shape, std::string_view data) {
  return TensorView{dtype, std::move(shape), Bytes(data)};
}
std::string Text(const TensorView& view) {
  return std::string(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
}

// One tensor of each dtype and a few special shapes. `storage` holds the data.
SafetensorsWriter EveryDType(std::vector<std::string>& storage) {
  SafetensorsWriter writer;
  storage.clear();
  storage.reserve(AllDTypes().size());  // the views point into it
  for (const DType dtype : AllDTypes()) {
    const Shape shape = {2, 4};
    std::string data(TensorBytes(dtype, shape).value(), '\0');
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 37 + 1);
    storage.push_back(std::move(data));
    DM_CHECK(writer.Add(std::string(DTypeName(dtype)), View(dtype, shape, storage.back())).ok());
  }
  DM_CHECK(writer.Add("scalar", View(DType::kF32, {}, "1234")).ok());
  DM_CHECK(writer.Add("empty", View(DType::kI64, {3, 0, 2}, "")).ok());
  DM_CHECK(writer.Add("\xC3\xA4\"\\\n\x01/..", View(DType::kU8, {1}, "x")).ok());
  writer.SetMetadata("format", "pt");
  writer.SetMetadata("", "\xE2\x82\xAC \"quoted\"\t");
  return writer;
}

TEST(SafetensorsTest, ReadGivesWhatWasWritten) {
  const TestFolder folder;
  std::vector<std::string> storage;
  ASSERT_THAT(EveryDType(storage).Write(folder.Path("f")), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const auto file, SafetensorsFile::Open(folder.Path("f")));
  EXPECT_EQ(file.path(), folder.Path("f"));
  EXPECT_EQ(file.names().size(), AllDTypes().size() + 3);
  EXPECT_TRUE(std::is_sorted(file.names().begin(), file.names().end()));
  for (std::size_t i = 0; i < storage.size(); ++i) {
    const DType dtype = AllDTypes()[i];
    DM_ASSERT_OK_AND_ASSIGN(const TensorView view, file.Get(DTypeName(dtype), dtype, {2, 4}));
    EXPECT_EQ(Text(view), storage[i]) << DTypeName(dtype);
  }
  EXPECT_EQ(Text(file.Get("scalar", DType::kF32, {}).value()), "1234");
  EXPECT_EQ(file.Get("empty", DType::kI64, {3, 0, 2}).value().elements(), 0u);
  EXPECT_EQ(Text(file.Get("\xC3\xA4\"\\\n\x01/..").value()), "x");
  EXPECT_THAT(file.metadata(),
              ElementsAre(Pair("", "\xE2\x82\xAC \"quoted\"\t"), Pair("format", "pt")));
}

TEST(SafetensorsTest, ViewsOutliveTheFileObjectThroughACopy) {
  const TestFolder folder;
  SafetensorsWriter writer;
  ASSERT_THAT(writer.Add("t", View(DType::kU8, {3}, "abc")), IsOk());
  ASSERT_THAT(writer.Write(folder.Path("f")), IsOk());
  std::optional<SafetensorsFile> copy;
  TensorView view;
  {
    DM_ASSERT_OK_AND_ASSIGN(const auto file, SafetensorsFile::Open(folder.Path("f")));
    view = file.Get("t").value();
    copy = file;
  }
  EXPECT_EQ(Text(view), "abc");
}

TEST(SafetensorsTest, GetNamesWhatIsWrong) {
  const auto file = SafetensorsFile::FromBytes(
      "m.safetensors", std::make_shared<MemoryFile>(SafetensorsBytes(
                           "{" + EntryJson("fc", "BF16", "2,3", "0,12") + "}", "123456789012")));
  ASSERT_THAT(file, IsOk());
  EXPECT_TRUE(file->Has("fc"));
  EXPECT_FALSE(file->Has("f"));
  EXPECT_THAT(file->Get("fc", DType::kBF16, {2, 3}), IsOk());
  EXPECT_THAT(file->Get("k_proj"),
              StatusIs(StatusCode::kNotFound,
                       "m.safetensors: tensor 'k_proj': not among the file's 1 tensors"));
  EXPECT_THAT(file->Get("fc", DType::kF32, {2, 3}),
              StatusIs(StatusCode::kInvalidArgument,
                       "m.safetensors: tensor 'fc': expected F32 [2, 3], found BF16 [2, 3]"));
  EXPECT_THAT(file->Get("fc", DType::kBF16, {3, 2}),
              StatusIs(StatusCode::kInvalidArgument,
                       "m.safetensors: tensor 'fc': expected BF16 [3, 2], found BF16 [2, 3]"));
  EXPECT_THAT(file->Get("fc", DType::kBF16, {6}), StatusIs(StatusCode::kInvalidArgument, _));
}

TEST(SafetensorsTest, MissingFile) {
  EXPECT_THAT(SafetensorsFile::Open("/no/such/file"),
              StatusIs(StatusCode::kNotFound, HasSubstr("/no/such/file")));
  FaultyFileSystem faulty({.fail_map = true});
  EXPECT_THAT(SafetensorsFile::Open("x", faulty), StatusIs(StatusCode::kUnavailable, _));
}

TEST(SafetensorsWriterTest, SameTensorsSameBytes) {
  const TestFolder folder;
  std::vector<std::string> storage;
  ASSERT_THAT(EveryDType(storage).Write(folder.Path("a")), IsOk());
  ASSERT_THAT(EveryDType(storage).Write(folder.Path("b")), IsOk());
  EXPECT_EQ(ReadTextFile(folder.Path("a")).value(), ReadTextFile(folder.Path("b")).value());
  // The order of Add and SetMetadata does not matter.
  SafetensorsWriter forwards;
  SafetensorsWriter backwards;
  ASSERT_THAT(forwards.Add("a", View(DType::kU8, {1}, "x")), IsOk());
  ASSERT_THAT(forwards.Add("b", View(DType::kU8, {1}, "y")), IsOk());
  ASSERT_THAT(backwards.Add("b", View(DType::kU8, {1}, "y")), IsOk());
  ASSERT_THAT(backwards.Add("a", View(DType::kU8, {1}, "x")), IsOk());
  forwards.SetMetadata("k", "1");
  forwards.SetMetadata("l", "2");
  backwards.SetMetadata("l", "2");
  backwards.SetMetadata("k", "0");
  backwards.SetMetadata("k", "1");
  ASSERT_THAT(forwards.Write(folder.Path("c")), IsOk());
  ASSERT_THAT(backwards.Write(folder.Path("d")), IsOk());
  EXPECT_EQ(ReadTextFile(folder.Path("c")).value(), ReadTextFile(folder.Path("d")).value());
}

// The layout itself, byte by byte: wide dtypes first, then names, header padded with spaces.
TEST(SafetensorsWriterTest, Layout) {
  const TestFolder folder;
  SafetensorsWriter writer;
  ASSERT_THAT(writer.Add("b", View(DType::kU8, {2}, "bb")), IsOk());
  ASSERT_THAT(writer.Add("a", View(DType::kU8, {}, "a")), IsOk());
  ASSERT_THAT(writer.Add("z", View(DType::kBF16, {2, 1}, "zzzz")), IsOk());
  writer.SetMetadata("format", "pt");
  ASSERT_THAT(writer.Write(folder.Path("f")), IsOk());
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("z":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},)"
                             R"("a":{"dtype":"U8","shape":[],"data_offsets":[4,5]},)"
                             R"("b":{"dtype":"U8","shape":[2],"data_offsets":[5,7]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(ReadTextFile(folder.Path("f")).value(), SafetensorsBytes(padded, "zzzzabb"));
}

TEST(SafetensorsWriterTest, EmptyFile) {
  const TestFolder folder;
  ASSERT_THAT(SafetensorsWriter().Write(folder.Path("f")), IsOk());
  EXPECT_EQ(ReadTextFile(folder.Path("f")).value(), SafetensorsBytes("{}      "));
  DM_ASSERT_OK_AND_ASSIGN(const auto file, SafetensorsFile::Open(folder.Path("f")));
  EXPECT_THAT(file.names(), IsEmpty());
  EXPECT_THAT(file.metadata(), IsEmpty());
}

TEST(SafetensorsWriterTest, WrongTensorsAreRefused) {
  SafetensorsWriter writer;
  ASSERT_THAT(writer.Add("t", View(DType::kU8, {1}, "x")), IsOk());
  EXPECT_THAT(writer.Add("t", View(DType::kU8, {1}, "y")),
              StatusIs(StatusCode::kInvalidArgument, "tensor 't': given twice"));
  EXPECT_THAT(writer.Add("__metadata__", View(DType::kU8, {1}, "x")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("reserved")));
  EXPECT_THAT(writer.Add("short", View(DType::kF32, {2}, "1234567")),
              StatusIs(StatusCode::kInvalidArgument,
                       "tensor 'short': expected 8 bytes for shape [2] of F32, found 7"));
  EXPECT_THAT(writer.Add("half", View(DType::kF4, {3}, "12")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no whole bytes")));
  EXPECT_THAT(writer.Add("wrap", View(DType::kF64, {1ull << 61}, "")),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("'wrap'")));
  EXPECT_THAT(writer.Add("\xFF", View(DType::kU8, {1}, "x")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  writer.SetMetadata("k", "\xFF");
  const TestFolder folder;
  EXPECT_THAT(writer.Write(folder.Path("f")),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(folder.Path("f")), HasSubstr("UTF-8"))));
  EXPECT_THAT(RealFileSystem().List(folder.path()).value(), IsEmpty());
}

TEST(SafetensorsWriterTest, AHeaderAboveTheLimitIsRefused) {
  const TestFolder folder;
  SafetensorsWriter writer;
  writer.SetMetadata("k", std::string(kLargestSafetensorsHeader, 'v'));
  EXPECT_THAT(writer.Write(folder.Path("f")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 100000000 bytes")));
}

// Wherever the disk fills up, the old file stays and nothing else is left.
TEST(SafetensorsWriterTest, FaultsLeaveTheOldFile) {
  const TestFolder folder;
  std::vector<std::string> storage;
  const SafetensorsWriter writer = EveryDType(storage);
  FaultyFileSystem counter({});
  ASSERT_THAT(writer.Write(folder.Path("counted"), counter), IsOk());
  ASSERT_THAT(WriteTextFile(folder.Path("f"), "old"), IsOk());
  std::vector<PlantedFault> faults = {{.fail_commit = true}, {.read_only = true}};
  for (int i = 0; i < counter.appends(); ++i) {
    faults.push_back({.fail_append = i});
    faults.push_back({.short_append = i});
  }
  for (const PlantedFault& fault : faults) {
    FaultyFileSystem faulty(fault);
    const Status status = writer.Write(folder.Path("f"), faulty);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr(folder.Path("f")));
    EXPECT_EQ(ReadTextFile(folder.Path("f")).value(), "old");
    EXPECT_THAT(RealFileSystem().List(folder.path()).value(), ElementsAre("counted", "f"));
  }
}

}  // namespace
}  // namespace draftmark
