// Hostile config.json files of cases, without the tensors. A case that was taken has steps that fit together, and
// an id that reads back.
#include <algorithm>

#include "src/base/fuzzing/fuzz_expect.h"
#include "src/base/json.h"
#include "src/cases/case_id.h"
#include "src/cases/drafter_case.h"
#include "src/config/drafter_config.h"

namespace draftmark {
namespace {

void CheckSequence(const DrafterConfig& config, const std::vector<CaseStep>& steps) {
  std::uint64_t context = 0;
  for (const CaseStep& step : steps) {
    DM_CHECK(step.drop_front_rows <= context);
    context += step.new_context_rows - step.drop_front_rows;
    DM_CHECK(step.start >= 0 && static_cast<std::uint64_t>(step.start) >= step.new_context_rows);
    DM_CHECK(step.target_hidden.size() == step.new_context_rows * config.tap_width());
    DM_CHECK(step.block_tokens.size() >= 2);
    for (const std::uint32_t token : step.block_tokens) DM_CHECK(token < config.vocab_size);
  }
}

// Cases of full size are legal, and their data take as much memory and time.
constexpr std::uint64_t kMostRows = 200;
constexpr std::uint64_t kWidestTaps = 1024;

bool HasManyRows(const Json& value) {
  if (!value.is_structured()) return false;
  if (value.is_object() && value.contains("new_context_rows")) {
    const Json& rows = value["new_context_rows"];
    if (rows.is_number() && rows.get<double>() > kMostRows) return true;
  }
  return std::any_of(value.begin(), value.end(), HasManyRows);
}

}  // namespace
}  // namespace draftmark

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const StatusOr<Json> json = ParseJson(TextOf(data, size), "d/config.json");
  if (!json.ok()) return ExpectRefusal(json.status(), "d/config.json", {StatusCode::kDataLoss});
  const StatusOr<DrafterConfig> config = ParseDrafterConfig(*json, "d/config.json");
  if (config.ok() && (config->tap_width() > kWidestTaps || HasManyRows(*json))) return 0;
  const StatusOr<DrafterCase> read = DrafterCase::WithoutWeights(*json, "d");
  if (!read.ok()) {
    return ExpectRefusal(
        read.status(), "d/",
        {StatusCode::kNotFound, StatusCode::kInvalidArgument, StatusCode::kDataLoss,
         StatusCode::kUnimplemented, StatusCode::kOutOfRange, StatusCode::kResourceExhausted});
  }
  DM_CHECK(!read->steps().empty() && read->band() <= read->neighbours().size());
  CheckSequence(read->config(), read->steps());
  for (const auto& neighbour : read->neighbours()) CheckSequence(read->config(), neighbour);
  DM_CHECK(ParseCaseId(read->id().ToString()).value() == read->id());
  return 0;
}
