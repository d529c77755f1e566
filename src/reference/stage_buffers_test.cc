#include "src/reference/stage_buffers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"
#include "src/reference/numeric.h"
#include "src/scratch/dflash_test_geometry.h"

namespace draftmark::reference {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StageBuffersTest, TokensAreFetchedFromTheFirstOn) {
  DM_ASSERT_OK_AND_ASSIGN(const DflashScratchLayout layout,
                          DflashScratchLayout::Create(TinyRequest(2)));
  DM_ASSERT_OK_AND_ASSIGN(const auto storage,
                          StageStorage<Bf16Numeric>::Create(layout, Poison::kOnes));
  storage->buffers().draft_tokens_dev[0] = 7;
  storage->buffers().draft_tokens_dev[1] = 4'000'000'000;
  storage->buffers().draft_tokens_dev[2] = 9;
  DM_ASSERT_OK_AND_ASSIGN(const auto two, storage->FetchTokens(2));
  EXPECT_THAT(two, ElementsAre(7u, 4'000'000'000u));
  DM_ASSERT_OK_AND_ASSIGN(const auto none, storage->FetchTokens(0));
  EXPECT_THAT(none, IsEmpty());
}

}  // namespace
}  // namespace draftmark::reference
