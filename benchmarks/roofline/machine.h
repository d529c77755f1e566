// RooflineMachine: the GPU that a roofline is measured on, behind an interface, so that what is
// made of its times can be tested with invented ones.
//
//   DM_ASSIGN_OR_RETURN(const auto machine, OpenRooflineMachine());
//   DM_ASSIGN_OR_RETURN(const auto times, machine->TimeDraft(draft, /*runs=*/100));
//   times.taken().median_ms   // of the path that drafts take by default
//
// One thread at a time.
#ifndef DRAFTMARK_BENCHMARKS_ROOFLINE_MACHINE_H_
#define DRAFTMARK_BENCHMARKS_ROOFLINE_MACHINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "benchmarks/draft_case.h"
#include "benchmarks/roofline/by_path.h"
#include "benchmarks/roofline/linear_shapes.h"
#include "src/base/status.h"

namespace draftmark {

struct MachineFacts {
  std::string gpu;  // in words
  std::string driver;
  std::string cuda;      // the runtime, "13.0"
  std::string cublaslt;  // "13.1.0"
  double copy_bytes_per_second = 0;
  std::optional<double> theoretical_bytes_per_second;  // absent: unknown
};

// Of graph replays between two events, the GPU idle before; queued_ms is the median where the host
// is ahead (steady_draft.h).
struct TimedRuns {
  double median_ms = 0;
  double min_ms = 0;
  double p90_ms = 0;
  double queued_ms = 0;
};

class RooflineMachine {
 public:
  virtual ~RooflineMachine() = default;

  virtual const MachineFacts& facts() const = 0;
  // Errors: those of SteadyDraft.
  virtual StatusOr<ByPath<TimedRuns>> TimeDraft(const DraftCase& draft, std::uint64_t runs) = 0;
  // Seconds of one call: the mean over a chain of them on rotated weights, the median of its
  // replays. Without a fast one where chains of linear layers do not take the rows or run on the
  // device (kernels/stream_chain): a draft then takes the simple path, too.
  virtual StatusOr<ByPath<double>> TimeLinear(const LinearShape& shape, std::uint64_t rows) = 0;
};

// The first GPU. Measures its copies. UNAVAILABLE without a GPU, a driver or cuBLASLt, and in
// builds without CUDA.
StatusOr<std::unique_ptr<RooflineMachine>> OpenRooflineMachine();

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_ROOFLINE_MACHINE_H_
