// No locale and no time zone changes what is read or written: a program that embeds us, as Python does, may have set
// another for the process, with a decimal comma, thousands apart and letters that change case otherwise.
#include <stdlib.h>

#include <clocale>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <locale>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/ascii.h"
#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

constexpr char kReport[] = R"({"context": {"date": "2026-11-30T02:24:17+00:00"}, "benchmarks": [
  {"name": "op/a/rows=1/bf16", "run_type": "iteration", "real_time": 1234.5678, "time_unit": "us",
   "copy_share": 0.625, "launches": 1234567}]})";
constexpr char kOther[] = R"({"context": {"date": "2026-11-30T23:59:59+00:00"}, "benchmarks": [
  {"name": "op/a/rows=1/bf16", "run_type": "iteration", "real_time": 1234.75, "time_unit": "us"}]})";

// What commands print and write, by name. Every call has a folder of its own.
std::map<std::string, std::string> Everything() {
  const TestFolder folder;
  const auto path = [&](const std::string& name) { return folder.Path(name); };
  EXPECT_THAT(WriteTextFile(path("a.json"), kReport), IsOk());
  EXPECT_THAT(WriteTextFile(path("b.json"), kOther), IsOk());
  const std::string configs = TestData("golden/configs") + "/";
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {"sizes",
       {"sizes", configs + "qwen3_8b.json", "--max-batch-tokens", "2048", "--max-seq-len", "8192",
        "--kv-block-size", "16", "--max-batch-size", "8"}},
      {"config", {"config", configs + "gpt_oss_20b.json"}},
      {"drafter", {"config", configs + "drafter_specforge_qwen3_6_27b_dflash2.json"}},
      {"verify", {"verify", "op/rms_norm/rows=16,h=4096/bf16", "--format", "json"}},
      {"import",
       {"history", "import", "--db", path("h.db"), "--commit", "abcdef1", "--arch", "cpu",
        path("a.json"), path("b.json")}},
      {"list", {"history", "list", "--db", path("h.db")}},
      {"series", {"history", "list", "--db", path("h.db"), "--what", "series", "--format", "json"}},
      {"compare", {"perf", "compare", path("a.json"), path("b.json")}},
      {"demo",
       {"dashboard", "--demo", "--db", path("demo.db"), "--cases", "8", "--nights", "12", "--out",
        path("demo")}},
      {"dashboard", {"dashboard", "--db", path("h.db"), "--out", path("out")}},
  };
  std::map<std::string, std::string> found;
  for (const auto& [name, arguments] : commands) {
    const CommandResult result = RunCommand(arguments);
    found[name] = std::to_string(result.code) + "\n" + result.out + result.err;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    const std::string name = entry.path().string().substr(folder.path().size());
    // SQLite's files may differ; what they hold is what the commands print.
    const bool sqlite = name.ends_with(".db") || name.find(".db-") != std::string::npos;
    if (entry.is_regular_file() && !sqlite) found[name] = ReadTextFile(entry.path()).value();
  }
  for (auto& [name, text] : found) {
    for (std::size_t at = 0; (at = text.find(folder.path())) != std::string::npos;) {
      text.erase(at, folder.path().size());
    }
  }
  return found;
}

void ExpectTheSame(const std::map<std::string, std::string>& usual,
                   const std::map<std::string, std::string>& found) {
  ASSERT_EQ(usual.size(), found.size());
  for (const auto& [name, text] : usual) {
    EXPECT_TRUE(found.count(name) == 1 && found.at(name) == text) << name;
  }
}

// As German, for C++ streams.
class Commas : public std::numpunct<char> {
 protected:
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
  std::string do_truename() const override { return "wahr"; }
};

// Sets a locale of the system for all of the C library; makes it where the system has the sources.
bool SetLocale(const std::string& name, const TestFolder& folder) {
  if (std::setlocale(LC_ALL, (name + ".UTF-8").c_str()) != nullptr) return true;
  const std::string made = folder.Path(name + ".UTF-8");
  const std::string command = "localedef -i " + name + " -f UTF-8 " + made + " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) return false;
  ::setenv("LOCPATH", folder.path().c_str(), 1);
  return std::setlocale(LC_ALL, (name + ".UTF-8").c_str()) != nullptr;
}

class ForeignLocaleTest : public ::testing::Test {
 protected:
  ~ForeignLocaleTest() override {
    std::locale::global(std::locale::classic());
    std::setlocale(LC_ALL, "C");
    ::unsetenv("TZ");
    ::tzset();
  }
  const std::map<std::string, std::string> usual_ = Everything();
};

TEST_F(ForeignLocaleTest, TheCommandsAreGood) {
  for (const auto& [name, text] : usual_) {
    if (name[0] == '/' || name == "compare") continue;
    EXPECT_EQ(text.substr(0, 2), "0\n") << name << text;
  }
  EXPECT_EQ(usual_.at("compare").substr(0, 1), "3") << usual_.at("compare");  // one run a side
  EXPECT_GT(usual_.size(), 20u);                                              // commands and files
}

TEST_F(ForeignLocaleTest, CommasOfStreams) {
  std::locale::global(std::locale(std::locale::classic(), new Commas));
  std::ostringstream probe;
  probe << 1234.5 << std::boolalpha << true;
  ASSERT_EQ(probe.str(), "1.234,5wahr");
  ExpectTheSame(usual_, Everything());
}

TEST_F(ForeignLocaleTest, LocalesOfTheSystem) {
  const TestFolder folder;
  for (const std::string name : {"de_DE", "tr_TR"}) {
    if (!SetLocale(name, folder)) {
      GTEST_SKIP() << "no locale " << name << " here, nor Debian's package `locales` to make it of";
    }
    const bool commas = std::string(std::localeconv()->decimal_point) == ",";
    ASSERT_TRUE(commas);
    ExpectTheSame(usual_, Everything());
  }
}

TEST_F(ForeignLocaleTest, TimeZones) {
  for (const char* const zone : {"Asia/Kathmandu", "XYZ+11:59:30", "ABC-14", ":/nowhere"}) {
    ::setenv("TZ", zone, 1);
    ::tzset();
    ExpectTheSame(usual_, Everything());
  }
}

TEST(AsciiTest, IsThatOfTheClassicLocale) {
  for (int i = 0; i < 128; ++i) {
    const char c = static_cast<char>(i);
    EXPECT_EQ(AsciiLower(c), std::tolower(c, std::locale::classic())) << i;
    EXPECT_EQ(AsciiUpper(c), std::toupper(c, std::locale::classic())) << i;
    EXPECT_EQ(IsAsciiAlnum(c), std::isalnum(c, std::locale::classic())) << i;
  }
  EXPECT_FALSE(IsAsciiAlnum('\xe4'));  // a letter of Latin-1
  EXPECT_EQ(LeadingNumber("1.5e3 Hz"), 1500);
  EXPECT_EQ(LeadingNumber("1,5"), 1);
  EXPECT_EQ(LeadingNumber(""), 0);
  EXPECT_EQ(LeadingNumber("none"), 0);
}

}  // namespace
}  // namespace draftmark
