// The repository's golden set, and copies of it in which something is wrong.
#include "conformance/golden/golden_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "conformance/drafts/run_case.h"
#include "conformance/golden/check_golden.h"
#include "conformance/golden/draft_file.h"
#include "conformance/golden/export_case.h"
#include "conformance/golden/manifest.h"
#include "conformance/golden/regenerate.h"
#include "src/base/faulty_file_system.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/cases/drafter_case.h"
#include "src/config/drafter_config.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kGolden = Runfiles("golden");

std::map<std::string, FileOutcome> Check(const std::string& golden, std::string_view only = "") {
  std::map<std::string, FileOutcome> outcomes;
  EXPECT_THAT(CheckGolden(golden, only,
                          [&](const FileOutcome& outcome) { outcomes[outcome.path] = outcome; }),
              IsOk());
  return outcomes;
}

// What tools/test and CI run: hashes, and every generated file byte for byte.
TEST(GoldenSet, IsWhatThisProgramComputes) {
  const std::map<std::string, FileOutcome> outcomes = Check(kGolden);
  EXPECT_GT(outcomes.size(), 100u);
  for (const auto& [path, outcome] : outcomes) EXPECT_THAT(outcome.problem, IsEmpty()) << path;
}

// The tree must stay small enough to be copied to GPU machines.
TEST(GoldenSet, StaysBelowSixteenMegabytes) {
  DM_ASSERT_OK_AND_ASSIGN(const Manifest manifest, LoadManifest(kGolden));
  std::uint64_t bytes = manifest.ToText().size();
  for (const ManifestEntry& entry : manifest.files) bytes += entry.bytes;
  EXPECT_LT(bytes, 16'000'000u);
}

TEST(GoldenSet, HoldsEveryOperationAndFamily) {
  DM_ASSERT_OK_AND_ASSIGN(const Manifest manifest, LoadManifest(kGolden));
  for (const Operation& operation : AllOperations()) {
    const ManifestEntry* const entry =
        manifest.Find("operations/" + std::string(operation.name) + ".safetensors");
    ASSERT_NE(entry, nullptr) << operation.name;
    EXPECT_EQ(entry->cases.size(), operation.boundary.size());
  }
  std::set<DrafterKind> kinds;
  for (const DraftSpec& spec : DraftSpecs()) {
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case,
                            DrafterCase::Load(JoinPath(kGolden, DraftFolder(spec))));
    kinds.insert(drafter_case.config().kind);
    // A window that is never left shows nothing.
    if (const auto window = drafter_case.config().sliding_window) {
      EXPECT_GT(drafter_case.largest_context(), *window) << spec.name;
    }
  }
  EXPECT_EQ(kinds.size(), 3u);
}

// Every published drafter that the reference supports has one of its like among the drafts: the same
// kind, heads, rows, rotary rule, biases and kinds of layers. The others are refused by name.
TEST(GoldenSet, EveryPublishedFamilyIsCoveredOrRefused) {
  const std::string path = JoinPath(kGolden, "configs/drafter_configs.json");
  const auto traits = [](const DrafterConfig& c) {
    return fmt::format(
        "{} {}/{} {} {} {} {} markov {} conv {}", DrafterKindName(c.kind), c.num_attention_heads,
        c.num_key_value_heads, c.sample_from_anchor ? "B" : "A", c.rope.type,
        c.attention_bias ? "bias" : "no bias", c.sliding_window.has_value() ? "sliding" : "full",
        c.markov_rank > 0, c.conv_kernel_size);
  };
  std::set<std::string> covered;
  for (const DraftSpec& spec : DraftSpecs()) {
    covered.insert(traits(LoadDrafterConfig(path, std::string(spec.entry)).value()));
  }
  const Json catalogue = ParseJson(ReadTextFile(path).value(), path).value();
  std::size_t supported = 0;
  for (const std::string& name : DrafterEntryNames(catalogue)) {
    const StatusOr<DrafterConfig> config = LoadDrafterConfig(path, name);
    if (config.ok()) {
      ++supported;
      EXPECT_TRUE(covered.contains(traits(*config))) << name << ": " << traits(*config);
    } else {
      EXPECT_THAT(config.status().message(), HasSubstr(name));
    }
  }
  EXPECT_GT(supported, 25u);
}

// The largest real row is that of the published drafters, whatever is added to the catalogue.
TEST(GoldenSet, BoundaryShapesReachTheLargestPublishedRows) {
  const std::string path = JoinPath(kGolden, "configs/drafter_configs.json");
  const Json catalogue = ParseJson(ReadTextFile(path).value(), path).value();
  std::uint64_t hidden = 0, intermediate = 0, vocabulary = 0, taps = 0, fused = 0, head = 0, kv = 0;
  for (const std::string& name : DrafterEntryNames(catalogue)) {
    const StatusOr<DrafterConfig> config = LoadDrafterConfig(path, name);
    if (!config.ok()) continue;
    hidden = std::max(hidden, config->hidden_size);
    intermediate = std::max(intermediate, config->intermediate_size);
    vocabulary = std::max(vocabulary, config->vocab_size);
    taps = std::max(taps, config->tap_width());
    fused = std::max(fused, config->num_hidden_layers * config->kv_dim());
    head = std::max(head, config->head_dim);
    kv = std::max(kv, config->kv_dim());
  }
  const auto reach = [](std::string_view operation, const std::vector<std::string_view>& keys) {
    std::uint64_t largest = 0;
    for (const OperationCase& c : BoundaryCases(*FindOperation(operation))) {
      std::uint64_t product = 1;
      for (const std::string_view key : keys) product *= c[key];
      largest = std::max(largest, product);
    }
    return largest;
  };
  EXPECT_GE(reach("embed", {"h"}), hidden);
  EXPECT_GE(reach("rms_norm", {"h"}), hidden);
  EXPECT_GE(reach("residual_add", {"width"}), hidden);
  EXPECT_GE(reach("conv_prepare", {"h"}), hidden);
  EXPECT_GE(reach("confidence", {"h"}), hidden);
  EXPECT_GE(reach("silu_mul", {"width"}), intermediate);
  EXPECT_GE(reach("linear", {"k"}), std::max(taps, intermediate));
  EXPECT_GE(reach("row_gather", {"width"}), taps);
  EXPECT_GE(reach("argmax", {"v"}), vocabulary);
  EXPECT_GE(reach("top16", {"v"}), vocabulary);
  EXPECT_GE(reach("selector_walk", {"v"}), vocabulary);
  EXPECT_GE(reach("kv_split", {"layers", "kv"}), fused);
  EXPECT_GE(reach("kv_write", {"kv", "d"}), kv);
  EXPECT_GE(reach("head_norm", {"d"}), head);
  EXPECT_GE(reach("rope", {"d"}), head);
}

// Generated drafts are cases as any other: the reference passes them in both precisions.
TEST(GoldenSet, GeneratedDraftsPassInBothPrecisions) {
  for (const DraftSpec& spec : DraftSpecs()) {
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case,
                            DrafterCase::Load(JoinPath(kGolden, DraftFolder(spec))));
    for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
      DM_ASSERT_OK_AND_ASSIGN(
          const CaseReport report,
          RunDrafterCase(drafter_case, precision, kReferenceBackend, OpenReferenceForCase));
      EXPECT_EQ(report.FirstFailure(), nullptr) << ReportText(report);
      EXPECT_GT(report.verdicts.size(), 10u);
    }
  }
}

TEST(Matches, StarsAndParts) {
  EXPECT_TRUE(Matches("", "a", {}));
  EXPECT_TRUE(Matches("rms", "operations/rms_norm.safetensors", {}));
  EXPECT_TRUE(Matches("op/rms_norm/*", "operations/x", {"op/rms_norm/rows=1,h=1/bf16"}));
  EXPECT_FALSE(Matches("op/rms_norm/*", "operations/x", {"op/linear/rows=1/bf16"}));
  EXPECT_TRUE(Matches("drafts/*/golden*", "drafts/a/golden.safetensors", {}));
  EXPECT_FALSE(Matches("drafts/*/golden", "drafts/a/golden.safetensors", {}));
}

class ChangedGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(kGolden, golden_,
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(golden_)) {
      std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_all,
                                   std::filesystem::perm_options::add);
    }
  }
  std::string Path(const std::string& name) const { return JoinPath(golden_, name); }
  std::string Text(const std::string& name) const { return ReadTextFile(Path(name)).value(); }
  void Replace(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteTextFile(Path(name), text), IsOk());
  }
  // Changes one byte of a tensor's data, far from the header.
  void Damage(const std::string& name) {
    std::string bytes = Text(name);
    bytes[bytes.size() - 7] = static_cast<char>(bytes[bytes.size() - 7] ^ 1);
    Replace(name, bytes);
  }
  StatusOr<RegenerateSummary> Regenerate(const std::string& only, const std::string& reason,
                                         FileSystem& file_system = RealFileSystem()) {
    outcomes_.clear();
    return RegenerateGolden(
        {golden_, only, reason}, [&](const FileOutcome& outcome) { outcomes_.push_back(outcome); },
        file_system);
  }

  const TestFolder folder_;
  const std::string golden_ = folder_.path();
  std::vector<FileOutcome> outcomes_;
};

const char* const kNorm = "operations/rms_norm.safetensors";

TEST_F(ChangedGolden, ADamagedByteIsFoundByHashAndByRegeneration) {
  Damage(kNorm);
  const FileOutcome outcome = Check(golden_, kNorm).at(kNorm);
  EXPECT_THAT(outcome.problem, HasSubstr("SHA-256"));
  EXPECT_THAT(outcome.problem, HasSubstr("computed again it is not the same"));
  EXPECT_THAT(outcome.problem, HasSubstr("1 of "));
  Damage("drafter/dflash_yarn/model.safetensors");
  EXPECT_THAT(Check(golden_, "dflash_yarn/model").begin()->second.problem, HasSubstr("SHA-256"));
}

// Whoever changes data and manifest together is still found: the bytes are computed again.
TEST_F(ChangedGolden, AHashMadeToFitDoesNotHelp) {
  DM_ASSERT_OK_AND_ASSIGN(Manifest manifest, LoadManifest(golden_));
  Damage(kNorm);
  DM_ASSERT_OK_AND_ASSIGN(const auto bytes, RealFileSystem().Map(Path(kNorm)));
  ManifestEntry entry = *manifest.Find(kNorm);
  const std::string damaged = Check(golden_, kNorm).at(kNorm).problem;
  const std::size_t found = damaged.find("with ", damaged.find("found")) + 5;
  entry.sha256 = damaged.substr(found, 64);
  manifest.Put(entry);
  Replace(kManifestName, manifest.ToText());
  const std::string problem = Check(golden_, kNorm).at(kNorm).problem;
  EXPECT_EQ(problem.find("SHA-256"), std::string::npos) << problem;
  EXPECT_THAT(problem, HasSubstr("computed again it is not the same"));
}

TEST_F(ChangedGolden, EntriesMustBeWhatIsComputed) {
  DM_ASSERT_OK_AND_ASSIGN(Manifest manifest, LoadManifest(golden_));
  ManifestEntry entry = *manifest.Find(kNorm);
  entry.tolerance = "T3";
  manifest.Put(entry);
  Replace(kManifestName, manifest.ToText());
  EXPECT_THAT(Check(golden_, kNorm).at(kNorm).problem, HasSubstr("the manifest's entry"));
}

// What the manifest says of imported files is held against them as well.
TEST_F(ChangedGolden, EntriesOfImportedFilesMustBeTrue) {
  const std::string path = "drafter/dflash_yarn/golden.safetensors";
  DM_ASSERT_OK_AND_ASSIGN(const Manifest manifest, LoadManifest(golden_));
  for (const auto member : {&ManifestEntry::tolerance, &ManifestEntry::agreement,
                            &ManifestEntry::generator, &ManifestEntry::inputs_sha256}) {
    Manifest changed = manifest;
    ManifestEntry entry = *manifest.Find(path);
    entry.*member = "something else";
    changed.Put(entry);
    Replace(kManifestName, changed.ToText());
    EXPECT_THAT(Check(golden_, path).at(path).problem, HasSubstr("the manifest's entry"));
  }
  Manifest more = manifest;
  ManifestEntry entry = *manifest.Find(path);
  entry.path = "mine/x.bin";
  more.Put(entry);
  Replace(kManifestName, more.ToText());
  std::filesystem::create_directory(Path("mine"));
  Replace("mine/x.bin", "");
  EXPECT_THAT(Check(golden_, "mine").at("mine/x.bin").problem, HasSubstr("SHA-256"));
}

// Damaged data get no new hash: the suite that knows them must agree first.
TEST_F(ChangedGolden, RegenerationRefusesDamagedImports) {
  const std::string manifest = Text(kManifestName);
  Damage("drafter/dflash_softcap/model.safetensors");
  EXPECT_THAT(Regenerate("dflash_softcap/model", "why").status(),
              StatusIs(StatusCode::kInternal, HasSubstr("draft/dflash_softcap/")));
  std::string rows = Text("buffer_sizes/synthetic_edges.json");
  const std::size_t digit = rows.find_first_of("123456789", rows.find("expected"));
  rows[digit] = rows[digit] == '9' ? '8' : static_cast<char>(rows[digit] + 1);
  Replace("buffer_sizes/synthetic_edges.json", rows);
  EXPECT_THAT(Regenerate("synthetic_edges", "why").status(),
              StatusIs(StatusCode::kInternal, HasSubstr("synthetic_edges.json")));
  EXPECT_EQ(Text(kManifestName), manifest);
  EXPECT_THAT(outcomes_, IsEmpty());
}

// An interrupted regeneration does not stand in the way of the next.
TEST_F(ChangedGolden, TemporariesLeftBehindAreIgnored) {
  Replace("operations/.draftmark-27151-0-5e.tmp", "half");
  DM_ASSERT_OK_AND_ASSIGN(const RegenerateSummary summary, Regenerate("rms_norm", "again"));
  EXPECT_EQ(summary.unchanged, 1u);
}

TEST_F(ChangedGolden, MissingAndUnknownFilesAreFound) {
  std::filesystem::remove(Path(kNorm));
  Replace("operations/mine.safetensors", "x");
  const std::map<std::string, FileOutcome> outcomes = Check(golden_, "operations/*m*");
  EXPECT_THAT(outcomes.at(kNorm).problem, HasSubstr("No such file"));
  EXPECT_THAT(outcomes.at("operations/mine.safetensors").problem, HasSubstr("not in the manifest"));
  EXPECT_THAT(Regenerate("", "why").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("operations/mine.safetensors")));
  EXPECT_THAT(CheckGolden(golden_, "no such thing", [](const FileOutcome&) {}),
              StatusIs(StatusCode::kNotFound, HasSubstr("no such thing")));
}

TEST_F(ChangedGolden, RegenerationRepairsSaysWhatMovedAndRecordsWhy) {
  Damage(kNorm);
  DM_ASSERT_OK_AND_ASSIGN(const RegenerateSummary summary, Regenerate("rms_norm", "because"));
  EXPECT_EQ(summary.written, 1u);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_THAT(outcomes_[0].detail, HasSubstr("1 tensors moved"));
  EXPECT_THAT(outcomes_[0].detail, HasSubstr("BF16 ULPs"));
  DM_ASSERT_OK_AND_ASSIGN(const Manifest manifest, LoadManifest(golden_));
  EXPECT_EQ(manifest.Find(kNorm)->reason, "because");
  EXPECT_NE(manifest.Find("operations/linear.safetensors")->reason, "because");
  EXPECT_THAT(Check(golden_, kNorm).at(kNorm).problem, IsEmpty());
  EXPECT_EQ(Text(kNorm), ReadTextFile(JoinPath(kGolden, kNorm)).value());
}

TEST_F(ChangedGolden, NothingToDoWritesNothing) {
  const std::string before = Text(kManifestName);
  DM_ASSERT_OK_AND_ASSIGN(const RegenerateSummary summary, Regenerate("operations/*", "again"));
  EXPECT_EQ(summary.written + summary.entries + summary.dropped, 0u);
  EXPECT_EQ(summary.unchanged, AllOperations().size());
  EXPECT_EQ(Text(kManifestName), before);
}

TEST_F(ChangedGolden, RegenerationRefusesWithoutAReason) {
  Damage(kNorm);
  const std::string damaged = Text(kNorm);
  for (const char* const reason : {"", " \n", "\r\v", "\xff"}) {
    EXPECT_THAT(Regenerate("", reason).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("reason")));
  }
  EXPECT_EQ(Text(kNorm), damaged);
}

// A full disk at any write leaves every file as it was.
TEST_F(ChangedGolden, AFullDiskLosesNothing) {
  Damage(kNorm);
  Damage("operations/rope.safetensors");
  const std::string norm = Text(kNorm), rope = Text("operations/rope.safetensors"),
                    manifest = Text(kManifestName);
  for (int append = 0; append < 3; ++append) {
    FaultyFileSystem full({.fail_append = append});
    EXPECT_THAT(Regenerate("operations/r*", "why", full).status(),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("planted")));
    EXPECT_EQ(Text(kNorm), norm);
    EXPECT_EQ(Text("operations/rope.safetensors"), rope);
    EXPECT_EQ(Text(kManifestName), manifest);
  }
}

TEST_F(ChangedGolden, EntriesOfFilesThatNobodyMakesAreDropped) {
  DM_ASSERT_OK_AND_ASSIGN(Manifest manifest, LoadManifest(golden_));
  ManifestEntry entry = *manifest.Find(kNorm);
  entry.path = "operations/softmax.safetensors";
  manifest.Put(entry);
  Replace(kManifestName, manifest.ToText());
  DM_ASSERT_OK_AND_ASSIGN(const RegenerateSummary summary, Regenerate("softmax", "gone"));
  EXPECT_EQ(summary.dropped, 1u);
  DM_ASSERT_OK_AND_ASSIGN(const Manifest left, LoadManifest(golden_));
  EXPECT_EQ(left.Find("operations/softmax.safetensors"), nullptr);
}

// The mutant of the agreement: a reference that is wrong writes nothing.
TEST(Agreement, AWrongReferenceMakesNoOperationFile) {
  Operation wrong = *FindOperation("residual_add");
  wrong.reference = [](const OperationCase& c, const OperandSet& in, Precision precision) {
    OperandValues values = FindOperation("residual_add")->reference(c, in, precision);
    values["x"].back() *= 2;
    return values;
  };
  EXPECT_THAT(MakeOperationFile(wrong),
              StatusIs(StatusCode::kInternal, HasSubstr("op/residual_add/")));
}

// Two stages that agree; data flows from "norm" to "logits", the alphabet goes the other way.
struct TwoStages {
  TwoStages() {
    config.num_hidden_layers = 1;
    for (const char* stage : {"norm", "logits"}) {
      tapped[stage] = {{1, 2}, {1, 2}};
      local[stage] = {.oracle = {1, 2}, .magnitude = {1, 2}, .allowed = {}};
    }
  }
  Status Check() const { return CheckAgreement(config, "draft/x", 3, tapped, local); }
  DrafterConfig config;
  TappedStages tapped;
  LocalStages local;
};

TEST(Agreement, TheFirstWrongStageInDataFlowOrderIsNamed) {
  TwoStages two;
  EXPECT_THAT(two.Check(), IsOk());
  two.local["logits"].oracle[0] += 1e-10;
  EXPECT_THAT(two.Check(), StatusIs(StatusCode::kInternal,
                                    HasSubstr("draft/x: step3.logits: two computations disagree")));
  two.local["norm"].oracle[1] += 1e-10;
  EXPECT_THAT(two.Check(),
              StatusIs(StatusCode::kInternal, HasSubstr("draft/x: step3.norm: two computations "
                                                        "disagree at [0, 1]")));
}

TEST(Agreement, AStageWithoutASecondComputationIsNoAgreement) {
  TwoStages two;
  two.local.erase("norm");
  EXPECT_THAT(two.Check(),
              StatusIs(StatusCode::kInternal, HasSubstr("step3.norm: no second computation")));
  two.local.clear();
  EXPECT_THAT(two.Check(),
              StatusIs(StatusCode::kInternal, HasSubstr("step3.norm: no second computation")));
  two = TwoStages();
  two.tapped.erase("norm");
  EXPECT_THAT(two.Check(),
              StatusIs(StatusCode::kInternal, HasSubstr("step3.norm: the run gave no such stage")));
}

TEST(Agreement, ValuesThatAreNotFiniteDoNotAgree) {
  for (const double bad : {double{INFINITY}, std::nan("")}) {
    TwoStages two;
    two.tapped["norm"].values[0] = bad;  // makes the largest infinite, which would allow anything
    two.local["norm"].oracle[1] = 7;
    EXPECT_THAT(two.Check(), StatusIs(StatusCode::kInternal,
                                      HasSubstr("step3.norm: two computations are not both finite "
                                                "at [0, 0]")));
    two.local["norm"].oracle[0] = bad;  // not even if both say so
    EXPECT_THAT(two.Check(), StatusIs(StatusCode::kInternal, HasSubstr("not both finite")));
    two = TwoStages();
    two.local["norm"].oracle[1] = bad;
    EXPECT_THAT(two.Check(), StatusIs(StatusCode::kInternal, HasSubstr("at [0, 1]")));
  }
}

TEST(ExportCase, GivesACaseFolderAsAnyOther) {
  const TestFolder folder;
  const std::string target = folder.Path("out/dspark");
  ASSERT_THAT(ExportCase(JoinPath(kGolden, "drafts/synthetic-rnn-markov"), target), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase exported, DrafterCase::Load(target));
  EXPECT_FALSE(exported.generator().has_value());
  DM_ASSERT_OK_AND_ASSIGN(
      const CaseReport report,
      RunDrafterCase(exported, Precision::kBf16, kReferenceBackend, OpenReferenceForCase));
  EXPECT_EQ(report.FirstFailure(), nullptr) << ReportText(report);
  EXPECT_THAT(ExportCase(JoinPath(kGolden, "drafts/synthetic-rnn-markov"), target),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("there already")));
  // One name that is taken, and nothing is written.
  std::filesystem::create_directories(folder.Path("taken/golden.safetensors"));
  EXPECT_THAT(ExportCase(JoinPath(kGolden, "drafts/synthetic-rnn-markov"), folder.Path("taken")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("there already")));
  EXPECT_FALSE(std::filesystem::exists(folder.Path("taken/model.safetensors")));
  EXPECT_THAT(ExportCase(JoinPath(kGolden, "drafter/dflash_yarn"), folder.Path("other")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a generated case")));
}

}  // namespace
}  // namespace draftmark
