#include "conformance/plugin/plugin_backend.h"

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>

#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/cases/drafter_case.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kTesting = "kernels/plugin/testing/";
constexpr char kExample[] = "kernels/plugin/examples/libcpu_plugin.so";
constexpr char kMisbehaving[] = "kernels/plugin/testing/libmisbehaving_plugin.so";
constexpr char kCareless[] = "kernels/plugin/testing/libcareless_plugin.so";
constexpr char kReference[] = "conformance/plugin/libreference_plugin.so";

plugin::PluginOptions Options(const std::string& library, double seconds = 60) {
  return {.library = TestData(library),
          .seconds = seconds,
          .host = {TestData("kernels/plugin/testing/plugin_host")}};
}

std::unique_ptr<PluginBackend> Open(const std::string& library, double seconds = 60) {
  return PluginBackend::Open(Options(library, seconds)).value();
}

OperationReport Check(PluginBackend& plugin, const std::string& id) {
  return plugin.CheckOperation(FindCase(id).value()).value();
}

TEST(PluginBackendTest, TellsWhoItIs) {
  const auto plugin = Open(kExample);
  EXPECT_EQ(plugin->facts().description, "plain C 1.0 (cpu, 5 operations, no draft sessions)");
  EXPECT_EQ(plugin->facts().arch, "cpu");
  EXPECT_THAT(plugin->facts().operations,
              ElementsAre("rms_norm", "linear", "silu_mul", "residual_add", "argmax"));
}

TEST(PluginBackendTest, TheExampleIsRightOrUnsupported) {
  const auto plugin = Open(kExample);
  for (const Operation& operation : AllOperations()) {
    const bool has = std::count(plugin->facts().operations.begin(),
                                plugin->facts().operations.end(), operation.name) > 0;
    for (const OperationCase& c : BoundaryCases(operation)) {
      DM_ASSERT_OK_AND_ASSIGN(const OperationReport report, plugin->CheckOperation(c));
      EXPECT_EQ(report.passed(), has) << ReportText(report);
      EXPECT_EQ(report.no_result.unsupported(), !has) << ReportText(report);
    }
  }
}

// All operands, bits, sizes and attributes arrive (reference_plugin.cc looks), and all results.
TEST(PluginBackendTest, TheReferencePassesThroughTheInterface) {
  const auto plugin = Open(kReference);
  for (const Operation& operation : AllOperations()) {
    for (const OperationCase& c : BoundaryCases(operation)) {
      DM_ASSERT_OK_AND_ASSIGN(const OperationReport report, plugin->CheckOperation(c));
      EXPECT_TRUE(report.passed()) << ReportText(report);
    }
  }
}

struct Misdeed {
  std::string id;
  std::string signature;
  std::string reason;  // of no_result, as it begins
};

void PrintTo(const Misdeed& misdeed, std::ostream* out) { *out << misdeed.id; }

class MisdeedTest : public ::testing::TestWithParam<Misdeed> {};

INSTANTIATE_TEST_SUITE_P(
    Plugins, MisdeedTest,
    ::testing::Values(
        Misdeed{"op/silu_mul/rows=7,width=127/bf16", "gate: bound", ""},
        Misdeed{
            "op/rms_norm/rows=7,h=127/bf16", "run: crash",
            "crashed: signal 11 (Segmentation fault); printed last: about to crash in rms_norm"},
        Misdeed{"op/head_norm/rows=2,heads=3,d=8/bf16", "run: hang", "did not return within 0.5 s"},
        Misdeed{"op/rope/rows=1,heads=1,d=2,rotary=2,half_head=0/bf16", "run: exit",
                "ended its process with exit code 0"},
        Misdeed{"op/row_gather/rows=1,from=1,width=3/bf16", "run: wrote outside",
                "out: wrote beside its 6 bytes, at offset 6"},
        Misdeed{"op/kv_split/rows=1,layers=1,kv=1/bf16", "run: wrote outside",
                "k: wrote beside its 2 bytes, at offset -2"},
        Misdeed{"op/argmax/rows=1,v=100/bf16", "run: changed an input",
                "logits: changed byte 199 of an operand that it reads"},
        Misdeed{"op/conv_prepare/rows=1,h=4,taps=1,group=2,band=1/bf16", "run: failed",
                "no luck today"},
        Misdeed{"op/conv_finish/rows=1,h=4,taps=1,group=2,band=1/bf16", "run: contradiction",
                "answered 77, which is no result of the interface"},
        Misdeed{"op/top16/rows=1,v=100/bf16", "run: contradiction",
                "its query supports the case, but run says unsupported: on second thoughts"},
        Misdeed{"op/confidence/rows=1,h=4,r=0/bf16", "run: wrote outside",
                "workspace: wrote beside its 100 bytes, at offset 103"},
        Misdeed{"op/slot_fill/rows=1,band=1,ctx=0/bf16", "run: contradiction",
                "asks for a workspace of 18446744073709551615 bytes, 1073741824 are allowed"}),
    [](const auto& misdeed) {
      return misdeed.param.id.substr(3, misdeed.param.id.find('/', 3) - 3);
    });

void ExpectNamed(const std::string& library, double seconds, const Misdeed& misdeed) {
  const auto plugin = Open(library, seconds);
  const OperationReport report = Check(*plugin, misdeed.id);
  EXPECT_FALSE(report.passed());
  EXPECT_FALSE(report.no_result.unsupported());
  EXPECT_EQ(report.Signature(), misdeed.signature);
  EXPECT_THAT(report.no_result.reason, StartsWith(misdeed.reason));
  EXPECT_THAT(ReportText(report),
              AllOf(StartsWith("FAIL " + misdeed.id + " " + TestData(library) + " bf16\n  "),
                    HasSubstr(misdeed.reason), HasSubstr("\n  signature: " + misdeed.signature),
                    HasSubstr("\n  reproduce: draftmark verify " + misdeed.id + " --backend ")));
  const OperationReport next = Check(*plugin, "op/residual_add/rows=7,width=127/bf16");
  EXPECT_TRUE(next.passed()) << ReportText(next);
}

TEST_P(MisdeedTest, IsNamedAndTheRestGoesOn) { ExpectNamed(kMisbehaving, 0.5, GetParam()); }

class CarelessTest : public ::testing::TestWithParam<Misdeed> {};

INSTANTIATE_TEST_SUITE_P(
    Careless, CarelessTest,
    ::testing::Values(Misdeed{"op/rms_norm/rows=7,h=127/bf16", "run: crash",
                              "threw a C++ exception: out of luck"},
                      Misdeed{"op/head_norm/rows=2,heads=3,d=8/bf16", "run: crash",
                              "threw a C++ exception that is no std::exception"},
                      // At once, and not after the minute that the child has left.
                      Misdeed{"op/rope/rows=1,heads=1,d=2,rotary=2,half_head=0/bf16", "run: exit",
                              "ended its process with exit code 7"},
                      Misdeed{"op/slot_fill/rows=1,band=1,ctx=0/bf16", "run: wrote outside",
                              "slots: wrote beside its 8 bytes, at offset 8"},
                      Misdeed{"op/argmax/rows=1,v=100/bf16", "run: garbage",
                              "printed more than 64 MiB; printed last: xxx"},
                      Misdeed{"op/embed/rows=1,v=31,h=7168,mask=0/bf16", "run: crash",
                              "crashed: signal 11 (Segmentation fault); printed last: [31mred"},
                      Misdeed{"op/linear/rows=1,n=8,k=8,bias=0,cap=0/bf16", "run: failed",
                              "as it should be"}),
    [](const auto& misdeed) {
      return misdeed.param.id.substr(3, misdeed.param.id.find('/', 3) - 3);
    });

TEST_P(CarelessTest, IsNamedAndTheRestGoesOn) { ExpectNamed(kCareless, 60, GetParam()); }

constexpr char kRight[] = "op/residual_add/rows=7,width=127/bf16";

// A child that comes back answers nothing, so that each case has its own answer.
TEST(PluginBackendTest, AForkIsAskedOnce) {
  const auto plugin = Open(kCareless);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Check(*plugin, "op/silu_mul/rows=7,width=127/bf16").Signature(), "gate: bound");
    const OperationReport next = Check(*plugin, kRight);
    EXPECT_TRUE(next.passed()) << ReportText(next);
  }
  EXPECT_THAT(plugin->late_deaths(), ::testing::IsEmpty());
}

// Who dies of what ran before is not to blame, and it is told all the same.
TEST(PluginBackendTest, ALateDeathCostsNoOtherCase) {
  const auto plugin = Open(kCareless);
  const std::string before = "op/row_gather/rows=1,from=1,width=3/bf16";
  EXPECT_EQ(Check(*plugin, before).Signature(), "out: bound");
  const OperationReport next = Check(*plugin, kRight);
  EXPECT_TRUE(next.passed()) << ReportText(next);
  EXPECT_THAT(plugin->late_deaths(),
              ElementsAre("crashed: signal 11 (Segmentation fault) in " + std::string(kRight) +
                          ", which lives in a process of its own: what it had run before, last " +
                          before + ", is to blame"));
}

TEST(PluginBackendTest, AWrongResultHasItsWorstElement) {
  const auto plugin = Open(kMisbehaving);
  EXPECT_THAT(ReportText(Check(*plugin, "op/embed/rows=1,v=31,h=7168,mask=0/bf16")),
              HasSubstr("out (T0): 7168 of 7168 elements off; worst [0, 0]: expected 122.5, got "));
}

TEST(PluginBackendTest, UnsupportedIsNoFailure) {
  const auto plugin = Open(kMisbehaving);
  const std::pair<const char*, const char*> cases[] = {
      {"op/markov_step/rows=1,v=64,r=8,h=8,type=0/bf16", "on second thoughts"},  // has no query
      {"op/kv_write/rows=2,kv=1,d=8,blocks=1/bf16", "an even number of rows"},
      {"op/embed/rows=5,v=8,h=8,mask=0/bf16", "rows=5 is outside of the plug-in's limits [1, 4]"},
      {"op/linear/rows=1,n=8,k=8,bias=0,cap=0/bf16",
       "operand x is BF16, which is not among the plug-in's dtypes"},
      {"op/selector_walk/rows=4,band=4,v=64,r=8/bf16", "the plug-in has no such operation"}};
  for (const auto& [id, reason] : cases) {
    const OperationReport report = Check(*plugin, id);
    EXPECT_TRUE(report.no_result.unsupported()) << id;
    EXPECT_EQ(report.no_result.reason, reason);
    EXPECT_EQ(report.Signature(), "");
    EXPECT_FALSE(report.passed());
    EXPECT_THAT(ReportText(report), StartsWith(std::string("SKIP ") + id));
    EXPECT_THAT(ReportText(report), EndsWith(std::string(" unsupported: ") + reason + "\n"));
  }
}

TEST(PluginBackendTest, AnOperationThatHangsIsNotWaitedForAgainAndAgain) {
  const auto plugin = Open(kMisbehaving, 0.3);
  for (int i = 0; i < plugin::kMostHangs; ++i) {
    EXPECT_EQ(Check(*plugin, "op/head_norm/rows=1,heads=1,d=8/bf16").no_result.reason,
              "did not return within 0.3 s");
  }
  const OperationReport report = Check(*plugin, "op/head_norm/rows=1,heads=1,d=8/bf16");
  EXPECT_EQ(report.no_result.reason, "was not run: 2 cases of head_norm did not return");
  EXPECT_EQ(report.Signature(), "run: hang");
}

std::string RefusalOf(const std::string& odd) {
  plugin::PluginOptions options = Options(kTesting + "libodd_" + odd + ".so");
  if (odd == "hangs_as_it_loads") options.load_seconds = 0.5;
  const Status status = PluginBackend::Open(options).status();
  EXPECT_FALSE(status.ok()) << odd;
  EXPECT_THAT(status.message(), StartsWith(options.library + ": "));
  return status.ok() ? "" : status.message().substr(options.library.size() + 2);
}

TEST(PluginBackendTest, OddLibrariesAreRefused) {
  EXPECT_EQ(RefusalOf("newer_abi"),
            "plug-in table: abi: expected 1, which this program knows, found 2");
  EXPECT_EQ(RefusalOf("crashes_as_it_loads"),
            "crashed: signal 11 (Segmentation fault) while it was loaded");
  EXPECT_EQ(RefusalOf("hangs_as_it_loads"), "did not return within 0.5 s while it was loaded");
  EXPECT_EQ(RefusalOf("gives_no_table"),
            "draftmark_plugin_entry returned NULL: the plug-in has no table for ABI 1");
  EXPECT_EQ(RefusalOf("has_no_entry"),
            "is no plug-in: expected it to export draftmark_plugin_entry, found no such symbol");
  EXPECT_EQ(RefusalOf("table_of_garbage"),
            "crashed: signal 11 (Segmentation fault) while it was loaded");
}

// Sessions: the environment says how the reference plug-in goes wrong.
class PluginDraftTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("DRAFTMARK_TEST_FAULT"); }
  static CaseReport Run(const std::string& folder, const std::string& fault = "",
                        double seconds = 60) {
    ::setenv("DRAFTMARK_TEST_FAULT", fault.c_str(), 1);
    const auto plugin = Open(kReference, seconds);
    const DrafterCase drafter_case = DrafterCase::Load(TestData(folder)).value();
    return plugin->RunDraft(drafter_case).value();
  }
};
constexpr char kDraft[] = "golden/drafter/dflash_yarn";

TEST_F(PluginDraftTest, TheReferencePassesThroughTheInterface) {
  for (const char* const folder :
       {"golden/drafter/dflash2_taps3", "golden/drafter/dflash_yarn",
        "golden/drafter/dflash_window_slide", "golden/drafter/dspark_conf_hidden_only",
        "golden/drafts/synthetic-rnn-markov"}) {
    const CaseReport report = Run(folder);
    EXPECT_TRUE(report.passed()) << ReportText(report);
    EXPECT_GT(report.verdicts.size(), 10u);
  }
}

TEST_F(PluginDraftTest, AWrongStageIsNamed) {
  const CaseReport report = Run(kDraft, "stage:layers.0.q_norm");
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(report.Signature(), StartsWith("step0.layers.0.q_norm: "));
  EXPECT_THAT(ReportText(report), HasSubstr("first stage off is step0.layers.0.q_norm"));
}

TEST_F(PluginDraftTest, AMissingStageIsNamed) {
  EXPECT_EQ(Run(kDraft, "missing:layers.0.q_norm").Signature(), "step0.layers.0.q_norm: missing");
}

TEST_F(PluginDraftTest, StagesMustBeWhatTheyCanBe) {
  const CaseReport dtype = Run(kDraft, "dtype:norm");
  EXPECT_EQ(dtype.Signature(), "run: contradiction");
  EXPECT_EQ(dtype.no_result.reason, "propose: stage norm: unknown dtype 99");
  EXPECT_EQ(
      Run(kDraft, "memory:norm").no_result.reason,
      "propose: stage norm: memory of a CUDA device, from a plug-in that computes on the CPU");
}

TEST_F(PluginDraftTest, StagesComeOnceAndForABandThatProposes) {
  const CaseReport twice = Run(kDraft, "twice:norm");
  EXPECT_EQ(twice.Signature(), "run: contradiction");
  EXPECT_EQ(twice.no_result.reason, "propose: stage norm: came twice for band 0");
  const CaseReport band = Run(kDraft, "band:norm");
  EXPECT_EQ(band.Signature(), "run: contradiction");
  EXPECT_EQ(band.no_result.reason, "propose: stage norm: band 7 has no block in this propose");
}

// Only create may say so: else whoever is wrong could end with it.
TEST_F(PluginDraftTest, ASessionThatExistsIsSupported) {
  const CaseReport report = Run(kDraft, "late");
  EXPECT_EQ(report.Signature(), "run: contradiction");
  EXPECT_EQ(report.no_result.reason,
            "propose: its create supports the draft, but it says unsupported: too late");
}

TEST_F(PluginDraftTest, APluginMayGoToAnotherFolder) {
  const CaseReport report = Run(kDraft, "elsewhere");
  EXPECT_TRUE(report.passed()) << ReportText(report);
}

TEST_F(PluginDraftTest, ACrashIsAFailedDraft) {
  const CaseReport report = Run(kDraft, "crash");
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.Signature(), "run: crash");
  EXPECT_THAT(ReportText(report),
              AllOf(StartsWith("FAIL draft/dflash_yarn/"),
                    HasSubstr(": propose: crashed: signal 11 (Segmentation fault)\n"),
                    HasSubstr("\n  signature: run: crash\n  reproduce: draftmark verify ")));
}

TEST_F(PluginDraftTest, AHangIsAFailedDraft) {
  const CaseReport report = Run(kDraft, "hang", 3);
  EXPECT_EQ(report.Signature(), "run: hang");
  EXPECT_EQ(report.no_result.reason, "propose: did not return within 3 s");
}

TEST_F(PluginDraftTest, TokensMustBeWritten) {
  const CaseReport report = Run(kDraft, "tokens");
  EXPECT_EQ(report.Signature(), "run: contradiction");
  EXPECT_THAT(report.no_result.reason,
              AllOf(StartsWith("propose: band 0: draft 0: expected a token below "),
                    EndsWith("found 4294967295 (nothing was written)")));
}

TEST_F(PluginDraftTest, TokensAreOfTheVocabulary) {
  const CaseReport report = Run(kDraft, "vocabulary");
  EXPECT_EQ(report.Signature(), "run: contradiction");
  EXPECT_EQ(report.no_result.reason,
            "propose: band 0: draft 0: expected a token below 512, found 512");
}

TEST_F(PluginDraftTest, AnUnsupportedDraftIsNoFailure) {
  const CaseReport report = Run(kDraft, "refuse");
  EXPECT_TRUE(report.no_result.unsupported());
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.Signature(), "");
  EXPECT_THAT(ReportText(report), EndsWith(" bf16: unsupported: UNIMPLEMENTED: no drafts today\n"));
}

TEST_F(PluginDraftTest, WithoutSessionsDraftsAreUnsupported) {
  const auto plugin = Open(kExample);
  const DrafterCase drafter_case = DrafterCase::Load(TestData(kDraft)).value();
  DM_ASSERT_OK_AND_ASSIGN(const CaseReport report, plugin->RunDraft(drafter_case));
  EXPECT_EQ(report.no_result.reason, "the plug-in has no draft sessions");
  EXPECT_TRUE(report.no_result.unsupported());
}

}  // namespace
}  // namespace draftmark
