#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "src/base/json.h"
#include "src/base/json_nonfinite.h"
#include "src/base/printable.h"

namespace draftmark {

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

// Whether it is a string of the file, and no token.
bool IsText(const Json& value) {
  return value.is_string() && internal::NonfiniteToken(value.get_ref<const std::string&>()).empty();
}

// An array of the elements that `read` gives: nothing of one that is none of `expected`.
template <typename T, typename Read>
StatusOr<std::vector<T>> ListOf(const JsonObject& object, std::string_view key,
                                std::string_view array, std::string_view expected,
                                const Read& read) {
  const Json* const value = object.Find(key);
  if (!value) return object.AbsentError(key, array);
  if (!value->is_array()) return object.TypeError(key, array);
  std::vector<T> result;
  for (std::size_t i = 0; i < value->size(); ++i) {
    std::optional<T> element = read((*value)[i], i);
    if (!element) {
      return InvalidArgumentError(fmt::format("{}[{}]: expected {}, found {}", object.Where(key), i,
                                              expected, DescribeJson((*value)[i])));
    }
    result.push_back(*std::move(element));
  }
  return result;
}

template <typename T>
StatusOr<std::optional<T>> ToOptional(StatusOr<T> result) {
  if (!result.ok()) return result.status();
  return std::optional<T>(std::move(result).value());
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
  if (!IsText(*value)) return TypeError(key, "a string");
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
  return ListOf<std::uint64_t>(
      *this, key, "an array of unsigned 64-bit integers", kU64,
      [](const Json& element, std::size_t) -> std::optional<std::uint64_t> {
        if (!element.is_number_unsigned()) return std::nullopt;
        return element.get<std::uint64_t>();
      });
}

StatusOr<std::vector<std::int64_t>> JsonObject::I64List(std::string_view key) const {
  return ListOf<std::int64_t>(*this, key, "an array of signed 64-bit integers", kI64,
                              [](const Json& element, std::size_t) { return AsI64(element); });
}

StatusOr<std::vector<std::string>> JsonObject::StringList(std::string_view key) const {
  return ListOf<std::string>(*this, key, "an array of strings", "a string",
                             [](const Json& element, std::size_t) -> std::optional<std::string> {
                               if (!IsText(element)) return std::nullopt;
                               return element.get<std::string>();
                             });
}

StatusOr<std::vector<bool>> JsonObject::BoolList(std::string_view key) const {
  return ListOf<bool>(*this, key, "an array of true and false", "true or false",
                      [](const Json& element, std::size_t) -> std::optional<bool> {
                        if (!element.is_boolean()) return std::nullopt;
                        return element.get<bool>();
                      });
}

StatusOr<std::vector<JsonObject>> JsonObject::ObjectList(std::string_view key) const {
  return ListOf<JsonObject>(
      *this, key, "an array of objects", "an object",
      [&](const Json& element, std::size_t i) -> std::optional<JsonObject> {
        if (!element.is_object()) return std::nullopt;
        return JsonObject(&element, source_,
                          fmt::format("{}{}{}[{}]", path_, path_.empty() ? "" : ".", key, i));
      });
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
