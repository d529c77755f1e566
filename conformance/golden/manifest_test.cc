#include "conformance/golden/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/memory_file_system.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ManifestEntry Entry(const std::string& path) {
  ManifestEntry entry;
  entry.path = path;
  entry.kind = "operation";
  entry.bytes = 12;
  entry.sha256 = "ab";
  entry.cases = {"op/x/rows=1/bf16"};
  entry.reason = "first";
  return entry;
}

class ManifestTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) {
    ASSERT_THAT(WriteTextFile("golden/manifest.json", text, files_), IsOk());
  }
  void ExpectRefused(const std::string& text, StatusCode code, const std::string& part) {
    Write(text);
    EXPECT_THAT(LoadManifest("golden", files_), StatusIs(code, HasSubstr(part))) << text;
    EXPECT_THAT(LoadManifest("golden", files_), StatusIs(code, HasSubstr("golden/manifest.json")));
  }

  MemoryFileSystem files_;
};

TEST_F(ManifestTest, TextLeadsBackToTheEntriesSortedByPath) {
  Manifest manifest;
  manifest.Put(Entry("b"));
  manifest.Put(Entry("a/x"));
  ManifestEntry changed = Entry("b");
  changed.reason = "second";
  manifest.Put(changed);
  Write(manifest.ToText());
  DM_ASSERT_OK_AND_ASSIGN(const Manifest loaded, LoadManifest("golden", files_));
  EXPECT_EQ(loaded.ToText(), manifest.ToText());
  ASSERT_EQ(loaded.files.size(), 2u);
  EXPECT_EQ(loaded.files[0].path, "a/x");
  EXPECT_EQ(loaded.Find("b")->reason, "second");
  EXPECT_EQ(loaded.Find("c"), nullptr);
}

TEST_F(ManifestTest, BadManifestsAreNamed) {
  EXPECT_THAT(LoadManifest("golden", files_),
              StatusIs(StatusCode::kNotFound, HasSubstr("golden/manifest.json")));
  ExpectRefused("{", StatusCode::kDataLoss, "");
  ExpectRefused(R"({"schema_version": 2, "files": []})", StatusCode::kInvalidArgument,
                "schema_version: expected 1");
  ExpectRefused(R"({"schema_version": 1})", StatusCode::kNotFound, "files");
  Manifest good;
  good.Put(Entry("a"));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good.ToText();
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  ExpectRefused(replaced("\"bytes\": 12", "\"bytes\": -1"), StatusCode::kInvalidArgument, "bytes");
  ExpectRefused(replaced("\"sha256\"", "\"md5\""), StatusCode::kInvalidArgument, "files[0].md5");
  ExpectRefused(replaced("\"first\"", "\"\""), StatusCode::kInvalidArgument, "files[0].reason");
  ExpectRefused(replaced("\"files\"", "\"more\": 1, \"files\""), StatusCode::kInvalidArgument,
                "more");
  for (const char* const path : {"../x", "/etc/passwd", ""}) {
    ExpectRefused(replaced("\"path\": \"a\"", std::string("\"path\": \"") + path + "\""),
                  StatusCode::kInvalidArgument, "a path below golden/");
  }
  std::string twice = good.ToText();
  const std::size_t begin = twice.find("  {");
  const std::string entry = twice.substr(begin, twice.rfind("  }") + 3 - begin);
  twice.insert(begin, entry + ",\n");
  ExpectRefused(twice, StatusCode::kInvalidArgument, "files[1].path");
}

TEST_F(ManifestTest, ListsWhatMustBeInTheManifest) {
  for (const char* const path :
       {"golden/.draftmark-1-0-ab.tmp", "golden/manifest.json", "golden/README.md", "golden/BUILD",
        "golden/b/BUILD", "golden/b/x.safetensors", "golden/a.json", "golden/b/c/README.md"}) {
    ASSERT_THAT(WriteTextFile(path, "", files_), IsOk());
  }
  EXPECT_THAT(ListGoldenFiles("golden", files_).value(),
              ElementsAre("a.json", "b/c/README.md", "b/x.safetensors"));
  ASSERT_THAT(WriteTextFile("golden/1/2/3/4/5/f", "", files_), IsOk());
  EXPECT_THAT(ListGoldenFiles("golden", files_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("folders deep")));
}

TEST_F(ManifestTest, TheFolderIsComparedByNames) {
  Manifest manifest;
  for (const char* const path : {"a/listed", "a/missing", "b"}) manifest.Put(Entry(path));
  Write(manifest.ToText());
  for (const char* const path : {"a/listed", "a/unlisted", "a/BUILD", "README.md", "b"}) {
    ASSERT_THAT(WriteTextFile("golden/" + std::string(path), "x", files_), IsOk());
  }
  DM_ASSERT_OK_AND_ASSIGN(const ManifestDifference difference,
                          CompareWithManifest("golden", files_));
  EXPECT_THAT(difference.missing, ElementsAre("a/missing"));
  EXPECT_THAT(difference.unlisted, ElementsAre("a/unlisted"));
}

}  // namespace
}  // namespace draftmark
