#include "benchmarks/sample_log.h"

#include <span>

#include "src/base/json.h"

namespace draftmark {
namespace {

constexpr int kVersion = 1;
constexpr double kNanoseconds = 1e9;

}  // namespace

std::string SampleLine(const std::string& name, const SampledRun& run) {
  OrderedJson samples = OrderedJson::array();
  OrderedJson voided = OrderedJson::object();
  for (std::size_t i = 0; i < run.raw.size(); ++i) {
    const RawSample& sample = run.raw[i];
    samples.push_back(sample.seconds * kNanoseconds);
    if (sample.voided.clock) voided["clock"].push_back(i);
    if (sample.voided.ecc) voided["ecc"].push_back(i);
    if (sample.voided.processes) voided["processes"].push_back(i);
    if (sample.voided.throttle) voided["throttle"].push_back(i);
  }
  const OrderedJson line = {{"draftmark_samples", kVersion},
                            {"name", name},
                            {"invalid", run.invalid},
                            {"samples_ns", std::move(samples)},
                            {"void", std::move(voided)}};
  return line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

StatusOr<SampleLog> SampleLog::Open(const std::string& path, FileSystem& files) {
  if (path.empty()) return SampleLog(nullptr);
  DM_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, files.CreateAtomic(path));
  return SampleLog(std::move(file));
}

Status SampleLog::Add(const std::string& name, const SampledRun& run) {
  if (file_ == nullptr) return OkStatus();
  const std::string line = SampleLine(name, run);
  return file_->Append(std::as_bytes(std::span(line)));
}

Status SampleLog::Close() { return file_ == nullptr ? OkStatus() : file_->Commit(); }

}  // namespace draftmark
