// What all launchers share: checks of their arguments, grids, and the error behind a launch.
//
//   DM_RETURN_IF_ERROR(ArgumentCheck("rms_norm")
//                          .Size("h", args.h)
//                          .Pointer("x", args.x)
//                          .status());
//   RmsNormKernel<<<Blocks(args.rows, 1), 256, 0, stream>>>(...);
//   return LaunchStatus("rms_norm");
//
// Rules of every launcher: the stream comes last; nothing is allocated and nobody waits; 0 rows are
// no error and launch nothing; contents of device memory (ids, slots, tables) are not checked here
// but by the kernels, each as its header says. Pure functions, thread-safe.
#ifndef DRAFTMARK_KERNELS_DEVICE_ARGUMENTS_H_
#define DRAFTMARK_KERNELS_DEVICE_ARGUMENTS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/base/status.h"

namespace draftmark::kernels {

// CUDA's limits of a grid: 2^31 - 1 blocks in x, 65535 in y and z.
inline constexpr std::int64_t kMostBlocks = INT32_MAX;
inline constexpr std::int64_t kMostBlocksYZ = 65535;

// Keeps the first failure.
class ArgumentCheck {
 public:
  explicit ArgumentCheck(std::string_view operation) : operation_(operation) {}

  // least <= value <= most.
  ArgumentCheck& Size(std::string_view name, std::int64_t value, std::int64_t least = 1,
                      std::int64_t most = INT32_MAX);
  ArgumentCheck& Pointer(std::string_view name, const void* pointer);
  // `rule` is a sentence that should be true: "kv divides heads".
  ArgumentCheck& Rule(bool holds, std::string_view rule);
  // Workspace of at least `needed` bytes, aligned to 256 where any is needed.
  ArgumentCheck& Workspace(const void* workspace, std::uint64_t bytes, std::uint64_t needed);

  const Status& status() const { return status_; }

 private:
  ArgumentCheck& Refuse(std::string reason);

  std::string_view operation_;
  Status status_;
};

// What the last launch was answered, under the operation's name.
Status LaunchStatus(std::string_view operation);

constexpr std::int64_t CeilDiv(std::int64_t count, std::int64_t per_piece) {
  return (count + per_piece - 1) / per_piece;
}
constexpr unsigned Blocks(std::int64_t count, std::int64_t per_block) {
  return static_cast<unsigned>(CeilDiv(count, per_block));
}
constexpr std::uint64_t AlignUp(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Whether rows can be read 16 bytes at a time: every address a multiple of 16, every width and
// stride (in BF16 elements) a multiple of 8. Null pointers count as aligned.
bool CanVectorise(std::initializer_list<const void*> pointers,
                  std::initializer_list<std::int64_t> widths);

// Calls f with std::true_type or std::false_type, for a template argument that is known at run time.
template <typename F>
void WithBool(bool value, const F& f) {
  if (value) {
    f(std::true_type{});
  } else {
    f(std::false_type{});
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_ARGUMENTS_H_
