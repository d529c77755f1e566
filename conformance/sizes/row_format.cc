#include "conformance/sizes/row_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

namespace draftmark {
namespace {

// A misspelt key would silently drop a check, so only these may occur.
Status OnlyKeys(const JsonObject& object, std::initializer_list<std::string_view> keys) {
  for (const auto& [key, value] : object.json().items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      return InvalidArgumentError(fmt::format("{}: expected one of {}, found an unknown key",
                                              object.Where(key), fmt::join(keys, ", ")));
    }
  }
  return OkStatus();
}

StatusOr<SizingArguments> ParseArguments(const JsonObject& row) {
  DM_ASSIGN_OR_RETURN(const JsonObject args, row.Object("args"));
  DM_RETURN_IF_ERROR(
      OnlyKeys(args, {"max_batch_tokens", "max_seq_len", "kv_block_size", "max_batch_size"}));
  DM_ASSIGN_OR_RETURN(const JsonObject flags, row.Object("flags"));
  DM_RETURN_IF_ERROR(OnlyKeys(flags, {"native_q2", "native_q2_mmq"}));
  SizingArguments a;
  DM_ASSIGN_OR_RETURN(a.max_batch_tokens, args.U64("max_batch_tokens"));
  DM_ASSIGN_OR_RETURN(a.max_seq_len, args.U64("max_seq_len"));
  DM_ASSIGN_OR_RETURN(a.kv_block_size, args.U64("kv_block_size"));
  DM_ASSIGN_OR_RETURN(a.max_batch_size, args.U64("max_batch_size"));
  DM_ASSIGN_OR_RETURN(a.native_q2, flags.Bool("native_q2"));
  DM_ASSIGN_OR_RETURN(a.native_q2_mmq, flags.Bool("native_q2_mmq"));
  return a;
}

StatusOr<ExpectedSizes> ParseExpectedSizes(const JsonObject& row) {
  ExpectedSizes result;
  DM_ASSIGN_OR_RETURN(const JsonObject expected, row.Object("expected"));
  for (const auto& [key, value] : expected.json().items()) {
    if (FindBufferField(key) == nullptr) {
      return InvalidArgumentError(fmt::format(
          "{}: expected one of the 41 buffers, found an unknown key", expected.Where(key)));
    }
  }
  for (const BufferField& field : kBufferFields) {
    DM_ASSIGN_OR_RETURN(result.sizes.*field.bytes, expected.U64(field.name));
  }
  DM_ASSIGN_OR_RETURN(result.upstream_total_bytes, row.U64("upstream_total_bytes"));
  DM_ASSIGN_OR_RETURN(result.sum_of_41, row.U64("sum_of_41"));
  DM_ASSIGN_OR_RETURN(const JsonObject offsets, row.Object("sub_offsets"));
  for (const auto& [key, value] : offsets.json().items()) {
    DM_ASSIGN_OR_RETURN(const std::uint64_t offset, offsets.U64(key));
    result.sub_offsets.emplace_back(key, offset);
  }
  return result;
}

StatusOr<ExpectedOverflow> ParseExpectedOverflow(const JsonObject& row) {
  ExpectedOverflow result;
  DM_ASSIGN_OR_RETURN(const std::string error, row.String("expected_error"));
  if (error != "overflow") return row.TypeError("expected_error", "\"overflow\"");
  DM_ASSIGN_OR_RETURN(const std::string where, row.String("where"));
  if (where != "from_config" && where != "total_bytes") {
    return row.TypeError("where", "\"from_config\" or \"total_bytes\"");
  }
  result.in_total = where == "total_bytes";
  DM_ASSIGN_OR_RETURN(result.field, row.String("field"));
  if (result.in_total ? result.field != "total_bytes" : FindBufferField(result.field) == nullptr) {
    return row.TypeError("field", result.in_total ? "\"total_bytes\"" : "one of the 41 buffers");
  }
  return result;
}

StatusOr<SizeRow> ParseRow(const JsonObject& row) {
  SizeRow result;
  DM_ASSIGN_OR_RETURN(result.name, row.String("name"));
  DM_ASSIGN_OR_RETURN(const JsonObject config, row.Object("config"));
  DM_ASSIGN_OR_RETURN(result.config, ParseSizingFields(config));
  DM_ASSIGN_OR_RETURN(result.arguments, ParseArguments(row));
  if (row.Has("expected_error")) {
    DM_RETURN_IF_ERROR(OnlyKeys(row, {"name", "synthetic", "source", "config", "args", "flags",
                                      "expected_error", "where", "field"}));
    DM_ASSIGN_OR_RETURN(result.overflow, ParseExpectedOverflow(row));
  } else {
    DM_RETURN_IF_ERROR(
        OnlyKeys(row, {"name", "synthetic", "source", "config", "args", "flags", "expected",
                       "upstream_total_bytes", "sum_of_41", "sub_offsets"}));
    DM_ASSIGN_OR_RETURN(result.sizes, ParseExpectedSizes(row));
  }
  return result;
}

// "FILE: row 3 (qwen3_8b)", as far as the name can be read.
std::string DescribeRow(const std::string& source, std::size_t index, const Json& row) {
  std::string name;
  if (row.is_object() && row.contains("name") && row["name"].is_string()) {
    name = fmt::format(" ({})", row["name"].get<std::string>());
  }
  return fmt::format("{}: row {}{}", source, index, name);
}

}  // namespace

StatusOr<std::vector<SizeRow>> ParseSizeRows(const Json& rows, const std::string& source) {
  if (!rows.is_array()) {
    return DataLossError(
        fmt::format("{}: expected an array of sizing rows, found {}", source, DescribeJson(rows)));
  }
  // Nothing to check must not pass for a check that passed.
  if (rows.empty()) {
    return DataLossError(source + ": expected an array of sizing rows, found an empty one");
  }
  std::vector<SizeRow> result;
  std::set<std::string> names;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string where = DescribeRow(source, i, rows[i]);
    DM_ASSIGN_OR_RETURN(const JsonObject object, JsonObject::Root(rows[i], where));
    DM_ASSIGN_OR_RETURN(SizeRow row, ParseRow(object));
    if (!names.insert(row.name).second) {
      return DataLossError(where + ": expected a name of its own, found one used before");
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace draftmark
