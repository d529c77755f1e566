// The table of conformance/README.md and the sources name the same tests.
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"

namespace draftmark {
namespace {

struct Row {
  std::string suite, test, file;
};

std::vector<Row> RowsOf(const std::string& readme) {
  static const std::regex kRow(R"(\| `(\w+)\.(\w+)` \| `([\w/.]+)` \| (?:no|yes) \|)");
  std::vector<Row> rows;
  for (std::sregex_iterator it(readme.begin(), readme.end(), kRow), end; it != end; ++it) {
    rows.push_back({(*it)[1], (*it)[2], (*it)[3]});
  }
  return rows;
}

// The names of the tests of a suite in a source file.
std::set<std::string> TestsOf(const std::string& suite, const std::string& source) {
  const std::regex test("TEST(?:_F|_P)?\\(" + suite + ",\\s*(\\w+)\\)");
  std::set<std::string> names;
  for (std::sregex_iterator it(source.begin(), source.end(), test), end; it != end; ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

std::string Source(const std::string& path) {
  const StatusOr<std::string> text = ReadTextFile(TestData(path));
  EXPECT_THAT(text, IsOk()) << path;
  return text.ok() ? *text : "";
}

TEST(TableTest, EveryTestOfTheTableExists) {
  const std::vector<Row> rows = RowsOf(Source("conformance/README.md"));
  // 20 classes; some are several failures, some have a test on the GPU too.
  EXPECT_EQ(rows.size(), 29u);
  for (const Row& row : rows) {
    EXPECT_TRUE(TestsOf(row.suite, Source(row.file)).contains(row.test))
        << row.suite << "." << row.test << " is not in " << row.file;
  }
}

TEST(TableTest, EveryTestOfAPublicFailureIsInTheTable) {
  std::set<std::string> listed;
  for (const Row& row : RowsOf(Source("conformance/README.md"))) {
    if (row.suite != "PublicFailures") continue;
    EXPECT_TRUE(listed.insert(row.test).second) << row.test;
  }
  std::set<std::string> written;
  for (const char* const file :
       {"conformance/public_failures/attention_test.cc",
        "conformance/public_failures/engine_test.cc", "conformance/public_failures/heads_test.cc",
        "conformance/public_failures/rows_test.cc", "conformance/soak/soak_test.cc"}) {
    written.merge(TestsOf("PublicFailures", Source(file)));
  }
  EXPECT_EQ(written, listed);
}

}  // namespace
}  // namespace draftmark
