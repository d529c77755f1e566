#include "src/weights/drafter_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>

namespace draftmark {
namespace {

// Of text models, and of the language part of multimodal ones.
constexpr std::array<const char*, 4> kEmbeddingNames = {
    "model.embed_tokens.weight", "embed_tokens.weight", "model.language_model.embed_tokens.weight",
    "language_model.model.embed_tokens.weight"};
constexpr std::array<const char*, 2> kHeadNames = {"lm_head.weight",
                                                   "language_model.lm_head.weight"};

template <std::size_t kCount>
const char* FirstPresent(const Checkpoint& checkpoint,
                         const std::array<const char*, kCount>& names) {
  for (const char* name : names) {
    if (checkpoint.Has(name)) return name;
  }
  return nullptr;
}

// The weights' own names, with the prefix that may occur.
bool HasOwn(const Checkpoint& drafter, const std::string& name) {
  return drafter.Has(name) || drafter.Has("model." + name);
}

}  // namespace

Status AdoptTargetTensors(const Checkpoint& target, Checkpoint& drafter) {
  const char* const embedding = FirstPresent(target, kEmbeddingNames);
  const bool has_embedding = HasOwn(drafter, "embed_tokens.weight");
  if (!has_embedding) {
    if (embedding == nullptr) {
      return NotFoundError(fmt::format(
          "{}: expected the target's embedding under one of {}, found none among {} tensors",
          target.path(), fmt::join(kEmbeddingNames, ", "), target.names().size()));
    }
    DM_RETURN_IF_ERROR(drafter.Adopt(target, embedding, "embed_tokens.weight"));
  }
  if (HasOwn(drafter, "lm_head.weight")) return OkStatus();
  const char* const head = FirstPresent(target, kHeadNames);
  const char* const adopted = head != nullptr ? head : embedding;  // tied
  if (adopted == nullptr) return OkStatus();  // the drafter's own embedding may be tied, too
  return drafter.Adopt(target, adopted, "lm_head.weight");
}

StatusOr<Checkpoint> OpenDrafterCheckpoint(const std::string& weights,
                                           const std::string& target_weights) {
  DM_ASSIGN_OR_RETURN(Checkpoint drafter, Checkpoint::Open(weights));
  if (!target_weights.empty()) {
    DM_ASSIGN_OR_RETURN(const Checkpoint target, Checkpoint::Open(target_weights));
    DM_RETURN_IF_ERROR(AdoptTargetTensors(target, drafter));
  } else if (!HasOwn(drafter, "embed_tokens.weight")) {
    return InvalidArgumentError(
        fmt::format("{}: tensor embed_tokens.weight is absent, as usual in a drafter: expected "
                    "--target-weights with the target's checkpoint",
                    drafter.path()));
  }
  return drafter;
}

}  // namespace draftmark
