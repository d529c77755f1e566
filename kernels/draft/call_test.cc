// What a propose asks of CUDA: no memory, and no wait but the one for the tokens' event
// (spec/dflash_scratch.md section 5). Every call of the runtime and the driver is recorded.
//
// That nothing captured waits or allocates needs no test of its own: graphs are captured in global
// mode (src/cuda/graph.h), in which such a call fails the capture, and with it Prepare.
#include <fmt/format.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/draft/testing/call_recorder.h"
#include "kernels/draft/testing/draft_test.h"

namespace draftmark::kernels {
namespace {

TEST(CallKindTest, KnowsCallsByTheirNames) {
  for (const char* const name : {"cudaMalloc",
                                 "cudaMallocAsync",
                                 "cudaMallocHost",
                                 "cudaFree",
                                 "cudaFreeHost",
                                 "cuMemAlloc",
                                 "cuMemAllocAsync",
                                 "cuMemFree",
                                 "cuMemFreeHost",
                                 "cudaHostAlloc",
                                 "cuMemHostAlloc",
                                 "cudaGraphInstantiate",
                                 "cuGraphInstantiateWithFlags",
                                 "cudaStreamBeginCapture",
                                 "cudaMemPoolCreate",
                                 "cuMemCreate",
                                 "cudaEventCreateWithFlags",
                                 "cudaEventDestroy",
                                 "cuModuleLoadData",
                                 "cuLibraryLoadData"}) {
    EXPECT_EQ(KindOfCall(name), CallKind::kAllocates) << name;
  }
  for (const char* const name :
       {"cudaStreamSynchronize", "cuStreamSynchronize", "cudaDeviceSynchronize", "cuCtxSynchronize",
        "cudaMemcpy", "cuMemcpyDtoH", "cudaMemset", "cudaMemcpyToSymbol"}) {
    EXPECT_EQ(KindOfCall(name), CallKind::kWaits) << name;
  }
  EXPECT_EQ(KindOfCall("cudaEventSynchronize"), CallKind::kEventWaits);
  EXPECT_EQ(KindOfCall("cuEventSynchronize"), CallKind::kEventWaits);
  for (const char* const name :
       {"cudaMemcpyAsync", "cuMemcpyHtoDAsync", "cudaGraphLaunch", "cudaLaunchKernel",
        "cudaEventRecord", "cudaMemsetAsync", "cudaGetLastError", "cuLaunchKernelEx"}) {
    EXPECT_EQ(KindOfCall(name), CallKind::kOther) << name;
  }
}

std::string Listed(const CallCounts& calls) {
  std::string text;
  for (const auto& [name, count] : calls) text += fmt::format("  {:6} {}\n", count, name);
  return text;
}

class CallTest : public DraftTest {
 protected:
  void SetUp() override {
    DraftTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    StatusOr<std::unique_ptr<CallRecorder>> recorder = CallRecorder::Create();
    if (!recorder.ok()) GTEST_SKIP() << recorder.status().ToString();
    recorder_ = *std::move(recorder);
  }

  // Proposes at all widths from 3 on with one to three bands, each behind verified rows.
  void ProposeAll(CudaDraftSession& session, const DrafterConfig& config, std::int32_t& position,
                  bool record, CallCounts& calls, std::uint64_t& proposes) {
    for (std::size_t width = 3; width <= 8; ++width) {
      for (std::size_t bands = 1; bands <= 3; ++bands) {
        std::vector<BlockRequest> requests;
        for (std::size_t band = 0; band < bands; ++band) {
          // Appending copies what the caller has and waits for that: no part of a propose.
          ASSERT_THAT(AppendRows(session, config, band, band, position, 2), IsOk());
          requests.push_back(Block(config, band, 3, position + 2, width));
        }
        position += 2;
        if (record) {
          ASSERT_THAT(recorder_->Start(), IsOk());
        }
        const Status enqueued = session.Enqueue(requests);
        const StatusOr<std::vector<BlockResult>> results = session.Collect();
        if (record) {
          DM_ASSERT_OK_AND_ASSIGN(const CallCounts made, recorder_->Stop());
          for (const auto& [name, count] : made) calls[name] += count;
          ++proposes;
        }
        ASSERT_THAT(enqueued, IsOk());
        ASSERT_THAT(results, IsOk());
      }
    }
  }

  void ExpectOnlyTheEvent(const CallCounts& calls, std::uint64_t proposes) {
    for (const auto& [name, count] : calls) {
      EXPECT_NE(KindOfCall(name), CallKind::kAllocates) << name << ", " << count << " times";
      EXPECT_NE(KindOfCall(name), CallKind::kWaits) << name << ", " << count << " times";
    }
    ASSERT_TRUE(calls.contains("cudaEventSynchronize"));
    EXPECT_EQ(calls.at("cudaEventSynchronize"), proposes);
  }

  std::unique_ptr<CallRecorder> recorder_;
};

TEST_F(CallTest, TheRecorderSeesAllocationsAndWaits) {
  ASSERT_THAT(recorder_->Start(), IsOk());
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 1000), cudaSuccess);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
  DM_ASSERT_OK_AND_ASSIGN(const CallCounts calls, recorder_->Stop());
  for (const char* const name : {"cudaMalloc", "cudaFree", "cudaStreamSynchronize"}) {
    ASSERT_TRUE(calls.contains(name)) << name << " in\n" << Listed(calls);
    EXPECT_EQ(calls.at(name), 1u) << name;
  }
  std::uint64_t driver = 0;
  for (const auto& [name, count] : calls) driver += name.starts_with("cuda") ? 0 : count;
  EXPECT_GE(driver, 1u) << "no call of the driver in\n" << Listed(calls);
  // Behind Stop nothing is recorded.
  ASSERT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
  ASSERT_THAT(recorder_->Start(), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const CallCounts none, recorder_->Stop());
  EXPECT_FALSE(none.contains("cudaStreamSynchronize"));
}

class CallVariantTest : public CallTest, public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Variants, CallVariantTest, ::testing::ValuesIn(DraftVariantNames()),
                         [](const auto& run) { return run.param; });

// Straight behind Prepare: nothing was proposed before.
TEST_P(CallVariantTest, AReplayNeitherAllocatesNorWaits) {
  const DraftVariant variant = DraftVariantOf(GetParam());
  SessionLimits limits = SmallLimits();
  limits.max_context = 100;
  const auto session = Open(variant, limits);
  for (std::uint64_t width = 3; width <= 8; ++width) {
    for (std::uint64_t bands = 1; bands <= 3; ++bands) {
      ASSERT_THAT(session->Prepare(width, bands), IsOk());
    }
  }
  CallCounts calls;
  std::uint64_t proposes = 0;
  std::int32_t position = 0;
  ProposeAll(*session, variant.config, position, /*record=*/true, calls, proposes);
  ASSERT_EQ(proposes, 18u);
  EXPECT_EQ(session->replays(), proposes);
  ExpectOnlyTheEvent(calls, proposes);
  ASSERT_TRUE(calls.contains("cudaGraphLaunch"));
  EXPECT_EQ(calls.at("cudaGraphLaunch"), proposes);
  std::cout << "calls of " << proposes << " replayed proposes of " << variant.name << ":\n"
            << Listed(calls);
}

// Kernel by kernel: the first round loads kernels and chooses cuBLASLt's algorithms.
TEST_P(CallVariantTest, AnEagerRunNeitherAllocatesNorWaits) {
  const DraftVariant variant = DraftVariantOf(GetParam());
  SessionLimits limits = SmallLimits();
  limits.max_context = 100;
  const auto session = Open(variant, limits, {.graphs = false});
  CallCounts calls;
  std::uint64_t proposes = 0;
  std::int32_t position = 0;
  ProposeAll(*session, variant.config, position, /*record=*/false, calls, proposes);
  ProposeAll(*session, variant.config, position, /*record=*/true, calls, proposes);
  EXPECT_EQ(session->eager_runs(), 2 * proposes);
  ExpectOnlyTheEvent(calls, proposes);
  std::cout << "calls of " << proposes << " eager proposes of " << variant.name << ":\n"
            << Listed(calls);
}

}  // namespace
}  // namespace draftmark::kernels
