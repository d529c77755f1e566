#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/tensor/safetensors.h"

namespace draftmark {
namespace {

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kSingleName = "model.safetensors";
constexpr std::string_view kFileSuffix = ".safetensors";

// A shard lies beside its index. Anything else in its name could reach files that do not belong to
// the checkpoint, or is none that a message can show.
bool IsPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && Printable(name) == name &&
         name.find_first_of("/\\") == std::string_view::npos;
}

// The index's tensor -> shard, checked.
StatusOr<std::map<std::string, std::string>> ReadIndex(const std::string& path,
                                                       FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const std::string text,
                      ReadTextFile(path, file_system, kLargestSafetensorsHeader));
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  if (!json.is_object() || !json.contains("weight_map")) {
    return DataLossError(
        fmt::format("{}: expected an object with weight_map, found {}", path, DescribeJson(json)));
  }
  const Json& weight_map = json["weight_map"];
  if (!weight_map.is_object() || weight_map.empty()) {
    return DataLossError(
        fmt::format("{}: weight_map: expected at least one tensor with its shard, found {}", path,
                    DescribeJson(weight_map)));
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : weight_map.items()) {
    if (!shard.is_string() || !IsPlainFileName(shard.get_ref<const std::string&>())) {
      return DataLossError(
          fmt::format("{}: tensor '{}': expected the name of a file beside the index, found {}",
                      path, Printable(tensor), DescribeJson(shard)));
    }
    shard_of.emplace(tensor, shard.get<std::string>());
  }
  return shard_of;
}

// The file that a checkpoint folder stands for.
StatusOr<std::string> FindInFolder(const std::string& folder, FileSystem& file_system) {
  for (const std::string_view name : {kIndexName, kSingleName}) {
    std::string path = JoinPath(folder, name);
    if (file_system.IsFile(path)) return path;
  }
  DM_ASSIGN_OR_RETURN(std::vector<std::string> names, file_system.List(folder));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kFileSuffix); });
  if (names.size() == 1) return JoinPath(folder, names.front());
  return NotFoundError(fmt::format(
      "{}: expected {}, {} or a single file *{}, found {}", folder, kIndexName, kSingleName,
      kFileSuffix, names.empty() ? "none of them" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

Status Checkpoint::AddShard(SafetensorsFile shard) {
  for (const std::string& name : shard.names()) {
    const auto [existing, inserted] = where_.emplace(name, Place{shards_.size(), name});
    if (!inserted) {
      return DataLossError(fmt::format("{}: tensor '{}': expected in one shard, found in {} and {}",
                                       path_, Printable(name),
                                       shards_[existing->second.shard].path(), shard.path()));
    }
  }
  shards_.push_back(std::move(shard));
  return OkStatus();
}

StatusOr<Checkpoint> Checkpoint::OpenIndex(const std::string& path, FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const auto shard_of, ReadIndex(path, file_system));
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::set<std::string> shard_names;
  for (const auto& [tensor, shard] : shard_of) shard_names.insert(shard);

  Checkpoint checkpoint;
  checkpoint.path_ = path;
  for (const std::string& name : shard_names) {
    StatusOr<SafetensorsFile> shard = SafetensorsFile::Open(JoinPath(folder, name), file_system);
    if (!shard.ok())
      return shard.status().Annotated(fmt::format("{}: shard '{}'", path, Printable(name)));
    DM_RETURN_IF_ERROR(checkpoint.AddShard(std::move(shard).value()));
  }
  for (const auto& [tensor, shard] : shard_of) {
    const auto found = checkpoint.where_.find(tensor);
    const std::string expected = JoinPath(folder, shard);
    if (found == checkpoint.where_.end() ||
        checkpoint.shards_[found->second.shard].path() != expected) {
      return DataLossError(
          fmt::format("{}: tensor '{}': expected in shard '{}', found {}", path, Printable(tensor),
                      Printable(shard),
                      found == checkpoint.where_.end()
                          ? "in no shard"
                          : "in " + checkpoint.shards_[found->second.shard].path()));
    }
  }
  std::erase_if(checkpoint.where_,
                [&](const auto& entry) { return !shard_of.contains(entry.first); });
  for (const auto& [tensor, shard] : checkpoint.where_) checkpoint.names_.push_back(tensor);
  return checkpoint;
}

StatusOr<Checkpoint> Checkpoint::Open(const std::string& path, FileSystem& file_system) {
  std::string file_path = path;
  if (file_system.IsDirectory(path)) {
    DM_ASSIGN_OR_RETURN(file_path, FindInFolder(path, file_system));
  }
  if (file_path.ends_with(".json")) return OpenIndex(file_path, file_system);
  DM_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(file_path, file_system));
  Checkpoint checkpoint;
  checkpoint.path_ = file_path;
  checkpoint.names_ = file.names();
  DM_RETURN_IF_ERROR(checkpoint.AddShard(std::move(file)));
  return checkpoint;
}

Status Checkpoint::Adopt(const Checkpoint& other, const std::string& tensor,
                         const std::string& as) {
  const auto found = other.where_.find(tensor);
  if (found == other.where_.end()) return other.Get(tensor).status();
  const SafetensorsFile& source = other.shards_[found->second.shard];
  if (Has(as)) {
    return InvalidArgumentError(
        fmt::format("{}: tensor '{}': expected to be absent, found beside {} of {}", path_,
                    Printable(as), Printable(tensor), source.path()));
  }
  where_.emplace(as, Place{shards_.size(), found->second.name});
  names_.insert(std::lower_bound(names_.begin(), names_.end(), as), as);
  shards_.push_back(source);
  return OkStatus();
}

StatusOr<TensorView> Checkpoint::Get(std::string_view name) const {
  const auto found = where_.find(name);
  if (found == where_.end()) {
    return NotFoundError(fmt::format("{}: tensor '{}': not among the checkpoint's {} tensors",
                                     path_, Printable(name), names_.size()));
  }
  return shards_[found->second.shard].Get(found->second.name);
}

StatusOr<TensorView> Checkpoint::Get(std::string_view name, DType dtype, const Shape& shape) const {
  const auto found = where_.find(name);
  if (found == where_.end()) return Get(name);
  return shards_[found->second.shard].Get(found->second.name, dtype, shape);
}

}  // namespace draftmark
