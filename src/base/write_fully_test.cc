#include "src/base/write_fully.h"

#include <string>
#include <vector>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// A write(2) that follows a script: n >= 0 takes at most n bytes, n < 0 fails with errno -n. After
// the script it takes everything.
struct ScriptedWrite {
  std::vector<int> script;
  std::string written;
  std::vector<std::size_t> asked;

  long operator()(const std::byte* data, std::size_t size) {
    asked.push_back(size);
    const std::size_t step = asked.size() - 1;
    std::size_t taken = size;
    if (step < script.size()) {
      if (script[step] < 0) {
        errno = -script[step];
        return -1;
      }
      taken = std::min(size, static_cast<std::size_t>(script[step]));
    }
    written.append(reinterpret_cast<const char*>(data), taken);
    return static_cast<long>(taken);
  }
};

TEST(WriteFullyTest, ShortWritesAndInterruptionsAreContinued) {
  ScriptedWrite write{.script = {3, -EINTR, 1, -EINTR, -EINTR}, .written = {}, .asked = {}};
  EXPECT_THAT(WriteFully(Bytes("0123456789"), "/x", write), IsOk());
  EXPECT_EQ(write.written, "0123456789");
  EXPECT_THAT(write.asked, ElementsAre(10, 7, 7, 6, 6, 6));
}

TEST(WriteFullyTest, NothingToWriteCallsNothing) {
  ScriptedWrite write;
  EXPECT_THAT(WriteFully({}, "/x", write), IsOk());
  EXPECT_TRUE(write.asked.empty());
}

TEST(WriteFullyTest, ErrorsStopAndNameThePath) {
  ScriptedWrite write{.script = {4, -ENOSPC}, .written = {}, .asked = {}};
  EXPECT_THAT(WriteFully(Bytes("0123456789"), "/some/file", write),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("write /some/file"), HasSubstr("No space left"))));
  EXPECT_EQ(write.written, "0123");
}

TEST(WriteFullyTest, ZeroBytesTakenIsAnErrorAndNotAnEndlessLoop) {
  ScriptedWrite write{.script = {0}, .written = {}, .asked = {}};
  EXPECT_THAT(WriteFully(Bytes("01"), "/x", write), StatusIs(StatusCode::kInternal, _));
}

TEST(ErrnoStatusTest, Codes) {
  const struct {
    int error_number;
    StatusCode code;
  } kCases[] = {
      {ENOENT, StatusCode::kNotFound},
      {ENOTDIR, StatusCode::kNotFound},
      {ENOSPC, StatusCode::kResourceExhausted},
      {EDQUOT, StatusCode::kResourceExhausted},
      {EFBIG, StatusCode::kResourceExhausted},
      {EMFILE, StatusCode::kResourceExhausted},
      {ENOMEM, StatusCode::kResourceExhausted},
      {EACCES, StatusCode::kUnavailable},
      {EPERM, StatusCode::kUnavailable},
      {EROFS, StatusCode::kUnavailable},
      {EISDIR, StatusCode::kInvalidArgument},
      {ENAMETOOLONG, StatusCode::kInvalidArgument},
      {EIO, StatusCode::kInternal},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(ErrnoStatus(c.error_number, "open", "/a/b"),
                StatusIs(c.code, HasSubstr("cannot open /a/b: ")));
  }
}

}  // namespace
}  // namespace draftmark
