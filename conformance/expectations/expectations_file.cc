// Reads files of expectations: strict, every error with its line.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <locale>
#include <sstream>
#include <utility>

#include "conformance/expectations/expectations.h"
#include "conformance/expectations/plain_toml.h"
#include "src/base/printable.h"
#include "src/base/wildcard.h"
#include "src/cases/case_id.h"

namespace draftmark {
namespace {

constexpr std::int64_t kSchemaVersion = 1;
// People write these by hand.
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 20;
// Characters. Far above any id; comparing two patterns takes the product of their lengths.
constexpr std::size_t kLongestCase = 300;

std::string Describe(const toml::node& node) {
  std::ostringstream text;
  text.imbue(std::locale::classic());  // a program that embeds us may have set another
  node.visit([&](const auto& value) { text << value; });
  std::string shown = text.str();
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  shown = OneLine(shown);
  if (shown.size() > 60) shown = shown.substr(0, 60) + "...";
  return shown;
}

// One line of text that says something.
bool IsLine(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  return text.find_first_not_of(' ') != std::string_view::npos &&
         std::none_of(text.begin(), text.end(), is_control);
}

// One [[expectation]] table, or the file's root. Remembers the first error, so that the reader
// below reads like the format.
class Table {
 public:
  Table(const toml::table& table, std::string source, std::string path)
      : table_(table), source_(std::move(source)), path_(std::move(path)) {}

  std::string Text(const char* key) {
    const toml::node* const node = Required(key, "one line of text");
    if (node == nullptr) return "";
    const auto* const text = node->as_string();
    if (text == nullptr || !IsLine(text->get())) {
      Fail(*node, key, "one line of text");
      return "";
    }
    return text->get();
  }
  std::optional<std::string> OptionalText(const char* key) {
    if (!table_.contains(key)) return std::nullopt;
    return Text(key);
  }
  std::chrono::year_month_day Date(const char* key) {
    constexpr const char* kExpected = "a date such as 2026-12-31, without quotes or time";
    const toml::node* const node = Required(key, kExpected);
    if (node == nullptr) return {};
    const auto* const date = node->as_date();
    if (date == nullptr) {
      Fail(*node, key, kExpected);
      return {};
    }
    // The parser accepts days that exist only.
    return {std::chrono::year(date->get().year), std::chrono::month(date->get().month),
            std::chrono::day(date->get().day)};
  }
  const toml::node* Required(const char* key, std::string_view expected) {
    const toml::node* const node = table_.get(key);
    if (node == nullptr && status_.ok()) {
      status_ = NotFoundError(fmt::format("{}:{}: {}: required, but absent (expected {})", source_,
                                          table_.source().begin.line, Path(key), expected));
    }
    return node;
  }
  void OnlyKeys(std::initializer_list<std::string_view> known) {
    for (const auto& [key, node] : table_) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        std::string names;
        for (const std::string_view name : known)
          names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
        FailAt(key.source().begin.line, key.str(), "one of the keys " + names,
               "\"" + Printable(key.str()) + "\"");
      }
    }
  }
  void Fail(const toml::node& node, std::string_view key, std::string_view expected) {
    FailAt(node.source().begin.line, key, expected, Describe(node));
  }
  void FailAt(std::uint32_t line, std::string_view key, std::string_view expected,
              std::string_view found) {
    if (!status_.ok()) return;
    status_ = InvalidArgumentError(
        fmt::format("{}:{}: {}: expected {}, found {}", source_, line, Path(key), expected, found));
  }
  std::uint32_t LineOf(const char* key) const { return table_.get(key)->source().begin.line; }
  const Status& status() const { return status_; }

 private:
  std::string Path(std::string_view key) const {
    return path_.empty() ? Printable(key) : fmt::format("{}.{}", path_, Printable(key));
  }

  const toml::table& table_;
  const std::string source_;
  const std::string path_;  // "" or "expectation[2]"
  Status status_;
};

// A case id, or one with stars: then only its characters and its room can be checked.
std::string WrongCase(const std::string& text) {
  if (text.size() > kLongestCase) {
    return fmt::format("{} characters, more than {}", text.size(), kLongestCase);
  }
  if (text.find('*') == std::string::npos) {
    const StatusOr<CaseId> id = ParseCaseId(text);
    return id.ok() ? "" : id.status().message();
  }
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,=/*";
  const bool room =
      text.starts_with("op/") || text.starts_with("draft/") || text.starts_with("scratch/");
  if (!room || text.find_first_not_of(kCharacters) != std::string::npos) {
    return fmt::format("pattern \"{}\"", text);
  }
  return "";
}

// "WHERE: WHAT"; a star, in a waiver, before the last ": " only.
bool IsSignature(const std::string& text, ExpectationKind kind) {
  const std::size_t colon = text.rfind(": ");
  const std::size_t star = text.rfind('*');
  return colon != std::string::npos && colon > 0 && colon + 2 < text.size() &&
         (star == std::string::npos || (kind == ExpectationKind::kWaiver && star < colon));
}

StatusOr<Expectation> ReadEntry(const toml::table& table, const std::string& source,
                                const std::string& path) {
  Table t(table, source, path);
  Expectation entry;
  t.OnlyKeys(
      {"case", "kind", "precision", "backend", "reason", "owner", "link", "expires", "signature"});
  entry.case_pattern = t.Text("case");
  const std::string kind = t.Text("kind");
  const std::optional<std::string> precision = t.OptionalText("precision");
  entry.backend = t.OptionalText("backend");
  entry.reason = t.Text("reason");
  entry.owner = t.Text("owner");
  entry.link = t.Text("link");
  entry.expires = t.Date("expires");
  entry.signature = t.Text("signature");
  DM_RETURN_IF_ERROR(t.status());
  entry.line = t.LineOf("case");
  if (const std::string wrong = WrongCase(entry.case_pattern); !wrong.empty()) {
    t.FailAt(entry.line, "case", "a case id such as draft/dflash_yarn/gamma=16, or one with *",
             wrong);
  }
  if (kind == "waiver") {
    entry.kind = ExpectationKind::kWaiver;
  } else if (kind != "known_failure") {
    t.FailAt(t.LineOf("kind"), "kind", "known_failure or waiver", "\"" + kind + "\"");
  }
  if (precision) {
    for (const Precision known : {Precision::kExact, Precision::kBf16}) {
      if (*precision == PrecisionName(known)) entry.precision = known;
    }
    if (!entry.precision) {
      t.FailAt(t.LineOf("precision"), "precision", "exact or bf16", "\"" + *precision + "\"");
    }
  }
  if (!IsSignature(entry.signature, entry.kind)) {
    t.FailAt(t.LineOf("signature"), "signature",
             "\"WHERE: WHAT\" as on the signature line of a failure, with * only in a waiver and "
             "before the colon",
             "\"" + entry.signature + "\"");
  }
  DM_RETURN_IF_ERROR(t.status());
  return entry;
}

template <typename T>
bool FiltersOverlap(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || *a == *b;
}

Status CheckOverlap(const std::vector<Expectation>& entries, const std::string& source) {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const Expectation& a = entries[k];
      const Expectation& b = entries[i];
      if (FiltersOverlap(a.precision, b.precision) && FiltersOverlap(a.backend, b.backend) &&
          WildcardsOverlap(a.case_pattern, b.case_pattern)) {
        return InvalidArgumentError(fmt::format(
            "{}:{}: expectation[{}].case: expected cases that no other entry names, found \"{}\", "
            "which overlaps \"{}\" of line {}",
            source, b.line, i, b.case_pattern, a.case_pattern, a.line));
      }
    }
  }
  return OkStatus();
}

// The parser goes one call deeper for each part of a dotted key, which stands on one line.
Status CheckLineLengths(std::string_view text, const std::string& source) {
  constexpr std::size_t kLongestLine = 4096;
  std::size_t line = 1;
  for (std::size_t begin = 0; begin <= text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin > kLongestLine) {
      return DataLossError(fmt::format("{}:{}: expected a line of at most {} bytes, found {}",
                                       source, line, kLongestLine, end - begin));
    }
    begin = end + 1;
  }
  return OkStatus();
}

}  // namespace

StatusOr<Expectations> Expectations::Parse(std::string_view text, const std::string& source) {
  DM_RETURN_IF_ERROR(CheckLineLengths(text, source));
  DM_ASSIGN_OR_RETURN(const toml::table root, ParsePlainToml(text, source));
  Table t(root, source, "");
  t.OnlyKeys({"schema_version", "architecture", "expectation"});
  const toml::node* const version = t.Required("schema_version", "1");
  if (version != nullptr && version->value_exact<std::int64_t>() != kSchemaVersion) {
    t.Fail(*version, "schema_version", "1");
  }
  const toml::node* const list = root.get("expectation");
  if (list != nullptr && !list->is_array_of_tables()) {
    t.Fail(*list, "expectation", "[[expectation]] tables");
  }
  const toml::node* const architecture = root.get("architecture");
  if (architecture != nullptr && !architecture->is_table()) {
    t.Fail(*architecture, "architecture", "an [architecture] table");
  }
  DM_RETURN_IF_ERROR(t.status());
  Expectations result;
  result.source_ = source;
  if (architecture != nullptr) {
    Table about(*architecture->as_table(), source, "architecture");
    about.OnlyKeys({"not_built"});
    result.not_built_ = about.Text("not_built");
    DM_RETURN_IF_ERROR(about.status());
  }
  if (list == nullptr) return result;
  for (const toml::node& node : *list->as_array()) {
    DM_ASSIGN_OR_RETURN(Expectation entry,
                        ReadEntry(*node.as_table(), source,
                                  fmt::format("expectation[{}]", result.entries_.size())));
    result.entries_.push_back(std::move(entry));
  }
  DM_RETURN_IF_ERROR(CheckOverlap(result.entries_, source));
  return result;
}

StatusOr<Expectations> Expectations::Load(const std::string& path, FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, file_system, kLargestFile));
  return Parse(text, path);
}

}  // namespace draftmark
