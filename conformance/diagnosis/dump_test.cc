#include "conformance/diagnosis/dump.h"

#include <cmath>

#include "conformance/diagnosis/diagnose.h"
#include "conformance/diagnosis/write_dump.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/weights/random_drafter.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class DumpTest : public ::testing::Test {
 protected:
  DumpTest() : config_(SmallDrafterConfig()), weights_(RandomWeights(config_, 9)) {
    for (std::size_t b = 0; b < 2; ++b) {
      CaseStep step;
      step.new_context_rows = 5 + b;
      step.start = 20;
      step.target_hidden = RandomBf16(3 + b, step.new_context_rows * config_.tap_width(), 1);
      step.block_tokens = {7, 100, 100, 100};
      bands_.push_back({step});
    }
  }

  plain::Recorder Recorded(std::set<plain::Mistake> mistakes = {}) {
    plain::Recorder run(plain::Rounding::kBf16);
    plain::Options options;
    options.mistakes = std::move(mistakes);
    EXPECT_THAT(plain::Run(config_, *weights_, bands_, options, run), IsOk());
    return run;
  }
  StatusOr<Dump> Load(const DumpWriter& writer) {
    EXPECT_THAT(writer.Write(path_), IsOk());
    return LoadDump(path_, config_, bands_);
  }
  auto Refused(const std::string& what) {
    return StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr(path_), HasSubstr(what)));
  }
  StatusOr<Diagnosis> DiagnoseThis(const DumpWriter& writer) {
    DM_ASSIGN_OR_RETURN(const Dump dump, Load(writer));
    return Diagnose(config_, *weights_, bands_, dump);
  }

  const TestFolder folder_;
  const std::string path_ = folder_.Path("dump.safetensors");
  const DrafterConfig config_;
  const std::shared_ptr<const DrafterWeights> weights_;
  plain::Bands bands_;
};

TEST_F(DumpTest, NamesOfStepsAndBands) {
  DumpWriter writer;
  const std::vector<double> hidden(5 * 48, 1.0);
  writer.Add("fc", DType::kF32, {5, 48}, hidden);
  writer.Add("step0.band0.hidden_norm", DType::kBF16, {5, 48}, hidden);
  writer.Add("band1.draft_tokens", DType::kI64, {3}, {1, 2, 3});
  writer.Add("step0.inputs.start", DType::kI64, {1}, {20});
  DM_ASSERT_OK_AND_ASSIGN(const Dump dump, Load(writer));
  EXPECT_THAT(dump, SizeIs(3));
  EXPECT_EQ(dump.at({0, 0, "hidden_norm"}).tensor, "step0.band0.hidden_norm");
  EXPECT_EQ(dump.at({0, 1, "draft_tokens"}).values, (std::vector<double>{1, 2, 3}));
}

TEST_F(DumpTest, OtherGroupingsOfARowAreTheSameStage) {
  DumpWriter writer;
  writer.Add("layers.0.q_norm", DType::kF32, {1, 4, 96}, std::vector<double>(4 * 96, 1.0));
  writer.Add("layers.0.attn_out", DType::kF32, {4, 6, 16}, std::vector<double>(4 * 96, 1.0));
  EXPECT_THAT(Load(writer), IsOk());
}

TEST_F(DumpTest, WhatIsNoStageIsRefused) {
  const auto refused = [&](const std::string& name, DType dtype, const Shape& shape,
                           std::size_t count, const std::string& what) {
    DumpWriter writer;
    writer.Add(name, dtype, shape, std::vector<double>(count, 1.0));
    EXPECT_THAT(Load(writer), Refused(what)) << name;
  };
  refused("step0.hiden_norm", DType::kF32, {5, 48}, 240,
          "found 'hiden_norm'; did you mean hidden_norm?");
  refused("step0.layers.2.output", DType::kF32, {4, 48}, 192, "did you mean layers.");
  refused("step0.selector.scores", DType::kF32, {3, 16}, 48,
          "expected a stage of this dflash drafter with 2 layers");
  refused("step0.x", DType::kF32, {1}, 1, "found 'x'");
  refused("step1.fc", DType::kF32, {5, 48}, 240, "found step 1 of 1");
  refused("step0.band2.fc", DType::kF32, {5, 48}, 240, "found band 2 of 2");
  refused("step99999999999999999999.fc", DType::kF32, {5, 48}, 240, "numbers that do not fit");
  refused("fc", DType::kF32, {7, 48}, 336, "rejected rows must not be appended");
  refused("fc", DType::kF32, {48, 5}, 240, "expected shape [5, 48], found [48, 5]");
  refused("norm", DType::kF32, {48, 4}, 192, "expected shape [4, 48], found [48, 4]");
  refused("norm", DType::kI64, {4, 48}, 192, "expected BF16, F16, F32 or F64, found I64");
  refused("inputs.start", DType::kI64, {1}, 1, "expected at least one stage");
  DumpWriter twice;
  twice.Add("fc", DType::kF32, {5, 48}, std::vector<double>(240, 1.0));
  twice.Add("step0.fc", DType::kF32, {5, 48}, std::vector<double>(240, 1.0));
  EXPECT_THAT(Load(twice), Refused("expected each stage once"));
  // A transposed tensor has more rows, too, but they are no rejected ones.
  DumpWriter turned;
  turned.Add("fc", DType::kF32, {48, 5}, std::vector<double>(240, 1.0));
  EXPECT_THAT(Load(turned), Not(Refused("rejected rows")));
}

TEST_F(DumpTest, TruncatedFilesAreRefused) {
  DumpWriter writer;
  writer.Add("fc", DType::kF32, {5, 48}, std::vector<double>(240, 1.0));
  ASSERT_THAT(writer.Write(path_), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadTextFile(path_));
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 4) {
    ASSERT_THAT(WriteTextFile(path_, bytes.substr(0, size)), IsOk());
    EXPECT_FALSE(LoadDump(path_, config_, bands_).ok()) << size;
  }
}

TEST_F(DumpTest, NanIsTheFirstStageOff) {
  DumpWriter writer;
  const plain::Recorder run = Recorded();
  writer.AddRun(config_, bands_, run.values());
  std::vector<double> values = run.values().at({0, 1, "layers.0.attn_out"});
  values[5] = NAN;
  values[9] = INFINITY;
  writer.Add("step0.band1.layers.0.attn_out", DType::kBF16, {4, 96}, values);
  DM_ASSERT_OK_AND_ASSIGN(const Diagnosis diagnosis, DiagnoseThis(writer));
  ASSERT_NE(diagnosis.FirstOff(), nullptr);
  EXPECT_EQ(diagnosis.FirstOff()->tensor, "step0.band1.layers.0.attn_out");
  EXPECT_THAT(diagnosis.FirstOff()->failure,
              HasSubstr("2 of 384 elements are not finite, the first at [0, 5]"));
  EXPECT_THAT(diagnosis.explanations, SizeIs(0));
}

TEST_F(DumpTest, IdsOutsideTheVocabularyAreTheFirstStageOff) {
  DumpWriter writer;
  writer.AddRun(config_, bands_, Recorded().values());
  writer.Add("step0.draft_tokens", DType::kI64, {3}, {1, -1, 101});
  DM_ASSERT_OK_AND_ASSIGN(const Diagnosis diagnosis, DiagnoseThis(writer));
  ASSERT_NE(diagnosis.FirstOff(), nullptr);
  EXPECT_THAT(diagnosis.FirstOff()->failure,
              HasSubstr("2 of 3 elements are no token ids below 101"));
}

TEST_F(DumpTest, OneStageMissingLoosensOnlyWhatFollowsFromIt) {
  DumpWriter writer;
  writer.AddRun(config_, bands_, Recorded({plain::Mistake::kGqaModulo}).values());
  writer.Remove("step0.layers.0.k_new");
  DM_ASSERT_OK_AND_ASSIGN(const Diagnosis diagnosis, DiagnoseThis(writer));
  ASSERT_NE(diagnosis.FirstOff(), nullptr);
  EXPECT_FALSE(diagnosis.FirstOff()->local);
  EXPECT_EQ(diagnosis.FirstOff()->tensor, "step0.layers.0.attn_out");
  EXPECT_EQ(diagnosis.explanations, std::vector<Hypothesis>{{plain::Mistake::kGqaModulo}});
}

TEST_F(DumpTest, InputsThatOverflowAreRefused) {
  DumpWriter writer;
  writer.AddRun(config_, bands_, Recorded().values());
  DM_ASSERT_OK_AND_ASSIGN(const Dump dump, Load(writer));
  for (BFloat16& value : bands_[1][0].target_hidden) value = BFloat16::FromDouble(3.38e38);
  EXPECT_THAT(
      Diagnose(config_, *weights_, bands_, dump),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("step0.band1.inputs.target_hidden"),
                                                   HasSubstr("step0.band1.fc overflow"))));
}

TEST_F(DumpTest, FewTokensAloneNameNothing) {
  DumpWriter writer;
  for (const std::size_t band : {0, 1}) {
    writer.Add(JoinTensorName(0, band, "draft_tokens"), DType::kI64, {3},
               Recorded({plain::Mistake::kNormPlusOne}).values().at({0, band, "draft_tokens"}));
  }
  DM_ASSERT_OK_AND_ASSIGN(const Diagnosis diagnosis, DiagnoseThis(writer));
  ASSERT_NE(diagnosis.FirstOff(), nullptr);
  EXPECT_THAT(diagnosis.explanations, SizeIs(0));
  EXPECT_THAT(diagnosis.consistent, Contains(Hypothesis{plain::Mistake::kNormPlusOne}));
}

TEST_F(DumpTest, AStageOfAnAbsentHeadIsRefused) {
  DrafterConfig config = config_;
  config.kind = DrafterKind::kDspark;
  DumpWriter writer;
  writer.Add("confidence_logits", DType::kF32, {3}, {1, 2, 3});
  ASSERT_THAT(writer.Write(path_), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const Dump dump, LoadDump(path_, config, bands_));
  EXPECT_THAT(Diagnose(config, *weights_, bands_, dump),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("confidence_logits")));
}

}  // namespace
}  // namespace draftmark
