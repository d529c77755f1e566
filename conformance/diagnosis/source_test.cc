// Inputs files.
#include "conformance/diagnosis/source.h"

#include "conformance/diagnosis/inputs.h"
#include "conformance/diagnosis/write_dump.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/weights/random_drafter.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class SourceTest : public ::testing::Test {
 protected:
  // Two steps of band 0 and one of band 1.
  DumpWriter Inputs() {
    DumpWriter writer;
    const std::vector<double> row(config_.tap_width(), 0.5);
    for (const std::string prefix : {"step0.inputs.", "step1.inputs.", "step0.band1.inputs."}) {
      writer.Add(prefix + "target_hidden", DType::kF32, {1, config_.tap_width()}, row);
      writer.Add(prefix + "block_tokens", DType::kI64, {4}, {3, 100, 100, 100});
      writer.Add(prefix + "start", DType::kU32, {}, {12});
    }
    writer.Add("step1.inputs.drop_front_rows", DType::kI64, {1}, {1});
    writer.Add("f64.step0.fc", DType::kF32, {1}, {0});
    return writer;
  }
  StatusOr<plain::Bands> Load(const DumpWriter& writer) {
    EXPECT_THAT(writer.Write(path_), IsOk());
    return LoadInputs(path_, config_);
  }
  void ExpectRefused(const DumpWriter& writer, const std::string& what) {
    const StatusOr<plain::Bands> bands = Load(writer);
    ASSERT_FALSE(bands.ok());
    EXPECT_THAT(bands.status().message(), testing::AllOf(HasSubstr(path_), HasSubstr(what)));
  }

  const TestFolder folder_;
  const std::string path_ = folder_.Path("inputs.safetensors");
  const DrafterConfig config_ = SmallDrafterConfig();
};

TEST_F(SourceTest, BandsMayDifferInSteps) {
  DM_ASSERT_OK_AND_ASSIGN(const plain::Bands bands, Load(Inputs()));
  ASSERT_THAT(bands, SizeIs(2));
  EXPECT_THAT(bands[0], SizeIs(2));
  EXPECT_THAT(bands[1], SizeIs(1));
  EXPECT_EQ(bands[0][1].drop_front_rows, 1);
  EXPECT_EQ(bands[0][1].start, 12);
  EXPECT_EQ(bands[1][0].target_hidden[7].ToDouble(), 0.5);
}

TEST_F(SourceTest, InputsThatDoNotFitAreRefused) {
  DumpWriter writer = Inputs();
  writer.Add("step0.inputs.block_tokens", DType::kI64, {2}, {3, 101});
  ExpectRefused(writer, "step0.inputs.block_tokens: expected ids below 101, found 101");
  writer = Inputs();
  writer.Add("step0.inputs.target_hidden", DType::kF32, {1, 2}, {1, 2});
  ExpectRefused(writer, "expected shape [n, 144], found [1, 2]");
  writer = Inputs();
  writer.Add("step0.inputs.target_hidden", DType::kF32, {1, 144}, std::vector<double>(144, 1.001));
  ExpectRefused(writer, "element [0, 0]: expected a finite BF16 value");
  writer = Inputs();
  writer.Remove("step1.inputs.start");
  ExpectRefused(writer, "step1.inputs.start");
  writer = Inputs();
  writer.Add("step0.inputs.drop_front_rows", DType::kI64, {1}, {2});
  ExpectRefused(writer, "drop_front_rows: expected at most 0, found 2");
  writer = Inputs();
  writer.Add("step1.inputs.drop_front_row", DType::kI64, {1}, {1});
  ExpectRefused(writer,
                "drop_front_row: expected an input of target_hidden, block_tokens, start, "
                "drop_front_rows, found 'drop_front_row'");
  writer = Inputs();
  writer.Add("step0.inputs.block_tokens", DType::kI64, {2, 2}, {3, 7, 7, 7});
  ExpectRefused(writer, "step0.inputs.block_tokens: expected shape [gamma], found [2, 2]");
  writer = Inputs();
  writer.Add("step3.inputs.start", DType::kI64, {1}, {2});
  ExpectRefused(writer, "without gaps");
  writer = Inputs();
  writer.Add("step0.band0.inputs.start", DType::kI64, {1}, {9});
  ExpectRefused(writer, "expected each input once, found the same input as step0.");
  writer = Inputs();
  writer.Add("step0.inputs.target_hidden", DType::kI64, {1, 144}, std::vector<double>(144, 1));
  ExpectRefused(writer, "step0.inputs.target_hidden: expected BF16, F16, F32 or F64, found I64");
  for (const double start : {0.0, 2147483644.0, 2147483647.0, 9e18}) {
    writer = Inputs();
    writer.Add("step0.inputs.start", DType::kI64, {1}, {start});
    ExpectRefused(writer,
                  "step0.inputs.start: expected a position from 1 to 2147483643 (after 1 context "
                  "rows, and with 4 block rows in 32 bits), found ");
  }
  writer = Inputs();
  writer.Add("step0.inputs.start", DType::kI64, {1}, {2147483643.0});
  EXPECT_THAT(Load(writer), IsOk());
  DumpWriter none;
  none.Add("fc", DType::kF32, {1}, {0});
  ExpectRefused(none, "found none of them in 1 tensors");
}

}  // namespace
}  // namespace draftmark
