#include "src/cases/case_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/base/printable.h"

namespace draftmark {
namespace {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

}  // namespace

StatusOr<CaseKeys> ParseCaseKeys(std::string_view text) {
  CaseKeys keys;
  for (const std::string_view part : Split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view digits = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool leading_zero = digits.size() > 1 && digits[0] == '0';  // would print differently
    if (!IsName(key) || digits.empty() || error != std::errc() ||
        end != digits.data() + digits.size() || leading_zero) {
      return InvalidArgumentError(
          fmt::format("\"{}\" is not of the form key=number", Printable(part)));
    }
    for (const auto& [known, ignored] : keys) {
      if (known == key) return InvalidArgumentError(fmt::format("key \"{}\" is given twice", key));
    }
    keys.emplace_back(key, value);
  }
  return keys;
}

std::string CaseId::ToString() const {
  std::string text;
  for (const auto& [key, value] : keys)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  switch (room) {
    case Room::kOperation:
      return fmt::format("op/{}/{}/{}{}{}", subject, text, dtype, data.empty() ? "" : "/", data);
    case Room::kDraft:
      return fmt::format("draft/{}/{}", subject, text);
    case Room::kScratch:
      return fmt::format("scratch/{}/{}/{}", system, subject, text);
  }
  return "";
}

StatusOr<CaseId> ParseCaseId(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '/');
  CaseId id;
  std::size_t expected = 4;
  std::size_t keys_at = 2;
  if (parts[0] == "op") {
    id.room = CaseId::Room::kOperation;
  } else if (parts[0] == "draft") {
    id.room = CaseId::Room::kDraft;
    expected = 3;
  } else if (parts[0] == "scratch") {
    id.room = CaseId::Room::kScratch;
    keys_at = 3;
  } else {
    return InvalidArgumentError(
        fmt::format("case id \"{}\": expected op/, draft/ or scratch/ in front", Printable(text)));
  }
  const bool with_data = id.room == CaseId::Room::kOperation && parts.size() == expected + 1;
  if (parts.size() != expected && !with_data) {
    return InvalidArgumentError(fmt::format("case id \"{}\": expected {} parts, found {}",
                                            Printable(text), expected, parts.size()));
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (i != keys_at && !IsName(parts[i])) {
      return InvalidArgumentError(fmt::format("case id \"{}\": \"{}\" is not a name",
                                              Printable(text), Printable(parts[i])));
    }
  }
  StatusOr<CaseKeys> keys = ParseCaseKeys(parts[keys_at]);
  if (!keys.ok()) return keys.status().Annotated(fmt::format("case id \"{}\"", Printable(text)));
  id.keys = *std::move(keys);
  if (id.room == CaseId::Room::kScratch) id.system = parts[1];
  id.subject = parts[keys_at - 1];
  if (id.room == CaseId::Room::kOperation) id.dtype = parts[3];
  if (with_data) id.data = parts[4];
  return id;
}

}  // namespace draftmark
