// Raw samples of a benchmark program, for people who want to see a distribution: one JSON line for
// each entry of the report, in its order.
//
//   DM_ASSIGN_OR_RETURN(SampleLog log, SampleLog::Open("samples.jsonl"));   // "": keeps nothing
//   DM_RETURN_IF_ERROR(log.Add("op/rms_norm/rows=16,h=4096/bf16", run));
//   DM_RETURN_IF_ERROR(log.Close());   // only now the file is there, and whole
//
// {"draftmark_samples":1,"name":"op/...","invalid":"","samples_ns":[1880.5,...],
//  "void":{"clock":[3],"throttle":[3,7]}}
//
// `samples_ns` are all that were taken behind the warm-ups, in their order, void ones included;
// `void` has their indices by reason (benchmark_counters.h), and a sample may be in several.
// `invalid` is why the entry has no number; empty: it has one. A benchmark that failed has no line.
// Errors are those of the file system. One thread.
#ifndef DRAFTMARK_BENCHMARKS_SAMPLE_LOG_H_
#define DRAFTMARK_BENCHMARKS_SAMPLE_LOG_H_

#include <memory>
#include <string>
#include <utility>

#include "benchmarks/sampling.h"
#include "src/base/file_system.h"
#include "src/base/status.h"

namespace draftmark {

class SampleLog {
 public:
  static StatusOr<SampleLog> Open(const std::string& path, FileSystem& files = RealFileSystem());

  Status Add(const std::string& name, const SampledRun& run);
  Status Close();

 private:
  explicit SampleLog(std::unique_ptr<AtomicFile> file) : file_(std::move(file)) {}

  std::unique_ptr<AtomicFile> file_;  // null: nobody asked
};

// The line, with its newline.
std::string SampleLine(const std::string& name, const SampledRun& run);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_SAMPLE_LOG_H_
