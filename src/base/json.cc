#include "src/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/printable.h"

namespace draftmark {
namespace {

// Bare non-finite tokens become strings with this prefix (a private-use character), so that the
// strict parser takes them and every numeric read refuses them.
constexpr std::string_view kNonfinitePrefix = "\xEE\x80\x80";
constexpr std::array<std::string_view, 3> kNonfiniteTokens = {"NaN", "Infinity", "-Infinity"};
// What a token grows by: the prefix and two quotes.
constexpr std::size_t kQuotingAdds = kNonfinitePrefix.size() + 2;

// The token that was made this string, "" if it is a string of the file.
std::string_view NonfiniteToken(std::string_view text) {
  if (!text.starts_with(kNonfinitePrefix)) return "";
  text.remove_prefix(kNonfinitePrefix.size());
  const auto found = std::find(kNonfiniteTokens.begin(), kNonfiniteTokens.end(), text);
  return found != kNonfiniteTokens.end() ? *found : std::string_view();
}

bool IsDelimiter(char c) {
  return c == ',' || c == ':' || c == '[' || c == ']' || c == '{' || c == '}' || c == ' ' ||
         c == '\t' || c == '\n' || c == '\r';
}

struct QuotedToken {
  std::size_t begin;  // in the new text
  std::size_t size;   // in the original one
};

// Replaces NaN, Infinity and -Infinity outside strings. Token boundaries are checked, so
// `Infinityx` stays an error.
std::string QuoteNonfinite(std::string_view text, std::vector<QuotedToken>& tokens) {
  std::string out;
  out.reserve(text.size() + 64);
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out.push_back(c);
      if (c == '\\' && i + 1 < text.size()) {
        out.push_back(text[++i]);
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    bool replaced = false;
    if ((c == 'N' || c == 'I' || c == '-') && (i == 0 || IsDelimiter(text[i - 1]))) {
      for (const std::string_view token : kNonfiniteTokens) {
        const std::size_t end = i + token.size();
        if (text.substr(i, token.size()) == token &&
            (end >= text.size() || IsDelimiter(text[end]))) {
          tokens.push_back({out.size(), token.size()});
          out.append("\"").append(kNonfinitePrefix).append(token).append("\"");
          i = end - 1;
          replaced = true;
          break;
        }
      }
    }
    if (!replaced) out.push_back(c);
  }
  return out;
}

// How much of the original text has been read when `count` bytes of the quoted one have.
std::size_t OriginalCount(const std::vector<QuotedToken>& tokens, std::size_t count) {
  std::size_t added = 0;
  for (const QuotedToken& token : tokens) {
    if (count <= token.begin) break;
    const std::size_t inside = std::min(count - token.begin, token.size + kQuotingAdds);
    added += inside - std::min(inside, token.size);
  }
  return count - added;
}

// The end of the library's message: what it expected, without its own prefix and position.
std::string ParserText(std::string what) {
  if (const std::size_t id = what.find("] "); id != std::string::npos) what.erase(0, id + 2);
  if (what.starts_with("parse error at ")) {
    if (const std::size_t colon = what.find(": "); colon != std::string::npos) {
      what.erase(0, colon + 2);
    }
  }
  // It may quote a token that was rewritten.
  const std::string prefix(kNonfinitePrefix);
  for (const std::string_view token : kNonfiniteTokens) {
    const std::string quoted = '"' + prefix + std::string(token) + '"';
    for (std::size_t at = what.find(quoted); at != std::string::npos; at = what.find(quoted)) {
      what.replace(at, quoted.size(), token);
    }
  }
  // And it quotes all of a string that does not end, which may be the rest of the file.
  return WithoutMiddle(what);
}

// Builds the tree and stops at a duplicate key, at too much depth, and at the parser's own errors.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  // `tokens`: those that were quoted in the text to be parsed.
  TreeBuilder(const std::string& source, const JsonParseOptions& options,
              const std::vector<QuotedToken>& tokens)
      : source_(source), options_(options), tokens_(tokens) {}

  Json root;
  Status status;

  bool null() override { return Add(Json(nullptr)); }
  bool boolean(bool value) override { return Add(Json(value)); }
  bool number_integer(number_integer_t value) override { return Add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return Add(Json(value)); }
  bool string(string_t& value) override { return Add(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(Json::object()); }
  bool start_array(std::size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (const std::string_view token = NonfiniteToken(name); !token.empty()) {
      status = DataLossError(
          fmt::format("{}: not valid JSON: expected a key in quotes, found {}", source_, token));
      return false;
    }
    stack_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    status = DataLossError(fmt::format("{}: not valid JSON at byte {}: {}", source_,
                                       OriginalCount(tokens_, position), ParserText(error.what())));
    return false;
  }

 private:
  // Containers are built by value and moved into their parent when they close.
  struct Level {
    Json value;
    std::string key;
  };

  std::string Path(const std::string& name) const {
    std::string path;
    for (const Level& level : stack_) {
      if (&level != &stack_.back() && !level.key.empty()) path += level.key + ".";
    }
    return Printable(path + name);
  }

  bool Add(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
      return true;
    }
    Level& level = stack_.back();
    if (level.value.is_array()) {
      level.value.push_back(std::move(value));
      return true;
    }
    const auto found = level.value.find(level.key);
    if (found != level.value.end()) {
      if (!options_.allow_equal_duplicates || *found != value) {
        status =
            DataLossError(fmt::format("{}: {}: key given twice, with values {} and {}", source_,
                                      Path(level.key), DescribeJson(*found), DescribeJson(value)));
        return false;
      }
      return true;
    }
    level.value[level.key] = std::move(value);
    return true;
  }
  bool Open(Json value) {
    if (static_cast<int>(stack_.size()) >= options_.max_depth) {
      status = DataLossError(
          fmt::format("{}: nested deeper than {} levels", source_, options_.max_depth));
      return false;
    }
    stack_.push_back({std::move(value), ""});
    return true;
  }
  bool Close() {
    Json value = std::move(stack_.back().value);
    stack_.pop_back();
    return Add(std::move(value));
  }

  const std::string& source_;
  const JsonParseOptions& options_;
  const std::vector<QuotedToken>& tokens_;
  std::vector<Level> stack_;
};

}  // namespace

StatusOr<Json> ParseJson(std::string_view text, const std::string& source,
                         const JsonParseOptions& options) {
  // The library takes a zero byte for the end of the text and would pass over what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return DataLossError(
        fmt::format("{}: not valid JSON at byte {}: a zero byte", source, zero + 1));
  }
  std::vector<QuotedToken> tokens;
  TreeBuilder builder(source, options, tokens);
  bool done = false;
  if (options.allow_nonfinite) {
    const std::string quoted = QuoteNonfinite(text, tokens);
    done = Json::sax_parse(quoted.begin(), quoted.end(), &builder);
  } else {
    done = Json::sax_parse(text.begin(), text.end(), &builder);
  }
  if (!builder.status.ok()) return builder.status;
  if (!done) return DataLossError(source + ": not valid JSON");
  return std::move(builder.root);
}

std::string DescribeJson(const Json& value) {
  constexpr std::size_t kLongest = 60;
  if (value.is_string()) {
    // A string of the file may begin as those that stand for tokens do, and go on with anything.
    const std::string_view token = NonfiniteToken(value.get_ref<const std::string&>());
    if (!token.empty()) return std::string(token);
  }
  if (value.is_object()) return fmt::format("an object of {} keys", value.size());
  // `replace` keeps bytes that are not UTF-8 from throwing.
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string JsonText(const Json& value) {
  if (!value.is_string()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto& text = value.get_ref<const std::string&>();
  const std::string_view token = NonfiniteToken(text);
  return token.empty() ? text : std::string(token);
}

StatusOr<JsonObject> JsonObject::Root(const Json& json, std::string source) {
  if (!json.is_object()) {
    return DataLossError(
        fmt::format("{}: expected a JSON object, found {}", source, DescribeJson(json)));
  }
  return JsonObject(&json, std::move(source), "");
}

const Json* JsonObject::Find(std::string_view key) const {
  const auto found = json_->find(key);
  if (found == json_->end() || found->is_null()) return nullptr;
  return &*found;
}

std::string JsonObject::Where(std::string_view key) const {
  return fmt::format("{}: {}{}{}", source_, Printable(path_), path_.empty() ? "" : ".",
                     Printable(key));
}

Status JsonObject::TypeError(std::string_view key, std::string_view expected) const {
  const Json* value = Find(key);
  return InvalidArgumentError(fmt::format("{}: expected {}, found {}", Where(key), expected,
                                          value ? DescribeJson(*value) : "nothing"));
}

Status JsonObject::AbsentError(std::string_view key, std::string_view expected) const {
  return NotFoundError(fmt::format("{}: required, but absent (expected {})", Where(key), expected));
}

namespace {

constexpr std::string_view kU64 = "an unsigned 64-bit integer";
constexpr std::string_view kI64 = "a signed 64-bit integer";

std::optional<std::int64_t> AsI64(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto u = value.get<std::uint64_t>();
    if (u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return std::nullopt;
    return static_cast<std::int64_t>(u);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return std::nullopt;
}

}  // namespace

StatusOr<std::uint64_t> JsonObject::U64(std::string_view key) const {
  const Json* value = Find(key);
  if (!value) return AbsentError(key, kU64);
  // A parsed non-negative integer is always number_unsigned; larger ones arrive as floats and are
  // refused.
  if (!value->is_number_unsigned()) return TypeError(key, kU64);
  return value->get<std::uint64_t>();
}

StatusOr<std::int64_t> JsonObject::I64(std::string_view key) const {
  const Json* value = Find(key);
  if (!value) return AbsentError(key, kI64);
  const std::optional<std::int64_t> result = AsI64(*value);
  if (!result) return TypeError(key, kI64);
  return *result;
}

StatusOr<double> JsonObject::Number(std::string_view key) const {
  const Json* value = Find(key);
  if (!value) return AbsentError(key, "a number");
  if (!value->is_number()) return TypeError(key, "a finite number");
  const double result = value->get<double>();
  if (!std::isfinite(result)) return TypeError(key, "a finite number");
  return result;
}

StatusOr<bool> JsonObject::Bool(std::string_view key) const {
  const Json* value = Find(key);
  if (!value) return AbsentError(key, "true or false");
  if (!value->is_boolean()) return TypeError(key, "true or false");
  return value->get<bool>();
}

StatusOr<std::string> JsonObject::String(std::string_view key) const {
  const Json* value = Find(key);
  if (!value) return AbsentError(key, "a string");
  if (!value->is_string() || !NonfiniteToken(value->get_ref<const std::string&>()).empty()) {
    return TypeError(key, "a string");
  }
  return value->get<std::string>();
}

StatusOr<JsonObject> JsonObject::Object(std::string_view key) const {
  const Json* value = Find(key);
  if (!value) return AbsentError(key, "an object");
  if (!value->is_object()) return TypeError(key, "an object");
  return JsonObject(value, source_,
                    path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

StatusOr<std::vector<std::uint64_t>> JsonObject::U64List(std::string_view key) const {
  constexpr std::string_view kExpected = "an array of unsigned 64-bit integers";
  const Json* value = Find(key);
  if (!value) return AbsentError(key, kExpected);
  if (!value->is_array()) return TypeError(key, kExpected);
  std::vector<std::uint64_t> result;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    if (!element.is_number_unsigned()) {
      return InvalidArgumentError(
          fmt::format("{}[{}]: expected {}, found {}", Where(key), i, kU64, DescribeJson(element)));
    }
    result.push_back(element.get<std::uint64_t>());
  }
  return result;
}

StatusOr<std::vector<bool>> JsonObject::BoolList(std::string_view key) const {
  constexpr std::string_view kExpected = "an array of true and false";
  const Json* value = Find(key);
  if (!value) return AbsentError(key, kExpected);
  if (!value->is_array()) return TypeError(key, kExpected);
  std::vector<bool> result;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    if (!element.is_boolean()) {
      return InvalidArgumentError(fmt::format("{}[{}]: expected true or false, found {}",
                                              Where(key), i, DescribeJson(element)));
    }
    result.push_back(element.get<bool>());
  }
  return result;
}

StatusOr<std::vector<std::int64_t>> JsonObject::I64List(std::string_view key) const {
  constexpr std::string_view kExpected = "an array of signed 64-bit integers";
  const Json* value = Find(key);
  if (!value) return AbsentError(key, kExpected);
  if (!value->is_array()) return TypeError(key, kExpected);
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const std::optional<std::int64_t> element = AsI64((*value)[i]);
    if (!element) {
      return InvalidArgumentError(fmt::format("{}[{}]: expected {}, found {}", Where(key), i, kI64,
                                              DescribeJson((*value)[i])));
    }
    result.push_back(*element);
  }
  return result;
}

StatusOr<std::vector<std::string>> JsonObject::StringList(std::string_view key) const {
  constexpr std::string_view kExpected = "an array of strings";
  const Json* value = Find(key);
  if (!value) return AbsentError(key, kExpected);
  if (!value->is_array()) return TypeError(key, kExpected);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    if (!element.is_string()) {
      return InvalidArgumentError(
          fmt::format("{}[{}]: expected a string, found {}", Where(key), i, DescribeJson(element)));
    }
    result.push_back(element.get<std::string>());
  }
  return result;
}

StatusOr<std::vector<JsonObject>> JsonObject::ObjectList(std::string_view key) const {
  constexpr std::string_view kExpected = "an array of objects";
  const Json* value = Find(key);
  if (!value) return AbsentError(key, kExpected);
  if (!value->is_array()) return TypeError(key, kExpected);
  std::vector<JsonObject> result;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    if (!element.is_object()) {
      return InvalidArgumentError(fmt::format("{}[{}]: expected an object, found {}", Where(key), i,
                                              DescribeJson(element)));
    }
    result.push_back(JsonObject(
        &element, source_, fmt::format("{}{}{}[{}]", path_, path_.empty() ? "" : ".", key, i)));
  }
  return result;
}

StatusOr<std::uint64_t> JsonObject::U64Or(std::string_view key, std::uint64_t absent) const {
  return Has(key) ? U64(key) : StatusOr<std::uint64_t>(absent);
}
StatusOr<double> JsonObject::NumberOr(std::string_view key, double absent) const {
  return Has(key) ? Number(key) : StatusOr<double>(absent);
}
StatusOr<bool> JsonObject::BoolOr(std::string_view key, bool absent) const {
  return Has(key) ? Bool(key) : StatusOr<bool>(absent);
}
StatusOr<std::string> JsonObject::StringOr(std::string_view key, std::string absent) const {
  return Has(key) ? String(key) : StatusOr<std::string>(std::move(absent));
}

namespace {

template <typename T>
StatusOr<std::optional<T>> ToOptional(StatusOr<T> result) {
  if (!result.ok()) return result.status();
  return std::optional<T>(std::move(result).value());
}

}  // namespace

StatusOr<std::optional<bool>> JsonObject::OptionalBool(std::string_view key) const {
  return Has(key) ? ToOptional(Bool(key)) : StatusOr<std::optional<bool>>(std::optional<bool>());
}
StatusOr<std::optional<std::uint64_t>> JsonObject::OptionalU64(std::string_view key) const {
  return Has(key) ? ToOptional(U64(key))
                  : StatusOr<std::optional<std::uint64_t>>(std::optional<std::uint64_t>());
}
StatusOr<std::optional<double>> JsonObject::OptionalNumber(std::string_view key) const {
  return Has(key) ? ToOptional(Number(key))
                  : StatusOr<std::optional<double>>(std::optional<double>());
}

}  // namespace draftmark
