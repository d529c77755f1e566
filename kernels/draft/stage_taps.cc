#include "kernels/draft/stage_taps.h"

#include "src/cuda/cuda_status.h"
#include "src/cuda/device_buffer.h"

namespace draftmark::kernels {

Status StageTaps::Copy(std::span<std::byte> target, const void* source) {
  DM_RETURN_IF_ERROR(CopyToHost(target, {const_cast<void*>(source)}, stream_));
  return CudaStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

Status StageTaps::Rows(const std::string& name, const Shape& row_shape, const BFloat16* device,
                       std::uint64_t rows) {
  if (!recorder_.Wants(name)) return OkStatus();
  std::uint64_t width = 1;
  for (const std::uint64_t extent : row_shape) width *= extent;
  DM_ASSIGN_OR_RETURN(const std::vector<BFloat16> values, Download(device, rows * width));
  recorder_.EmitRows(name, row_shape, bands_, values);
  return OkStatus();
}

Status StageTaps::HoldRows(const std::string& name, std::uint64_t width, const BFloat16* device,
                           std::span<const PassRow> rows) {
  if (!recorder_.Wants(name)) return OkStatus();
  DM_ASSIGN_OR_RETURN(const std::vector<BFloat16> values, Download(device, rows.size() * width));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].shown) continue;
    recorder_.Hold(bands_[rows[i].band].band, name, std::span(values).subspan(i * width, width));
  }
  return OkStatus();
}

void StageTaps::EmitHeld(const std::string& name, const Shape& row_shape) {
  for (const BandView& band : bands_) recorder_.EmitHeld(band.band, name, row_shape);
}

}  // namespace draftmark::kernels
