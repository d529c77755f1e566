// Rotary embedding of a drafter: where the keys may be, and which forms are known.
#include <fmt/format.h>

#include <cmath>

#include "src/base/printable.h"
#include "src/config/drafter_layout.h"

namespace draftmark::internal {
namespace {

// cases/README.md; only for oracle cases, a real config must say it.
constexpr double kCaseRopeTheta = 1e6;
// Published bases are 1e4 to 5e8. A base of 1 or less turns every pair alike (and YaRN takes its
// logarithm); one far above is another key's number.
constexpr double kLargestTheta = 1e15;

// Per-layer-type tables ({"full_attention": {...}, "sliding_attention": {...}}) would need one
// RopeConfig per layer; no known drafter has them.
Status RefusePerLayerType(const JsonObject& parameters) {
  for (const std::string_view key : {"full_attention", "sliding_attention"}) {
    if (parameters.Has(key)) {
      return UnimplementedError(parameters.Where(key) +
                                ": rotary parameters per layer type are not supported");
    }
  }
  return OkStatus();
}

Status ReadYarn(const std::vector<const JsonObject*>& objects, const DrafterLayout& layout,
                RopeConfig& rope) {
  const auto key = [&](std::string_view name) { return AliasKey(objects, {name}); };
  DM_ASSIGN_OR_RETURN(rope.factor, key("factor").Read(&JsonObject::Number));
  std::vector<const JsonObject*> with_geometry = objects;
  if (layout.form != DrafterForm::kEntry) with_geometry.push_back(&layout.geometry);
  DM_ASSIGN_OR_RETURN(
      rope.original_max_position_embeddings,
      AliasKey(with_geometry, {"original_max_position_embeddings"}).Read(&JsonObject::Number));
  DM_ASSIGN_OR_RETURN(rope.beta_fast, key("beta_fast").ReadOr(&JsonObject::Number, 32.0));
  DM_ASSIGN_OR_RETURN(rope.beta_slow, key("beta_slow").ReadOr(&JsonObject::Number, 1.0));
  DM_ASSIGN_OR_RETURN(rope.mscale, key("mscale").ReadOptional(&JsonObject::Number));
  DM_ASSIGN_OR_RETURN(rope.mscale_all_dim, key("mscale_all_dim").ReadOptional(&JsonObject::Number));
  DM_ASSIGN_OR_RETURN(rope.truncate, key("truncate").ReadOr(&JsonObject::Bool, true));
  DM_ASSIGN_OR_RETURN(rope.attention_factor,
                      key("attention_factor").ReadOptional(&JsonObject::Number));
  if (!rope.attention_factor) {
    // The catalogue's word on a checkpoint whose config does not decide its amplitude
    // (drafter.md D5: Kimi-K2.5).
    DM_ASSIGN_OR_RETURN(rope.attention_factor,
                        layout.root.OptionalNumber("recommended_attention_factor"));
  }
  const JsonObject& where = *objects.front();
  if (rope.factor < 1) return where.TypeError("factor", "a number of at least 1");
  if (rope.original_max_position_embeddings < 1) {
    return where.TypeError("original_max_position_embeddings", "a number of at least 1");
  }
  if (rope.beta_slow <= 0) return where.TypeError("beta_slow", "a number above 0");
  if (rope.beta_fast < rope.beta_slow) {
    return where.TypeError("beta_fast", fmt::format("at least beta_slow = {}", rope.beta_slow));
  }
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::optional<double>>{"mscale", rope.mscale},
        {"mscale_all_dim", rope.mscale_all_dim},
        {"attention_factor", rope.attention_factor}}) {
    if (value && *value <= 0) return where.TypeError(name, "a number above 0");
  }
  // Another name for a factor on the amplitude; to ignore it would scale every score.
  DM_ASSIGN_OR_RETURN(const double attn_factor,
                      key("attn_factor").ReadOr(&JsonObject::Number, 1.0));
  if (attn_factor != 1) {
    return UnimplementedError(where.Where("attn_factor") +
                              ": not supported; give the amplitude as attention_factor");
  }
  return OkStatus();
}

// `objects`: the rotary objects of the file, in the order of FindRopeObjects.
Status ReadTheta(const std::vector<const JsonObject*>& objects, const DrafterLayout& layout,
                 RopeConfig& rope) {
  std::vector<AliasKey::Place> places;
  for (const JsonObject* object : objects) {
    places.push_back({object, "rope_theta"});
    places.push_back({object, "theta"});
  }
  places.push_back({&layout.geometry, "rope_theta"});
  const AliasKey theta(places);
  DM_ASSIGN_OR_RETURN(rope.theta, layout.form == DrafterForm::kCase
                                      ? theta.ReadOr(&JsonObject::Number, kCaseRopeTheta)
                                      : theta.Read(&JsonObject::Number));
  if (!(rope.theta > 1) || rope.theta > kLargestTheta) {
    return InvalidArgumentError(
        fmt::format("{}: expected a number above 1 and at most {}, found {}", theta.Where(),
                    kLargestTheta, rope.theta));
  }
  return OkStatus();
}

Status ReadPartialRotary(const std::vector<const JsonObject*>& objects, const DrafterLayout& layout,
                         RopeConfig& rope) {
  std::vector<const JsonObject*> all = objects;
  if (layout.form != DrafterForm::kEntry) all.push_back(&layout.geometry);
  const AliasKey partial(all, {"partial_rotary_factor"});
  DM_ASSIGN_OR_RETURN(rope.partial_rotary_factor, all.empty()
                                                      ? StatusOr<double>(1.0)
                                                      : partial.ReadOr(&JsonObject::Number, 1.0));
  // "proportional" (Gemma-4) is partial rotary whose pairs are half a head apart. The explicit key
  // is ours: drafter.md D6 wants both pairings and no published key says which.
  if (rope.type == "proportional") rope.pairing = RopePairing::kHalfOfHead;
  DM_ASSIGN_OR_RETURN(const std::optional<std::string> pairing,
                      layout.Anywhere({"rope_pairing"}).ReadOptional(&JsonObject::String));
  if (pairing == "half_of_rotary") {
    rope.pairing = RopePairing::kHalfOfRotary;
  } else if (pairing == "half_of_head") {
    rope.pairing = RopePairing::kHalfOfHead;
  } else if (pairing) {
    return InvalidArgumentError(
        fmt::format("{}: expected half_of_rotary or half_of_head, found \"{}\"",
                    layout.root.Where("rope_pairing"), Printable(*pairing)));
  }
  return OkStatus();
}

// `rope` is the entries' spelling; HF 5 writes rope_parameters, before that rope_scaling beside a
// flat rope_theta. All that are there are read: a re-saved file may carry two.
StatusOr<std::vector<JsonObject>> FindRopeObjects(const DrafterLayout& layout) {
  std::vector<JsonObject> found;
  for (const std::string_view name : {"rope", "rope_parameters", "rope_scaling"}) {
    if (!layout.geometry.Has(name)) continue;
    DM_ASSIGN_OR_RETURN(const JsonObject object, layout.geometry.Object(name));
    DM_RETURN_IF_ERROR(RefusePerLayerType(object));
    found.push_back(object);
  }
  return found;
}

}  // namespace

Status ReadRope(const DrafterLayout& layout, RopeConfig& rope) {
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> found, FindRopeObjects(layout));
  std::vector<const JsonObject*> objects;
  objects.reserve(found.size());
  for (const JsonObject& object : found) objects.push_back(&object);
  DM_RETURN_IF_ERROR(ReadTheta(objects, layout, rope));
  if (!objects.empty()) {
    DM_ASSIGN_OR_RETURN(rope.type, AliasKey(objects, {"rope_type", "type"})
                                       .ReadOr<std::string>(&JsonObject::String, "default"));
  }
  DM_RETURN_IF_ERROR(ReadPartialRotary(objects, layout, rope));
  if (rope.type == "yarn") return ReadYarn(objects, layout, rope);
  if (rope.type != "default" && rope.type != "proportional") {
    return UnimplementedError(fmt::format(
        "{}: rotary type \"{}\" is not supported (supported: default, yarn, proportional)",
        objects.front()->Where("rope_type"), Printable(rope.type)));
  }
  return OkStatus();
}

}  // namespace draftmark::internal
