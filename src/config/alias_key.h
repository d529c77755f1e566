// AliasKey: one value of a config that files spell in several ways or keep in several places.
//
//   AliasKey key({&dflash_config, &root}, {"block_size"});
//   DM_ASSIGN_OR_RETURN(const std::uint64_t block_size, key.Read(&JsonObject::U64));
//
// All places are looked at: two that hold different values are an error that names both, instead of
// the first one winning (spec/model_config.md section 1). Null counts as absent. The objects must
// outlive the key. Thread-safe as its objects are.
#ifndef DRAFTMARK_SRC_CONFIG_ALIAS_KEY_H_
#define DRAFTMARK_SRC_CONFIG_ALIAS_KEY_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"

namespace draftmark {

class AliasKey {
 public:
  struct Place {
    const JsonObject* object;
    std::string_view key;
  };

  // Every key in every object; the first object's keys first.
  AliasKey(const std::vector<const JsonObject*>& objects,
           const std::vector<std::string_view>& keys) {
    for (const JsonObject* object : objects) {
      for (const std::string_view key : keys) places_.push_back({object, key});
    }
  }
  explicit AliasKey(std::vector<Place> places) : places_(std::move(places)) {}

  // The first place that holds a value, nullptr if none does; INVALID_ARGUMENT if two differ.
  StatusOr<const Place*> Find() const;
  // The same, but a number 0 counts as absent (head_dim, spec/model_config.md section 3).
  StatusOr<const Place*> FindNonzero() const;

  // "file: a.b.key" of the value that Find() gives, or of the first place if there is none.
  std::string Where() const;
  // NOT_FOUND that names all spellings.
  Status AbsentError() const;

  template <typename T>
  using Reader = StatusOr<T> (JsonObject::*)(std::string_view) const;

  // The value, read by one of JsonObject's functions.
  template <typename T>
  StatusOr<T> Read(Reader<T> read) const {
    DM_ASSIGN_OR_RETURN(const Place* place, Find());
    if (place == nullptr) {
      // One spelling: the reader's own message says what it expected.
      const bool single = places_.size() == 1;
      return single ? (places_[0].object->*read)(places_[0].key).status() : AbsentError();
    }
    return (place->object->*read)(place->key);
  }
  template <typename T>
  StatusOr<std::optional<T>> ReadOptional(Reader<T> read) const {
    DM_ASSIGN_OR_RETURN(const Place* place, Find());
    if (place == nullptr) return std::optional<T>();
    DM_ASSIGN_OR_RETURN(T value, (place->object->*read)(place->key));
    return std::optional<T>(std::move(value));
  }
  template <typename T>
  StatusOr<T> ReadOr(Reader<T> read, T absent) const {
    DM_ASSIGN_OR_RETURN(const Place* place, Find());
    if (place == nullptr) return absent;
    return (place->object->*read)(place->key);
  }

 private:
  StatusOr<const Place*> FindIf(bool zero_is_absent) const;

  std::vector<Place> places_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CONFIG_ALIAS_KEY_H_
