// Hostile oracle rows. Rows that follow the format are judged; what they say is no trouble of the program.
#include "conformance/sizes/size_rows.h"
#include "src/base/fuzzing/fuzz_expect.h"
#include "src/base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const StatusOr<Json> json = ParseJson(TextOf(data, size), "rows");
  if (!json.ok()) return ExpectRefusal(json.status(), "rows: ", {StatusCode::kDataLoss});
  const StatusOr<RowsReport> report = CheckSizeRows(*json, "rows");
  if (!report.ok()) {
    return ExpectRefusal(
        report.status(), "rows",
        {StatusCode::kNotFound, StatusCode::kInvalidArgument, StatusCode::kDataLoss});
  }
  DM_CHECK(json->is_array() && report->rows == json->size());
  for (const RowMismatch& mismatch : report->mismatches) {
    DM_CHECK(mismatch.expected != mismatch.found);
    DM_CHECK(mismatch.ToString().starts_with("rows: "));
  }
  return 0;
}
