// Hostile reports of our own programs on their way into the history: verify, roofline, published summaries and
// JUnit. Each input is given to all of them. A report that is taken makes a record that can be written and read.
#include "src/base/fuzzing/fuzz_expect.h"
#include "src/perf/history/import_published.h"
#include "src/perf/history/import_verify.h"
#include "src/perf/history/junit_reader.h"
#include "src/perf/history/record_jsonl.h"

namespace draftmark {
namespace {

void CheckRun(const StatusOr<RunRecord>& run) {
  if (!run.ok()) {
    ExpectRefusal(run.status(), "b.json",
                  {StatusCode::kDataLoss, StatusCode::kInvalidArgument, StatusCode::kNotFound,
                   StatusCode::kFailedPrecondition});
    return;
  }
  const StatusOr<RecordText> written = RecordToJsonl(*run);
  if (!written.ok()) std::fprintf(stderr, "%s\n", written.status().ToString().c_str());
  DM_CHECK(ParseRecordJsonl(written.value().text, "r").value().uid == written->uid);
}

}  // namespace
}  // namespace draftmark

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const std::string_view text = TextOf(data, size);
  const ImportFacts facts{.time = 1'800'000'000, .commit = "b8a6378"};
  if (!text.starts_with('<')) {
    CheckRun(ImportVerify(text, "b.json", facts));
    CheckRun(ImportRoofline(text, "b.json", facts));
    CheckRun(ImportPublished(text, "b.json", facts));
    return 0;
  }
  const StatusOr<std::vector<TestResult>> tests = ReadJunit(text, "b.xml");
  if (!tests.ok()) return ExpectRefusal(tests.status(), "b.xml", {StatusCode::kDataLoss});
  RunRecord run{.time = 1'800'000'000, .commit = "b8a6378", .program = "p"};
  run.environment.architecture = "cpu";
  run.suites = {{.name = "s", .failed = static_cast<std::int64_t>(tests->size())}};
  run.tests = *tests;
  for (TestResult& test : run.tests) test.suite = "s";
  CheckRun(run);
  return 0;
}
