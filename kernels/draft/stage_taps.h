// Hands the stages of a draft on the GPU to a sink (src/backend/stages.h): copies what lies in a
// buffer when the tap is reached, waiting for the stream each time.
#ifndef DRAFTMARK_KERNELS_DRAFT_STAGE_TAPS_H_
#define DRAFTMARK_KERNELS_DRAFT_STAGE_TAPS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/backend/band_view.h"
#include "src/backend/stage_recorder.h"
#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct StoredBf16 {
  using Storage = BFloat16;
  static double Load(BFloat16 value) { return value.ToDouble(); }
};

class StageTaps {
 public:
  StageTaps(StageSink& sink, std::span<const BandView> bands, cudaStream_t stream)
      : recorder_(&sink), bands_(bands), stream_(stream) {}

  std::span<const BandView> bands() const { return bands_; }
  StageRecorder<StoredBf16>& recorder() { return recorder_; }

  // `device` holds the rows of all bands, sequence-major: one stage for each band.
  Status Rows(const std::string& name, const Shape& row_shape, const BFloat16* device,
              std::uint64_t rows);
  // Context rows, to stand in front of the rows that end the stage: row i is bands()[of[i].band]'s,
  // and is kept if it is shown.
  struct PassRow {
    std::size_t band = 0;
    bool shown = false;  // appended since the last propose
  };
  Status HoldRows(const std::string& name, std::uint64_t width, const BFloat16* device,
                  std::span<const PassRow> rows);
  // Ends stages that have context rows only.
  void EmitHeld(const std::string& name, const Shape& row_shape);

  template <typename T>
  StatusOr<std::vector<T>> Download(const T* device, std::uint64_t count) {
    std::vector<T> values(count);
    DM_RETURN_IF_ERROR(Copy(std::as_writable_bytes(std::span(values)), device));
    return values;
  }

 private:
  Status Copy(std::span<std::byte> target, const void* source);

  StageRecorder<StoredBf16> recorder_;
  const std::span<const BandView> bands_;
  const cudaStream_t stream_;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_STAGE_TAPS_H_
