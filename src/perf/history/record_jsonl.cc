#include "src/perf/history/record_jsonl.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/sha256.h"
#include "src/perf/history/record_fields.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

constexpr char kFormatKey[] = "draftmark_history";
constexpr std::size_t kUidDigits = 16;

// Fields of one object, without those that have their default.
class Writer {
 public:
  OrderedJson json = OrderedJson::object();

  template <typename T>
  void operator()(const char* key, const T& value) {
    Put(key, value);
  }
  void operator()(const char* key, const Environment& environment) {
    Writer inner;
    Fields(inner, environment);
    if (!inner.json.empty()) json[key] = std::move(inner.json);
  }

 private:
  void Put(std::string_view key, const std::string& text) {
    if (!text.empty() && !(key == "metric" && text == "time")) json[key] = text;
  }
  void Put(std::string_view key, std::int64_t value) {
    if (key == "time") {
      json[key] = FormatUtc(value);
    } else if (value != (key == "schema" ? kFirstCaseSchema : 0)) {
      json[key] = value;
    }
  }
  void Put(std::string_view key, double value) { json[key] = value; }
  void Put(std::string_view key, bool value) {
    if (value != (key == "valid")) json[key] = value;
  }
  // Unlike a field that must be there, an optional one says more than its default.
  template <typename T>
  void Put(std::string_view key, const std::optional<T>& value) {
    if (value) json[key] = *value;
  }
  template <typename T>
  void Put(std::string_view key, const std::vector<std::pair<std::string, T>>& named) {
    for (const auto& [name, value] : named) json[key][name] = value;
  }
  void Put(std::string_view key, const std::vector<std::string>& names) {
    if (!names.empty()) json[key] = names;
  }
};

// Appends one line for each item.
class LineWriter {
 public:
  explicit LineWriter(std::string& text) : text_(text) {}

  template <typename T>
  void List(const char* key, const std::vector<T>& items) {
    for (const T& item : items) {
      Writer writer;
      Fields(writer, item);
      OrderedJson line;
      line[key] = std::move(writer.json);
      text_ += line.dump() + "\n";
    }
  }

 private:
  std::string& text_;
};

// Reads the fields of one object and remembers which keys it knows. Keeps the first error.
class Reader {
 public:
  explicit Reader(const JsonObject& object) : object_(object) {}

  template <typename T>
  void operator()(const char* key, T& value) {
    known_.insert(key);
    if (status_.ok() && object_.Has(key)) status_ = Get(key, value);
  }
  void Know(const char* key) { known_.insert(key); }

  // The first error; a key that nothing read is one.
  Status Finish() const {
    DM_RETURN_IF_ERROR(status_);
    for (const auto& [key, value] : object_.json().items()) {
      if (!known_.contains(key)) {
        return InvalidArgumentError(fmt::format("{}: unknown key", object_.Where(key)));
      }
    }
    return OkStatus();
  }

 private:
  Status Get(std::string_view key, std::string& text) {
    DM_ASSIGN_OR_RETURN(text, object_.String(key));
    return OkStatus();
  }
  Status Get(std::string_view key, std::int64_t& value) {
    if (key != "time") {
      DM_ASSIGN_OR_RETURN(value, object_.I64(key));
      return OkStatus();
    }
    DM_ASSIGN_OR_RETURN(const std::string text, object_.String(key));
    const std::optional<std::int64_t> time = ParseUtc(text);
    if (!time) return object_.TypeError(key, "a time as 2026-11-30T02:24:17Z");
    value = *time;
    return OkStatus();
  }
  Status Get(std::string_view key, double& value) {
    DM_ASSIGN_OR_RETURN(value, object_.Number(key));
    return OkStatus();
  }
  Status Get(std::string_view key, bool& value) {
    DM_ASSIGN_OR_RETURN(value, object_.Bool(key));
    return OkStatus();
  }
  template <typename T>
  Status Get(std::string_view key, std::optional<T>& value) {
    T inner{};
    DM_RETURN_IF_ERROR(Get(key, inner));
    value = inner;
    return OkStatus();
  }
  template <typename T>
  Status Get(std::string_view key, std::vector<std::pair<std::string, T>>& named) {
    DM_ASSIGN_OR_RETURN(const JsonObject inner, object_.Object(key));
    for (const auto& [name, json] : inner.json().items()) {
      Reader reader(inner);
      T value{};
      if (json.is_null()) return inner.TypeError(name, "a value");
      DM_RETURN_IF_ERROR(reader.Get(name, value));
      named.emplace_back(name, std::move(value));
    }
    return OkStatus();
  }
  Status Get(std::string_view key, std::vector<std::string>& names) {
    DM_ASSIGN_OR_RETURN(names, object_.StringList(key));
    return OkStatus();
  }
  Status Get(std::string_view key, Environment& environment) {
    DM_ASSIGN_OR_RETURN(const JsonObject inner, object_.Object(key));
    Reader reader(inner);
    Fields(reader, environment);
    return reader.Finish();
  }

  const JsonObject& object_;
  std::set<std::string, std::less<>> known_;
  Status status_;
};

// Takes the one item of a line into the list that has its name.
class ItemReader {
 public:
  explicit ItemReader(const JsonObject& line) : line_(line) {}

  template <typename T>
  void List(const char* key, std::vector<T>& items) {
    if (!status_.ok() || !line_.Has(key)) return;
    found_ = true;
    status_ = Read(key, items);
  }
  Status Finish() const {
    DM_RETURN_IF_ERROR(status_);
    if (found_ && line_.json().size() == 1) return OkStatus();
    const std::string key = line_.json().empty() ? "{}" : line_.json().begin().key();
    return InvalidArgumentError(
        fmt::format("{}: expected one item of a kind that such a record has", line_.Where(key)));
  }

 private:
  template <typename T>
  Status Read(const char* key, std::vector<T>& items) {
    DM_ASSIGN_OR_RETURN(const JsonObject object, line_.Object(key));
    Reader reader(object);
    Fields(reader, items.emplace_back());
    return reader.Finish();
  }

  const JsonObject& line_;
  Status status_;
  bool found_ = false;
};

StatusOr<HistoryRecord> EmptyRecord(const JsonObject& header) {
  DM_ASSIGN_OR_RETURN(const std::int64_t version, header.I64(kFormatKey));
  if (version > kHistoryFormatVersion) {
    return FailedPreconditionError(
        fmt::format("{}: expected at most {}, found {}: a newer draftmark wrote it; use that one",
                    header.Where(kFormatKey), kHistoryFormatVersion, version));
  }
  if (version < 1) return header.TypeError(kFormatKey, "a version");
  DM_ASSIGN_OR_RETURN(const std::string kind, header.String("kind"));
  for (HistoryRecord record : {HistoryRecord(RunRecord{}), HistoryRecord(GateRecord{}),
                               HistoryRecord(AaRecord{}), HistoryRecord(AcceptRecord{}),
                               HistoryRecord(ReleaseRecord{}), HistoryRecord(NightRecord{})}) {
    if (KindOf(record) == kind) return record;
  }
  return header.TypeError("kind", "run, gate, aa, accept, release or night");
}

Status ReadHeader(const JsonObject& header, HistoryRecord& record) {
  if (!header.Has("time")) return header.AbsentError("time", "a time as 2026-11-30T02:24:17Z");
  Reader reader(header);
  reader.Know(kFormatKey);
  reader.Know("kind");
  std::visit([&](auto& any) { Fields(reader, any); }, record);
  return reader.Finish();
}

std::string Hash(std::string_view text) { return Sha256Hex(std::as_bytes(std::span(text))); }

std::string UidOf(const HistoryRecord& record, const std::string& sha256) {
  const auto* const run = std::get_if<RunRecord>(&record);
  const bool imported = run != nullptr && !run->source_sha256.empty();
  return (imported ? run->source_sha256 : sha256).substr(0, kUidDigits);
}

// Checks the last line against the text before it; returns how many lines that is and the hash.
struct Body {
  std::vector<std::string_view> lines;
  std::string sha256;
};
StatusOr<Body> CheckEnd(std::string_view text, const std::string& source) {
  const auto damaged = [&](std::string_view what) {
    return DataLossError(fmt::format("{}: {}", source, what));
  };
  if (text.empty() || text.back() != '\n') return damaged("truncated: the last line has no end");
  const std::size_t before_last = text.substr(0, text.size() - 1).rfind('\n');
  if (before_last == std::string_view::npos) return damaged("truncated: no line that ends it");
  const std::string_view body = text.substr(0, before_last + 1);
  Body read;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = body.find('\n', at);
    read.lines.push_back(body.substr(at, end - at));
    at = end + 1;
  }
  const std::string where = fmt::format("{}:{}", source, read.lines.size() + 1);
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text.substr(before_last + 1), where));
  if (!json.is_object() || !json.contains("end")) {
    return damaged("truncated: the last line is not the one that ends a record");
  }
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, where));
  DM_ASSIGN_OR_RETURN(const JsonObject end, root.Object("end"));
  DM_ASSIGN_OR_RETURN(const std::uint64_t lines, end.U64("lines"));
  DM_ASSIGN_OR_RETURN(const std::string sha256, end.String("sha256"));
  if (lines != read.lines.size()) {
    return damaged(
        fmt::format("damaged: end.lines: expected {}, found {} lines", lines, read.lines.size()));
  }
  read.sha256 = Hash(body);
  if (sha256 != read.sha256) {
    return damaged(fmt::format("damaged: end.sha256: expected {}, found lines with {}",
                               DescribeJson(sha256), read.sha256));
  }
  return read;
}

// Of a canonical record that was checked.
RecordText Write(const HistoryRecord& record) {
  Writer header;
  header.json[kFormatKey] = kHistoryFormatVersion;
  header.json["kind"] = KindOf(record);
  RecordText written;
  std::visit(
      [&](const auto& any) {
        Fields(header, any);
        written.text = header.json.dump() + "\n";
        LineWriter lines(written.text);
        Items(lines, any);
      },
      record);
  written.sha256 = Hash(written.text);
  written.uid = UidOf(record, written.sha256);
  const auto lines = std::count(written.text.begin(), written.text.end(), '\n');
  const OrderedJson end = {{"end", {{"lines", lines}, {"sha256", written.sha256}}}};
  written.text += end.dump() + "\n";
  return written;
}

}  // namespace

StatusOr<RecordText> RecordToJsonl(HistoryRecord record) {
  Canonicalize(record);
  DM_RETURN_IF_ERROR(CheckRecord(record));
  return Write(record);
}

StatusOr<ParsedRecord> ParseRecordJsonl(std::string_view text, const std::string& source) {
  DM_ASSIGN_OR_RETURN(const Body body, CheckEnd(text, source));
  ParsedRecord parsed{RunRecord{}, "", body.sha256};
  for (std::size_t i = 0; i < body.lines.size(); ++i) {
    const std::string where = fmt::format("{}:{}", source, i + 1);
    DM_ASSIGN_OR_RETURN(const Json json, ParseJson(body.lines[i], where));
    DM_ASSIGN_OR_RETURN(const JsonObject object, JsonObject::Root(json, where));
    if (i == 0) {
      DM_ASSIGN_OR_RETURN(parsed.record, EmptyRecord(object));
      DM_RETURN_IF_ERROR(ReadHeader(object, parsed.record));
      continue;
    }
    ItemReader reader(object);
    std::visit([&](auto& any) { Items(reader, any); }, parsed.record);
    DM_RETURN_IF_ERROR(reader.Finish());
  }
  Canonicalize(parsed.record);
  DM_RETURN_IF_ERROR(CheckRecord(parsed.record).Annotated(source));
  // Else the database would not give back the same bytes.
  if (Write(parsed.record).text != text) {
    return InvalidArgumentError(
        fmt::format("{}: expected a record as draftmark writes it, found the same content in "
                    "another order or notation",
                    source));
  }
  parsed.uid = UidOf(parsed.record, parsed.sha256);
  return parsed;
}

}  // namespace draftmark
