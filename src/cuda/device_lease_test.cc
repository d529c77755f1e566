#include "src/cuda/device_lease.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeviceLeaseTest : public ::testing::Test {
 protected:
  std::optional<DeviceLease> TryTake(std::size_t first = 0) {
    return DeviceLease::TryTake(devices_, first, {folder_.path()}).value();
  }

  const TestFolder folder_;
  const std::vector<std::string> devices_ = {"GPU-a/0", "GPU-b"};
};

TEST_F(DeviceLeaseTest, EachDeviceIsGivenOnce) {
  const auto one = TryTake();
  const auto two = TryTake();
  ASSERT_TRUE(one.has_value() && two.has_value());
  EXPECT_EQ(one->device(), "GPU-a/0");
  EXPECT_EQ(two->device(), "GPU-b");
  EXPECT_FALSE(TryTake().has_value());
}

TEST_F(DeviceLeaseTest, ShardsBeginAtTheirOwn) {
  const auto three = TryTake(3);
  ASSERT_TRUE(three.has_value());
  EXPECT_EQ(three->device(), "GPU-b");
  const auto five = TryTake(5);
  ASSERT_TRUE(five.has_value());
  EXPECT_EQ(five->device(), "GPU-a/0");
}

TEST_F(DeviceLeaseTest, ALeaseEndsWithItsOwner) {
  {
    std::optional<DeviceLease> first = TryTake();
    const DeviceLease moved = *std::move(first);
    first = std::nullopt;  // held nothing any more
    const auto other = TryTake();
    ASSERT_TRUE(other.has_value());
    EXPECT_EQ(other->device(), "GPU-b");
  }
  const auto again = TryTake();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->device(), "GPU-a/0");
}

// Also if that is killed.
TEST_F(DeviceLeaseTest, OtherProcessesAreKeptAway) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lease = TryTake();
    (void)!::write(ready[1], lease ? "y" : "n", 1);
    ::pause();
    ::_exit(0);
  }
  char taken = 0;
  ASSERT_EQ(::read(ready[0], &taken, 1), 1);
  EXPECT_EQ(taken, 'y');
  const auto mine = TryTake();
  EXPECT_TRUE(mine.has_value() && mine->device() == "GPU-b");
  EXPECT_FALSE(TryTake().has_value());
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto freed = TryTake();
  EXPECT_TRUE(freed.has_value() && freed->device() == "GPU-a/0");
  (void)::close(ready[0]);
  (void)::close(ready[1]);
}

TEST_F(DeviceLeaseTest, TakeWaitsForAFreeDevice) {
  auto one = TryTake();
  const auto two = TryTake();
  std::thread gives_back([&one] {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    one.reset();
  });
  DM_ASSERT_OK_AND_ASSIGN(const DeviceLease waited,
                          DeviceLease::Take(devices_, 1, {folder_.path()}));
  gives_back.join();
  EXPECT_EQ(waited.device(), "GPU-a/0");
}

TEST_F(DeviceLeaseTest, WhatCannotBeLockedIsNamed) {
  EXPECT_THAT(DeviceLease::TryTake(devices_, 0, {"/no/such"}).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("expected /dev/shm or /tmp")));
  // A link leads wherever its owner wants.
  std::filesystem::create_symlink("/dev/null", folder_.Path("draftmark-gpu-GPU-b.lock"));
  EXPECT_THAT(DeviceLease::TryTake({"GPU-b"}, 0, {"/no/such", folder_.path()}).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("draftmark-gpu-GPU-b.lock: ")));
  EXPECT_THAT(DeviceLease::Take({}).status(),
              StatusIs(StatusCode::kInvalidArgument, "no device to take"));
}

TEST(LeasableDevicesTest, TheVariableComesFirst) {
  ::setenv("CUDA_VISIBLE_DEVICES", "0,GPU-b,,MIG-c", 1);
  EXPECT_THAT(LeasableDevices(UnavailableError("none")), ElementsAre("0", "GPU-b", "MIG-c"));
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_THAT(LeasableDevices(UnavailableError("none")), IsEmpty());
}

TEST(LeasableDevicesTest, ThenTheDriver) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(LeasableDevices(UnavailableError("no driver")), IsEmpty());
  EXPECT_THAT(LeasableDevices(LoadNvml({std::getenv("OLDER_LIBRARY")})),
              ElementsAre("GPU-fake-0", "GPU-fake-1"));
  NvmlFunctions nothing_of_devices = LoadNvml({std::getenv("OLDER_LIBRARY")}).value();
  nothing_of_devices.device_uuid = nullptr;
  EXPECT_THAT(LeasableDevices(nothing_of_devices), IsEmpty());
}

}  // namespace
}  // namespace draftmark
