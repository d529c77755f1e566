#include "src/perf/history/record_jsonl.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/sha256.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/perf/history/record_testing.h"

namespace draftmark {
namespace {

using testing::HasSubstr;

// Closes lines as a record's file is closed, so that only their content is wrong.
std::string Closed(const std::string& lines) {
  return lines +
         fmt::format(R"({{"end":{{"lines":{},"sha256":"{}"}}}})",
                     std::count(lines.begin(), lines.end(), '\n'),
                     Sha256Hex(std::as_bytes(std::span(lines)))) +
         "\n";
}

std::string HeaderOfRelease(const std::string& more = "") {
  return R"({"draftmark_history":1,"kind":"release","time":"2026-11-30T02:24:17Z","name":"v1")" +
         more + "}\n";
}

TEST(RecordJsonlTest, Golden) {
  const std::vector<std::string> names = {"run",    "conformance", "gate", "aa",
                                          "accept", "release",     "night"};
  const std::vector<HistoryRecord> records = AllKindsOfRecords();
  ASSERT_EQ(names.size(), records.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string path = TestData("src/perf/history/testdata/" + names[i] + ".jsonl");
    DM_ASSERT_OK_AND_ASSIGN(const std::string golden, ReadTextFile(path));
    DM_ASSERT_OK_AND_ASSIGN(const RecordText written, RecordToJsonl(records[i]));
    EXPECT_EQ(written.text, golden) << names[i];
    DM_ASSERT_OK_AND_ASSIGN(const ParsedRecord read, ParseRecordJsonl(golden, path));
    HistoryRecord canonical = records[i];
    Canonicalize(canonical);
    EXPECT_TRUE(read.record == canonical) << names[i];
    EXPECT_EQ(read.uid, written.uid);
    EXPECT_EQ(read.sha256, written.sha256);
    EXPECT_EQ(read.uid.size(), 16u);
  }
}

TEST(RecordJsonlTest, TheIdIsThatOfTheSource) {
  RunRecord run = FullRun();
  EXPECT_EQ(RecordToJsonl(run).value().uid, std::string(16, 'a'));
  run.environment.clocks = "locked";
  EXPECT_EQ(RecordToJsonl(run).value().uid, std::string(16, 'a'));
  run.source_sha256.clear();
  const RecordText written = RecordToJsonl(run).value();
  EXPECT_EQ(written.uid, written.sha256.substr(0, 16));
  run.number = 7;
  EXPECT_NE(RecordToJsonl(run).value().uid, written.uid);
}

TEST(RecordJsonlTest, OrderDoesNotMatter) {
  RunRecord run = FullRun();
  RunRecord other = run;
  std::reverse(other.points.begin(), other.points.end());
  std::reverse(other.context.begin(), other.context.end());
  for (Point& point : other.points) std::reverse(point.counts.begin(), point.counts.end());
  EXPECT_EQ(RecordToJsonl(run).value().text, RecordToJsonl(other).value().text);
}

TEST(RecordJsonlTest, NumbersComeBackBitForBit) {
  for (const double seconds :
       {1e-9 / 3, 0.1, std::numeric_limits<double>::min(), 1.0, 123456789.123456789}) {
    const std::string text = RecordToJsonl(TestRun(seconds)).value().text;
    const ParsedRecord read = ParseRecordJsonl(text, "x").value();
    EXPECT_EQ(*std::get<RunRecord>(read.record).points[0].seconds, seconds);
  }
}

TEST(RecordJsonlTest, EveryCutIsNoticed) {
  const std::string text = RecordToJsonl(FullRun()).value().text;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto parsed = ParseRecordJsonl(text.substr(0, size), "cut.jsonl");
    ASSERT_THAT(parsed, StatusIs(StatusCode::kDataLoss, HasSubstr("cut.jsonl"))) << size;
  }
}

TEST(RecordJsonlTest, EveryChangedByteIsNoticed) {
  const std::string text = RecordToJsonl(FullRun()).value().text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    ASSERT_FALSE(ParseRecordJsonl(changed, "x").ok()) << i;
  }
  // A number that is as good as the one that was there.
  std::string other = text;
  other.replace(other.find("0.00104,"), 8, "0.00105,");
  EXPECT_THAT(ParseRecordJsonl(other, "x"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("x: damaged: end.sha256: expected")));
  std::string longer = text;
  longer.insert(longer.find('\n') + 1, "\n");
  EXPECT_THAT(ParseRecordJsonl(longer, "x"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("end.lines")));
}

TEST(RecordJsonlTest, HostileLines) {
  const std::string point = R"({"point":{"case":"a","counts":{"x":1}}})";
  const std::string run =
      R"({"draftmark_history":1,"kind":"run","time":"2026-11-30T02:24:17Z","night":"2026-11-30",)"
      R"("environment":{"architecture":"cpu"},"program":"p"})"
      "\n";
  ASSERT_THAT(ParseRecordJsonl(Closed(run + point + "\n"), "x"), IsOk());
  for (const auto& [lines, message] : std::vector<std::pair<std::string, std::string>>{
           {"[]\n", "x:1"},
           {"{}\n", "draftmark_history: required"},
           {R"({"draftmark_history":"1"})"
            "\n",
            "x:1: draftmark_history: expected"},
           {R"({"draftmark_history":0,"kind":"run"})"
            "\n",
            "draftmark_history: expected a version"},
           {R"({"draftmark_history":1,"kind":"other"})"
            "\n",
            "kind: expected run, gate"},
           {R"({"draftmark_history":1,"kind":"release","name":"v1"})"
            "\n",
            "time: required"},
           {HeaderOfRelease(R"(,"time":"x")"), "time"},
           {HeaderOfRelease(R"(,"color":"red")"), "x:1: color: unknown key"},
           {HeaderOfRelease(R"(,"note":7)"), "x:1: note: expected"},
           {HeaderOfRelease() + point + "\n", "x:2: point: expected one item of a kind"},
           {run + "{}\n", "x:2: {}: expected one item"},
           {run + point.substr(0, 20) + "\n", "x:2"},
           {run + R"({"point":{"case":"a","counts":{"x":1}},"more":1})" + "\n",
            "expected one item of a kind"},
           {run + R"({"point":{"case":"a","counts":{"x":1.5}}})" + "\n",
            "point.counts.x: expected"},
           {run + R"({"point":{"case":"a","counts":{"x":18446744073709551615}}})" + "\n",
            "point.counts.x: expected"},
           {run + R"({"point":{"case":"a","counts":{"x":-1}}})" + "\n",
            "counts.x: expected at least 0"},
           {run + R"({"point":{"case":"a","counts":{"x":null}}})" + "\n", "counts.x"},
           {run + R"({"point":{"case":"a","seconds":1e999,"median_seconds":1,"samples":1}})" + "\n",
            "x:2"},
           {run + R"({"point":{"case":"a","seconds":NaN}})" + "\n", "x:2"},
           {run + point + "\n" + point + "\n", "expected each entry once"},
           {run + std::string(100000, '[') + "\n", "x:2"},
           {run + R"({"point":{"case":"a\u0000","counts":{"x":1}}})" + "\n", "control characters"},
           {run + R"({"point": {"case":"a","counts":{"x":1}}})" + "\n",
            "another order or notation"},
           {run + R"({"point":{"counts":{"x":1},"case":"a"}})" + "\n", "another order or notation"},
           {run + R"({"point":{"case":"a","schema":1,"counts":{"x":1}}})" + "\n",
            "another order or notation"}}) {
    const auto parsed = ParseRecordJsonl(Closed(lines), "x");
    ASSERT_FALSE(parsed.ok()) << lines.substr(0, 200);
    EXPECT_THAT(parsed.status().message(), HasSubstr(message)) << lines.substr(0, 200);
    EXPECT_EQ(std::count(parsed.status().message().begin(), parsed.status().message().end(), '\n'),
              0);
  }
}

TEST(RecordJsonlTest, ANewerFormatIsRefused) {
  std::string header = HeaderOfRelease();
  header.replace(header.find(":1,"), 3, ":2,");
  EXPECT_THAT(ParseRecordJsonl(Closed(header), "x"),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("draftmark_history: expected at most 1, found 2: a newer")));
}

}  // namespace
}  // namespace draftmark
