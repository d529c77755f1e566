// What a session allocates: every byte by a formula, all of it when it is opened, and all of it
// given back (spec/dflash_scratch.md section 1). And what happens where it cannot be opened.
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/draft/testing/draft_test.h"
#include "src/scratch/fault_injection.h"
#include "src/scratch/ledger.h"
#include "src/weights/random_drafter.h"

namespace draftmark::kernels {
namespace {

using ::testing::HasSubstr;

// Elements of all tensors of a checkpoint and of the target's two.
std::uint64_t WeightElements(const DraftVariant& variant) {
  const DrafterConfig& c = variant.config;
  std::uint64_t elements = CountDrafterParameters(c) + 2 * c.vocab_size * c.hidden_size;
  if (variant.generator.sinks) elements += c.num_hidden_layers * c.num_attention_heads;
  if (variant.generator.mask_embedding) elements += c.hidden_size;
  return elements;
}

std::uint64_t LiveBytes(const Ledger& ledger, std::string_view prefix, MemoryKind kind) {
  std::uint64_t bytes = 0;
  for (const LedgerLine& line : ledger.Lines()) {
    if (line.kind == kind && line.tag.starts_with(prefix)) bytes += line.account.live_bytes;
  }
  return bytes;
}

using Parameters = std::tuple<std::string, std::uint64_t, std::uint64_t>;  // version, bands
class SessionMemoryTest : public DraftTest, public ::testing::WithParamInterface<Parameters> {};

std::vector<Parameters> AllParameters() {
  std::vector<Parameters> all;
  for (const std::string& name : DraftVariantNames()) {
    all.emplace_back(name, 1, 1);
    all.emplace_back(name, 2, 1);
    all.emplace_back(name, 2, 8);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Variants, SessionMemoryTest, ::testing::ValuesIn(AllParameters()),
                         [](const auto& run) {
                           return std::get<0>(run.param) + "_v" +
                                  std::to_string(std::get<1>(run.param)) + "_nb" +
                                  std::to_string(std::get<2>(run.param));
                         });

TEST_P(SessionMemoryTest, EveryByteHasItsFormula) {
  const auto& [name, version, bands] = GetParam();
  const DraftVariant variant = DraftVariantOf(name);
  const DrafterConfig& c = variant.config;
  const SessionLimits limits = SmallLimits(bands);
  Ledger ledger;
  LedgerAllocator counted(allocator(), ledger);
  for (const bool fast : {false, true}) {
    SCOPED_TRACE(fast ? "fast" : "simple");
    DM_ASSERT_OK_AND_ASSIGN(const auto weights,
                            DraftWeights::Generate(c, variant.generator, counted, stream()));
    EXPECT_EQ(weights->bytes(), 2 * WeightElements(variant));
    EXPECT_EQ(ledger.Total().live_bytes, weights->bytes());
    EXPECT_EQ(LiveBytes(ledger, "weights/", MemoryKind::kDevice), weights->bytes());
    DM_ASSERT_OK_AND_ASSIGN(
        const auto session,
        OpenCudaSession(c, weights, limits, counted, LibraryFor(Products::kLibrary),
                        {.scratch_version = version, .fast = fast}));
    const SessionMemory memory = session->memory();
    EXPECT_EQ(memory.weights, weights->bytes());

    // Five blocks of 16 hold 70 context rows, a block of 8 and one row more; one block is nobody's.
    const std::uint64_t slots = 16 * (5 * bands + 1);
    EXPECT_EQ(ledger.Of("kv_pool_k").live_bytes, slots * c.kv_dim() * c.num_hidden_layers * 2);
    EXPECT_EQ(ledger.Of("kv_pool_v").live_bytes, ledger.Of("kv_pool_k").live_bytes);
    EXPECT_EQ(memory.cache, 2 * ledger.Of("kv_pool_k").live_bytes);

    // The scratch by a layout of one's own.
    DflashScratchRequest request;
    request.geometry = DflashGeometry::FromConfig(c);
    request.tensors = weights->present();
    request.version = version;
    request.ctx_window = limits.ctx_window;
    request.max_batch = bands;
    request.gamma = limits.gamma;
    request.batched_heads = bands > 1;
    DM_ASSERT_OK_AND_ASSIGN(const DflashScratchLayout layout, DflashScratchLayout::Create(request));
    std::uint64_t scratch = 0;
    for (const DflashFieldLayout& entry : layout.fields()) {
      const LedgerAccount account = ledger.Of(entry.field->name);
      EXPECT_EQ(account.live_bytes, entry.bytes) << entry.field->name;
      EXPECT_EQ(account.live_count, entry.bytes > 0 ? 1u : 0u) << entry.field->name;
      if (entry.field->memory == DflashMemory::kDevice) scratch += account.live_bytes;
    }
    EXPECT_EQ(memory.scratch, scratch);
    EXPECT_EQ(memory.scratch, layout.device_bytes());
    EXPECT_EQ(memory.scratch_pinned, bands * limits.gamma * 4);

    DM_ASSERT_OK_AND_ASSIGN(
        const HarnessWorkspaceLayout workspace,
        HarnessWorkspaceLayout::Create({.config = &c,
                                        .plan = &session->plan(),
                                        .limits = limits,
                                        .tensors = weights->present(),
                                        .markov_type = weights->get().markov.type,
                                        .library = true,
                                        .chains = fast}));
    for (const WorkspaceField& field : workspace.fields()) {
      const LedgerAccount account = ledger.Of("workspace/" + field.name);
      EXPECT_EQ(account.live_bytes, field.bytes) << field.name << ": " << field.formula;
      EXPECT_EQ(account.live_count, field.bytes > 0 ? 1u : 0u) << field.name;
    }
    EXPECT_EQ(memory.workspace, LiveBytes(ledger, "workspace/", MemoryKind::kDevice));
    EXPECT_EQ(memory.workspace_pinned, LiveBytes(ledger, "workspace/", MemoryKind::kHostPinned));

    // Nothing else.
    EXPECT_EQ(ledger.Total(MemoryKind::kDevice).live_bytes, memory.device());
    EXPECT_EQ(ledger.Total(MemoryKind::kHostPinned).live_bytes,
              memory.scratch_pinned + memory.workspace_pinned);
    // And nothing later.
    const std::uint64_t allocations = ledger.Total().total_count;
    ASSERT_THAT(AppendRows(*session, c, 0, 1, 0, 40), IsOk());
    const BlockRequest block = Block(c, 0, 3, 40, 8);
    ASSERT_THAT(session->Propose({&block, 1}, nullptr), IsOk());
    EXPECT_EQ(ledger.Total().total_count, allocations);
  }
  EXPECT_EQ(ledger.Total().live_bytes, 0u) << ledger.ToString();
  EXPECT_EQ(ledger.Total().live_count, 0u) << ledger.ToString();
}

class SessionOpenTest : public DraftTest {};

TEST_F(SessionOpenTest, ATiedHeadIsStoredOnce) {
  DrafterConfig config = SmallDrafterConfig();
  DrafterWeights weights = *RandomWeights(config, 11);
  const auto bytes = [&] {
    return DraftWeights::Upload(config, weights, allocator(), stream()).value()->bytes();
  };
  const std::uint64_t table = config.vocab_size * config.hidden_size;
  EXPECT_EQ(bytes(), 2 * (CountDrafterParameters(config) + 2 * table));
  weights.lm_head = weights.embed;
  EXPECT_EQ(bytes(), 2 * (CountDrafterParameters(config) + table));
  DM_ASSERT_OK_AND_ASSIGN(const auto uploaded,
                          DraftWeights::Upload(config, weights, allocator(), stream()));
  EXPECT_EQ(uploaded->get().lm_head, uploaded->get().embed);
}

TEST_F(SessionOpenTest, AHundredProposesLeaveTheDevicesMemoryAsItIs) {
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  for (const bool graphs : {true, false}) {
    const DraftVariant variant = DraftVariantOf("dspark_rnn");
    const auto session = Open(variant, SmallLimits(), {.graphs = graphs});
    ASSERT_THAT(session->Prepare(8, 2), IsOk());
    std::int32_t position = 0;
    const auto propose = [&](bool with_rows) {
      std::vector<BlockRequest> requests;
      position += with_rows ? 1 : 0;
      for (std::size_t band = 0; band < 2; ++band) {
        if (with_rows) {
          ASSERT_THAT(AppendRows(*session, variant.config, band, band, position, 1), IsOk());
        }
        requests.push_back(Block(variant.config, band, 3, position + 1, 8));
      }
      ASSERT_THAT(session->Propose(requests, nullptr), IsOk());
    };
    // Graphs upload themselves with their first launch.
    propose(true);
    propose(false);
    const std::size_t before = free_bytes();
    for (int i = 0; i < 100; ++i) propose(i % 2 == 0);
    EXPECT_EQ(free_bytes(), before) << (graphs ? "graphs" : "eager");
  }
}

TEST_F(SessionOpenTest, FailsCleanlyAtEveryAllocation) {
  for (const char* const name : {"dflash_odd", "dflash2", "dspark_rnn"}) {
    const DraftVariant variant = DraftVariantOf(name);
    Ledger ledger;
    LedgerAllocator counted(allocator(), ledger);
    std::uint64_t n = 0;
    for (bool opened = false; !opened; ++n) {
      ASSERT_LT(n, 500u) << "never succeeds";
      FaultInjectingAllocator failing(counted, {.fail_allocation = n + 1});
      Status status;
      {
        const auto weights =
            DraftWeights::Generate(variant.config, variant.generator, failing, stream());
        status = weights.status();
        if (weights.ok()) {
          const auto session = OpenCudaSession(variant.config, *weights, SmallLimits(), failing,
                                               LibraryFor(Products::kLibrary));
          status = session.status();
        }
      }
      opened = status.ok();
      if (!opened) {
        EXPECT_THAT(status,
                    StatusIs(StatusCode::kResourceExhausted,
                             HasSubstr("injected failure of allocation " + std::to_string(n + 1))));
      }
      ASSERT_EQ(ledger.Total().live_count, 0u) << "failure " << n + 1 << "\n" << ledger.ToString();
    }
    // Thirty tensors of weights, and twenty fields of scratch.
    EXPECT_GT(n, 50u) << name;
  }
}

TEST_F(SessionOpenTest, SaysWhatCannotBe) {
  const auto open = [&](const DrafterConfig& config, const SessionLimits& limits,
                        const CudaSessionOptions& options = {}) {
    const auto weights =
        DraftWeights::Upload(config, *RandomWeights(config, 11), allocator(), stream());
    EXPECT_THAT(weights, IsOk());
    return OpenCudaSession(config, *weights, limits, allocator(), LibraryFor(Products::kLibrary),
                           options)
        .status();
  };
  const DrafterConfig good = SmallDrafterConfig();
  EXPECT_THAT(open(good, SmallLimits()), IsOk());

  DrafterConfig wide = good;
  wide.head_dim = 256;
  EXPECT_THAT(open(wide, SmallLimits()), IsOk());
  wide.head_dim = 258;
  EXPECT_THAT(open(wide, SmallLimits()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("head_dim 258")));

  DrafterConfig few = DraftVariantOf("dflash2").config;
  few.selector_top_k = 8;
  EXPECT_THAT(open(few, SmallLimits()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("selector_top_k 8")));

  EXPECT_THAT(open(good, SmallLimits(0)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("max_batch 0")));
  EXPECT_THAT(
      open(good, SmallLimits(2), {.scratch_version = 1}),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("version 1 holds a single sequence")));
  EXPECT_THAT(open(good, SmallLimits(2), {.paged = false}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("without a cache has one band")));
  EXPECT_THAT(open(good, SmallLimits(), {.scratch_version = 3}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("version: expected 1 or 2")));
  SessionLimits narrow = SmallLimits();
  narrow.gamma = 1;
  EXPECT_THAT(open(good, narrow), StatusIs(StatusCode::kInvalidArgument, HasSubstr("gamma 1")));
  SessionLimits many = SmallLimits();
  many.max_context = std::uint64_t{1} << 31;
  EXPECT_THAT(open(good, many),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("max_context 2147483648")));
  EXPECT_THAT(open(good, SmallLimits(9000)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 65535 rows")));
  EXPECT_EQ(allocator().live_count(), 0u);
}

// A tensor of another size would be read beyond its end, a missing one as whatever was there.
TEST_F(SessionOpenTest, WeightsOfAnotherConfigAreRefused) {
  DrafterConfig config = SmallDrafterConfig();
  const auto weights = RandomWeights(config, 12);
  const auto upload = [&] {
    return DraftWeights::Upload(config, *weights, allocator(), stream()).status();
  };
  EXPECT_THAT(upload(), IsOk());
  config.intermediate_size += 8;
  EXPECT_THAT(
      upload(),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("layers.0.mlp.gate_proj.weight: expected 4224 elements, found 3840")));
  config.intermediate_size -= 8;
  config.attention_bias = true;
  EXPECT_THAT(upload(), StatusIs(StatusCode::kInvalidArgument,
                                 HasSubstr("layers.0.self_attn.q_proj.bias: expected 96 elements, "
                                           "found 0")));
  EXPECT_EQ(allocator().live_count(), 0u);
}

}  // namespace
}  // namespace draftmark::kernels
