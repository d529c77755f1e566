#include "kernels/plugin/plugin_call.h"

#include <set>
#include <string>
#include <utility>

#include "src/base/status_matchers.h"
#include "src/operations/registry.h"

namespace draftmark::plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// A name that is a size and an attribute could not be told apart.
TEST(NumbersTest, NamesAreUnique) {
  for (const Operation& operation : AllOperations()) {
    std::set<std::string> names;
    for (const auto& [name, value] : NumbersOf(BoundaryCases(operation).front())) {
      EXPECT_TRUE(names.insert(name).second) << operation.name << " " << name;
    }
  }
}

TEST(NumbersTest, SizesThenAttributes) {
  EXPECT_THAT(NumbersOf(FindCase("op/rms_norm/rows=3,h=16/bf16").value()),
              ElementsAre(Pair("rows", 3), Pair("h", 16), Pair("epsilon", 1e-5)));
}

TEST(MessageBufferTest, OnePrintableLine) {
  MessageBuffer buffer;
  draftmark_answer(buffer.get(), DRAFTMARK_FAILED, "two\nlines and \x1b[31mred\xc3\xa4");
  const PluginAnswer answer = buffer.Answer(DRAFTMARK_FAILED);
  EXPECT_EQ(answer.result, PluginResult::kFailed);
  EXPECT_EQ(answer.kind, "failed");
  EXPECT_EQ(answer.message, "two lines and ?[31mred??");
}

TEST(MessageBufferTest, LongTextsAreCutAndUnendedOnesAreRead) {
  MessageBuffer buffer;
  draftmark_answer(buffer.get(), DRAFTMARK_FAILED, std::string(600, 'x').c_str());
  EXPECT_EQ(buffer.Answer(DRAFTMARK_FAILED).message, std::string(511, 'x'));
  std::memset(buffer.get()->text, 'y', buffer.get()->capacity);
  EXPECT_EQ(buffer.Answer(DRAFTMARK_UNSUPPORTED).message, std::string(512, 'y'));
}

TEST(MessageBufferTest, Results) {
  const MessageBuffer buffer;
  EXPECT_TRUE(buffer.Answer(DRAFTMARK_OK).ok());
  EXPECT_EQ(buffer.Answer(DRAFTMARK_UNSUPPORTED).message, "the plug-in gave no reason");
  EXPECT_EQ(buffer.Answer(DRAFTMARK_UNSUPPORTED).kind, "");
  EXPECT_EQ(buffer.Answer(DRAFTMARK_FAILED).message, "the plug-in gave no reason");
  EXPECT_EQ(buffer.Answer(-1).kind, "contradiction");
}

// What a call looks like from the plug-in's side.
draftmark_result LookAt(const draftmark_call* call, draftmark_message* message) {
  EXPECT_EQ(call->struct_size, sizeof(draftmark_call));
  EXPECT_STREQ(call->operation, "kv_split");
  EXPECT_STREQ(call->case_id, "op/kv_split/rows=3,layers=2,kv=4/bf16");
  EXPECT_EQ(call->operand_count, 3u);
  EXPECT_EQ(draftmark_size(call, "layers"), 2u);
  const draftmark_operand* const k = draftmark_find_operand(call, "k");
  EXPECT_EQ(k->rank, 3u);
  EXPECT_EQ(k->role, DRAFTMARK_OUTPUT);
  EXPECT_EQ(k->bytes, 2u * 3 * 4 * 2);
  EXPECT_EQ(k->strides[0], k->shape[1] * k->shape[2]);
  EXPECT_EQ(k->strides[1], k->shape[2]);
  EXPECT_EQ(k->strides[2], 1u);
  EXPECT_EQ(draftmark_find_operand(call, "no_such"), nullptr);
  EXPECT_EQ(draftmark_find_number(call->numbers, call->number_count, "no_such", 7), 7);
  EXPECT_EQ(call->workspace, call->workspace_bytes == 0 ? nullptr : call->operands[0]->data);
  return draftmark_answer(message, DRAFTMARK_FAILED, "looked");
}

TEST(PluginCallTest, CanBeMovedAndCalled) {
  const OperationCase c = FindCase("op/kv_split/rows=3,layers=2,kv=4/bf16").value();
  DM_ASSERT_OK_AND_ASSIGN(PluginCall first, PluginCall::Create(c));
  PluginCall call = std::move(first);
  PluginOperation operation;
  operation.declaration = c.operation;
  operation.dtypes = DRAFTMARK_DTYPE_BIT(DRAFTMARK_BF16);
  operation.run = LookAt;
  int memory = 0;
  call.Place(0, &memory);
  EXPECT_EQ(call.Run(operation, &memory, 0, nullptr).message, "looked");
  EXPECT_EQ(call.Run(operation, &memory, 5, nullptr).message, "looked");
  EXPECT_TRUE(call.Query(operation).ok());
}

}  // namespace
}  // namespace draftmark::plugin
