// Every oracle row passes; every single number of them, changed, is noticed; and so are mutants of
// the formulas.
#include "conformance/sizes/size_rows.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/file_system.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kFolder[] = "golden/buffer_sizes/";
const std::vector<std::pair<std::string, std::uint64_t>> kFiles = {
    {"lora_and_q2.json", 14},     {"models_mamba_mla_hc.json", 37}, {"models_qwen_dense.json", 34},
    {"overflow_errors.json", 17}, {"scratch_boundaries.json", 17},  {"synthetic_edges.json", 33}};

Json Load(const std::string& name) {
  const StatusOr<std::string> text = ReadTextFile(kFolder + name);
  DM_CHECK(text.ok());
  const StatusOr<Json> json = ParseJson(*text, name);
  DM_CHECK(json.ok());
  return *json;
}

// One row of the files that have `expected`, as an array.
Json OneRow(const std::string& file, const std::string& name) {
  for (const Json& row : Load(file)) {
    if (row["name"] == name) return Json::array({row});
  }
  DM_CHECK(false);
}

Json FlashNext() {
  return OneRow("models_mamba_mla_hc.json", "qwen3_8_flash_next__m2048_s32768_kb16_bs32");
}

std::vector<std::string> Whats(const StatusOr<RowsReport>& report) {
  std::vector<std::string> whats;
  if (!report.ok()) return {report.status().ToString()};
  for (const RowMismatch& mismatch : report->mismatches) whats.push_back(mismatch.what);
  return whats;
}

class SizeRowsFileTest : public ::testing::TestWithParam<std::pair<std::string, std::uint64_t>> {};

TEST_P(SizeRowsFileTest, AllRowsPass) {
  DM_ASSERT_OK_AND_ASSIGN(const RowsReport report, CheckSizeRowsFile(kFolder + GetParam().first));
  EXPECT_EQ(report.rows, GetParam().second);
  for (const RowMismatch& mismatch : report.mismatches) ADD_FAILURE() << mismatch.ToString();
}

INSTANTIATE_TEST_SUITE_P(Golden, SizeRowsFileTest, ::testing::ValuesIn(kFiles),
                         [](const auto& file) {
                           return file.param.first.substr(0, file.param.first.find('.'));
                         });

// All files beside the checkout, also ones that golden/ does not hold.
TEST(SizeRowsTest, OracleRowsBesideTheCheckoutPass) {
  const std::string folder = ExternalRunfiles("oracle_cases", "cases/buffer_sizes");
  const StatusOr<std::vector<std::string>> names = RealFileSystem().List(folder);
  if (!names.ok() || names->empty()) {
    GTEST_SKIP() << "no ../shared/cases beside this checkout: only the rows in golden/ were run";
  }
  for (const std::string& name : *names) {
    DM_ASSERT_OK_AND_ASSIGN(const RowsReport report, CheckSizeRowsFile(JoinPath(folder, name)));
    EXPECT_GT(report.rows, 0u) << name;
    for (const RowMismatch& mismatch : report.mismatches) ADD_FAILURE() << mismatch.ToString();
  }
}

TEST(SizeRowsTest, EveryExpectedNumberCounts) {
  const Json good = FlashNext();
  int changed = 0;
  for (const char* group : {"expected", "sub_offsets"}) {
    for (const auto& [key, value] : good[0][group].items()) {
      Json bad = good;
      bad[0][group][key] = value.get<std::uint64_t>() + 1;
      EXPECT_THAT(Whats(CheckSizeRows(bad, "f")),
                  ::testing::ElementsAre(std::string(group) + "." + key));
      ++changed;
    }
  }
  EXPECT_EQ(changed, 41 + 57);
  for (const char* total : {"upstream_total_bytes", "sum_of_41"}) {
    Json bad = good;
    bad[0][total] = 1u;
    EXPECT_THAT(Whats(CheckSizeRows(bad, "f")), ::testing::ElementsAre(total));
  }
}

TEST(SizeRowsTest, OffsetsAreComparedBothWays) {
  Json bad = FlashNext();
  bad[0]["sub_offsets"].erase("gdn_fla_scratch.gc");
  bad[0]["sub_offsets"]["ssd_scratch.CB"] = 7u;
  const StatusOr<RowsReport> report = CheckSizeRows(bad, "f");
  EXPECT_THAT(Whats(report), ::testing::UnorderedElementsAre("sub_offsets.gdn_fla_scratch.gc",
                                                             "sub_offsets.ssd_scratch.CB"));
  EXPECT_EQ(report->mismatches[0].found, "no such offset");
  EXPECT_EQ(report->mismatches[1].expected, "no such offset");
}

TEST(SizeRowsTest, MismatchesNameFileRowFieldAndBothNumbers) {
  Json bad = FlashNext();
  bad[0]["expected"]["logits"] = 12345u;
  const StatusOr<RowsReport> report = CheckSizeRows(bad, "rows.json");
  EXPECT_THAT(report->mismatches[0].ToString(),
              AllOf(StartsWith("rows.json: qwen3_8_flash_next__m2048_s32768_kb16_bs32: "
                               "expected.logits: expected 12345, found "),
                    HasSubstr(std::to_string(FlashNext()[0]["expected"]["logits"].get<int>()))));
}

TEST(SizeRowsTest, SixtyFourBitsAreExact) {
  // 2^63 + 1 against 2^63: equal as doubles.
  Json rows = FlashNext();
  SizingImplementation mutant;
  mutant.sizes = [](const SizingFields& c, const SizingArguments& a) -> StatusOr<BufferSizes> {
    DM_ASSIGN_OR_RETURN(BufferSizes sizes, BufferSizes::FromConfig(c, a));
    sizes.logits = (std::uint64_t{1} << 63) + 1;
    return sizes;
  };
  rows[0]["expected"]["logits"] = std::uint64_t{1} << 63;
  EXPECT_THAT(Whats(CheckSizeRows(rows, "f", mutant)), Contains("expected.logits"));
  rows[0]["expected"]["logits"] = (std::uint64_t{1} << 63) + 1;
  EXPECT_THAT(Whats(CheckSizeRows(rows, "f", mutant)), Not(Contains("expected.logits")));
}

// A field of a config that some row depends on: every one of the 34 must matter somewhere.
TEST(SizeRowsTest, EveryConfigFieldIsReadBySomeRow) {
  for (const SizingField& field : kSizingFields) {
    SizingImplementation mutant;
    mutant.sizes = [&field](SizingFields c, const SizingArguments& a) {
      if (field.flag != nullptr) {
        c.*field.flag = !(c.*field.flag);
      } else {
        c.*field.count += 1;
      }
      return BufferSizes::FromConfig(c, a);
    };
    std::size_t mismatches = 0;
    for (const auto& [file, rows] : kFiles) {
      mismatches += CheckSizeRowsFile(kFolder + file, mutant)->mismatches.size();
    }
    EXPECT_GT(mismatches, 0u) << field.name;
  }
}

TEST(SizeRowsTest, FormulaMutantsAreCaught) {
  struct Mutant {
    const char* description;
    std::function<void(const SizingFields&, const SizingArguments&, BufferSizes&)> apply;
  };
  const Mutant mutants[] = {
      {"hc_streams in BF16, as the seed says",
       [](const auto& c, const auto&, BufferSizes& s) {
         if (c.hc_mult > 0) s.hc_streams /= 2;
       }},
      {"no floor of three expert rows",
       [](const auto&, const auto& a, BufferSizes& s) {
         if (a.max_batch_tokens == 1) s.expert_gate_out /= 3;
       }},
      {"router logits without zero experts",
       [](const auto& c, const auto& a, BufferSizes& s) {
         if (c.num_experts > 0) s.gate_logits = 2 * a.max_batch_tokens * c.num_experts;
       }},
      {"q2_act_q8 only together with native_q2",
       [](const auto&, const auto& a, BufferSizes& s) {
         if (!a.native_q2) s.q2_act_q8 = 0;
       }},
      {"logits of every row",
       [](const auto& c, const auto& a, BufferSizes& s) {
         s.logits = 2 * a.max_batch_tokens * c.vocab_size;
       }},
      {"group scales rounded up",
       [](const auto& c, const auto& a, BufferSizes& s) {
         const std::uint64_t k = std::max(c.hidden_size, c.intermediate_size);
         if (c.num_experts == 0) s.ffn_act_scale = 4 * a.max_batch_tokens * ((k + 31) / 32);
       }},
  };
  for (const Mutant& m : mutants) {
    SizingImplementation mutant;
    mutant.sizes = [&m](const SizingFields& c, const SizingArguments& a) -> StatusOr<BufferSizes> {
      DM_ASSIGN_OR_RETURN(BufferSizes sizes, BufferSizes::FromConfig(c, a));
      m.apply(c, a, sizes);
      return sizes;
    };
    std::size_t mismatches = 0;
    for (const auto& [file, rows] : kFiles) {
      mismatches += CheckSizeRowsFile(kFolder + file, mutant)->mismatches.size();
    }
    EXPECT_GT(mismatches, 0u) << m.description;
  }
}

TEST(SizeRowsTest, WrappingArithmeticFailsTheOverflowRows) {
  SizingImplementation wrapping;
  wrapping.sizes = [](const SizingFields&, const SizingArguments&) -> StatusOr<BufferSizes> {
    return BufferSizes();
  };
  EXPECT_EQ(CheckSizeRows(Load("overflow_errors.json"), "f", wrapping)->mismatches.size(), 17u);
  SizingImplementation wrong_code;
  wrong_code.sizes = [](const SizingFields&, const SizingArguments&) -> StatusOr<BufferSizes> {
    return InvalidArgumentError("hidden_states: bad");
  };
  EXPECT_EQ(CheckSizeRows(Load("overflow_errors.json"), "f", wrong_code)->mismatches.size(), 17u);
  SizingImplementation wrong_field;
  wrong_field.sizes = [](const SizingFields&, const SizingArguments&) -> StatusOr<BufferSizes> {
    return OutOfRangeError("token_ids: too large");
  };
  EXPECT_EQ(CheckSizeRows(Load("overflow_errors.json"), "f", wrong_field)->mismatches.size(), 17u);
}

// ---- Malformed files
// -----------------------------------------------------------------------------

Status CheckText(const std::string& text) {
  const StatusOr<Json> json = ParseJson(text, "rows.json");
  if (!json.ok()) return json.status();
  return CheckSizeRows(*json, "rows.json").status();
}

TEST(SizeRowsFormatTest, FilesThatAreNoRows) {
  EXPECT_THAT(CheckText("{}"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("rows.json: expected an array")));
  EXPECT_THAT(CheckText("[]"), StatusIs(StatusCode::kDataLoss,
                                        HasSubstr("rows.json: expected an array of sizing rows, "
                                                  "found an empty one")));
  EXPECT_THAT(CheckText("[3]"), StatusIs(StatusCode::kDataLoss, HasSubstr("rows.json: row 0")));
  EXPECT_THAT(CheckText("[{\"name\": \"a\""),
              StatusIs(StatusCode::kDataLoss, HasSubstr("rows.json")));
  EXPECT_THAT(CheckSizeRowsFile("no/such.json"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no/such.json")));
}

TEST(SizeRowsFormatTest, EveryKeyOfARowIsRequired) {
  const Json good = FlashNext();
  for (const auto& [key, value] : good[0].items()) {
    Json bad = good;
    bad[0].erase(key);
    const Status status = CheckSizeRows(bad, "rows.json").status();
    if (key == "synthetic" || key == "source") {
      EXPECT_THAT(status, IsOk());
    } else {
      EXPECT_THAT(status.message(), AllOf(HasSubstr("rows.json: row 0"), HasSubstr(key)));
    }
  }
  for (const char* group : {"config", "args", "flags", "expected"}) {
    for (const auto& [key, value] : good[0][group].items()) {
      Json bad = good;
      bad[0][group].erase(key);
      EXPECT_THAT(CheckSizeRows(bad, "rows.json"),
                  StatusIs(StatusCode::kNotFound,
                           AllOf(HasSubstr("row 0 (qwen3_8_flash_next__m2048_s32768_kb16_bs32): " +
                                           std::string(group) + "." + key),
                                 HasSubstr("required"))));
      bad[0][group][key] = "x";
      EXPECT_THAT(CheckSizeRows(bad, "rows.json"),
                  StatusIs(StatusCode::kInvalidArgument, HasSubstr("found \"x\"")));
    }
    Json bad = good;
    bad[0][group]["typo"] = 1;
    EXPECT_THAT(CheckSizeRows(bad, "rows.json"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("typo")));
  }
}

TEST(SizeRowsFormatTest, NumbersMustBeUnsigned64) {
  for (const char* number : {"-1", "1.5", "18446744073709551616", "1e3"}) {
    Json bad = FlashNext();
    bad[0]["sum_of_41"] = Json::parse(number);
    EXPECT_THAT(CheckSizeRows(bad, "rows.json"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("sum_of_41")));
    bad = FlashNext();
    bad[0]["sub_offsets"]["scratch.max_blocks"] = Json::parse(number);
    EXPECT_THAT(CheckSizeRows(bad, "rows.json"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("scratch.max_blocks")));
  }
}

TEST(SizeRowsFormatTest, OverflowRowsHaveTheirOwnForm) {
  const Json good = Json::array({Load("overflow_errors.json")[0]});
  Json bad = good;
  bad[0]["expected_error"] = "underflow";
  EXPECT_THAT(CheckSizeRows(bad, "f"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("underflow")));
  bad = good;
  bad[0]["where"] = "somewhere";
  EXPECT_THAT(CheckSizeRows(bad, "f"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("somewhere")));
  bad = good;
  bad[0]["field"] = "total_bytes";
  EXPECT_THAT(CheckSizeRows(bad, "f"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("field")));
  bad = good;
  bad[0]["expected"] = Json::object();
  EXPECT_THAT(CheckSizeRows(bad, "f"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected")));
}

TEST(SizeRowsFormatTest, NamesAreUnique) {
  Json twice = FlashNext();
  twice.push_back(twice[0]);
  EXPECT_THAT(CheckSizeRows(twice, "f"), StatusIs(StatusCode::kDataLoss, HasSubstr("row 1")));
}

}  // namespace
}  // namespace draftmark
