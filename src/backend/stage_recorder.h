// Hands stages to a sink as float64, whatever they are stored as, and joins the two halves of
// stages that cover context and block rows.
#ifndef DRAFTMARK_SRC_BACKEND_STAGE_RECORDER_H_
#define DRAFTMARK_SRC_BACKEND_STAGE_RECORDER_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/backend/band_view.h"
#include "src/backend/stages.h"

namespace draftmark {

// N says how a backend stores values: N::Storage, and N::Load to float64.
template <typename N>
class StageRecorder {
 public:
  using Storage = typename N::Storage;

  // `sink` may be null: then nothing is copied.
  explicit StageRecorder(StageSink* sink) : sink_(sink) {}

  bool Wants(const std::string& name) const { return sink_ != nullptr && sink_->Wants(name); }

  // Rows that belong in front of the rows of a later Emit of the same stage (or make up the stage
  // with EmitHeld).
  void Hold(std::size_t band, const std::string& name, std::span<const Storage> values) {
    if (!Wants(name)) return;
    std::vector<double>& held = held_[{band, name}];
    for (const Storage& value : values) held.push_back(N::Load(value));
  }
  // `row_shape` is the shape of one row; the number of rows follows from the values.
  void Emit(std::size_t band, const std::string& name, const Shape& row_shape,
            std::span<const Storage> values) {
    if (!Wants(name)) return;
    Hold(band, name, values);
    EmitHeld(band, name, row_shape);
  }
  void EmitHeld(std::size_t band, const std::string& name, const Shape& row_shape) {
    if (!Wants(name)) return;
    const std::vector<double> values = std::move(held_[{band, name}]);
    held_.erase({band, name});
    std::uint64_t row = 1;
    for (const std::uint64_t extent : row_shape) row *= extent;
    Shape shape = {values.size() / row};
    shape.insert(shape.end(), row_shape.begin(), row_shape.end());
    sink_->OnStage({band, name, std::move(shape), values});
  }
  // A buffer [rows, row_shape] that holds the rows of all bands, sequence-major: one stage for each
  // band.
  void EmitRows(const std::string& name, const Shape& row_shape, std::span<const BandView> bands,
                std::span<const Storage> values) {
    const std::size_t per_band = values.size() / bands.size();
    for (std::size_t b = 0; b < bands.size(); ++b) {
      Emit(bands[b].band, name, row_shape, values.subspan(b * per_band, per_band));
    }
  }
  // A stage that is not stored as N::Storage: token ids, margins.
  void EmitValues(std::size_t band, const std::string& name, Shape shape,
                  std::span<const double> values) {
    if (Wants(name)) sink_->OnStage({band, name, std::move(shape), values});
  }

 private:
  StageSink* sink_;
  std::map<std::pair<std::size_t, std::string>, std::vector<double>> held_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_STAGE_RECORDER_H_
