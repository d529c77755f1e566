#include "kernels/device/arguments.h"

#include "src/base/status_matchers.h"

namespace draftmark::kernels {
namespace {

using ::testing::HasSubstr;

alignas(256) char g_memory[512];

TEST(ArgumentCheckTest, TheFirstFailureIsKept) {
  EXPECT_THAT(ArgumentCheck("rope").Size("d", 64).Pointer("x", g_memory).status(), IsOk());
  EXPECT_THAT(ArgumentCheck("rope").Size("d", 0).Pointer("x", nullptr).status(),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("rope: expected d in [1, 2147483647], found 0")));
  EXPECT_THAT(ArgumentCheck("rope").Pointer("x", nullptr).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rope: x is null")));
  EXPECT_THAT(ArgumentCheck("rope").Rule(false, "rotary is even").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not hold: rotary is even")));
}

TEST(ArgumentCheckTest, Workspaces) {
  EXPECT_THAT(ArgumentCheck("top16").Workspace(nullptr, 0, 0).status(), IsOk());
  EXPECT_THAT(ArgumentCheck("top16").Workspace(g_memory, 512, 512).status(), IsOk());
  EXPECT_THAT(ArgumentCheck("top16").Workspace(g_memory, 511, 512).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("of 512 bytes, found 511")));
  EXPECT_THAT(ArgumentCheck("top16").Workspace(g_memory + 16, 128, 64).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("aligned to 256 bytes")));
}

TEST(ArgumentsTest, VectorsNeedAlignedAddressesAndWidths) {
  EXPECT_TRUE(CanVectorise({g_memory, g_memory + 16, nullptr}, {8, 4096}));
  EXPECT_FALSE(CanVectorise({g_memory, g_memory + 2}, {8}));
  EXPECT_FALSE(CanVectorise({g_memory}, {8, 12}));
}

TEST(ArgumentsTest, Grids) {
  EXPECT_EQ(Blocks(1, 256), 1u);
  EXPECT_EQ(Blocks(256, 256), 1u);
  EXPECT_EQ(Blocks(257, 256), 2u);
  EXPECT_EQ(AlignUp(257, 256), 512u);
  EXPECT_EQ(AlignUp(0, 256), 0u);
}

}  // namespace
}  // namespace draftmark::kernels
