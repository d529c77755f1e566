#include "src/base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "src/base/errno_status.h"
#include "src/base/write_fully.h"

namespace draftmark {
namespace {

// Owns a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // False, with errno set, if the system reports a late write error.
  bool Close() {
    if (fd_ < 0) return true;
    return ::close(std::exchange(fd_, -1)) == 0;
  }

 private:
  int fd_;
};

int OpenRetrying(const char* path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// The system would silently cut such a path at the zero byte and open another file.
Status CheckPath(const std::string& path) {
  if (path.empty()) return InvalidArgumentError("the path is empty");
  if (path.find('\0') != std::string::npos) {
    return InvalidArgumentError(
        fmt::format("{}: the path contains a zero byte", path.substr(0, path.find('\0'))));
  }
  return OkStatus();
}

std::string_view KindName(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "something else";
}

Status NotARegularFile(const std::string& path, mode_t mode) {
  return InvalidArgumentError(
      fmt::format("{}: expected a regular file, found {}", path, KindName(mode)));
}

// As /dev/stdout is, whatever that is open on: the link of everybody would be replaced.
bool IsLinkToDescriptor(const std::string& path) {
  constexpr std::string_view kFolder = "/proc/";
  std::array<char, kFolder.size()> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size == static_cast<ssize_t>(target.size()) &&
         std::string_view(target.data(), target.size()) == kFolder;
}

class MappedBytes : public FileBytes {
 public:
  MappedBytes(void* address, std::size_t size) : address_(address), size_(size) {}
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;
  ~MappedBytes() override {
    if (address_ != nullptr) ::munmap(address_, size_);
  }
  std::span<const std::byte> bytes() const override {
    return {static_cast<const std::byte*>(address_), size_};
  }

 private:
  void* address_;  // null for an empty file
  std::size_t size_;
};

// The folder part of a path, "." for a bare name.
std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Unlike any other of this machine with high probability; O_EXCL decides. The length does not
// depend on the final name, which may already be the longest that the system takes.
constexpr std::string_view kTemporaryPrefix = ".draftmark-";
constexpr std::string_view kTemporarySuffix = ".tmp";

std::string TemporaryName() {
  static std::atomic<std::uint64_t> counter{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("{}{}-{}-{:x}{}", kTemporaryPrefix, ::getpid(), counter.fetch_add(1), now,
                     kTemporarySuffix);
}

class PosixAtomicFile : public AtomicFile {
 public:
  PosixAtomicFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(fd) {}
  ~PosixAtomicFile() override {
    if (!renamed_) ::unlink(temporary_.c_str());
  }

  Status Append(std::span<const std::byte> bytes) override {
    DM_RETURN_IF_ERROR(CheckUsable());
    return status_ =
               WriteFully(bytes, path_, [this](const std::byte* data, std::size_t size) -> ssize_t {
                 return ::write(descriptor_.get(), data, size);
               });
  }

  Status Commit() override {
    DM_RETURN_IF_ERROR(CheckUsable());
    return status_ = CommitOnce();
  }

 private:
  Status CheckUsable() const {
    if (!status_.ok()) return status_;
    if (renamed_) return FailedPreconditionError(path_ + ": already committed");
    return OkStatus();
  }

  Status CommitOnce() {
    // Data first, then the name: after a crash the name shows the old file or all of the new one.
    int result = 0;
    do {
      result = ::fsync(descriptor_.get());
    } while (result != 0 && errno == EINTR);
    if (result != 0) return ErrnoStatus(errno, "sync", path_);
    if (!descriptor_.Close()) return ErrnoStatus(errno, "close", path_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
      return ErrnoStatus(errno, "rename the finished temporary to", path_);
    }
    renamed_ = true;
    return SyncFolder();
  }

  Status SyncFolder() const {
    const std::string folder = FolderOf(path_);
    const Descriptor directory(OpenRetrying(folder.c_str(), O_RDONLY | O_DIRECTORY));
    if (directory.ok() && ::fsync(directory.get()) == 0) return OkStatus();
    // A folder that may be written but not read cannot be opened (EACCES), and some file systems
    // cannot sync folders (EINVAL). The file is complete and visible in both cases.
    if (errno != EACCES && errno != EINVAL) return ErrnoStatus(errno, "sync the folder of", path_);
    return OkStatus();
  }

  const std::string path_;
  const std::string temporary_;
  Descriptor descriptor_;
  bool renamed_ = false;
  Status status_;
};

class PosixFileSystem : public FileSystem {
 public:
  StatusOr<std::shared_ptr<const FileBytes>> Map(const std::string& path) override {
    DM_RETURN_IF_ERROR(CheckPath(path));
    // O_NONBLOCK: opening a named pipe must not wait for a writer.
    const Descriptor file(OpenRetrying(path.c_str(), O_RDONLY | O_NONBLOCK));
    if (!file.ok()) return ErrnoStatus(errno, "open", path);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "examine", path);
    if (!S_ISREG(info.st_mode)) return NotARegularFile(path, info.st_mode);
    const auto size = static_cast<std::size_t>(info.st_size);
    void* address = nullptr;
    if (size > 0) {  // mmap refuses a length of zero
      address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
      if (address == MAP_FAILED) return ErrnoStatus(errno, "map", path);
    }
    return std::shared_ptr<const FileBytes>(std::make_shared<MappedBytes>(address, size));
  }

  StatusOr<std::unique_ptr<AtomicFile>> CreateAtomic(const std::string& path) override {
    DM_RETURN_IF_ERROR(CheckPath(path));
    if (path.back() == '/') return NotARegularFile(path, S_IFDIR);
    // The rename would put a file in the place of /dev/null, and root may do that.
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
      return NotARegularFile(path, info.st_mode);
    }
    if (IsLinkToDescriptor(path)) {
      return InvalidArgumentError(
          fmt::format("{}: expected a regular file, found a link to an open one", path));
    }
    constexpr int kAttempts = 100;  // against left-over temporaries of a dead process
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const std::string temporary = JoinPath(FolderOf(path), TemporaryName());
      // 0644 less the umask, as an ordinary program would create it.
      const int fd = OpenRetrying(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                                  S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
      if (fd >= 0) {
        return std::unique_ptr<AtomicFile>(std::make_unique<PosixAtomicFile>(path, temporary, fd));
      }
      if (errno != EEXIST) return ErrnoStatus(errno, "create", path);
    }
    return InternalError(path + ": no free name for a temporary file");
  }

  Status CreateDirectories(const std::string& path) override {
    DM_RETURN_IF_ERROR(CheckPath(path));
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
      const std::string folder = path.substr(0, slash);
      // Readable by all, less the umask.
      constexpr mode_t kMode = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
      if (::mkdir(folder.c_str(), kMode) != 0) {
        const int error = errno;  // the look at what is there has its own
        if (!IsDirectory(folder)) return ErrnoStatus(error, "create the folder", folder);
      }
      if (slash == std::string::npos) return OkStatus();
    }
  }

  bool IsFile(const std::string& path) override {
    struct stat info {};
    return CheckPath(path).ok() && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  }
  bool IsDirectory(const std::string& path) override {
    struct stat info {};
    return CheckPath(path).ok() && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  }

  StatusOr<std::vector<std::string>> List(const std::string& path) override {
    DM_RETURN_IF_ERROR(CheckPath(path));
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    if (!folder) return ErrnoStatus(errno, "list", path);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;  // readdir reports an error only through errno
    }
    if (errno != 0) return ErrnoStatus(errno, "list", path);
    std::sort(names.begin(), names.end());
    return names;
  }
};

}  // namespace

FileSystem& RealFileSystem() {
  static PosixFileSystem file_system;
  return file_system;
}

StatusOr<std::string> ReadTextFile(const std::string& path, FileSystem& file_system,
                                   std::uint64_t max_bytes) {
  DM_ASSIGN_OR_RETURN(const std::shared_ptr<const FileBytes> file, file_system.Map(path));
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.size() > max_bytes) {
    return ResourceExhaustedError(
        fmt::format("{}: expected a text file of at most {} bytes, found "
                    "{} bytes",
                    path, max_bytes, bytes.size()));
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status WriteTextFile(const std::string& path, std::string_view text, FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> file, file_system.CreateAtomic(path));
  DM_RETURN_IF_ERROR(file->Append(std::as_bytes(std::span(text.data(), text.size()))));
  return file->Commit();
}

bool IsTemporaryName(std::string_view name) {
  return name.starts_with(kTemporaryPrefix) && name.ends_with(kTemporarySuffix);
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

}  // namespace draftmark
