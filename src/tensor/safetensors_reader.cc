#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/tensor/safetensors.h"

namespace draftmark {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

struct Entry {
  std::string name;
  TensorView view;
  std::uint64_t begin = 0;  // in bytes from the start of the data
  std::uint64_t end = 0;
};

Status TensorError(const std::string& path, std::string_view tensor, std::string_view what) {
  return DataLossError(fmt::format("{}: tensor '{}': {}", path, Printable(tensor), what));
}

// The header's text, after checks of its length.
StatusOr<std::string_view> HeaderText(const std::string& path, std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) {
    return DataLossError(
        fmt::format("{}: truncated: expected at least {} bytes for the header length, found {}",
                    path, kLengthBytes, bytes.size()));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kLargestSafetensorsHeader) {
    return DataLossError(fmt::format("{}: header length: expected at most {} bytes, found {}", path,
                                     kLargestSafetensorsHeader, length));
  }
  const std::span<const std::byte> rest = bytes.subspan(kLengthBytes);
  if (length > rest.size()) {
    return DataLossError(
        fmt::format("{}: truncated: expected a header of {} bytes, found {} bytes after the length",
                    path, length, rest.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), length);
  if (text.empty() || text.front() != '{') {
    return DataLossError(fmt::format(
        "{}: header: expected '{{' as the first byte, found {}", path,
        text.empty() ? "an empty header"
                     : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(text.front()))));
  }
  // The JSON library takes a zero byte for the end of the text and would ignore what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return DataLossError(
        fmt::format("{}: header: expected JSON, found a zero byte at byte {}", path, zero));
  }
  return text;
}

StatusOr<std::map<std::string, std::string>> ParseMetadata(const std::string& path,
                                                           const Json& json) {
  if (!json.is_object()) {
    return DataLossError(fmt::format("{}: {}: expected an object of strings, found {}", path,
                                     kMetadataKey, DescribeJson(json)));
  }
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      return DataLossError(fmt::format("{}: {}: '{}': expected a string, found {}", path,
                                       kMetadataKey, Printable(key), DescribeJson(value)));
    }
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

// Unsigned integers only: -1, 1.0 and 1e3 are no sizes.
StatusOr<std::vector<std::uint64_t>> ParseSizes(const std::string& path, const std::string& tensor,
                                                std::string_view key, const Json& json) {
  if (!json.is_array()) {
    return TensorError(path, tensor,
                       fmt::format("{}: expected an array of unsigned integers, found {}", key,
                                   DescribeJson(json)));
  }
  std::vector<std::uint64_t> sizes;
  sizes.reserve(json.size());
  for (const Json& element : json) {
    if (!element.is_number_unsigned()) {
      return TensorError(path, tensor,
                         fmt::format("{}[{}]: expected an unsigned integer, found {}", key,
                                     sizes.size(), DescribeJson(element)));
    }
    sizes.push_back(element.get<std::uint64_t>());
  }
  return sizes;
}

Status CheckKeys(const std::string& path, const std::string& tensor, const Json& json) {
  if (!json.is_object()) {
    return TensorError(
        path, tensor,
        fmt::format("expected an object with dtype, shape and data_offsets, found {}",
                    DescribeJson(json)));
  }
  for (const std::string_view key : {"dtype", "shape", "data_offsets"}) {
    if (!json.contains(key)) {
      return TensorError(path, tensor, fmt::format("{}: required, but absent", key));
    }
  }
  for (const auto& [key, value] : json.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      return TensorError(path, tensor,
                         fmt::format("expected dtype, shape and data_offsets only, found the key "
                                     "'{}' as well",
                                     Printable(key)));
    }
  }
  return OkStatus();
}

StatusOr<Entry> ParseEntry(const std::string& path, const std::string& name, const Json& json,
                           std::span<const std::byte> data) {
  DM_RETURN_IF_ERROR(CheckKeys(path, name, json));
  const Json& dtype_json = json["dtype"];
  const std::optional<DType> dtype = dtype_json.is_string()
                                         ? DTypeFromName(dtype_json.get_ref<const std::string&>())
                                         : std::nullopt;
  if (!dtype) {
    return TensorError(path, name,
                       fmt::format("dtype: expected the name of a safetensors dtype, found {}",
                                   DescribeJson(dtype_json)));
  }
  DM_ASSIGN_OR_RETURN(Shape shape, ParseSizes(path, name, "shape", json["shape"]));
  DM_ASSIGN_OR_RETURN(const auto offsets,
                      ParseSizes(path, name, "data_offsets", json["data_offsets"]));
  if (offsets.size() != 2) {
    return TensorError(path, name,
                       fmt::format("data_offsets: expected [begin, end], found {}",
                                   DescribeJson(json["data_offsets"])));
  }
  const std::uint64_t begin = offsets[0];
  const std::uint64_t end = offsets[1];
  if (begin > end) {
    return TensorError(
        path, name, fmt::format("data_offsets: expected begin <= end, found [{}, {}]", begin, end));
  }
  if (end > data.size()) {
    return TensorError(path, name,
                       fmt::format("data_offsets: expected an end within the file's {} bytes of "
                                   "data, found [{}, {}]",
                                   data.size(), begin, end));
  }
  const StatusOr<TensorView> view =
      MakeTensorView(*dtype, std::move(shape), data.subspan(begin, end - begin));
  if (!view.ok()) {
    return TensorError(
        path, name, fmt::format("data_offsets [{}, {}]: {}", begin, end, view.status().message()));
  }
  return Entry{name, *view, begin, end};
}

// Together the tensors must cover the data exactly once: bytes that belong to no tensor can hide
// anything, and overlapping tensors make a small file look large.
Status CheckCoverage(const std::string& path, std::vector<const Entry*> entries,
                     std::uint64_t data_size) {
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t position = 0;
  const Entry* previous = nullptr;
  for (const Entry* entry : entries) {
    const std::string after = previous ? fmt::format("the end of '{}'", Printable(previous->name))
                                       : "the start of the data";
    if (entry->begin > position) {
      return TensorError(
          path, entry->name,
          fmt::format("a hole: expected begin {} ({}), found {}", position, after, entry->begin));
    }
    if (entry->begin < position) {
      return TensorError(path, entry->name,
                         fmt::format("overlaps '{}': expected begin {} ({}), found {}",
                                     Printable(previous->name), position, after, entry->begin));
    }
    position = entry->end;
    previous = entry;
  }
  if (position != data_size) {
    return DataLossError(fmt::format(
        "{}: expected {} bytes of data, the end of the last tensor, found {} ({} bytes belong to "
        "no tensor)",
        path, position, data_size, data_size - position));
  }
  return OkStatus();
}

}  // namespace

StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path, FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(std::shared_ptr<const FileBytes> bytes, file_system.Map(path));
  return FromBytes(path, std::move(bytes));
}

StatusOr<SafetensorsFile> SafetensorsFile::FromBytes(std::string path,
                                                     std::shared_ptr<const FileBytes> bytes) {
  const std::span<const std::byte> all = bytes->bytes();
  DM_ASSIGN_OR_RETURN(const std::string_view text, HeaderText(path, all));
  const std::span<const std::byte> data = all.subspan(kLengthBytes + text.size());
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path + ": header"));

  SafetensorsFile file;
  std::vector<Entry> entries;
  entries.reserve(json.size());
  for (const auto& [key, value] : json.items()) {
    if (key == kMetadataKey) {
      DM_ASSIGN_OR_RETURN(file.metadata_, ParseMetadata(path, value));
      continue;
    }
    DM_ASSIGN_OR_RETURN(Entry entry, ParseEntry(path, key, value, data));
    entries.push_back(std::move(entry));
  }
  std::vector<const Entry*> pointers;
  pointers.reserve(entries.size());
  for (const Entry& entry : entries) pointers.push_back(&entry);
  DM_RETURN_IF_ERROR(CheckCoverage(path, std::move(pointers), data.size()));

  // The parser's object is a sorted map, so the names come in ascending byte order.
  for (Entry& entry : entries) {
    file.names_.push_back(entry.name);
    file.tensors_.emplace_hint(file.tensors_.end(), std::move(entry.name), std::move(entry.view));
  }
  file.path_ = std::move(path);
  file.bytes_ = std::move(bytes);
  return file;
}

StatusOr<TensorView> SafetensorsFile::Get(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return NotFoundError(fmt::format("{}: tensor '{}': not among the file's {} tensors", path_,
                                     Printable(name), names_.size()));
  }
  return found->second;
}

StatusOr<TensorView> SafetensorsFile::Get(std::string_view name, DType dtype,
                                          const Shape& shape) const {
  DM_ASSIGN_OR_RETURN(TensorView view, Get(name));
  if (view.dtype != dtype || view.shape != shape) {
    return InvalidArgumentError(fmt::format("{}: tensor '{}': expected {} {}, found {} {}", path_,
                                            Printable(name), DTypeName(dtype), ShapeToString(shape),
                                            DTypeName(view.dtype), ShapeToString(view.shape)));
  }
  return view;
}

}  // namespace draftmark
