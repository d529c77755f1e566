#include "tools/commands/finite_range.h"

#include "gtest/gtest.h"

namespace draftmark {
namespace {

// What the option then holds, or -1 for a usage error.
double Parsed(const std::string& text) {
  CLI::App app;
  double seconds = 0;
  app.add_option("--seconds", seconds)->check(FiniteRange(0.5, 1e3));
  try {
    app.parse(std::vector<std::string>{text, "--seconds"});
  } catch (const CLI::ValidationError&) {
    return -1;
  }
  return seconds;
}

TEST(FiniteRangeTest, TakesWhatIsInside) {
  EXPECT_EQ(Parsed("0.5"), 0.5);
  EXPECT_EQ(Parsed("1000"), 1000);
  EXPECT_EQ(Parsed("1e2"), 100);
}

TEST(FiniteRangeTest, RefusesEverythingElse) {
  for (const char* const text :
       {"nan", "NaN", "-nan", "nan(1)", "inf", "-inf", "0.49", "1000.1", "-1", "ten", "1s"}) {
    EXPECT_EQ(Parsed(text), -1) << text;
  }
}

TEST(FiniteRangeTest, SaysWhatItTakes) {
  CLI::App app;
  double seconds = 0;
  app.add_option("--seconds", seconds)->check(FiniteRange(0.5, 1e3));
  EXPECT_NE(app.help().find("FLOAT in [0.5 - 1000]"), std::string::npos) << app.help();
  try {
    app.parse(std::vector<std::string>{"nan", "--seconds"});
    FAIL();
  } catch (const CLI::ValidationError& error) {
    EXPECT_STREQ(error.what(), "--seconds: Value nan not in range 0.5 to 1000");
  }
}

}  // namespace
}  // namespace draftmark
