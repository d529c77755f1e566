// Packets: the requests to a plug-in's process and its replies, as bytes.
//
//   PacketWriter writer;
//   writer.U64(7).Text("rms_norm").Bytes(data);
//   PacketReader reader(writer.bytes());
//   reader.U64(), reader.Text(), reader.Bytes()
//   if (!reader.Complete()) ...   // something was missing, or is left over
//
// A reader never reads beyond its bytes: what is missing reads as 0 or empty, and Complete is false
// from then on. Host byte order, since both ends are one program. Not thread-safe.
#ifndef DRAFTMARK_KERNELS_PLUGIN_PACKET_H_
#define DRAFTMARK_KERNELS_PLUGIN_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace draftmark::plugin {

class PacketWriter {
 public:
  PacketWriter& U64(std::uint64_t value) {
    return Raw(std::as_bytes(std::span<const std::uint64_t>(&value, 1)));
  }
  PacketWriter& I64(std::int64_t value) { return U64(static_cast<std::uint64_t>(value)); }
  PacketWriter& Text(std::string_view text) {
    return Bytes(std::as_bytes(std::span<const char>(text)));
  }
  PacketWriter& Bytes(std::span<const std::byte> bytes) { return U64(bytes.size()).Raw(bytes); }
  // All that is in another one, as if it had been written here.
  PacketWriter& Append(const PacketWriter& other) { return Raw(other.bytes_); }
  // Of a type without pointers or padding.
  template <typename T>
  PacketWriter& Array(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return Bytes(std::as_bytes(values));
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  PacketWriter& Raw(std::span<const std::byte> bytes) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + bytes.size());
    if (!bytes.empty()) std::memcpy(bytes_.data() + before, bytes.data(), bytes.size());
    return *this;
  }

  std::vector<std::byte> bytes_;
};

class PacketReader {
 public:
  explicit PacketReader(std::span<const std::byte> bytes) : left_(bytes) {}

  std::uint64_t U64() {
    std::uint64_t value = 0;
    if (const auto bytes = Take(sizeof value); !bytes.empty()) {
      std::memcpy(&value, bytes.data(), sizeof value);
    }
    return value;
  }
  std::int64_t I64() { return static_cast<std::int64_t>(U64()); }
  std::string Text() {
    const auto bytes = Bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::span<const std::byte> Bytes() { return Take(U64()); }
  // What does not fill whole elements is missing.
  template <typename T>
  std::vector<T> Array() {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = Bytes();
    if (bytes.size() % sizeof(T) != 0) good_ = false;
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  // A number of items that follow, each of at least a byte: never more than the bytes that are
  // left.
  std::uint64_t Count() {
    const std::uint64_t count = U64();
    if (count <= left_.size()) return count;
    good_ = false;
    return 0;
  }

  // All that is left.
  std::span<const std::byte> Rest() { return Take(left_.size()); }

  bool Complete() const { return good_ && left_.empty(); }

 private:
  std::span<const std::byte> Take(std::uint64_t count) {
    if (count > left_.size()) {
      good_ = false;
      left_ = {};
    }
    if (!good_) return {};
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }

  std::span<const std::byte> left_;
  bool good_ = true;
};

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_PACKET_H_
