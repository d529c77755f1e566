#include "kernels/draft/context_passes.h"

#include <algorithm>

#include "kernels/draft/context_path.h"

namespace draftmark::kernels {

std::vector<StageTaps::PassRow> ShownRows(std::span<const BandView> views,
                                          std::span<const ContextRow> rows) {
  std::vector<StageTaps::PassRow> shown;
  for (const ContextRow& row : rows) {
    const BandView& view = views[row.view];
    shown.push_back({row.view, row.index >= view.context_positions.size() - view.new_rows});
  }
  return shown;
}

Status ContextPasses::RunAlone(std::span<const BandView> views, std::size_t of, StageTaps* taps) {
  const BandView& view = views[of];
  const std::uint64_t total = view.context_positions.size();
  for (std::uint64_t index = view.committed; index < total;) {
    const DraftInputs::TapRun run =
        inputs_.RunFrom(view.band, index, std::min(longest_, total - index));
    const std::vector<ContextRow> rows = RowsFrom(of, index, run.rows);
    DM_RETURN_IF_ERROR(inputs_.WithSlot([&](InputSlot& slot) {
      return inputs_.SendPass(views, rows, run.rows, /*gather=*/false, slot);
    }));
    const std::vector<StageTaps::PassRow> shown = ShownRows(views, rows);
    DM_RETURN_IF_ERROR(
        RunContextPass(p_, {.taps = run.taps, .rows = run.rows, .shown = shown}, taps));
    index += run.rows;
    sequences_.Commit(view.band, index);
  }
  return OkStatus();
}

Status ContextPasses::RunGathered(std::span<const BandView> views, std::span<const ContextRow> rows,
                                  StageTaps* taps) {
  DM_RETURN_IF_ERROR(inputs_.WithSlot([&](InputSlot& slot) {
    return inputs_.SendPass(views, rows, rows.size(), /*gather=*/true, slot);
  }));
  const std::vector<StageTaps::PassRow> shown = ShownRows(views, rows);
  DM_RETURN_IF_ERROR(
      RunContextPass(p_, {.taps = inputs_.staging(), .rows = rows.size(), .shown = shown}, taps));
  for (const ContextRow& row : rows) sequences_.Commit(views[row.view].band, row.index + 1);
  return OkStatus();
}

StatusOr<std::vector<ContextRow>> ContextPasses::RunAllButLast(std::span<const BandView> views,
                                                               std::uint64_t pass_rows,
                                                               StageTaps* taps) {
  std::vector<ContextRow> together;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::uint64_t pending = sequences_[views[i].band].pending();
    if (pending > pass_rows) {
      DM_RETURN_IF_ERROR(RunAlone(views, i, taps));
      continue;
    }
    const std::vector<ContextRow> tail = RowsFrom(i, views[i].committed, pending);
    together.insert(together.end(), tail.begin(), tail.end());
  }
  std::span<const ContextRow> left = together;
  for (; left.size() > pass_rows; left = left.subspan(pass_rows)) {
    DM_RETURN_IF_ERROR(RunGathered(views, left.first(pass_rows), taps));
  }
  return std::vector<ContextRow>(left.begin(), left.end());
}

}  // namespace draftmark::kernels
