// 20,000 proposes of random histories on one session: no write outside, memory as it was, and what
// a fresh session gives. What goes wrong a little in every step shows after thousands of them (an
// out-of-bounds write was seen after 11,000 in public).
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/draft/testing/draft_test.h"
#include "kernels/draft/testing/random_driver.h"
#include "kernels/draft/testing/soak.h"
#include "src/cuda/stream.h"
#include "src/scratch/checking_allocator.h"
#include "src/scratch/ledger.h"

namespace draftmark::kernels {
namespace {

std::uint64_t FreeDeviceBytes() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return free;
}

class SoakTest : public DraftTest, public ::testing::WithParamInterface<std::string> {};
// One of each family; own kernels, whose rows have the same bits among whatever other rows. The
// wide one runs in streaming chains where the device has them; those add in another order than the
// kernels of more rows.
INSTANTIATE_TEST_SUITE_P(Variants, SoakTest,
                         ::testing::Values("dflash", "dflash2", "dspark_rnn", "wide"),
                         [](const auto& run) { return run.param; });

TEST_P(SoakTest, TwentyThousandProposes) {
  const bool wide = GetParam() == "wide";
  const DraftVariant variant = wide ? WideDraftVariantOf("dflash2") : DraftVariantOf(GetParam());
  const SessionLimits limits = SmallLimits();
  CheckingAllocator checking(allocator(),
                             {.zone_bytes = 512, .wait_for_device = SynchronizeDevice});
  Ledger ledger;
  LedgerAllocator counted(checking, ledger);
  {
    DM_ASSERT_OK_AND_ASSIGN(
        const auto weights,
        DraftWeights::Generate(variant.config, variant.generator, counted, stream()));
    DM_ASSERT_OK_AND_ASSIGN(
        const auto session,
        OpenCudaSession(variant.config, weights, limits, counted, LibraryFor(Products::kOwn)));
    const StreamHandle handle = HandleOf(session->parts().stream);
    RandomDriver driver(variant.config, limits, session->plan(), 17);
    const auto fresh_gives = [&](const DraftStep& step,
                                 const std::vector<BlockResult>& results) -> Status {
      for (std::size_t b = 0; b < step.requests.size(); ++b) {
        const auto fresh = Open(variant, SmallLimits(1), {.graphs = false}, Products::kOwn);
        DM_RETURN_IF_ERROR(driver.AppendHistory(step.requests[b].band, *fresh));
        BlockRequest request = step.requests[b];
        request.band = 0;
        DM_ASSIGN_OR_RETURN(const auto expected, fresh->Propose({&request, 1}, nullptr));
        const std::string difference = DifferenceOf(expected, {&results[b], 1});
        if (!difference.empty()) return InternalError("a fresh session differs: " + difference);
      }
      return OkStatus();
    };
    // All shapes, so that graphs are there before memory is looked at.
    for (std::uint64_t width = 2; width <= limits.gamma; ++width) {
      for (std::uint64_t bands = 1; bands <= limits.max_batch; ++bands) {
        ASSERT_THAT(session->Prepare(width, bands), IsOk());
      }
    }
    const std::uint64_t free_before = FreeDeviceBytes();
    SoakProbe probe = {.canaries = [&] { return checking.Check(handle); },
                       .live_bytes = [&] { return ledger.Total().live_bytes; }};
    if (!wide) probe.compare = fresh_gives;
    DM_ASSERT_OK_AND_ASSIGN(
        const SoakReport report,
        RunSoak(*session, driver, {.check_every = 500, .compare_every = 2000}, probe));
    EXPECT_EQ(report.proposes, 20'000u);
    EXPECT_EQ(session->replays(), 20'000u);
    EXPECT_EQ(report.checks, 40u);
    // Every propose a replay, every byte where it was; what the driver took is told, since other
    // processes may have taken it.
    std::cout << GetParam() << ": " << report.blocks << " blocks, " << report.appended_rows
              << " rows appended, " << report.slides << " slides, " << report.resets << " resets, "
              << report.live_bytes << " live bytes; free device memory " << free_before
              << " before, " << FreeDeviceBytes() << " after\n";
  }
  EXPECT_THAT(checking.Check({}), IsOk());  // also of what was freed
  EXPECT_EQ(ledger.Total().live_bytes, 0u);
}

}  // namespace
}  // namespace draftmark::kernels
