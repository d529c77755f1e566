// Hostile records of the history. The line that ends a record is made here, with the right count and hash, for an
// input that does not end with one: else no mutation would get past it. A record that is taken is written as it was
// read.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/fuzzing/fuzz_expect.h"
#include "src/base/sha256.h"
#include "src/perf/history/record_jsonl.h"

namespace draftmark {
namespace {

std::string Ended(std::string_view lines) {
  std::string text(lines);
  if (text.find("{\"end\":") != std::string::npos) return text;
  if (!text.ends_with('\n')) text += '\n';
  return text + fmt::format("{{\"end\":{{\"lines\":{},\"sha256\":\"{}\"}}}}\n",
                            std::count(text.begin(), text.end(), '\n'),
                            Sha256Hex(std::as_bytes(std::span(text))));
}

}  // namespace
}  // namespace draftmark

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const std::string text = Ended(TextOf(data, size));
  const StatusOr<ParsedRecord> read = ParseRecordJsonl(text, "r.jsonl");
  if (!read.ok()) {
    return ExpectRefusal(read.status(), "r.jsonl",
                         {StatusCode::kDataLoss, StatusCode::kFailedPrecondition,
                          StatusCode::kNotFound, StatusCode::kInvalidArgument});
  }
  const RecordText written = RecordToJsonl(read->record).value();
  DM_CHECK(written.text == text && written.uid == read->uid && written.sha256 == read->sha256);
  DM_CHECK(read->uid.size() == 16);
  return 0;
}
