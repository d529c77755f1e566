// Sessions in checked memory: nothing is written outside of any buffer, and no result depends on
// what was in memory before (spec/dflash_scratch.md section 5).
#include "src/scratch/poison.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/draft/testing/draft_test.h"
#include "kernels/draft/testing/random_driver.h"
#include "src/backend/cache_slots.h"
#include "src/cuda/stream.h"
#include "src/scratch/checking_allocator.h"
#include "src/scratch/dflash_fields.h"

namespace draftmark::kernels {
namespace {

enum class Path { kVersion2, kVersion1, kWithoutCache };
struct Conditions {
  CudaSessionOptions options;
  SessionLimits limits;
};
Conditions ConditionsOf(Path path) {
  switch (path) {
    case Path::kVersion2:
      return {{.scratch_version = 2}, SmallLimits(3)};
    case Path::kVersion1:
      return {{.scratch_version = 1}, SmallLimits(1)};
    case Path::kWithoutCache:
      break;
  }
  SessionLimits limits = SmallLimits(1);
  limits.ctx_window = limits.max_context;  // the row buffers hold the whole context
  return {{.scratch_version = 2, .paged = false}, limits};
}

// Everything that a propose has to write before it reads it: all of the scratch, and the workspace
// but for what lives longer.
bool Rewritten(std::string_view tag, bool paged) {
  for (const DflashField& field : kDflashFields) {
    if (field.name == tag) return true;
  }
  if (!tag.starts_with("workspace/")) return false;
  for (const std::string_view kept : {"taps", "rope_frequency", "slot_positions"}) {
    if (tag.ends_with(kept)) return false;
  }
  // Without a cache this is a constant, 0, 1, 2, ...
  return paged || tag != "workspace/block_tables";
}

class PoisonTest : public DraftTest,
                   public ::testing::WithParamInterface<std::tuple<std::string, Path>> {
 protected:
  using Transcript = std::vector<std::vector<BlockResult>>;

  // Cache slots that hold no row of any band that is in use.
  static std::vector<bool> UnusedSlots(const RandomDriver& driver, const SessionPlan& plan) {
    std::vector<bool> unused(plan.cache_slots(), true);
    for (std::size_t band = 0; band < driver.sequences().size(); ++band) {
      const Sequence& sequence = driver.sequences()[band];
      for (std::uint64_t m = 0; m < sequence.committed; ++m) {
        unused[static_cast<std::size_t>(SlotOf(sequence.block_table, m))] = false;
      }
    }
    return unused;
  }
  // Poisons the unused slots of an array [layers, slots] with `width` bytes each.
  static void PoisonSlots(CheckingAllocator& checking, void* array, std::uint64_t layers,
                          std::uint64_t width, const std::vector<bool>& unused, Poison poison,
                          std::uint64_t seed, StreamHandle stream) {
    std::vector<std::byte> bytes(layers * unused.size() * width);
    ASSERT_THAT(checking.GetBytes({array}, bytes, stream), IsOk());
    for (std::size_t i = 0; i < layers * unused.size(); ++i) {
      if (!unused[i % unused.size()]) continue;
      FillPoison(std::span(bytes).subspan(i * width, width), poison, seed, i * width);
    }
    ASSERT_THAT(checking.PutBytes({array}, bytes, stream), IsOk());
  }
  static void PoisonAll(CheckingAllocator& checking, const CudaDraftSession& session,
                        const RandomDriver& driver, const DrafterConfig& config, Poison poison,
                        std::uint64_t seed) {
    const DraftParts& parts = session.parts();
    const StreamHandle stream = HandleOf(parts.stream);
    const bool paged = session.plan().paged;
    ASSERT_THAT(checking.Repoison([&](std::string_view tag) { return Rewritten(tag, paged); },
                                  poison, seed, stream),
                IsOk());
    if (!paged) return;
    const std::vector<bool> unused = UnusedSlots(driver, session.plan());
    const std::uint64_t layers = config.num_hidden_layers;
    for (BFloat16* const pool : {parts.cache.k, parts.cache.v}) {
      PoisonSlots(checking, pool, layers, config.kv_dim() * sizeof(BFloat16), unused, poison, seed,
                  stream);
    }
    if (parts.workspace.slot_positions == nullptr) return;
    PoisonSlots(checking, parts.workspace.slot_positions, 1, sizeof(std::int32_t), unused, poison,
                seed, stream);
  }

  void Run(Poison poison, bool repoison, Products products, int steps, Transcript& transcript) {
    const DraftVariant variant = DraftVariantOf(std::get<0>(GetParam()));
    const Conditions conditions = ConditionsOf(std::get<1>(GetParam()));
    // Zones longer than any row: also a row written one too far is found.
    CheckingAllocator checking(allocator(), {.zone_bytes = 512,
                                             .poison = poison,
                                             .poison_seed = 5,
                                             .wait_for_device = SynchronizeDevice});
    {
      DM_ASSERT_OK_AND_ASSIGN(
          const auto weights,
          DraftWeights::Generate(variant.config, variant.generator, checking, stream()));
      DM_ASSERT_OK_AND_ASSIGN(const auto session,
                              OpenCudaSession(variant.config, weights, conditions.limits, checking,
                                              LibraryFor(products), conditions.options));
      const StreamHandle handle = HandleOf(session->parts().stream);
      RandomDriver driver(variant.config, conditions.limits, session->plan(), 21);
      std::set<std::pair<std::size_t, std::size_t>> shapes;
      for (int i = 0; i < steps; ++i) {
        const DraftStep& step = driver.Next();
        ASSERT_THAT(ApplyChanges(*session, step), IsOk());
        if (repoison) {
          const std::pair shape(step.requests.front().tokens.size(), step.requests.size());
          // Graphs run once as they are made: before the poison, most of which that would undo.
          if (shapes.insert(shape).second) {
            ASSERT_THAT(session->Prepare(shape.first, shape.second), IsOk());
          }
          PoisonAll(checking, *session, driver, variant.config, poison,
                    static_cast<std::uint64_t>(i));
          if (HasFatalFailure()) return;
        }
        DM_ASSERT_OK_AND_ASSIGN(std::vector<BlockResult> results,
                                session->Propose(step.requests, nullptr));
        transcript.push_back(std::move(results));
        ASSERT_THAT(checking.Check(handle), IsOk()) << "step " << i;
      }
    }
    // Also of what was freed.
    ASSERT_THAT(checking.Check({}), IsOk());
  }

  void ExpectNoDependence(Products products, const std::vector<Poison>& poisons, int steps) {
    Transcript expected;
    Run(Poison::kZeros, /*repoison=*/false, products, steps, expected);
    if (HasFatalFailure()) return;
    ASSERT_EQ(expected.size(), static_cast<std::size_t>(steps));
    for (const Poison poison : poisons) {
      Transcript got;
      Run(poison, /*repoison=*/true, products, steps, got);
      if (HasFatalFailure()) return;
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(DifferenceOf(expected[i], got[i]), "")
            << "step " << i << " with poison " << static_cast<int>(poison);
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Variants, PoisonTest,
                         ::testing::Combine(::testing::ValuesIn(DraftVariantNames()),
                                            ::testing::Values(Path::kVersion2, Path::kVersion1,
                                                              Path::kWithoutCache)),
                         [](const auto& run) {
                           const Path path = std::get<1>(run.param);
                           return std::get<0>(run.param) + (path == Path::kVersion2 ? "_v2"
                                                            : path == Path::kVersion1
                                                                ? "_v1"
                                                                : "_without_cache");
                         });

TEST_P(PoisonTest, ResultsDoNotDependOnPriorContents) {
  ExpectNoDependence(Products::kLibrary, {Poison::kZeros, Poison::kOnes}, 24);
}

// Random bytes are made by the host, too slowly for the library's workspace of 32 MiB; own kernels
// need none.
TEST_P(PoisonTest, NorOnRandomContents) {
  ExpectNoDependence(Products::kOwn, {Poison::kRandom}, 12);
}

// What the two above rest on: a poisoned slot that is in use changes a result.
TEST_F(DraftTest, PoisonInAUsedSlotShows) {
  const DraftVariant variant = DraftVariantOf("dspark_rnn");
  const auto session = Open(variant, SmallLimits(1));
  ASSERT_THAT(AppendRows(*session, variant.config, 0, 1, 0, 20), IsOk());
  const BlockRequest block = Block(variant.config, 0, 3, 20, 8);
  DM_ASSERT_OK_AND_ASSIGN(const auto expected, session->Propose({&block, 1}, nullptr));
  const DraftParts& parts = session->parts();
  const std::uint64_t bytes = session->memory().cache / 2;
  ASSERT_EQ(cudaMemsetAsync(parts.cache.v, 0xFF, bytes, parts.stream), cudaSuccess);
  DM_ASSERT_OK_AND_ASSIGN(const auto got, session->Propose({&block, 1}, nullptr));
  EXPECT_NE(DifferenceOf(expected, got), "");
}

}  // namespace
}  // namespace draftmark::kernels
