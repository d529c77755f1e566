// Hostile config.json files of target models. Fields that were understood are the same when they are read again in
// our own flat form.
#include "src/base/fuzzing/fuzz_expect.h"
#include "src/base/json.h"
#include "src/config/model_config.h"

namespace draftmark {
namespace {

Json FlatForm(const SizingFields& fields) {
  Json flat;
  for (const SizingField& field : kSizingFields) {
    const std::string name(field.name);
    if (field.count != nullptr) {
      flat[name] = fields.*field.count;
    } else {
      flat[name] = fields.*field.flag;
    }
  }
  return flat;
}

}  // namespace
}  // namespace draftmark

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const StatusOr<Json> json =
      ParseJson(TextOf(data, size), "c", {.allow_nonfinite = true, .allow_equal_duplicates = true});
  if (!json.ok()) return ExpectRefusal(json.status(), "c: ", {StatusCode::kDataLoss});
  const StatusOr<ModelConfig> config = ParseModelConfig(*json, "c");
  if (!config.ok()) {
    return ExpectRefusal(
        config.status(), "c: ",
        {StatusCode::kNotFound, StatusCode::kInvalidArgument, StatusCode::kDataLoss,
         StatusCode::kUnimplemented, StatusCode::kOutOfRange});
  }
  DM_CHECK(!config->family.empty());
  const StatusOr<ModelConfig> flat = ParseModelConfig(FlatForm(config->fields), "flat");
  if (!flat.ok()) std::fprintf(stderr, "%s\n", flat.status().ToString().c_str());
  DM_CHECK(flat.ok() && flat->fields == config->fields);
  return 0;
}
