#include "kernels/plugin/plugin_table.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/operations/registry.h"

namespace draftmark::plugin {
namespace {

using ::testing::ElementsAre;

draftmark_result Query(const draftmark_call*, std::uint64_t*, draftmark_message*) {
  return DRAFTMARK_OK;
}
draftmark_result RunIt(const draftmark_call*, draftmark_message*) { return DRAFTMARK_OK; }

constexpr std::uint64_t kBf16 = DRAFTMARK_DTYPE_BIT(DRAFTMARK_BF16);
constexpr std::uint64_t kU32 = DRAFTMARK_DTYPE_BIT(DRAFTMARK_U32);

// A good table, and one thing after the other that makes it bad.
class PluginTableTest : public ::testing::Test {
 protected:
  PluginTableTest() {
    norm_.limits = &limit_;
    plugin_.operations = operations_.data();
  }
  std::string Refusal() {
    const StatusOr<PluginTable> table = ReadPluginTable(&plugin_);
    EXPECT_THAT(table.status(), StatusIs(StatusCode::kInvalidArgument, ::testing::_));
    return table.ok() ? "" : table.status().message();
  }

  draftmark_limit limit_ = {"h", 1, 128};
  draftmark_operation norm_ = {sizeof(norm_), 1, "rms_norm", kBf16, nullptr, Query, RunIt};
  draftmark_operation argmax_ = {sizeof(argmax_), 0,       "argmax", kBf16 | kU32,
                                 nullptr,         nullptr, RunIt};
  std::vector<const draftmark_operation*> operations_ = {&norm_, &argmax_};
  draftmark_session_table session_ = {sizeof(session_), 0,       nullptr, nullptr,
                                      nullptr,          nullptr, nullptr, nullptr};
  draftmark_plugin plugin_ = {sizeof(plugin_),
                              DRAFTMARK_PLUGIN_ABI,
                              "mine",
                              "0.1",
                              DRAFTMARK_CPU,
                              2,
                              nullptr,
                              nullptr,
                              0,
                              0,
                              nullptr};
};

TEST_F(PluginTableTest, AGoodOneIsRead) {
  DM_ASSERT_OK_AND_ASSIGN(const PluginTable table, ReadPluginTable(&plugin_));
  EXPECT_EQ(table.Describe(), "mine 0.1 (cpu, 2 operations, no draft sessions)");
  ASSERT_NE(table.Find("rms_norm"), nullptr);
  EXPECT_EQ(table.Find("rms_norm")->declaration, FindOperation("rms_norm"));
  EXPECT_EQ(table.Find("rms_norm")->query, &Query);
  EXPECT_EQ(table.Find("argmax")->query, nullptr);
  EXPECT_EQ(table.Find("rope"), nullptr);
  EXPECT_FALSE(table.session);
}

// Fields that this program does not know yet are behind those that it does.
TEST_F(PluginTableTest, LargerStructsAreRead) {
  plugin_.struct_size += 64;
  norm_.struct_size += 64;
  EXPECT_THAT(ReadPluginTable(&plugin_), IsOk());
}

TEST_F(PluginTableTest, ArchitecturesOfCudaAreRead) {
  const std::uint32_t architectures[] = {80, 90, 120};
  plugin_.device = DRAFTMARK_CUDA;
  plugin_.architectures = architectures;
  plugin_.architecture_count = 3;
  DM_ASSERT_OK_AND_ASSIGN(const PluginTable table, ReadPluginTable(&plugin_));
  EXPECT_THAT(table.architectures, ElementsAre(80, 90, 120));
  EXPECT_EQ(table.Describe(),
            "mine 0.1 (cuda sm_80 sm_90 sm_120, 2 operations, no draft sessions)");
  EXPECT_THAT(CheckArchitecture(table, 90), IsOk());
  EXPECT_THAT(CheckArchitecture(table, 89),
              StatusIs(StatusCode::kUnimplemented,
                       "the GPU is sm_89, which " + table.Describe() + " does not list"));
  plugin_.device = DRAFTMARK_CPU;
  EXPECT_EQ(Refusal(), "plug-in table: architecture_count: expected 0 on the CPU, found 3");
}

TEST_F(PluginTableTest, VersionsAndSizes) {
  EXPECT_EQ(ReadPluginTable(nullptr).status().message(),
            "draftmark_plugin_entry returned NULL: the plug-in has no table for ABI 1");
  plugin_.abi = 2;
  EXPECT_EQ(Refusal(), "plug-in table: abi: expected 1, which this program knows, found 2");
  plugin_.abi = 0;
  EXPECT_EQ(Refusal(), "plug-in table: abi: expected 1, which this program knows, found 0");
  plugin_.abi = 1;
  plugin_.struct_size = 8;
  EXPECT_EQ(Refusal(), "plug-in table: table.struct_size: expected at least 64, found 8");
}

TEST_F(PluginTableTest, Names) {
  plugin_.name = nullptr;
  EXPECT_EQ(Refusal(), "plug-in table: name: expected a string, found NULL");
  plugin_.name = "";
  EXPECT_EQ(Refusal(), "plug-in table: name: expected a name, found an empty string");
  const std::string longest(64, 'n');
  plugin_.name = longest.c_str();
  EXPECT_THAT(ReadPluginTable(&plugin_), IsOk());
  const std::string longer(65, 'n');
  plugin_.name = longer.c_str();
  EXPECT_EQ(Refusal(),
            "plug-in table: name: expected at most 64 characters and a NUL, found more characters "
            "without one");
  plugin_.name = "a\x1b[31m";
  EXPECT_EQ(Refusal(), "plug-in table: name: expected printable ASCII, found the byte 0x1b at 1");
  plugin_.name = "good";
  plugin_.version = "1\n2";
  EXPECT_EQ(Refusal(),
            "plug-in table: version: expected printable ASCII, found the byte 0x0a at 1");
}

// 65 bytes without a NUL, and behind them memory that is not read (the sanitizers would say so).
TEST_F(PluginTableTest, AnUnterminatedNameIsNotReadToItsEnd) {
  const std::vector<char> name(65, 'n');
  plugin_.name = name.data();
  EXPECT_EQ(Refusal(),
            "plug-in table: name: expected at most 64 characters and a NUL, found more characters "
            "without one");
}

TEST_F(PluginTableTest, Device) {
  plugin_.device = 3;
  EXPECT_EQ(Refusal(), "plug-in table: device: expected 1 (CPU) or 2 (CUDA), found 3");
}

TEST_F(PluginTableTest, Architectures) {
  const std::uint32_t architectures[] = {90, 9};
  plugin_.device = DRAFTMARK_CUDA;
  plugin_.architecture_count = 2;
  EXPECT_EQ(Refusal(),
            "plug-in table: architecture_count: expected 0 where the list is NULL, found 2");
  plugin_.architectures = architectures;
  EXPECT_EQ(Refusal(),
            "plug-in table: architectures[1]: expected a compute capability such as 90 for sm_90, "
            "found 9");
  plugin_.architecture_count = 65;
  EXPECT_EQ(Refusal(), "plug-in table: architecture_count: expected at most 64, found 65");
}

TEST_F(PluginTableTest, Lists) {
  plugin_.operations = nullptr;
  EXPECT_EQ(Refusal(),
            "plug-in table: operation_count: expected 0 where the list is NULL, found 2");
  plugin_.operation_count = 0;
  EXPECT_EQ(Refusal(),
            "plug-in table: operation_count: expected an operation or a session, found neither");
  plugin_.operations = operations_.data();
  plugin_.operation_count = 4000000000u;
  EXPECT_EQ(Refusal(), "plug-in table: operation_count: expected at most 1024, found 4000000000");
  plugin_.operation_count = 2;
  operations_[1] = nullptr;
  EXPECT_EQ(Refusal(), "plug-in table: operations[1]: expected an operation, found NULL");
}

TEST_F(PluginTableTest, Operations) {
  argmax_.struct_size = 0;
  EXPECT_EQ(Refusal(), "plug-in table: operations[1].struct_size: expected at least 48, found 0");
  argmax_.struct_size = sizeof(argmax_);
  argmax_.id = nullptr;
  EXPECT_EQ(Refusal(), "plug-in table: operations[1].id: expected a string, found NULL");
  argmax_.id = "softmax";
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[1].id: expected an operation of the registry, found "
            "\"softmax\"");
  argmax_.id = "rms_norm";
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[1].id: expected each operation once, found \"rms_norm\" "
            "twice");
  argmax_.id = "argmax";
  argmax_.run = nullptr;
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[1] (argmax).run: expected a function, found NULL");
  argmax_.run = RunIt;
  argmax_.dtypes = 0;
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[1] (argmax).dtypes: expected some of the bits 0xfe, found "
            "0x0");
  argmax_.dtypes = kBf16 | 1;
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[1] (argmax).dtypes: expected some of the bits 0xfe, found "
            "0x3");
}

TEST_F(PluginTableTest, Limits) {
  limit_ = {"h", 129, 128};
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[0] (rms_norm).limits[0]: expected least at most most, found "
            "least 129 and most 128 of \"h\"");
  limit_ = {"h", std::nan(""), 128};
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[0] (rms_norm).limits[0]: expected least at most most, found "
            "least nan and most 128 of \"h\"");
  limit_ = {"width", 1, 2};
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[0] (rms_norm).limits[0].name: expected a size or an "
            "attribute of rms_norm, found \"width\"");
  limit_ = {nullptr, 1, 2};
  EXPECT_EQ(
      Refusal(),
      "plug-in table: operations[0] (rms_norm).limits[0].name: expected a string, found NULL");
  const draftmark_limit twice[] = {{"h", 1, 2}, {"h", 2, 3}};
  norm_.limits = twice;
  norm_.limit_count = 2;
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[0] (rms_norm).limits[1].name: expected one limit of a name, "
            "found \"h\" twice");
  norm_.limits = nullptr;
  EXPECT_EQ(Refusal(),
            "plug-in table: operations[0] (rms_norm).limit_count: expected 0 where the list is "
            "NULL, found 2");
}

TEST_F(PluginTableTest, Sessions) {
  plugin_.session = &session_;
  EXPECT_EQ(Refusal(), "plug-in table: session.create: expected a function, found NULL");
  session_.struct_size = 16;
  EXPECT_EQ(Refusal(), "plug-in table: session.struct_size: expected at least 56, found 16");
}

TEST_F(PluginTableTest, LimitsAndDTypesDecideBeforeTheQuery) {
  DM_ASSERT_OK_AND_ASSIGN(const PluginTable table, ReadPluginTable(&plugin_));
  const auto outside = [&](const char* id) {
    const OperationCase c = FindCase(id).value();
    return OutsideTheTable(*table.Find(c.operation->name), c);
  };
  EXPECT_EQ(outside("op/rms_norm/rows=1,h=128/bf16"), "");
  EXPECT_EQ(outside("op/rms_norm/rows=1,h=129/bf16"),
            "h=129 is outside of the plug-in's limits [1, 128]");
  EXPECT_EQ(outside("op/argmax/rows=1,v=9/bf16"), "");
  limit_.least = 64;
  DM_ASSERT_OK_AND_ASSIGN(const PluginTable narrow, ReadPluginTable(&plugin_));
  const auto outside_of_narrow = [&](const char* id) {
    return OutsideTheTable(*narrow.Find("rms_norm"), FindCase(id).value());
  };
  EXPECT_EQ(outside_of_narrow("op/rms_norm/rows=1,h=63/bf16"),
            "h=63 is outside of the plug-in's limits [64, 128]");
  EXPECT_EQ(outside_of_narrow("op/rms_norm/rows=1,h=64/bf16"), "");
  EXPECT_EQ(outside_of_narrow("op/rms_norm/rows=1,h=128/bf16"), "");
  argmax_.dtypes = kBf16;
  DM_ASSERT_OK_AND_ASSIGN(const PluginTable without, ReadPluginTable(&plugin_));
  EXPECT_EQ(OutsideTheTable(*without.Find("argmax"), FindCase("op/argmax/rows=1,v=9/bf16").value()),
            "operand tokens is U32, which is not among the plug-in's dtypes");
}

TEST(PluginDTypeTest, EveryDTypeOfTheRegistryHasAName) {
  for (const Operation& operation : AllOperations()) {
    for (const OperandSpec& operand : operation.operands) {
      const std::optional<draftmark_dtype> dtype = PluginDType(operand.dtype);
      ASSERT_TRUE(dtype) << operation.name << " " << operand.name;
      EXPECT_EQ(DTypeOf(*dtype), operand.dtype);
    }
  }
  EXPECT_FALSE(PluginDType(DType::kU8));
  EXPECT_FALSE(DTypeOf(0));
  EXPECT_FALSE(DTypeOf(8));
}

}  // namespace
}  // namespace draftmark::plugin
