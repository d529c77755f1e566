#include "src/config/sizing_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace draftmark {

StatusOr<SizingFields> ParseSizingFields(const JsonObject& object) {
  SizingFields fields;
  for (const auto& [key, value] : object.json().items()) {
    const bool known =
        std::any_of(kSizingFields.begin(), kSizingFields.end(),
                    [&key = key](const SizingField& field) { return field.name == key; });
    if (!known) {
      return InvalidArgumentError(
          fmt::format("{}: expected one of the 34 sizing fields, found an unknown key of value {}",
                      object.Where(key), DescribeJson(value)));
    }
  }
  for (const SizingField& field : kSizingFields) {
    if (field.flag != nullptr) {
      DM_ASSIGN_OR_RETURN(fields.*field.flag, object.Bool(field.name));
    } else {
      DM_ASSIGN_OR_RETURN(fields.*field.count, object.U64(field.name));
    }
  }
  return fields;
}

OrderedJson ToJson(const SizingFields& fields) {
  OrderedJson json = OrderedJson::object();
  for (const SizingField& field : kSizingFields) {
    const std::string key(field.name);
    if (field.flag != nullptr) {
      json[key] = fields.*field.flag;
    } else {
      json[key] = fields.*field.count;
    }
  }
  return json;
}

}  // namespace draftmark
