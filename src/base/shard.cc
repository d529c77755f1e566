#include "src/base/shard.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>

#include "src/base/file_system.h"

namespace draftmark {
namespace {

constexpr std::size_t kMostShards = 10000;

std::optional<std::size_t> Number(std::string_view text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

StatusOr<Shard> Shard::Parse(std::string_view text) {
  if (text == "bazel") return FromBazel();
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::optional<std::size_t> index = Number(text.substr(0, slash));
    const std::optional<std::size_t> count = Number(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count && *count <= kMostShards) {
      return Shard(*index - 1, *count);
    }
  }
  return InvalidArgumentError(fmt::format(
      "shard: expected I/N with 1 <= I <= N <= {}, or bazel, found \"{}\"", kMostShards, text));
}

StatusOr<Shard> Shard::FromBazel() {
  const std::string total = Variable("TEST_TOTAL_SHARDS");
  const std::string status_file = Variable("TEST_SHARD_STATUS_FILE");
  if (total.empty() || total == "0") return Shard();
  const std::string index = Variable("TEST_SHARD_INDEX");
  const std::optional<std::size_t> number = Number(index);
  const std::optional<std::size_t> count = Number(total);
  if (!number || !count || *number >= *count || *count > kMostShards) {
    return InvalidArgumentError(
        fmt::format("shard: expected TEST_SHARD_INDEX from 0 and below TEST_TOTAL_SHARDS, found "
                    "\"{}\" and \"{}\"",
                    index, total));
  }
  if (!status_file.empty()) DM_RETURN_IF_ERROR(WriteTextFile(status_file, ""));
  return Shard(*number, *count);
}

std::string Shard::ToString() const { return fmt::format("{}/{}", index_ + 1, count_); }

}  // namespace draftmark
