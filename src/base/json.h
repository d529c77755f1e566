// Reading JSON from files of unknown origin: a strict parser with limits, and a view of an object
// whose errors name the file, the path of the key, what was expected and what was found.
//
//   DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, "config.json"));
//   DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, "config.json"));
//   DM_ASSIGN_OR_RETURN(const std::uint64_t hidden, root.U64("hidden_size"));
//     -> "config.json: hidden_size: expected an unsigned 64-bit integer, found -3"
//
// Null counts as absent everywhere (spec/model_config.md section 1). Nothing here throws. A
// JsonObject points into its Json and must not outlive it; both may be read by several threads.
#ifndef DRAFTMARK_SRC_BASE_JSON_H_
#define DRAFTMARK_SRC_BASE_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // for output: keeps the order of insertion

struct JsonParseOptions {
  // Accept the bare tokens NaN, Infinity and -Infinity that Python writes. Any read of such a value
  // as a number fails with a message that shows the token.
  bool allow_nonfinite = false;
  // A key given twice is an error; with this only if the two values differ.
  bool allow_equal_duplicates = false;
  int max_depth = 64;  // far above any real config; bounds recursion in users of the tree
};

// Parses one JSON document. `source` is the file's name for messages. A syntax error names the byte
// of `text`, counted from 1, at which the parser noticed.
StatusOr<Json> ParseJson(std::string_view text, const std::string& source,
                         const JsonParseOptions& options = {});

// A value as it appears in an error message: compact, cut after 60 characters.
std::string DescribeJson(const Json& value);

// A value as a text to keep: of a string its contents; all else, the tokens of allow_nonfinite too, as in a file.
std::string JsonText(const Json& value);

class JsonObject {
 public:
  // Fails if `json` is no object.
  static StatusOr<JsonObject> Root(const Json& json, std::string source);

  // Present and not null.
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // The value, or nullptr if absent or null.
  const Json* Find(std::string_view key) const;

  // Required keys: NOT_FOUND if absent, INVALID_ARGUMENT if of the wrong type or range.
  StatusOr<std::uint64_t> U64(std::string_view key) const;
  StatusOr<std::int64_t> I64(std::string_view key) const;
  StatusOr<double> Number(std::string_view key) const;  // any finite JSON number
  StatusOr<bool> Bool(std::string_view key) const;
  StatusOr<std::string> String(std::string_view key) const;
  StatusOr<JsonObject> Object(std::string_view key) const;
  StatusOr<std::vector<std::uint64_t>> U64List(std::string_view key) const;
  StatusOr<std::vector<std::int64_t>> I64List(std::string_view key) const;
  StatusOr<std::vector<std::string>> StringList(std::string_view key) const;
  StatusOr<std::vector<bool>> BoolList(std::string_view key) const;
  // The elements of an array of objects, each with its own path ("steps[2]").
  StatusOr<std::vector<JsonObject>> ObjectList(std::string_view key) const;

  // The same, with a default when absent. A wrong type is still an error.
  StatusOr<std::uint64_t> U64Or(std::string_view key, std::uint64_t absent) const;
  StatusOr<double> NumberOr(std::string_view key, double absent) const;
  StatusOr<bool> BoolOr(std::string_view key, bool absent) const;
  StatusOr<std::string> StringOr(std::string_view key, std::string absent) const;
  StatusOr<std::optional<bool>> OptionalBool(std::string_view key) const;
  StatusOr<std::optional<std::uint64_t>> OptionalU64(std::string_view key) const;
  StatusOr<std::optional<double>> OptionalNumber(std::string_view key) const;

  const Json& json() const { return *json_; }
  const std::string& source() const { return source_; }
  // "file: a.b.key".
  std::string Where(std::string_view key) const;
  // "file: a.b.key: expected WHAT, found VALUE".
  Status TypeError(std::string_view key, std::string_view expected) const;
  // "file: a.b.key: required, but absent (expected WHAT)".
  Status AbsentError(std::string_view key, std::string_view expected) const;

 private:
  JsonObject(const Json* json, std::string source, std::string path)
      : json_(json), source_(std::move(source)), path_(std::move(path)) {}

  const Json* json_;
  std::string source_;
  std::string path_;  // "" or "text_config" or "steps[2].inputs"
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_JSON_H_
