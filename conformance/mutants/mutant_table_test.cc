// The table is whole, and every check that it means exists.
#include "conformance/mutants/mutant_table.h"

#include <set>
#include <string>

#include "conformance/mutants/check.h"
#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"

namespace draftmark {
namespace {

TEST(MutantTableTest, OneRowForEachFaultInOrder) {
  std::set<std::string_view> ids;
  int fault = 0;
  for (const MutantInfo& mutant : MutantTable()) {
    EXPECT_EQ(static_cast<int>(mutant.fault), ++fault) << mutant.id;
    EXPECT_TRUE(ids.insert(mutant.id).second) << mutant.id;
    EXPECT_FALSE(mutant.reference.check.empty() && mutant.cuda.check.empty()) << mutant.id;
  }
  EXPECT_EQ(fault, static_cast<int>(Fault::kLast));
}

// M1 to M25 of spec/drafter.md section 13: each on the reference.
TEST(MutantTableTest, EveryMistakeOfTheSpecificationIsThere) {
  std::set<std::string> numbers;
  for (const MutantInfo& mutant : MutantTable()) {
    std::string id(mutant.id);
    if (id[0] != 'M') continue;
    EXPECT_FALSE(mutant.reference.check.empty()) << id;
    if (id.back() >= 'a') id.pop_back();
    numbers.insert(id);
  }
  for (int i = 1; i <= 25; ++i) EXPECT_EQ(numbers.count("M" + std::to_string(i)), 1u) << i;
  EXPECT_EQ(numbers.size(), 25u);
}

TEST(MutantTableTest, TheChecksMeantExist) {
  DM_ASSERT_OK_AND_ASSIGN(const Checks suite, ReferenceSuite(TestData("golden")));
  std::set<std::string> names;
  for (const Check& check : suite) EXPECT_TRUE(names.insert(check.name).second) << check.name;
  for (const MutantInfo& mutant : MutantTable()) {
    if (mutant.reference.check.empty()) continue;
    EXPECT_EQ(names.count(std::string(mutant.reference.check)), 1u) << mutant.id;
  }
}

// Every mutant and its check stand in the table for people.
TEST(MutantTableTest, TheReadmeNamesThem) {
  DM_ASSERT_OK_AND_ASSIGN(const std::string readme,
                          ReadTextFile(TestData("conformance/mutants/README.md")));
  for (const MutantInfo& mutant : MutantTable()) {
    const auto cell = [](const Meant& meant) {
      return meant.check.empty() ? std::string("-") : "`" + std::string(meant.check) + "`";
    };
    std::string_view what = mutant.what;
    if (what.starts_with("fault: ")) what.remove_prefix(7);
    const std::string row = "| " + std::string(mutant.id) + " | " + std::string(what) + " | " +
                            cell(mutant.reference) + " | " + cell(mutant.cuda) + " |\n";
    EXPECT_NE(readme.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace draftmark
