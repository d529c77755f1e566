// What a user would run instead: pytorch_baseline.py in the same run, one drafter at a time.
//
//   PytorchBaseline baseline({.script = path});
//   DM_ASSIGN_OR_RETURN(const BaselineTimes times, baseline.Time("qwen3_8b_b16_ctx2048"));
//   times.best().milliseconds
//
// For one thread.
#ifndef DRAFTMARK_BENCHMARKS_ROOFLINE_BASELINE_H_
#define DRAFTMARK_BENCHMARKS_ROOFLINE_BASELINE_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

struct BaselineColumn {
  std::string name;         // "fused_compile"
  double milliseconds = 0;  // 0: it failed
  std::string failure;      // the script's word for that
};

struct BaselineTimes {
  std::string torch;                    // its version
  std::vector<BaselineColumn> columns;  // in the script's order, at least one with a time

  const BaselineColumn& best() const;
};

// Of one drafter, out of the script's JSON. `source` names it in messages. Columns that the script
// says have failed are kept as such. DATA_LOSS if it is no JSON object; NOT_FOUND if the drafter or
// a column is missing; INVALID_ARGUMENT for a time that is none, or if every column has failed.
StatusOr<BaselineTimes> ParseBaseline(std::string_view text, const std::string& source,
                                      const std::string& drafter);

struct BaselineOptions {
  std::string python = "python3";  // found by PATH
  std::string script;
  double seconds = 0;  // of all calls together
};

class PytorchBaseline {
 public:
  explicit PytorchBaseline(BaselineOptions options) : options_(std::move(options)) {}

  // Takes a minute or more. UNAVAILABLE without Python, PyTorch or a GPU that it finds, and when
  // the time is up: every later call then says the same at once. INTERNAL if the script fails in
  // another way; those of ParseBaseline.
  StatusOr<BaselineTimes> Time(const std::string& drafter);

 private:
  StatusOr<BaselineTimes> Run(const std::string& drafter);

  const BaselineOptions options_;
  double used_seconds_ = 0;
  Status unavailable_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_ROOFLINE_BASELINE_H_
