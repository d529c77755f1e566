// Hostile drafter configs, of all layouts, and catalogues of them. A config that was taken is consistent, as
// drafter_config.h promises, and its rotation is of finite numbers.
#include <cmath>

#include "src/base/fuzzing/fuzz_expect.h"
#include "src/base/json.h"
#include "src/config/drafter_config.h"
#include "src/config/drafter_entry.h"
#include "src/config/rope_table.h"

namespace draftmark {
namespace {

// Wider heads are legal, and their table takes as much memory.
constexpr std::uint64_t kWidestHead = 4096;

void CheckTaken(const DrafterConfig& c) {
  DM_CHECK(c.hidden_size > 0 && c.num_hidden_layers > 0 && c.num_attention_heads > 0 &&
           c.num_key_value_heads > 0 && c.head_dim > 0 && c.intermediate_size > 0 &&
           c.vocab_size > 0 && c.target_hidden_size > 0);
  DM_CHECK(c.num_attention_heads % c.num_key_value_heads == 0);
  DM_CHECK(c.layer_types.size() == c.num_hidden_layers);
  DM_CHECK(c.layer_causal.size() == c.num_hidden_layers);
  DM_CHECK(!c.target_layer_ids.empty());
  DM_CHECK(CountDrafterParameters(c) > 0);
  DM_CHECK(!GeometryToJson(c).dump().empty());
  if (c.head_dim > kWidestHead) return;
  const StatusOr<RopeTable> rope = MakeRopeTable(c.rope, c.head_dim);
  DM_CHECK(rope.ok() && std::isfinite(rope->amplitude));
  for (const double frequency : rope->frequency) DM_CHECK(std::isfinite(frequency));
}

int Try(const StatusOr<DrafterConfig>& config) {
  if (!config.ok()) {
    return ExpectRefusal(
        config.status(), "c",
        {StatusCode::kNotFound, StatusCode::kInvalidArgument, StatusCode::kDataLoss,
         StatusCode::kUnimplemented, StatusCode::kOutOfRange});
  }
  CheckTaken(*config);
  return 0;
}

}  // namespace
}  // namespace draftmark

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const StatusOr<Json> json =
      ParseJson(TextOf(data, size), "c", {.allow_nonfinite = true, .allow_equal_duplicates = true});
  if (!json.ok()) return ExpectRefusal(json.status(), "c: ", {StatusCode::kDataLoss});
  Try(ParseDrafterConfig(*json, "c"));
  for (const std::string& entry : DrafterEntryNames(*json)) {
    Try(ParseDrafterConfig(*json, "c", entry));
    const StatusOr<DrafterEntry> runnable = FindRunnableEntry(*json, "c", entry);
    if (runnable.ok()) {
      CheckTaken(runnable->config);
    } else {
      ExpectRefusal(
          runnable.status(), "c",
          {StatusCode::kNotFound, StatusCode::kInvalidArgument, StatusCode::kUnimplemented,
           StatusCode::kOutOfRange, StatusCode::kFailedPrecondition, StatusCode::kDataLoss});
    }
  }
  return 0;
}
