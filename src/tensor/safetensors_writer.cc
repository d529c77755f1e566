#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "src/base/checked.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/tensor/safetensors.h"

namespace draftmark {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::size_t kHeaderAlignment = 8;  // keeps the data aligned to the widest element

// `text` as a JSON string with quotes, escaped as the reference library does.
StatusOr<std::string> Quote(const std::string& text) {
  try {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::strict);
  } catch (const Json::exception&) {
    return InvalidArgumentError(
        fmt::format("expected UTF-8 text, found {}", DescribeJson(Json(text))));
  }
}

using NamedView = std::pair<const std::string, TensorView>;

StatusOr<std::string> BuildHeader(const std::vector<const NamedView*>& tensors,
                                  const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    header += fmt::format("\"{}\":", kMetadataKey);
    char separator = '{';
    for (const auto& [key, value] : metadata) {
      DM_ASSIGN_OR_RETURN(const std::string quoted_key, Quote(key));
      DM_ASSIGN_OR_RETURN(const std::string quoted_value, Quote(value));
      header += fmt::format("{}{}:{}", std::exchange(separator, ','), quoted_key, quoted_value);
    }
    header += '}';
  }
  CheckedU64 offset = 0;
  for (const NamedView* tensor : tensors) {
    const auto& [name, view] = *tensor;
    const CheckedU64 end = offset + view.bytes.size();
    if (!end.ok()) return OutOfRangeError("the sum of the tensors' sizes overflows 64 bits");
    DM_ASSIGN_OR_RETURN(const std::string quoted_name, Quote(name));
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          header.size() > 1 ? "," : "", quoted_name, DTypeName(view.dtype),
                          fmt::join(view.shape, ","), offset.value(), end.value());
    offset = end;
  }
  header += '}';
  header.resize(RoundUp(CheckedU64(header.size()), kHeaderAlignment).value(), ' ');
  return header;
}

}  // namespace

Status SafetensorsWriter::Add(std::string name, TensorView view) {
  if (name == kMetadataKey) {
    return InvalidArgumentError(fmt::format("tensor '{}': the name is reserved", Printable(name)));
  }
  if (const auto quoted = Quote(name); !quoted.ok()) {
    return quoted.status().Annotated("tensor name");
  }
  // Annotated: a view made by hand might contradict itself.
  DM_RETURN_IF_ERROR(MakeTensorView(view.dtype, view.shape, view.bytes)
                         .status()
                         .Annotated(fmt::format("tensor '{}'", Printable(name))));
  if (tensors_.contains(name)) {
    return InvalidArgumentError(fmt::format("tensor '{}': given twice", Printable(name)));
  }
  tensors_.emplace(std::move(name), std::move(view));
  return OkStatus();
}

void SafetensorsWriter::SetMetadata(std::string key, std::string value) {
  metadata_.insert_or_assign(std::move(key), std::move(value));
}

Status SafetensorsWriter::Write(const std::string& path, FileSystem& file_system) const {
  std::vector<const NamedView*> order;
  for (const NamedView& tensor : tensors_) order.push_back(&tensor);
  // Stable: tensors of one dtype stay in the map's order, by name.
  std::stable_sort(order.begin(), order.end(), [](const NamedView* a, const NamedView* b) {
    return a->second.dtype > b->second.dtype;
  });
  const StatusOr<std::string> header = BuildHeader(order, metadata_);
  if (!header.ok()) return header.status().Annotated(path);
  if (header->size() > kLargestSafetensorsHeader) {
    return InvalidArgumentError(fmt::format("{}: header: expected at most {} bytes, found {}", path,
                                            kLargestSafetensorsHeader, header->size()));
  }
  std::array<std::byte, 8> length;
  const std::uint64_t header_size = header->size();
  std::memcpy(length.data(), &header_size, sizeof(header_size));

  DM_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> file, file_system.CreateAtomic(path));
  DM_RETURN_IF_ERROR(file->Append(length));
  DM_RETURN_IF_ERROR(file->Append(std::as_bytes(std::span(*header))));
  for (const NamedView* tensor : order) {
    DM_RETURN_IF_ERROR(file->Append(tensor->second.bytes));
  }
  return file->Commit();
}

}  // namespace draftmark
