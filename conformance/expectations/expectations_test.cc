// The rules of expectations.h: what each outcome needs, and that every malformed file is refused
// with its line.
#include "conformance/expectations/expectations.h"

#include <string>
#include <vector>

#include "src/base/fake_clock.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const FakeClock kOctober(2026, 10, 15);

// An entry in which `key` has another value (as TOML writes it), or is left out if that is empty.
std::string Entry(const std::string& changed = "", const std::string& value = "") {
  std::string text = "\n[[expectation]]\n";
  bool known = changed.empty();
  for (const auto& [key, usual] :
       std::vector<std::pair<std::string, std::string>>{{"case", "\"draft/a/gamma=8\""},
                                                        {"kind", "\"known_failure\""},
                                                        {"reason", "\"angles in BF16\""},
                                                        {"owner", "\"kernels\""},
                                                        {"link", "\"https://x.test/1\""},
                                                        {"expires", "2026-10-31"},
                                                        {"signature", "\"step0.norm: bound\""}}) {
    known = known || key == changed;
    const std::string& shown = key == changed ? value : usual;
    if (!shown.empty()) text += key + " = " + shown + "\n";
  }
  if (!known) text += changed + " = " + value + "\n";
  return text;
}

const std::string kHead = "schema_version = 1\n";

Expectations Parsed(const std::string& text) {
  StatusOr<Expectations> result = Expectations::Parse(text, "x.toml");
  EXPECT_THAT(result, IsOk());
  return result.ok() ? *result : Expectations();
}

CaseRun RunOf(const std::string& signature, const std::string& id = "draft/a/gamma=8") {
  return {id, Precision::kBf16, "reference", signature};
}

Outcome OutcomeOf(const Expectations& expectations, const CaseRun& run,
                  const Clock& clock = kOctober) {
  return expectations.Judge(run, clock).outcome;
}

TEST(ExpectationsTest, NothingExpected) {
  const Expectations none = Parsed(kHead);
  EXPECT_EQ(OutcomeOf(none, RunOf("")), Outcome::kPass);
  EXPECT_EQ(OutcomeOf(none, RunOf("step0.norm: bound")), Outcome::kFail);
  EXPECT_EQ(none.Judge(RunOf("step0.norm: bound"), kOctober).expectation, nullptr);
  EXPECT_EQ(none.OutcomeLine(RunOf(""), none.Judge(RunOf(""), kOctober)), "");
}

TEST(ExpectationsTest, BothKindsOfEntry) {
  for (const char* kind : {"\"known_failure\"", "\"waiver\""}) {
    const Expectations one = Parsed(kHead + Entry("kind", kind));
    EXPECT_EQ(OutcomeOf(one, RunOf("step0.norm: bound")), Outcome::kExpectedFailure);
    EXPECT_EQ(OutcomeOf(one, RunOf("")), Outcome::kUnexpectedPass);
    EXPECT_EQ(OutcomeOf(one, RunOf("step0.norm: shape")), Outcome::kChangedSignature);
    EXPECT_EQ(OutcomeOf(one, RunOf("step1.norm: bound")), Outcome::kChangedSignature);
    EXPECT_EQ(OutcomeOf(one, RunOf("step0.norm: bound", "draft/b/gamma=8")), Outcome::kFail);
  }
}

TEST(ExpectationsTest, TheLastDayCountsAndTheNextIsTooLate) {
  const Expectations one = Parsed(kHead + Entry());
  const CaseRun run = RunOf("step0.norm: bound");
  EXPECT_EQ(OutcomeOf(one, run, FakeClock(2026, 10, 31)), Outcome::kExpectedFailure);
  EXPECT_EQ(OutcomeOf(one, run, FakeClock(2026, 11, 1)), Outcome::kExpired);
  EXPECT_EQ(OutcomeOf(one, run, FakeClock(2027, 1, 1)), Outcome::kExpired);
  // Whatever the date, a pass is a pass and another failure is another failure.
  EXPECT_EQ(OutcomeOf(one, RunOf(""), FakeClock(2027, 1, 1)), Outcome::kUnexpectedPass);
  EXPECT_EQ(OutcomeOf(one, RunOf("step0.fc: bound"), FakeClock(2027, 1, 1)),
            Outcome::kChangedSignature);
}

TEST(ExpectationsTest, OnlyAWaiversSignatureIsAPattern) {
  std::string text = Entry("signature", "\"step*.layers.*.k_new: bound\"");
  text.replace(text.find("known_failure"), 13, "waiver");
  const Expectations waiver = Parsed(kHead + text);
  EXPECT_EQ(OutcomeOf(waiver, RunOf("step3.layers.1.k_new: bound")), Outcome::kExpectedFailure);
  EXPECT_EQ(OutcomeOf(waiver, RunOf("step3.layers.1.v_new: bound")), Outcome::kChangedSignature);
  EXPECT_EQ(OutcomeOf(waiver, RunOf("step3.layers.1.k_new: shape")), Outcome::kChangedSignature);
}

TEST(ExpectationsTest, FiltersAndPatterns) {
  const Expectations exact_only = Parsed(kHead + Entry("precision", "\"exact\""));
  EXPECT_EQ(OutcomeOf(exact_only, RunOf("step0.norm: bound")), Outcome::kFail);
  CaseRun run = RunOf("step0.norm: bound");
  run.precision = Precision::kExact;
  EXPECT_EQ(OutcomeOf(exact_only, run), Outcome::kExpectedFailure);
  const Expectations cuda_only = Parsed(kHead + Entry("backend", "\"cuda\""));
  EXPECT_EQ(OutcomeOf(cuda_only, run), Outcome::kFail);
  run.backend = "cuda";
  EXPECT_EQ(OutcomeOf(cuda_only, run), Outcome::kExpectedFailure);
  const Expectations pattern = Parsed(kHead + Entry("case", "\"draft/a/*\""));
  EXPECT_EQ(OutcomeOf(pattern, RunOf("step0.norm: bound", "draft/a/gamma=4")),
            Outcome::kExpectedFailure);
  EXPECT_EQ(OutcomeOf(pattern, RunOf("step0.norm: bound", "draft/ab/gamma=4")), Outcome::kFail);
}

TEST(ExpectationsTest, Lines) {
  const Expectations one = Parsed(kHead + Entry());
  const auto line = [&](const std::string& signature, const Clock& clock) {
    const CaseRun run = RunOf(signature);
    return one.OutcomeLine(run, one.Judge(run, clock));
  };
  const std::string details = " (angles in BF16, kernels, https://x.test/1, until 2026-10-31)\n";
  EXPECT_EQ(line("step0.norm: bound", kOctober),
            "XFAIL draft/a/gamma=8 reference bf16: step0.norm: bound" + details);
  EXPECT_EQ(line("step0.norm: bound", FakeClock(2026, 11, 1)),
            "EXPIRED draft/a/gamma=8 reference bf16: step0.norm: bound" + details);
  EXPECT_EQ(line("", kOctober),
            "UNEXPECTED PASS draft/a/gamma=8 reference bf16: expected step0.norm: bound; remove "
            "x.toml:4" +
                details);
  EXPECT_EQ(line("step0.fc: shape", kOctober),
            "CHANGED SIGNATURE draft/a/gamma=8 reference bf16: expected step0.norm: bound found "
            "step0.fc: shape" +
                details);
  CaseRun on_v1 = RunOf("step0.norm: bound");
  on_v1.scratch = "v1";
  EXPECT_EQ(one.OutcomeLine(on_v1, one.Judge(on_v1, kOctober)),
            "XFAIL draft/a/gamma=8 reference bf16 scratch v1: step0.norm: bound" + details);
}

TEST(ExpectationsTest, StaleEntriesAreNamed) {
  const Expectations one = Parsed(kHead + Entry("case", "\"draft/a/*\""));
  const std::vector<CaseRun> others = {RunOf("", "draft/b/gamma=8"), RunOf("", "draft/c/gamma=8")};
  EXPECT_THAT(one.CheckNoneIsStale(others),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(StartsWith("x.toml:4: case: expected the id of a case that runs"),
                             HasSubstr("found \"draft/a/*\", which matches none of 2"))));
  EXPECT_THAT(one.CheckNoneIsStale(std::vector<CaseRun>{others[0], RunOf("")}), IsOk());
  // Entries for another precision say nothing about this run.
  const Expectations exact_only = Parsed(kHead + Entry("precision", "\"exact\""));
  EXPECT_THAT(exact_only.CheckNoneIsStale(others), IsOk());
}

void ExpectRefused(const std::string& text, StatusCode code, const std::string& place,
                   const std::string& part) {
  EXPECT_THAT(Expectations::Parse(text, "x.toml"),
              StatusIs(code, AllOf(StartsWith("x.toml:" + place), HasSubstr(part))))
      << text;
}

TEST(ExpectationsTest, EveryKeyIsNeededAndChecked) {
  for (const char* key : {"case", "kind", "reason", "owner", "link", "expires", "signature"}) {
    const std::string path = std::string("3: expectation[0].") + key + ": required, but absent";
    ExpectRefused(kHead + Entry(key), StatusCode::kNotFound, path, "expected");
  }
  const auto refused = [](const std::string& key, const std::string& value,
                          const std::string& part) {
    const std::string text = kHead + Entry(key, value);
    const std::size_t at = text.find("\n" + key + " = ");
    const auto line = 2 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
    ExpectRefused(text, StatusCode::kInvalidArgument,
                  std::to_string(line) + ": expectation[0]." + key + ": expected ", part);
  };
  for (const char* key : {"case", "kind", "reason", "owner", "link", "signature"}) {
    refused(key, "12", "one line of text, found 12");
    refused(key, "\"\"", "one line of text");
    refused(key, "\"  \"", "one line of text");
    refused(key, "\"a\\nb\"", "one line of text");
  }
  refused("case", "\"dflash_yarn\"", "expected op/, draft/ or scratch/ in front");
  refused("case", "\"draft/a/gamma\"", "not of the form key=number");
  refused("case", "\"*\"", "pattern \"*\"");
  refused("case", "\"draft/" + std::string(294, '*') + "x\"", "301 characters, more than 300");
  refused("case", "\"draft/a b/*\"", "pattern");
  refused("kind", "\"flaky\"", "known_failure or waiver, found \"flaky\"");
  refused("precision", "\"fp8\"", "exact or bf16, found \"fp8\"");
  refused("backend", "true", "found true");
  refused("expires", "\"2026-10-31\"", "a date such as 2026-12-31, without quotes or time");
  refused("expires", "2026-10-31T00:00:00Z", "found 2026-10-31T00:00:00Z");
  refused("expires", "20261031", "found 20261031");
  for (const char* signature : {"\"step0.norm\"", "\": bound\"", "\"step0.norm: \"",
                                "\"step*.norm: bound\"", "\"step0.norm: *\""}) {
    refused("signature", signature, signature);
  }
  refused("until", "2026-10-31", "one of the keys case, kind, precision, backend");
}

TEST(ExpectationsTest, AWaiversKindOfFailureIsFixed) {
  std::string text = kHead + Entry("signature", "\"step0.norm: *\"");
  text.replace(text.find("known_failure"), 13, "waiver");
  ExpectRefused(text, StatusCode::kInvalidArgument, "10: expectation[0].signature", "step0.norm");
}

TEST(ExpectationsTest, MalformedFiles) {
  ExpectRefused("schema_version = ", StatusCode::kDataLoss, "1: expected TOML", "found: ");
  ExpectRefused(kHead + Entry("expires", "2026-02-30"), StatusCode::kDataLoss, "9: expected TOML",
                "found: ");
  ExpectRefused(kHead + Entry() + "owner = \"twice\"\n", StatusCode::kDataLoss, "11: ", "owner");
  ExpectRefused("", StatusCode::kNotFound, "", "schema_version: required, but absent");
  ExpectRefused("\nschema_version = 2\n", StatusCode::kInvalidArgument, "2: schema_version",
                "expected 1, found 2");
  ExpectRefused("schema_version = \"1\"", StatusCode::kInvalidArgument, "1: ", "schema_version");
  ExpectRefused(
      kHead + "arch = \"cpu\"\n", StatusCode::kInvalidArgument, "2: arch",
      "expected one of the keys schema_version, architecture, expectation, found \"arch\"");
  ExpectRefused(kHead + "architecture = 3\n", StatusCode::kInvalidArgument, "2: architecture",
                "expected an [architecture] table, found 3");
  ExpectRefused(kHead + "[architecture]\nbuilt = true\n", StatusCode::kInvalidArgument,
                "3: architecture.built", "expected one of the keys not_built");
  ExpectRefused(kHead + "[architecture]\nnot_built = true\n", StatusCode::kInvalidArgument,
                "3: architecture.not_built", "one line of text");
  ExpectRefused(kHead + "[architecture]\n", StatusCode::kNotFound,
                "2: ", "not_built: required, but absent");
  ExpectRefused(kHead + "expectation = 3\n", StatusCode::kInvalidArgument, "2: expectation",
                "expected [[expectation]] tables, found 3");
  ExpectRefused(kHead + "expectation = [1]\n", StatusCode::kInvalidArgument, "2: expectation",
                "tables");
}

// What a message quotes of the file is on the message's own line.
TEST(ExpectationsTest, KeysAndValuesOfTwoLinesAreQuotedInOne) {
  ExpectRefused(kHead + "\"a\\nb\" = 1\n", StatusCode::kInvalidArgument,
                "2: a\\nb: ", "found \"a\\nb\"");
  ExpectRefused(kHead + "a = i\nf\n", StatusCode::kDataLoss, "2: expected TOML", "saw 'i\\n'");
}

// toml++ must not see them (plain_toml.h).
TEST(ExpectationsTest, OnlyCommentsAndStringsOfOneLineHaveOtherLetters) {
  const std::string good = kHead + "# \xc3\xa4\n" + Entry("owner", "\"J\xc3\xb6rg\"");
  EXPECT_THAT(Expectations::Parse(good, "e.toml"), IsOk());
  EXPECT_THAT(Expectations::Parse("\xEF\xBB\xBF" + kHead, "e.toml"), IsOk());
  EXPECT_THAT(Expectations::Parse(kHead + Entry("owner", "\"\\\"\xc3\xa4\\\\\""), "e.toml"),
              IsOk());
  // Wherever a string may begin: what is wrong with these is the key.
  ExpectRefused("\"\xc3\xa4\" . '\xc3\xa4' = 1\n", StatusCode::kInvalidArgument,
                "1: ", "expected one of the keys");
  ExpectRefused("a = [ '\xc3\xa4',\n '\xc3\xa4', { b = \"\xc3\xa4\" } ] # \xc3\xa4\n",
                StatusCode::kInvalidArgument, "1: ", "expected one of the keys");
  const std::string other = "found a character that is no ASCII outside of a comment";
  ExpectRefused("sc = \xd0\x87\n", StatusCode::kDataLoss, "1: ", other);
  ExpectRefused(kHead + "\xc3\xa4 = 1\n", StatusCode::kDataLoss, "2: ", other);
  ExpectRefused(kHead + "a = \"\"\"b\\\n\xc3\xa4\"\"\"\n", StatusCode::kDataLoss, "3: ", other);
  // Quotes that are escaped, that end nothing, or that are one more than three.
  ExpectRefused("a = \"b\\\"\" \xc3\xa4\n", StatusCode::kDataLoss, "1: ", other);
  ExpectRefused("a = 'b\\' \xc3\xa4\n", StatusCode::kDataLoss, "1: ", other);
  ExpectRefused("a = \"b\n\xc3\xa4\n", StatusCode::kDataLoss, "2: ", other);
  ExpectRefused("a = \"\"\"b\"\"\"\" \xc3\xa4\n", StatusCode::kDataLoss, "1: ", other);
  ExpectRefused("a = '''b''' \xc3\xa4 'c'\n", StatusCode::kDataLoss, "1: ", other);
  // What begins a comment or a string elsewhere begins none in a string of several lines.
  ExpectRefused("a = \"\"\"b # c\"\"\" \xc3\xa4\n", StatusCode::kDataLoss, "1: ", other);
  ExpectRefused("a = \"\"\"b\\\"\"\" # \"\"\" \xc3\xa4\n", StatusCode::kDataLoss, "1: ", other);
  ExpectRefused("a = \"\" \xc3\xa4\n", StatusCode::kDataLoss, "1: ", other);
  // Quotes where no string begins.
  ExpectRefused("a = 4\"b \xc3\xa4\"\n", StatusCode::kDataLoss, "1: ", other);
  ExpectRefused("a = 4 '\xc3\xa4'\n", StatusCode::kDataLoss, "1: ", other);
  // Quotes behind what no string may follow, though something may: there toml++ goes on to the next space.
  for (const char* const text :
       {"a = 000.\"\xef\xb2\xbf\"", "a = 0b0 '''['\xef\xbb\x9e", "s=0x\"a\"s=\"b\xef\xbb\xbb",
        "a = 00\"b\"=\"\xcf\xa0\"", "a = [\"b\"\"\xc3\xa4\"]", "a = 1..\"\xc3\xa4\" = 2"}) {
    ExpectRefused(text, StatusCode::kDataLoss, "1: ", "");
  }
}

TEST(ExpectationsTest, OverlappingEntriesAreRefused) {
  const std::string part = "overlaps \"draft/a/gamma=8\" of line 4";
  const std::string place = "13: expectation[1].case: expected cases that no other entry names";
  ExpectRefused(kHead + Entry() + Entry(), StatusCode::kInvalidArgument, place, part);
  ExpectRefused(kHead + Entry() + Entry("case", "\"draft/*/gamma=8\""),
                StatusCode::kInvalidArgument, place, part);
  ExpectRefused(kHead + Entry() + Entry("precision", "\"bf16\""), StatusCode::kInvalidArgument,
                place, part);
  EXPECT_THAT(
      Expectations::Parse(kHead + Entry("precision", "\"exact\"") + Entry("precision", "\"bf16\""),
                          "x.toml"),
      IsOk());
  EXPECT_THAT(
      Expectations::Parse(kHead + Entry("backend", "\"reference\"") + Entry("backend", "\"cuda\""),
                          "x.toml"),
      IsOk());
  EXPECT_THAT(Expectations::Parse(kHead + Entry() + Entry("case", "\"draft/b/*\""), "x.toml"),
              IsOk());
}

TEST(ExpectationsTest, FilesOnDisk) {
  const TestFolder folder;
  ASSERT_THAT(WriteTextFile(folder.Path("x.toml"), kHead + Entry()), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const Expectations loaded, Expectations::Load(folder.Path("x.toml")));
  ASSERT_EQ(loaded.entries().size(), 1u);
  EXPECT_EQ(loaded.entries()[0].ExpiresText(), "2026-10-31");
  EXPECT_THAT(Expectations::Load(folder.Path("y.toml")),
              StatusIs(StatusCode::kNotFound, HasSubstr("y.toml")));
}

TEST(ExpectationsTest, TheFilesOfTheCheckoutExpectNothingYet) {
  const std::string folder = Runfiles("conformance/expectations/");
  for (const char* name : {"cpu.toml", "sm_90.toml"}) {
    DM_ASSERT_OK_AND_ASSIGN(const Expectations file, Expectations::Load(folder + name));
    EXPECT_TRUE(file.entries().empty()) << name;
  }
  // The commented example is a good one.
  DM_ASSERT_OK_AND_ASSIGN(std::string text, ReadTextFile(folder + "cpu.toml"));
  std::string example = "schema_version = 1\n";
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    inside = inside || line == "# [[expectation]]";
    if (inside && line.starts_with("# ")) example += line.substr(2) + "\n";
  }
  EXPECT_EQ(Parsed(example).entries().size(), 1u);
}

// Each part of a dotted key is one call of the parser: a line is not endless.
TEST(ExpectationsLines, EndlessLinesAreRefused) {
  std::string text = "schema_version = 1\na";
  for (int i = 0; i < 200000; ++i) text += ".a";
  EXPECT_THAT(
      Expectations::Parse(text + " = 1\n", "file.toml"),
      StatusIs(StatusCode::kDataLoss, HasSubstr("file.toml:2: expected a line of at most")));
}

}  // namespace
}  // namespace draftmark
