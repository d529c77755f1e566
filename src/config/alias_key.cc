#include "src/config/alias_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace draftmark {

StatusOr<const AliasKey::Place*> AliasKey::Find() const { return FindIf(false); }
StatusOr<const AliasKey::Place*> AliasKey::FindNonzero() const { return FindIf(true); }

StatusOr<const AliasKey::Place*> AliasKey::FindIf(bool zero_is_absent) const {
  const Place* first = nullptr;
  for (const Place& place : places_) {
    const Json* value = place.object->Find(place.key);
    if (value == nullptr) continue;
    if (zero_is_absent && value->is_number() && *value == 0) continue;
    if (first == nullptr) {
      first = &place;
      continue;
    }
    // Json compares numbers by value, so 10000 and 10000.0 agree.
    const Json& expected = *first->object->Find(first->key);
    if (*value != expected) {
      return InvalidArgumentError(fmt::format(
          "{} is {}, but {} is {}: two spellings of one value differ",
          first->object->Where(first->key), DescribeJson(expected),
          place.key == first->key ? place.object->Where(place.key) : std::string(place.key),
          DescribeJson(*value)));
    }
  }
  return first;
}

std::string AliasKey::Where() const {
  const StatusOr<const Place*> found = Find();
  const Place& place = found.ok() && *found != nullptr ? **found : places_.front();
  return place.object->Where(place.key);
}

Status AliasKey::AbsentError() const {
  std::vector<std::string> names;
  for (const Place& place : places_) {
    const std::string name(place.key);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const Place& last = places_.back();
  if (names.size() == 1) return last.object->AbsentError(last.key, "a value");
  return NotFoundError(fmt::format("{}: required, but absent (so are its other spellings: {})",
                                   last.object->Where(names.front()),
                                   fmt::join(names.begin() + 1, names.end(), ", ")));
}

}  // namespace draftmark
