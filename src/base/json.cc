// Parsing; json_object.cc has the view of an object.
#include "src/base/json.h"

#include <fmt/format.h>

#include <utility>

#include "src/base/json_nonfinite.h"
#include "src/base/printable.h"

namespace draftmark {
namespace {

using internal::NonfiniteToken;
using internal::OriginalCount;
using internal::QuotedToken;
using internal::QuoteNonfinite;
using internal::WithOriginalTokens;

// The end of the library's message: what it expected, without its own prefix and position.
std::string ParserText(std::string what) {
  if (const std::size_t id = what.find("] "); id != std::string::npos) what.erase(0, id + 2);
  if (what.starts_with("parse error at ")) {
    if (const std::size_t colon = what.find(": "); colon != std::string::npos) {
      what.erase(0, colon + 2);
    }
  }
  // It quotes all of a string that does not end, which may be the rest of the file.
  return WithoutMiddle(WithOriginalTokens(std::move(what)));
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

}  // namespace draftmark
