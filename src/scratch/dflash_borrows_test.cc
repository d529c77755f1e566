#include "src/scratch/dflash_borrows.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"
#include "src/scratch/dflash_test_geometry.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

DflashScratchLayout Layout(const DflashScratchRequest& request) {
  StatusOr<DflashScratchLayout> layout = DflashScratchLayout::Create(request);
  DM_CHECK(layout.ok());
  return *std::move(layout);
}

TEST(DflashBorrowsTest, OrdinaryGeometriesLendAFullWindow) {
  const DflashScratchLayout layout = Layout(TinyRequest(2));
  for (std::uint64_t n = 1; n <= 32; ++n) EXPECT_THAT(CheckPrecompute(layout, n), IsOk());
  EXPECT_EQ(MaxPrecomputeRows(layout), 32u);
  EXPECT_EQ(MaxBatchedPrecomputeRows(Layout(TinyRequest(2, 4096))), 256u);
  for (const std::uint64_t n : {0u, 33u}) {
    EXPECT_THAT(CheckPrecompute(layout, n), StatusIs(StatusCode::kFailedPrecondition,
                                                     HasSubstr("expected 1 to 32 (ctx_window)")));
  }
}

TEST(DflashBorrowsTest, WideKvDoesNotFitTheMlp) {
  // L * kv_dim = 8 * 32 against I = 96: 37 rows of 96 hold 13 stages of 256.
  DflashScratchRequest request = TinyRequest(2);
  request.geometry.num_hidden_layers = 8;
  const DflashScratchLayout layout = Layout(request);
  EXPECT_EQ(MaxPrecomputeRows(layout), 13u);
  EXPECT_EQ(MaxBatchedPrecomputeRows(layout), 13u);
  EXPECT_THAT(CheckPrecompute(layout, 13), IsOk());
  EXPECT_THAT(CheckPrecompute(layout, 14),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(StartsWith("K stage in mlp_intermediate: "), HasSubstr("needs 3584"),
                             HasSubstr("there are 3552"))));
}

TEST(DflashBorrowsTest, PositionsOfManyLayersDoNotFitTheNorms) {
  // 4*L bytes of positions per row against 2*h: more than 32 layers of one narrow head.
  DflashScratchRequest request = TinyRequest(2);
  request.geometry.num_hidden_layers = 40;
  request.geometry.num_attention_heads = 1;
  request.geometry.num_key_value_heads = 1;
  request.geometry.head_dim = 2;
  const DflashScratchLayout layout = Layout(request);
  EXPECT_THAT(CheckPrecompute(layout, 32),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(StartsWith("positions in norm_buf: "), HasSubstr("needs 5120 bytes"),
                             HasSubstr("there are 4736"))));
  EXPECT_EQ(MaxPrecomputeRows(layout), 29u);
}

TEST(DflashBorrowsTest, BorrowsAreListedWithBothNumbers) {
  DM_ASSERT_OK_AND_ASSIGN(const auto borrows, PrecomputeBorrows(Layout(TinyRequest(2)), 32));
  ASSERT_EQ(borrows.size(), 3u);
  EXPECT_EQ(borrows[0].needed, 2u * 32 * 32);
  EXPECT_EQ(borrows[0].available, 37u * 96);
  EXPECT_EQ(borrows[1].needed, 2u * 32 * 4);
  EXPECT_EQ(borrows[1].available, 37u * 64 * 2);
  EXPECT_EQ(borrows[2].needed, 32u);
  EXPECT_EQ(borrows[2].available, 37u);
}

TEST(DflashBorrowsTest, BlockRowsOfAllBands) {
  const DflashScratchLayout layout = Layout(TinyRequest(2, 32, 8));
  EXPECT_THAT(CheckBlock(layout, 8, 5), IsOk());
  EXPECT_THAT(CheckBlock(layout, 1, 2), IsOk());
  EXPECT_THAT(CheckBlock(layout, 9, 5),
              StatusIs(StatusCode::kFailedPrecondition, StartsWith("bands: expected 1 to 8")));
  EXPECT_THAT(CheckBlock(layout, 8, 6), StatusIs(StatusCode::kFailedPrecondition,
                                                 StartsWith("block width: expected 1 to 5")));
  EXPECT_THAT(CheckBlock(layout, 0, 5),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("found 0")));
}

TEST(DflashBorrowsTest, UpstreamsSlotsAreTooFewForManyBands) {
  DflashScratchRequest request = TinyRequest(2, 32, 8);
  request.layout = DflashLayoutName::kAsUpstream;
  const DflashScratchLayout layout = Layout(request);
  EXPECT_THAT(CheckBlock(layout, 6, 5), IsOk());
  EXPECT_THAT(CheckBlock(layout, 7, 5),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(StartsWith("block slots in slot_mapping_dev: "), HasSubstr("needs 35"),
                             HasSubstr("there are 32"))));
}

TEST(DflashBorrowsTest, NonPagedContextAndBlockShareTheRows) {
  const DflashScratchLayout layout = Layout(TinyRequest(1));
  EXPECT_THAT(CheckNonPagedBlock(layout, 32, 5), IsOk());
  EXPECT_THAT(CheckNonPagedBlock(layout, 0, 5), IsOk());
  EXPECT_THAT(CheckNonPagedBlock(layout, 33, 5),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("needs 38 rows"), HasSubstr("there are 37"))));
  EXPECT_THAT(CheckNonPagedBlock(layout, 33, 4),
              StatusIs(StatusCode::kFailedPrecondition,
                       "context rows in fc_proj: needs 33 rows, but there are 32"));
  EXPECT_THAT(CheckNonPagedBlock(layout, 1, 6),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("width")));
  EXPECT_THAT(CheckNonPagedBlock(layout, ~std::uint64_t{0}, 5),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("overflow")));
}

}  // namespace
}  // namespace draftmark
