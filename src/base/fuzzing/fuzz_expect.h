// What every reader of hostile input owes: for fuzz targets.
//
//   extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
//     const StatusOr<SafetensorsFile> file = Read(TextOf(data, size));
//     if (!file.ok()) return ExpectRefusal(file.status(), "f", {StatusCode::kDataLoss});
//     DM_CHECK(...);   // what must hold of a file that was taken
//     return 0;
//   }
//
// A broken promise ends the process, which libFuzzer and the replay both report. Pure.
#ifndef DRAFTMARK_SRC_BASE_FUZZING_FUZZ_EXPECT_H_
#define DRAFTMARK_SRC_BASE_FUZZING_FUZZ_EXPECT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include "src/base/check.h"
#include "src/base/status.h"

namespace draftmark {

// Null is no input to a string_view, but libFuzzer's empty one.
inline std::string_view TextOf(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string_view()
                   : std::string_view(reinterpret_cast<const char*>(data), size);
}

// The code is one that the header names, and the message is one line that begins with the input's
// name and is fit for a terminal. Longer messages than this have lost themselves in the input.
inline constexpr std::size_t kLongestRefusal = 4000;  // bytes
inline int ExpectRefusal(const Status& status, std::string_view source,
                         std::initializer_list<StatusCode> codes) {
  const std::string& text = status.message();
  const bool good = std::count(codes.begin(), codes.end(), status.code()) > 0 &&
                    text.starts_with(source) && text.size() > source.size() &&
                    text.size() <= kLongestRefusal &&
                    std::none_of(text.begin(), text.end(),
                                 [](char c) { return (c >= 0 && c < ' ') || c == 127; });
  if (!good) std::fprintf(stderr, "no good refusal: %s\n", status.ToString().c_str());
  DM_CHECK(good);
  return 0;
}

// Takes the front of an input apart. Reading past the end gives 0 and empty texts.
class FuzzBytes {
 public:
  explicit FuzzBytes(std::string_view bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  std::uint8_t Byte() { return static_cast<std::uint8_t>(Take(1)[0]); }
  std::uint64_t U64() {
    std::uint64_t value = 0;
    for (const char c : Take(8)) value = value << 8 | static_cast<std::uint8_t>(c);
    return value;
  }
  // Up to `end`, which is dropped; or all that is left.
  std::string Until(char end) {
    const std::size_t at = left_.find(end);
    std::string text(left_.substr(0, at));
    left_ = at == std::string_view::npos ? std::string_view() : left_.substr(at + 1);
    return text;
  }

 private:
  std::string Take(std::size_t count) {
    std::string taken(left_.substr(0, count));
    left_ = left_.substr(taken.size());
    taken.resize(count, '\0');
    return taken;
  }

  std::string_view left_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_FUZZING_FUZZ_EXPECT_H_
