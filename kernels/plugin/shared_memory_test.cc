#include "kernels/plugin/shared_memory.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kernels/plugin/packet.h"
#include "src/base/status_matchers.h"

namespace draftmark::plugin {
namespace {

using ::testing::ElementsAre;

TEST(LayOutTest, RegionsAreAlignedAndApart) {
  const std::uint64_t sizes[] = {0, 1, 256, 5000};
  DM_ASSERT_OK_AND_ASSIGN(const Regions regions, LayOut(sizes));
  ASSERT_EQ(regions.list.size(), 4u);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(regions.list[i].offset % kRegionAlignment, 0u);
    EXPECT_EQ(regions.list[i].bytes, sizes[i]);
    EXPECT_GE(regions.list[i].offset, end + kGuardBytes);
    end = regions.list[i].offset + sizes[i];
  }
  EXPECT_GE(regions.total, end + kGuardBytes);
  const std::uint64_t huge[] = {UINT64_MAX - 5000, 1};
  EXPECT_THAT(LayOut(huge).status(), StatusIs(StatusCode::kOutOfRange, ::testing::_));
}

// Every byte outside of the regions is watched, and none inside.
TEST(FindBrokenGuardTest, EveryByte) {
  const std::uint64_t sizes[] = {3, 0, 300};
  DM_ASSERT_OK_AND_ASSIGN(const Regions regions, LayOut(sizes));
  std::vector<std::byte> memory(regions.total);
  FillGuards(memory, regions);
  for (std::uint64_t at = 0; at < regions.total; ++at) {
    const std::byte before = std::exchange(memory[at], std::byte{0});
    const auto inside =
        std::any_of(regions.list.begin(), regions.list.end(), [&](const Region& region) {
          return at >= region.offset && at < region.offset + region.bytes;
        });
    const auto broken = FindBrokenGuard(memory, regions);
    ASSERT_EQ(broken.has_value(), !inside) << at;
    if (broken) {
      EXPECT_EQ(static_cast<std::int64_t>(regions.list[broken->region].offset) + broken->offset,
                static_cast<std::int64_t>(at));
    }
    memory[at] = before;
  }
}

TEST(FindBrokenGuardTest, TheNearerRegionIsNamed) {
  const std::uint64_t sizes[] = {16, 16};
  DM_ASSERT_OK_AND_ASSIGN(const Regions regions, LayOut(sizes));
  std::vector<std::byte> memory(regions.total);
  FillGuards(memory, regions);
  const std::byte before = std::exchange(memory[regions.list[0].offset + 16], std::byte{1});
  EXPECT_EQ(FindBrokenGuard(memory, regions)->region, 0u);
  EXPECT_EQ(FindBrokenGuard(memory, regions)->offset, 16);
  memory[regions.list[0].offset + 16] = before;
  memory[regions.list[1].offset - 1] = std::byte{1};
  EXPECT_EQ(FindBrokenGuard(memory, regions)->region, 1u);
  EXPECT_EQ(FindBrokenGuard(memory, regions)->offset, -1);
}

TEST(SharedMemoryTest, BothSeeIt) {
  DM_ASSERT_OK_AND_ASSIGN(SharedMemory memory, SharedMemory::Create());
  ASSERT_THAT(memory.Resize(10000), IsOk());
  memory.bytes()[9999] = std::byte{7};
  DM_ASSERT_OK_AND_ASSIGN(const SharedMemory other, SharedMemory::Open(memory.descriptor(), 10000));
  EXPECT_EQ(other.bytes()[9999], std::byte{7});
  other.bytes()[0] = std::byte{8};
  EXPECT_EQ(memory.bytes()[0], std::byte{8});
}

TEST(SharedMemoryTest, NeverShrinks) {
  DM_ASSERT_OK_AND_ASSIGN(SharedMemory memory, SharedMemory::Create());
  ASSERT_THAT(memory.Resize(10000), IsOk());
  ASSERT_THAT(memory.Resize(100), IsOk());
  EXPECT_EQ(memory.bytes().size(), 10000u);
  EXPECT_NE(::ftruncate(memory.descriptor(), 0), 0);  // nor can the other side shrink it
}

TEST(PacketTest, WhatIsWrittenIsRead) {
  const std::uint32_t numbers[] = {1, 2, 3};
  PacketWriter writer;
  writer.U64(7).I64(-8).Text("text").Text("").Array(std::span<const std::uint32_t>(numbers));
  PacketReader reader(writer.bytes());
  EXPECT_EQ(reader.U64(), 7u);
  EXPECT_EQ(reader.I64(), -8);
  EXPECT_EQ(reader.Text(), "text");
  EXPECT_EQ(reader.Text(), "");
  EXPECT_FALSE(reader.Complete());
  EXPECT_THAT(reader.Array<std::uint32_t>(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(reader.Complete());
}

// Cut anywhere, nothing beyond the end is read, and the reader knows.
TEST(PacketTest, EveryCutIsSeen) {
  PacketWriter writer;
  writer.U64(7).Text("text").U64(2).Text("a").Text("b");
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    const std::vector<std::byte> cut(writer.bytes().begin(),
                                     writer.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    PacketReader reader(cut);
    reader.U64();
    reader.Text();
    for (std::uint64_t i = reader.Count(); i > 0; --i) reader.Text();
    EXPECT_FALSE(reader.Complete()) << size;
  }
}

TEST(PacketTest, HostileSizes) {
  PacketWriter writer;
  writer.U64(UINT64_MAX);
  EXPECT_EQ(PacketReader(writer.bytes()).Text(), "");
  PacketReader count(writer.bytes());
  EXPECT_EQ(count.Count(), 0u);
  EXPECT_FALSE(count.Complete());
  PacketWriter odd;
  odd.Text("12345");
  PacketReader array(odd.bytes());
  EXPECT_EQ(array.Array<std::uint32_t>().size(), 1u);
  EXPECT_FALSE(array.Complete());
}

}  // namespace
}  // namespace draftmark::plugin
