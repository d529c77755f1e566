#include "src/perf/dashboard/markup.h"

#include <gtest/gtest.h>

#include <string>

#include "src/base/status_matchers.h"
#include "src/perf/dashboard/sample_dashboard.h"

namespace draftmark {
namespace {

using namespace std::string_literals;

TEST(VisibleTextTest, KeepsLettersAndShowsWhatIsUnseen) {
  EXPECT_EQ(VisibleText("op/rms_norm/rows=1"), "op/rms_norm/rows=1");
  EXPECT_EQ(VisibleText("ä漢🎉"), "ä漢🎉");
  EXPECT_EQ(VisibleText("a\nb\x1b[31m\0c"s), "a\\u{a}b\\u{1b}[31m\\u{0}c");
  EXPECT_EQ(VisibleText("\xE2\x80\xAE"), "\\u{202e}");  // right-to-left override
  EXPECT_EQ(VisibleText("\xC2\x85\xEF\xBB\xBF\xEF\xBF\xBE"), "\\u{85}\\u{feff}\\u{fffe}");
}

TEST(VisibleTextTest, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(VisibleText("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(VisibleText("\xC3"), "\xEF\xBF\xBD");                       // cut
  EXPECT_EQ(VisibleText("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // "/" in two bytes
  EXPECT_EQ(VisibleText("\xE0\x80\xBC").find('<'), std::string::npos);  // "<" in three
  EXPECT_EQ(VisibleText("\xED\xA0\x80").size(), 9u);                    // a surrogate: three bytes
  EXPECT_EQ(VisibleText("\xF4\x90\x80\x80").size(), 12u);               // above U+10FFFF
}

TEST(HtmlTextTest, EscapesWhatIsMarkup) {
  EXPECT_EQ(HtmlText("<a href=\"x\" title='y'>&amp;</a>"),
            "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;");
}

TEST(ScriptJsonTest, NothingEndsTheScriptAndItReadsBack) {
  const OrderedJson json = {{"</script>", "<!-- <script> \xE2\x80\xA8 ä \" \\ \x01"}};
  const std::string text = ScriptJson(json);
  EXPECT_EQ(text.find('<'), std::string::npos);
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << text;
  EXPECT_EQ(OrderedJson::parse(text), json);
  EXPECT_EQ(ScriptJson("\xFF"), "\"\\ufffd\"");  // never an exception
}

TEST(CsvFieldTest, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(CsvField("op/a"), "op/a");
  EXPECT_EQ(CsvField("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvField("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(CsvField("a\nb"), "\"a\nb\"");
}

TEST(OpenMetricsLabelTest, EscapesThreeCharacters) {
  EXPECT_EQ(OpenMetricsLabel("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
  EXPECT_EQ(OpenMetricsLabel("ä\xFF"), "ä\xEF\xBF\xBD");
}

// RFC 4648, section 10.
TEST(Base64Test, Rfc) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xFF\xFE\xFD"), "//79");
}

}  // namespace
}  // namespace draftmark
