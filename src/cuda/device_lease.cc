#include "src/cuda/device_lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "src/base/ascii.h"

namespace draftmark {
namespace {

// Tests take seconds, so this wait is nothing to them, and the polls cost nothing.
constexpr std::chrono::milliseconds kPoll{50};

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string LockPath(const std::string& folder, const std::string& device) {
  std::string name = device;
  for (char& c : name) {
    if (!IsAsciiAlnum(c)) c = '-';
  }
  return fmt::format("{}/draftmark-gpu-{}.lock", folder, name);
}

// In a folder like /tmp Linux lets nobody create over another user's file, so that comes second.
int OpenLock(const std::string& path) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    const int existing = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (existing >= 0 || errno != ENOENT) return existing;
    const int made =
        ::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (made >= 0 || errno != EEXIST) return made;
  }
  return -1;
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

std::vector<std::string> LeasableDevices(const StatusOr<NvmlFunctions>& nvml) {
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    return SplitAtCommas(visible);
  }
  std::vector<std::string> uuids;
  if (!nvml.ok() || nvml->device_count == nullptr || nvml->device_by_index == nullptr ||
      nvml->device_uuid == nullptr || nvml->init() != kNvmlSuccess) {
    return uuids;
  }
  unsigned count = 0;
  if (nvml->device_count(&count) != kNvmlSuccess) return uuids;
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    char uuid[96] = {};  // NVML_DEVICE_UUID_V2_BUFFER_SIZE
    if (nvml->device_by_index(i, &device) == kNvmlSuccess &&
        nvml->device_uuid(device, uuid, sizeof(uuid)) == kNvmlSuccess) {
      uuids.emplace_back(uuid);
    }
  }
  return uuids;
}

StatusOr<std::optional<DeviceLease>> DeviceLease::TryTake(const std::vector<std::string>& devices,
                                                          std::size_t first,
                                                          const std::vector<std::string>& folders) {
  std::string folder;
  for (const std::string& candidate : folders) {
    if (folder.empty() && IsFolder(candidate)) folder = candidate;
  }
  if (folder.empty()) {
    return UnavailableError("no folder for the locks of GPUs: expected /dev/shm or /tmp");
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string& device = devices[(first + i) % devices.size()];
    const std::string path = LockPath(folder, device);
    const int file = OpenLock(path);
    if (file < 0) {
      return UnavailableError(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
      return std::optional<DeviceLease>(DeviceLease(device, file));
    }
    const int error = errno;
    (void)::close(file);
    if (error != EWOULDBLOCK && error != EINTR) {
      return UnavailableError(fmt::format("{}: cannot be locked: {}", path, std::strerror(error)));
    }
  }
  return std::optional<DeviceLease>();
}

StatusOr<DeviceLease> DeviceLease::Take(const std::vector<std::string>& devices, std::size_t first,
                                        const std::vector<std::string>& folders) {
  if (devices.empty()) return InvalidArgumentError("no device to take");
  for (;;) {
    DM_ASSIGN_OR_RETURN(std::optional<DeviceLease> lease, TryTake(devices, first, folders));
    if (lease) return *std::move(lease);
    std::this_thread::sleep_for(kPoll);
  }
}

DeviceLease::DeviceLease(DeviceLease&& other) noexcept
    : device_(std::move(other.device_)), file_(std::exchange(other.file_, -1)) {}

DeviceLease& DeviceLease::operator=(DeviceLease&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(file_, other.file_);
  return *this;
}

DeviceLease::~DeviceLease() {
  if (file_ >= 0) (void)::close(file_);
}

}  // namespace draftmark
