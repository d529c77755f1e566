// Hostile reports of Google Benchmark on their way into the history. A report that is taken makes a record that can
// be written and read.
#include "src/base/fuzzing/fuzz_expect.h"
#include "src/perf/history/import_google_benchmark.h"
#include "src/perf/history/record_jsonl.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const ImportFacts facts{.time = 1'800'000'000, .commit = "b8a6378"};
  const StatusOr<RunRecord> run = ImportGoogleBenchmark(TextOf(data, size), "b.json", facts);
  if (!run.ok()) {
    return ExpectRefusal(run.status(), "b.json",
                         {StatusCode::kDataLoss, StatusCode::kInvalidArgument,
                          StatusCode::kNotFound, StatusCode::kFailedPrecondition});
  }
  const StatusOr<RecordText> written = RecordToJsonl(*run);
  if (!written.ok()) std::fprintf(stderr, "%s\n", written.status().ToString().c_str());
  DM_CHECK(ParseRecordJsonl(written.value().text, "r").value().uid == written->uid);
  return 0;
}
