#include "benchmarks/operation_shapes.h"

#include <algorithm>
#include <set>

#include "benchmarks/draft_case.h"
#include "src/base/status_matchers.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class OperationShapesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    catalogue_ = LoadDrafterCatalogue("").value();
    drafters_ = VerifiedDrafters(catalogue_.json, catalogue_.path).value();
  }

  const NamedDrafter& Drafter(std::string_view id) const {
    return *std::find_if(drafters_.begin(), drafters_.end(),
                         [&](const NamedDrafter& drafter) { return drafter.id == id; });
  }
  static std::vector<std::string> Ids(const std::vector<OperationShape>& shapes) {
    std::vector<std::string> ids;
    ids.reserve(shapes.size());
    for (const OperationShape& shape : shapes) ids.push_back(shape.c.Id());
    return ids;
  }
  std::vector<std::string> IdsOf(std::string_view id) const {
    return Ids(OperationShapes({Drafter(id)}, Suite::kAll).value());
  }

  DrafterCatalogue catalogue_;
  std::vector<NamedDrafter> drafters_;
};

TEST_F(OperationShapesTest, DraftersAreTheRunnableOnesWithoutSyntheticOnes) {
  // 32 of the 44 entries run (README); three of them are synthetic.
  EXPECT_EQ(drafters_.size(), 29u);
  std::set<std::string> ids;
  for (const NamedDrafter& drafter : drafters_) ids.insert(drafter.id);
  EXPECT_EQ(ids.size(), drafters_.size());
  EXPECT_THAT(ids, IsSupersetOf({"qwen3-8b-dflash-b16", "qwen3.8-27b-dflash2", "kimi-k3-dspark"}));
  EXPECT_THAT(ids, Not(Contains(HasSubstr("tiny"))));
  EXPECT_THAT(ids, Not(Contains("qwen3.5-9b-dflash")));
}

// Qwen3-8B's drafter: h 4096, 32 heads and 8 KV heads of 128, 5 layers and taps, blocks of 16.
TEST_F(OperationShapesTest, ADraftersLaunches) {
  const std::vector<std::string> ids = IdsOf("qwen3-8b-dflash-b16");
  EXPECT_THAT(
      ids,
      ::testing::UnorderedElementsAre(
          "op/embed/rows=16,v=151936,h=4096,mask=0/bf16",
          "op/row_gather/rows=8,from=256,width=20480/bf16",
          "op/linear/rows=8,n=4096,k=20480,bias=0,cap=0/bf16",
          "op/linear/rows=8,n=10240,k=4096,bias=0,cap=0/bf16",
          "op/linear/rows=16,n=4096,k=4096,bias=0,cap=0/bf16",
          "op/linear/rows=16,n=1024,k=4096,bias=0,cap=0/bf16",
          "op/linear/rows=16,n=12288,k=4096,bias=0,cap=0/bf16",
          "op/linear/rows=16,n=4096,k=12288,bias=0,cap=0/bf16",
          "op/linear/rows=16,n=151936,k=4096,bias=0,cap=0/bf16",
          "op/kv_split/rows=8,layers=5,kv=1024/bf16", "op/rms_norm/rows=8,h=4096/bf16",
          "op/rms_norm/rows=16,h=4096/bf16", "op/head_norm/rows=8,heads=8,d=128/bf16",
          "op/head_norm/rows=16,heads=32,d=128/bf16", "op/head_norm/rows=16,heads=8,d=128/bf16",
          "op/rope/rows=40,heads=8,d=128,rotary=128,half_head=0/bf16",
          "op/rope/rows=16,heads=32,d=128,rotary=128,half_head=0/bf16",
          "op/rope/rows=16,heads=8,d=128,rotary=128,half_head=0/bf16",
          "op/slot_fill/rows=16,band=16,ctx=2056/bf16",
          "op/kv_write/rows=8,kv=8,d=128,blocks=130/bf16",
          "op/kv_write/rows=16,kv=8,d=128,blocks=130/bf16",
          "op/paged_attention/rows=16,heads=32,kv=8,d=128,ctx=2056,window=0,causal=0,sink=0/bf16",
          "op/silu_mul/rows=16,width=12288/bf16", "op/residual_add/rows=16,width=4096/bf16",
          "op/argmax/rows=16,v=151936/bf16"));
}

TEST_F(OperationShapesTest, HeadsAndKindsOfLayers) {
  EXPECT_THAT(IdsOf("qwen3.8-27b-dflash2"),
              IsSupersetOf({"op/top16/rows=8,v=248320/bf16",
                            "op/selector_walk/rows=8,band=8,v=248320,r=256/bf16"}));
  EXPECT_THAT(IdsOf("qwen3.8-27b-dflash2"), Contains(HasSubstr("op/conv_prepare/rows=8,h=5120,")));
  EXPECT_THAT(IdsOf("qwen3.8-27b-dflash2"), Contains(HasSubstr("window=2048,")));
  EXPECT_THAT(IdsOf("qwen3.8-27b-dflash2"), Not(Contains(HasSubstr("op/argmax"))));
  EXPECT_THAT(IdsOf("qwen3.8-27b-dspark"),
              IsSupersetOf({"op/markov_step/rows=1,v=248320,r=256,h=5120,type=0/bf16",
                            "op/argmax/rows=1,v=248320/bf16"}));
  NamedDrafter capped = Drafter("gemma-4-31b-it-dflash");
  capped.config.final_logit_softcapping = 30;
  EXPECT_THAT(Ids(OperationShapes({capped}, Suite::kAll).value()),
              Contains("op/linear/rows=16,n=262144,k=5376,bias=0,cap=1/bf16"));
}

TEST_F(OperationShapesTest, AllAreThereOnceInTheRegistrysOrder) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<OperationShape> shapes,
                          OperationShapes(drafters_, Suite::kAll));
  const std::vector<std::string> ids = Ids(shapes);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_GT(ids.size(), 250u);
  std::vector<std::string_view> order;
  for (const OperationShape& shape : shapes) {
    if (order.empty() || order.back() != shape.c.operation->name) {
      order.push_back(shape.c.operation->name);
    }
  }
  std::vector<std::string_view> registry;
  for (const Operation& operation : AllOperations()) registry.push_back(operation.name);
  EXPECT_EQ(order, registry);
  for (const NamedDrafter& drafter : drafters_) {
    EXPECT_THAT(ids, IsSupersetOf(IdsOf(drafter.id))) << drafter.id;
  }
}

TEST_F(OperationShapesTest, ASharedShapeNamesItsDrafters) {
  const std::vector<OperationShape> shapes =
      OperationShapes({Drafter("qwen3-8b-dflash-b16"), Drafter("longcat-flash-dflash"),
                       Drafter("qwen3-8b-dflash-b16")},
                      Suite::kAll)
          .value();
  for (const OperationShape& shape : shapes) {
    if (shape.c.operation->name == "head_norm") {
      EXPECT_EQ(shape.Label(), "qwen3-8b-dflash-b16 and 2 more");
    }
    if (shape.c.Id() == "op/embed/rows=16,v=131072,h=6144,mask=0/bf16") {
      EXPECT_EQ(shape.Label(), "longcat-flash-dflash");
    }
  }
}

TEST_F(OperationShapesTest, TheCompactSuiteHasEveryOperationAndSixtyShapes) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<OperationShape> shapes,
                          OperationShapes(drafters_, Suite::kCompact));
  EXPECT_EQ(shapes.size(), 60u);
  std::set<std::string_view> operations;
  for (const OperationShape& shape : shapes) operations.insert(shape.c.operation->name);
  EXPECT_EQ(operations.size(), AllOperations().size());
  EXPECT_THAT(Ids(shapes), IsSupersetOf(IdsOf("qwen3-8b-dflash-b16")));
  EXPECT_THAT(Ids(shapes), Contains("op/linear/rows=7,n=17408,k=5120,bias=0,cap=0/bf16"));
  // Of the third drafter only these, and what the others lack.
  EXPECT_THAT(Ids(shapes), Not(Contains("op/argmax/rows=1,v=248320/bf16")));
  EXPECT_THAT(OperationShapes({Drafter("qwen3-8b-dflash-b16")}, Suite::kCompact).status(),
              StatusIs(StatusCode::kNotFound, "no drafter qwen3.8-27b-dflash2"));
}

}  // namespace
}  // namespace draftmark
