// Rules of the layout. The worked examples of spec/dflash_scratch.md section 4 with all their
// numbers are in //conformance/scratch.
#include "src/scratch/dflash_layout.h"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <type_traits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"
#include "src/scratch/dflash_test_geometry.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::uint64_t kMax = ~std::uint64_t{0};

DflashScratchLayout Layout(const DflashScratchRequest& request) {
  StatusOr<DflashScratchLayout> layout = DflashScratchLayout::Create(request);
  if (!layout.ok()) ADD_FAILURE() << layout.status().ToString();
  return *std::move(layout);
}

Status Failure(const std::function<void(DflashScratchRequest&)>& change,
               std::uint64_t version = 2) {
  DflashScratchRequest request = TinyRequest(version);
  change(request);
  return DflashScratchLayout::Create(request).status();
}

TEST(DflashFieldsTest, TheTableIsTheStruct) {
  DflashScratch scratch;
  const char* const base = reinterpret_cast<const char*>(&scratch);
  std::ptrdiff_t last = -1;
  std::set<std::string_view> names;
  for (const DflashField& field : kDflashFields) {
    names.insert(field.name);
    EXPECT_EQ(field.address == nullptr, field.memory != DflashMemory::kDevice) << field.name;
    if (field.address == nullptr) continue;
    const std::ptrdiff_t offset = reinterpret_cast<const char*>(&field.address(scratch)) - base;
    EXPECT_GT(offset, last) << field.name;  // declared in the table's order
    last = offset;
    EXPECT_FALSE(field.producer.empty());
    EXPECT_FALSE(field.consumer.empty());
  }
  EXPECT_EQ(names.size(), 27u);
  static_assert(
      std::is_same_v<decltype(scratch.draft_tokens_host_pinned), std::atomic<std::uint8_t*>>);
  static_assert(sizeof(DflashScratch) == 27 * 8);
}

// The columns "NULL?" and "stable" of the page's table, and its marks of what is no device memory.
TEST(DflashFieldsTest, TextsAreThePages) {
  std::map<std::string_view, std::set<std::string_view>> memory, null_rules, pointers;
  for (const DflashField& field : kDflashFields) {
    memory[DflashMemoryName(field.memory)].insert(field.name);
    null_rules[NullRuleText(field.null_rule)].insert(field.name);
    pointers[PointerStabilityText(field.stability)].insert(field.name);
  }
  using Names = std::set<std::string_view>;
  EXPECT_EQ(memory["device"].size(), 25u);
  EXPECT_EQ(memory["host pinned"], Names{"draft_tokens_host_pinned"});
  EXPECT_EQ(memory["event"], Names{"draft_tokens_event"});
  EXPECT_EQ(memory.size(), 3u);
  EXPECT_EQ(null_rules["never"].size(), 19u);
  EXPECT_EQ(null_rules["if markov_rank is 0"], (Names{"markov_embed", "markov_bias"}));
  EXPECT_EQ(null_rules["without confidence weights"], Names{"conf_out"});
  EXPECT_EQ(null_rules["without selector weights"],
            (Names{"conv_dyn", "conv_tmp", "sel_vals", "sel_idx", "sel_hproj"}));
  EXPECT_EQ(null_rules.size(), 4u);
  EXPECT_EQ(pointers["stable"].size(), 22u);
  EXPECT_EQ(pointers["eager only"], (Names{"fc_proj", "fused_kv_out", "precompute_in"}));
  EXPECT_EQ(pointers["stable if the copy is captured"], Names{"draft_tokens_host_pinned"});
  EXPECT_EQ(pointers["no pointer"], Names{"draft_tokens_event"});
  EXPECT_EQ(pointers.size(), 4u);
}

TEST(DflashLayoutTest, FieldCountsAndOrderOfBothVersions) {
  const DflashScratchLayout v1 = Layout(TinyRequest(1));
  EXPECT_EQ(v1.fields().size(), 26u);
  const DflashScratchLayout v2 = Layout(TinyRequest(2));
  ASSERT_EQ(v2.fields().size(), 27u);
  for (std::size_t i = 0; i < 27; ++i) EXPECT_EQ(v2.fields()[i].field, &kDflashFields[i]);
  EXPECT_EQ(v2.fields()[12].field->name, "precompute_in");
  for (const DflashFieldLayout& field : v1.fields()) {
    EXPECT_NE(field.field->name, "precompute_in");
  }
}

TEST(DflashLayoutTest, VersionTwoOfOneBandEqualsVersionOneExceptFourFields) {
  const DflashScratchLayout v1 = Layout(TinyRequest(1));
  const DflashScratchLayout v2 = Layout(TinyRequest(2));
  std::set<std::string> differing;
  for (const DflashFieldLayout& b : v2.fields()) {
    const std::string name(b.field->name);
    if (name == "precompute_in") {
      differing.insert(name);
      continue;
    }
    const DflashFieldLayout& a = v1.Field(name);
    EXPECT_EQ(a.is_null, b.is_null) << name;
    EXPECT_EQ(a.alignment == b.alignment, name != "slot_mapping_dev") << name;
    if (a.bytes != b.bytes) {
      differing.insert(name);
    } else {
      EXPECT_EQ(a.shape, b.shape) << name;
      EXPECT_EQ(a.dtype, b.dtype) << name;
    }
  }
  EXPECT_THAT(differing, ElementsAre("logits", "option_b_indirect_args_dev", "precompute_in",
                                     "slot_mapping_dev"));
  EXPECT_EQ(v2.Field("slot_mapping_dev").bytes, 2 * v1.Field("slot_mapping_dev").bytes);
  EXPECT_EQ(v1.Field("option_b_indirect_args_dev").bytes, 8u);
  EXPECT_EQ(v2.Field("option_b_indirect_args_dev").bytes, 12u);
  // Stage S-B of version 1 is already version 2 without precompute_in.
  DflashScratchRequest code_b = TinyRequest(1);
  code_b.layout = DflashLayoutName::kCodeB;
  const DflashScratchLayout b = Layout(code_b);
  for (const DflashFieldLayout& field : b.fields()) {
    EXPECT_EQ(field.bytes, v2.Field(field.field->name).bytes) << field.field->name;
  }
}

TEST(DflashLayoutTest, LayoutsOfVersionOne) {
  const auto bytes = [](DflashLayoutName name) {
    DflashScratchRequest r = TinyRequest(1);
    r.layout = name;
    const DflashScratchLayout layout = Layout(r);
    return std::map<std::string, std::uint64_t>{
        {"slots", layout.Field("slot_mapping_dev").bytes},
        {"args", layout.Field("option_b_indirect_args_dev").bytes},
        {"logits", layout.Field("logits").bytes}};
  };
  using Expected = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(bytes(DflashLayoutName::kDoc),
            (Expected{{"slots", 32 * 4}, {"args", 8}, {"logits", 37 * 100 * 2}}));
  EXPECT_EQ(bytes(DflashLayoutName::kCodeA),
            (Expected{{"slots", 32 * 8}, {"args", 8}, {"logits", 37 * 100 * 2}}));
  EXPECT_EQ(bytes(DflashLayoutName::kCodeB),
            (Expected{{"slots", 32 * 8}, {"args", 12}, {"logits", 5 * 100 * 2}}));
  EXPECT_EQ(Layout(TinyRequest(1)).layout(), DflashLayoutName::kDoc);
  EXPECT_EQ(Layout(TinyRequest(1)).Field("slot_mapping_dev").dtype, DType::kI32);
  EXPECT_EQ(Layout(TinyRequest(2)).Field("slot_mapping_dev").dtype, DType::kI64);
}

TEST(DflashLayoutTest, AsUpstreamWarnsWhereSlotsAreTooFew) {
  DflashScratchRequest r = TinyRequest(2, 32, 8);  // 40 block rows
  EXPECT_THAT(Layout(r).warnings(), IsEmpty());
  EXPECT_EQ(Layout(r).Field("slot_mapping_dev").bytes, 40u * 8);
  r.layout = DflashLayoutName::kAsUpstream;
  EXPECT_EQ(Layout(r).Field("slot_mapping_dev").bytes, 32u * 8);
  EXPECT_THAT(Layout(r).warnings(),
              ElementsAre(AllOf(HasSubstr("slot_mapping_dev: holds 32"), HasSubstr("write 40"))));
  r.max_batch = 6;  // 30 fit
  EXPECT_THAT(Layout(r).warnings(), IsEmpty());
  // Version 1 has the same defect when the window is narrower than the block.
  EXPECT_THAT(Layout(TinyRequest(1, 4)).warnings(), ElementsAre(HasSubstr("holds 4 entries")));
}

TEST(DflashLayoutTest, RowsAreTheLargerOfContextAndBands) {
  EXPECT_EQ(Layout(TinyRequest(2, 32, 7)).rows(), 37u);  // 35 block rows
  EXPECT_EQ(Layout(TinyRequest(2, 32, 8)).rows(), 40u);
  const DflashScratchLayout l = Layout(TinyRequest(2, 32, 8));
  EXPECT_EQ(l.Field("stream_buf").shape, (Shape{40, 64}));
  EXPECT_EQ(l.Field("draft_tokens_dev").bytes, 40u * 4);
  EXPECT_EQ(l.Field("position_ids").bytes, 40u * 4);
  EXPECT_EQ(l.Field("fc_proj").shape, (Shape{32, 64}));
  EXPECT_EQ(l.Field("fused_kv_out").shape, (Shape{32, 2 * 2 * 32}));
  EXPECT_EQ(l.Field("precompute_in").shape, (Shape{256, 3 * 64}));
  EXPECT_EQ(l.Field("option_b_indirect_args_dev").shape, (Shape{8, 3}));
  EXPECT_EQ(l.Field("conv_dyn").shape, (Shape{40, 2, 2, 4}));
  EXPECT_EQ(l.Field("sel_hproj").shape, (Shape{40, 32}));
  EXPECT_EQ(l.host_pinned_bytes(), 40u * 4);
  std::uint64_t sum = 0;
  for (const DflashFieldLayout& f : l.fields()) sum += f.bytes;
  EXPECT_EQ(l.device_bytes() + l.host_pinned_bytes(), sum);
}

TEST(DflashLayoutTest, BatchedHeadsSizeConfOutForAllBands) {
  DflashScratchRequest r = TinyRequest(2, 32, 3);
  EXPECT_EQ(Layout(r).Field("conf_out").bytes, 5u * 2);
  r.batched_heads = true;
  EXPECT_EQ(Layout(r).Field("conf_out").bytes, 3u * 5 * 2);
}

TEST(DflashLayoutTest, GammaDefaultsToTheBlockSize) {
  DflashScratchRequest r = TinyRequest(2);
  EXPECT_EQ(Layout(r).gamma(), 5u);
  r.gamma = 9;
  EXPECT_EQ(Layout(r).gamma(), 9u);
  EXPECT_EQ(Layout(r).rows(), 41u);
}

TEST(DflashLayoutTest, NullRules) {
  DflashScratchRequest none = TinyRequest(2);
  none.geometry.markov_rank = 0;
  none.tensors = {};
  std::set<std::string> nulls;
  const DflashScratchLayout without = Layout(none);
  for (const DflashFieldLayout& f : without.fields()) {
    if (f.is_null) nulls.insert(std::string(f.field->name));
    EXPECT_EQ(f.is_null || f.field->memory == DflashMemory::kEvent, f.bytes == 0) << f.field->name;
  }
  EXPECT_EQ(nulls, (std::set<std::string>{"markov_embed", "markov_bias", "conf_out", "conv_dyn",
                                          "conv_tmp", "sel_vals", "sel_idx", "sel_hproj"}));
  // The Markov buffers follow the config even when the tensors are absent.
  DflashScratchRequest announced = TinyRequest(2);
  announced.tensors.markov = false;
  EXPECT_FALSE(Layout(announced).Field("markov_bias").is_null);
  EXPECT_THAT(Layout(announced).warnings(), ElementsAre(HasSubstr("head is inactive")));
  // The confidence buffer does not depend on Markov.
  DflashScratchRequest confidence = none;
  confidence.tensors.confidence = true;
  EXPECT_FALSE(Layout(confidence).Field("conf_out").is_null);
}

TEST(DflashLayoutTest, ConvolutionsWithoutASelectorAreRefused) {
  EXPECT_THAT(Failure([](auto& r) { r.tensors.selector = false; }),
              StatusIs(StatusCode::kUnimplemented, StartsWith("selector: ")));
}

TEST(DflashLayoutTest, SelectorRankOfFilesWithoutTheKey) {
  DflashScratchRequest r = TinyRequest(2);
  r.geometry.selector_rank.reset();
  EXPECT_EQ(Layout(r).Field("sel_hproj").shape, (Shape{5, 256}));
  r.geometry.selector_rank = 0;
  EXPECT_EQ(Layout(r).Field("sel_hproj").shape, (Shape{5, 1}));
  r.geometry.conv_kernel_size = 0;
  r.geometry.conv_group_size = 0;
  r.tensors.convs = false;
  EXPECT_EQ(Layout(r).Field("conv_dyn").shape, (Shape{5, 2, 1, 64}));
}

TEST(DflashLayoutTest, Alignments) {
  const DflashScratchLayout l = Layout(TinyRequest(2));
  EXPECT_EQ(l.Field("q_buf").alignment, 16u);
  EXPECT_EQ(l.Field("slot_mapping_dev").alignment, 8u);
  EXPECT_EQ(l.Field("option_b_indirect_args_dev").alignment, 4u);
  EXPECT_EQ(l.Field("sel_vals").alignment, 4u);
  EXPECT_EQ(Layout(TinyRequest(1)).Field("slot_mapping_dev").alignment, 4u);
}

TEST(DflashLayoutTest, OddRowsOfKvAreReported) {
  DflashScratchRequest r = TinyRequest(2);
  r.geometry.head_dim = 15;
  EXPECT_THAT(Layout(r).warnings(), ElementsAre(HasSubstr("8-byte vectors")));
}

TEST(DflashLayoutTest, ImpossibleInputsAreNamed) {
  const auto fails = [](auto change, const std::string& name) {
    EXPECT_THAT(Failure(change), StatusIs(StatusCode::kInvalidArgument, StartsWith(name)));
  };
  fails([](auto& r) { r.geometry.hidden_size = 0; }, "hidden_size: ");
  fails([](auto& r) { r.geometry.num_hidden_layers = 0; }, "num_hidden_layers: ");
  fails([](auto& r) { r.geometry.num_attention_heads = 0; }, "num_attention_heads: ");
  fails([](auto& r) { r.geometry.num_key_value_heads = 0; }, "num_key_value_heads: ");
  fails([](auto& r) { r.geometry.num_key_value_heads = 3; }, "num_attention_heads: expected a mul");
  fails([](auto& r) { r.geometry.head_dim = 0; }, "head_dim: ");
  fails([](auto& r) { r.geometry.intermediate_size = 0; }, "intermediate_size: ");
  fails([](auto& r) { r.geometry.vocab_size = 0; }, "vocab_size: ");
  fails([](auto& r) { r.geometry.target_taps = 0; }, "target_layer_ids");
  fails([](auto& r) { r.geometry.target_hidden_size = 0; }, "target_hidden_size: ");
  fails([](auto& r) { r.geometry.conv_group_size = 48; }, "conv_group_size: expected a divisor");
  fails([](auto& r) { r.ctx_window = 0; }, "ctx_window: ");
  fails([](auto& r) { r.max_batch = 0; }, "max_batch: ");
  fails([](auto& r) { r.gamma = 0; }, "gamma: ");
  fails([](auto& r) { r.geometry.block_size = 0; }, "gamma: ");
  fails([](auto& r) { r.version = 3; }, "version: expected 1 or 2, found 3");
  fails([](auto& r) { r.layout = DflashLayoutName::kDoc; }, "layout: doc belongs to version 1");
  EXPECT_THAT(Failure([](auto& r) { r.max_batch = 2; }, 1),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(StartsWith("max_batch: version 1"), HasSubstr("found 2"))));
}

TEST(DflashLayoutTest, OverflowNamesTheField) {
  const auto fails = [](auto change, const std::string& name) {
    EXPECT_THAT(Failure(change), StatusIs(StatusCode::kOutOfRange, StartsWith(name)));
  };
  fails([](auto& r) { r.ctx_window = kMax; }, "stream_buf: ");  // ctx_window + gamma
  fails([](auto& r) { r.max_batch = kMax; }, "stream_buf: ");
  fails([](auto& r) { r.geometry.hidden_size = kMax - 15; }, "stream_buf: ");
  fails([](auto& r) { r.geometry.num_attention_heads = kMax - 1; }, "q_buf: ");
  fails([](auto& r) { r.geometry.intermediate_size = kMax; }, "mlp_intermediate: ");
  fails([](auto& r) { r.geometry.num_hidden_layers = kMax; }, "fused_kv_out: ");
  fails([](auto& r) { r.geometry.target_taps = kMax; }, "precompute_in: ");
  fails([](auto& r) { r.geometry.vocab_size = kMax; }, "logits: ");
  fails([](auto& r) { r.geometry.markov_rank = kMax; }, "markov_embed: ");
  fails([](auto& r) { r.geometry.selector_rank = kMax; }, "sel_hproj: ");
  fails([](auto& r) { r.geometry.conv_kernel_size = kMax; }, "conv_dyn: ");
  // Each field fits, all together do not.
  fails([](auto& r) { r.geometry.intermediate_size = kMax / 37 / 3; }, "device total: ");
}

TEST(DflashLayoutTest, LayoutNames) {
  EXPECT_EQ(ParseDflashLayoutName(1, "code-a").value(), DflashLayoutName::kCodeA);
  EXPECT_EQ(ParseDflashLayoutName(2, "as-upstream").value(), DflashLayoutName::kAsUpstream);
  EXPECT_THAT(
      ParseDflashLayoutName(2, "doc"),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("expected one of normative, as-upstream for version 2, found doc")));
  EXPECT_THAT(ParseDflashLayoutName(7, "doc"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("found 7")));
}

TEST(DflashGeometryTest, FollowsTheConfig) {
  DrafterConfig c;
  c.kind = DrafterKind::kDflash2;
  c.hidden_size = 64;
  c.target_layer_ids = {1, 2, 3};
  c.target_hidden_size = 32;
  c.block_size = 8;
  c.conv_kernel_size = 2;
  c.selector_rank = 32;
  const DflashGeometry g = DflashGeometry::FromConfig(c);
  EXPECT_EQ(g.hidden_size, 64u);
  EXPECT_EQ(g.target_taps, 3u);
  EXPECT_EQ(g.target_hidden_size, 32u);
  EXPECT_EQ(g.block_size, 8u);
  EXPECT_EQ(g.selector_rank, 32u);
  DrafterTensorsPresent present = DrafterTensorsPresent::FromConfig(c);
  EXPECT_TRUE(present.convs && present.selector);
  EXPECT_FALSE(present.markov || present.confidence);
  c = {};
  c.kind = DrafterKind::kDspark;
  c.markov_rank = 256;
  c.confidence_head = true;
  present = DrafterTensorsPresent::FromConfig(c);
  EXPECT_TRUE(present.markov && present.confidence);
  EXPECT_FALSE(present.convs || present.selector);
  EXPECT_FALSE(DflashGeometry::FromConfig(c).selector_rank.has_value());
}

}  // namespace
}  // namespace draftmark
