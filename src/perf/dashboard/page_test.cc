#include "src/perf/dashboard/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/perf/dashboard/sample_dashboard.h"
#include "src/perf/dashboard/sections.h"
#include "src/perf/dashboard/series_code.h"
#include "src/perf/dashboard/trend.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DashboardData Analysed(std::string_view spice = "") {
  DashboardData data = SampleDashboard(spice);
  AnalyseTrends(data);
  return data;
}

std::size_t Count(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST(PageTest, SaysWhatIsWorseFirst) {
  const std::string html = SummarySection(Analysed());
  EXPECT_THAT(html, HasSubstr("▲ Worse: 1 slower"));
  EXPECT_THAT(html, HasSubstr("<b class=v-slower>▲ slower</b> <a class=pick data-s=0"));
  EXPECT_THAT(html, HasSubstr("+3.1 %"));
  EXPECT_THAT(html, HasSubstr("<b class=v-invalid>✕ invalid</b>"));
  EXPECT_THAT(html, HasSubstr("▲ Worse: 1 grown"));  // counts
  EXPECT_THAT(html, HasSubstr("<b>q_buf</b> +1"));
  EXPECT_THAT(html, HasSubstr("✕ 1 failed, 1 of 2 suites failed"));  // conformance
  EXPECT_THAT(html,
              HasSubstr("<li><b class=v-slower>✕ suite failed</b> <bdi>kernels/gpu_test</bdi> "
                        "on sm_90, 2 failures</li>"));
  EXPECT_THAT(html, HasSubstr("No verdict yet"));
}

TEST(PageTest, NothingWorseIsSaidToo) {
  DashboardData data = Analysed();
  for (DashboardVerdict& verdict : data.verdicts) verdict.verdict = Verdict::kSame;
  data.counts[1].value = *data.counts[1].recorded;
  data.conformance.back().state = CellState::kPassed;
  data.suites.front().failed = false;
  const std::string html = SummarySection(data);
  EXPECT_THAT(html, HasSubstr("✓ Nothing worse in 3 cases"));
  EXPECT_THAT(html, HasSubstr("✓ None of 5 exact numbers has grown"));
  EXPECT_THAT(html, HasSubstr("✓ Nothing fails"));
  EXPECT_THAT(html, Not(HasSubstr("Worse")));
}

// Nothing else is wrong: the failed suite is the first card, and named in the table.
TEST(PageTest, AFailedSuiteAloneIsSeenAtAGlance) {
  DashboardData data = Analysed();
  for (DashboardVerdict& verdict : data.verdicts) verdict.verdict = Verdict::kSame;
  data.counts[1].value = *data.counts[1].recorded;
  data.conformance.clear();
  const std::string html = SummarySection(data);
  const std::string first = html.substr(html.find("<article"), 200);
  EXPECT_THAT(first, HasSubstr("card bad"));
  EXPECT_THAT(first, HasSubstr("✕ 1 of 2 suites failed"));
  EXPECT_THAT(html, Not(HasSubstr("Nothing fails")));
  const std::string section = ConformanceSection(data);
  EXPECT_THAT(section, HasSubstr("<th scope=row>kernels/gpu_test<td>sm_90<td class=c-failed><b>✕ "
                                 "failed</b><br><small>Norm.Small</small><td class=n>2"));
  EXPECT_THAT(section, HasSubstr("<th scope=row>soak<td>sm_90<td class=c-passed><b>✓</b>"));
}

// Comparisons of which none is valid say nothing good.
TEST(PageTest, AaWithoutAVerdictIsNotQuiet) {
  DashboardData data = Analysed();
  data.aa = {{.testbed = 0, .cases = {{"op/a", 0, 0, 0, 0}}}};
  const std::string html = AaSection(data);
  EXPECT_THAT(html, HasSubstr("<b class=v-invalid>✕ not known: no comparison is valid</b>"));
  EXPECT_THAT(html,
              HasSubstr("<td class=n>0<td class=n>0<td class=n>not known<td class=n>not known"));
  EXPECT_THAT(html, Not(HasSubstr("✓ fails builds")));
}

// An older verdict of the same case is not news.
TEST(PageTest, OnlyTheNewestVerdictOfACaseCounts) {
  DashboardData data = Analysed();
  DashboardVerdict newer = data.verdicts[0];
  newer.verdict = Verdict::kSame;
  newer.time += 1;
  data.verdicts.insert(data.verdicts.begin(), newer);
  EXPECT_THAT(SummarySection(data), Not(HasSubstr("▲ Worse: 1 slower")));
  EXPECT_EQ(Count(VerdictsSection(data), "<tr data-a="), 3u);
}

TEST(PageTest, VerdictsHaveAllThatTheyRestOn) {
  const std::string html = VerdictsSection(Analysed());
  for (const char* part :
       {"2026-10-08 02:00", "<b>+3.1 %</b> <small>+2.2 % to +4.0 %</small>", "1e-05", "1.7 %",
        "gate", "111111111111", "222222222222", "driver 590.12, SM 1980 MHz",
        "<code>draftmark perf compare aaaa bbbb</code>", "out of memory"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  EXPECT_LT(html.find("slower"), html.find("= same"));
}

TEST(PageTest, EveryCaseHasItsSparklineAndItsLastStep) {
  const std::string html = CasesSection(Analysed());
  EXPECT_EQ(Count(html, "<svg class=sp"), 4u);
  EXPECT_EQ(Count(html, "<path class=c"), 2u);  // change points of two series
  EXPECT_EQ(Count(html, " data-k=1"), 2u);
  EXPECT_THAT(html, HasSubstr("2026-09-24"));  // kStepNight
  EXPECT_THAT(html, HasSubstr("62.0 %"));
}

TEST(PageTest, MemoryByField) {
  const std::string html = CountsSection(Analysed());
  EXPECT_THAT(html, HasSubstr("<title>mlp_up: 101,056,512 bytes, 75.0 %</title>"));
  EXPECT_THAT(html, HasSubstr("<title>q_buf: 33,685,505 bytes, 25.0 %, grown</title>"));
  EXPECT_THAT(html, HasSubstr("<title>2 smaller fields: 32,768 bytes, 0.0 %</title>"));
  EXPECT_THAT(html,
              HasSubstr("<td>slot_mapping_dev<td class=n>32,768<td><b class=v-faster>▼ −32,768"));
  EXPECT_THAT(html, HasSubstr("nothing recorded"));
  EXPECT_THAT(html, HasSubstr("<td>launches<td class=n>214<td>= recorded"));
}

TEST(PageTest, ConformanceShowsWhatWasNeverRun) {
  const std::string html = ConformanceSection(Analysed());
  EXPECT_THAT(html, HasSubstr("<td class=c-passed style=\"--u:50%\"><b>✓ 49.9 %</b>"));
  EXPECT_THAT(html, HasSubstr("~ waived 93.0 %"));
  EXPECT_THAT(html, HasSubstr("known, until 2027"));
  EXPECT_THAT(html, HasSubstr("✕ failed 170.0 %"));
  EXPECT_THAT(html, HasSubstr("○ never run"));  // rms_norm on sm_120 has no cell
  EXPECT_LT(html.find("<th>sm_90"), html.find("<th>sm_120"));
}

TEST(PageTest, WhatIsKnownBesideTheHistory) {
  DashboardData data;
  data.conformance = {
      {.operation = "op/a", .architecture = "sm_80", .detail = "compiled: this build has code"},
      {.operation = "op/a", .architecture = "sm_90", .detail = "run: 26 runs in <x>.json"},
      {.operation = "op/a", .architecture = "sm_75", .detail = "never run: not built: no BF16"}};
  const std::string html = ConformanceSection(data);
  EXPECT_THAT(html, HasSubstr("○ compiled<br><small>this build has code</small>"));
  EXPECT_THAT(html, HasSubstr("○ run, not in this history<br><small>26 runs in &lt;x"));
  EXPECT_THAT(html, HasSubstr("○ never run<br><small>not built: no BF16</small>"));
}

TEST(PageTest, AlarmQualityWithItsBound) {
  const std::string html = AaSection(Analysed());
  EXPECT_THAT(html, HasSubstr("<td class=n>3000<td class=n>1<td class=n>0.33<td class=n>1.6<td>✓"));
  EXPECT_THAT(html, HasSubstr("<td class=n>200<td class=n>3<td class=n>15<td class=n>39<td>"
                              "<b class=v-unclear>? advisory"));
}

TEST(PageTest, RunsHaveCommitDriverClocksAndCommand) {
  const std::string html = RunsSection(Analysed());
  EXPECT_EQ(Count(html, "<tr data-a="), 80u);
  EXPECT_THAT(html, HasSubstr("580.159.04"));
  EXPECT_THAT(html, HasSubstr("SM 1980 MHz"));
  EXPECT_THAT(html, HasSubstr("<code>draftmark perf nightly</code>"));
  EXPECT_THAT(html, HasSubstr("✕ another process on the GPU"));
}

TEST(PageTest, RooflineNeedsRoofs) {
  const std::string html = RooflineSection(Analysed());
  EXPECT_THAT(html, HasSubstr("copy bandwidth 4.1 TB/s"));
  EXPECT_EQ(Count(html, "aria-label=\"Roofline of"), 1u);  // the other testbed has no bandwidth
  EXPECT_EQ(Count(html, "aria-label=\"Share of the floor"), 2u);
}

TEST(PageTest, AnEmptyHistoryIsAPageToo) {
  const std::string html = RenderPage({});
  EXPECT_THAT(html, HasSubstr("The history is empty"));
  EXPECT_THAT(html, HasSubstr("</html>"));
}

TEST(PageTest, DataBlockReadsBack) {
  const DashboardData data = Analysed();
  const OrderedJson json = PageJson(data);
  EXPECT_EQ(json["schema_version"], 1);
  ASSERT_EQ(json["series"].size(), 4u);
  const OrderedJson& series = json["series"][0];
  EXPECT_EQ(series["c"], "op/rms_norm/rows=16,h=4096/bf16");
  EXPECT_EQ(json["texts"][series["r"].get<std::size_t>()],
            "bazel run //benchmarks:operations_benchmark -- --case={case}");
  const auto values =
      DecodeSeries({series["e"].get<int>(), series["v"].get<std::string>()}).value();
  ASSERT_EQ(values.size(), 40u);  // one a run, also where there is no value
  EXPECT_FALSE(values[33]);
  EXPECT_NEAR(*values[32] / data.series[0].points[32].value, 1, 1e-5);
  EXPECT_EQ(series["g"][1][0], 25);
  EXPECT_EQ(json["runs"][0]["time"].size(), 40u);
  EXPECT_EQ(json["texts"][json["runs"][0]["driver"][39].get<std::size_t>()], "590.12");
}

// Whatever stands in the history, the page has the same elements.
TEST(PageTest, HostileTextMakesNoElement) {
  const std::string plain = RenderPage(Analysed());
  const std::string hostile = RenderPage(Analysed(kHostile));
  for (const char* mark :
       {"<script", "</script", "<img", "<!--", "<td", "<a ", "<svg", "<title", "<option"}) {
    EXPECT_EQ(Count(hostile, mark), Count(plain, mark)) << mark;
  }
  EXPECT_THAT(hostile, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_EQ(hostile.find('\x01'), std::string::npos);
  EXPECT_EQ(hostile.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_THAT(hostile, HasSubstr("\\u{202e}ä漢\xEF\xBF\xBD&amp;amp;"));
}

TEST(PageTest, NothingOutsideIsAskedFor) {
  const std::string html = RenderPage(Analysed());
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* mark : {" src=", "<link", "@import", "url(", "sourceMappingURL", "fetch("}) {
    EXPECT_EQ(Count(html, mark), 0u) << mark;
  }
}

// The issue asks for 500 cases of 400 nights below 5 MB; here are three testbeds of them.
TEST(PageTest, FiveHundredCasesOfFourHundredNightsAreBelowFiveMegabytes) {
  DashboardData data = LargeDashboard(500, 400, 3);
  AnalyseTrends(data);
  const std::string html = RenderPage(data);
  EXPECT_LT(html.size(), 5'000'000u);
  EXPECT_EQ(Count(html, "<svg class=sp"), 1500u);
}

TEST(FillTemplateTest, ValuesAreNotLookedAtAgain) {
  EXPECT_EQ(FillTemplate("a{{X}}b{{Y}}{{X}}", {{"X", "{{Y}}"}, {"Y", "}}"}}), "a{{Y}}b}}{{Y}}");
  EXPECT_EQ(FillTemplate("none", {}), "none");
}

}  // namespace
}  // namespace draftmark
