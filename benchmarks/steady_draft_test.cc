#include "benchmarks/steady_draft.h"

#include <algorithm>

#include "src/base/status_matchers.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/graph.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

class SteadyDraftTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) gpu_ = BenchmarkGpu::Create().value();
  }
  StatusOr<std::unique_ptr<SteadyDraft>> Open(const std::string& text) {
    return SteadyDraft::Open(*gpu_,
                             FindDraftCases({.catalogue = "", .drafts = {text}}).value().front());
  }

  std::unique_ptr<BenchmarkGpu> gpu_;
};

TEST_F(SteadyDraftTest, RunsEveryKindOfDrafterAgainAndAgain) {
  for (const char* const text :
       {"synthetic/tiny-dflash,ctx=33,new=4,nb=1", "synthetic/tiny-dflash,ctx=33,new=5,nb=3",
        "synthetic/tiny-dflash2,ctx=300,new=1,nb=2", "synthetic/tiny-dspark,ctx=20,new=7,nb=2",
        "synthetic/tiny-dflash,ctx=0,new=3,nb=1", "synthetic/tiny-dflash,ctx=9,new=0,nb=1"}) {
    SCOPED_TRACE(text);
    DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SteadyDraft> draft, Open(text));
    DM_ASSERT_OK_AND_ASSIGN(const DraftTimes times, draft->Measure(3));
    for (const std::vector<double>* const series : {&times.graph, &times.queued, &times.propose}) {
      ASSERT_EQ(series->size(), 3u);
      EXPECT_GT(series->front(), 0);
      EXPECT_TRUE(std::is_sorted(series->begin(), series->end()));
    }
    EXPECT_GT(draft->memory().weights, 0u);
  }
}

TEST_F(SteadyDraftTest, ALongTailIsTimedAlone) {
  const DraftCase c =
      FindDraftCases({.catalogue = "", .drafts = {"synthetic/tiny-dflash,ctx=0,new=300,nb=1"}})
          .value()
          .front();
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SteadyDraft> draft,
                          SteadyDraft::OpenForContext(*gpu_, c));
  for (int i = 0; i < 3; ++i) {
    DM_ASSERT_OK_AND_ASSIGN(const double milliseconds, draft->RunContext());
    EXPECT_GT(milliseconds, 0);
  }
  DraftCase few = c;
  few.shape.new_rows = 4;
  EXPECT_THAT(SteadyDraft::OpenForContext(*gpu_, few).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("new: 4 rows go through")));
}

// What draft_benchmark reports of it.
TEST_F(SteadyDraftTest, ADraftLaunchesKernelsAndAllocatesNothing) {
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SteadyDraft> draft,
                          Open("synthetic/tiny-dflash,ctx=33,new=4,nb=1"));
  const LedgerAccount opened = draft->ledger().Total(MemoryKind::kDevice);
  EXPECT_EQ(opened.live_bytes, draft->memory().device());
  const std::uint64_t before = CudaGraph::KernelsLaunched();
  EXPECT_THAT(draft->RunGraph().status(), IsOk());
  const std::uint64_t launches = CudaGraph::KernelsLaunched() - before;
  EXPECT_GT(launches, 20u);
  EXPECT_THAT(draft->RunGraph().status(), IsOk());
  EXPECT_EQ(CudaGraph::KernelsLaunched() - before, 2 * launches);
  EXPECT_EQ(draft->ledger().Total(MemoryKind::kDevice), opened);
}

TEST_F(SteadyDraftTest, MoreNewRowsThanTheGraphTakesAreRefused) {
  EXPECT_THAT(Open("synthetic/tiny-dflash,gamma=5,ctx=33,new=6").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("new: 6 rows of 1 band(s)")));
}

}  // namespace
}  // namespace draftmark
