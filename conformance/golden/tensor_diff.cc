#include "conformance/golden/tensor_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "src/compare/comparison.h"

namespace draftmark {
namespace {

std::optional<UlpUnit> UnitOf(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return UlpUnit::kBf16;
    case DType::kF32:
      return UlpUnit::kF32;
    case DType::kF64:
      return UlpUnit::kF64;
    default:
      return std::nullopt;
  }
}

// Nothing if the tensors hold the same values.
StatusOr<std::optional<TensorMove>> DiffValues(const std::string& name, const TensorView& before,
                                               const TensorView& after) {
  TensorMove move;
  move.name = name;
  move.elements = after.elements();
  if (before.dtype != after.dtype) {
    move.what = fmt::format("dtype {} -> {}", DTypeName(before.dtype), DTypeName(after.dtype));
    return std::optional<TensorMove>(move);
  }
  if (before.shape != after.shape) {
    move.what =
        fmt::format("shape {} -> {}", ShapeToString(before.shape), ShapeToString(after.shape));
    return std::optional<TensorMove>(move);
  }
  if (std::ranges::equal(before.bytes, after.bytes)) return std::optional<TensorMove>();
  DM_ASSIGN_OR_RETURN(const std::vector<double> old_values, ToDoubles(before));
  DM_ASSIGN_OR_RETURN(const std::vector<double> new_values, ToDoubles(after));
  const std::optional<UlpUnit> unit = UnitOf(after.dtype);
  const Comparison comparison =
      Compare(after.shape, old_values, new_values, unit.value_or(UlpUnit::kF64));
  for (std::size_t i = 0; i < old_values.size(); ++i) {
    if (UlpDistance(old_values[i], new_values[i], comparison.unit) > 0) ++move.moved;
  }
  if (move.moved == 0) return std::optional<TensorMove>();
  move.what = "moved";
  if (unit) {
    move.histogram = fmt::format("{} ULPs: {}", UlpUnitName(*unit), DescribeHistogram(comparison));
  }
  move.worst = DescribeWorst(comparison);
  return std::optional<TensorMove>(move);
}

}  // namespace

StatusOr<std::vector<TensorMove>> DiffTensors(const SafetensorsFile& before,
                                              const SafetensorsFile& after) {
  std::set<std::string> names(before.names().begin(), before.names().end());
  names.insert(after.names().begin(), after.names().end());
  std::vector<TensorMove> moves;
  for (const std::string& name : names) {
    if (before.Has(name) && after.Has(name)) {
      DM_ASSIGN_OR_RETURN(const TensorView old_view, before.Get(name));
      DM_ASSIGN_OR_RETURN(const TensorView new_view, after.Get(name));
      DM_ASSIGN_OR_RETURN(const std::optional<TensorMove> move,
                          DiffValues(name, old_view, new_view));
      if (move) moves.push_back(*move);
      continue;
    }
    const bool added = after.Has(name);
    DM_ASSIGN_OR_RETURN(const TensorView view, (added ? after : before).Get(name));
    TensorMove move;
    move.name = name;
    move.what = added ? "added" : "removed";
    move.elements = view.elements();
    moves.push_back(std::move(move));
  }
  return moves;
}

StatusOr<std::vector<TensorMove>> DiffFiles(const std::string& name,
                                            std::shared_ptr<const FileBytes> before,
                                            std::shared_ptr<const FileBytes> after) {
  if (std::ranges::equal(before->bytes(), after->bytes())) return std::vector<TensorMove>();
  if (!name.ends_with(".safetensors")) {
    TensorMove move;
    move.name = "bytes";
    move.what = fmt::format("{} bytes -> {} bytes", before->bytes().size(), after->bytes().size());
    move.elements = after->bytes().size();
    return std::vector<TensorMove>{std::move(move)};
  }
  DM_ASSIGN_OR_RETURN(const SafetensorsFile old_file,
                      SafetensorsFile::FromBytes(name + " (old)", std::move(before)));
  DM_ASSIGN_OR_RETURN(const SafetensorsFile new_file,
                      SafetensorsFile::FromBytes(name + " (new)", std::move(after)));
  DM_ASSIGN_OR_RETURN(std::vector<TensorMove> moves, DiffTensors(old_file, new_file));
  if (moves.empty()) {
    TensorMove header;
    header.name = "header";
    header.what = "no tensor moved, but names, metadata or signs of zeros did";
    moves.push_back(std::move(header));
  }
  return moves;
}

std::string DescribeMove(const TensorMove& move) {
  std::string text = fmt::format("  {}: {}", move.name, move.what);
  if (move.what == "moved") {
    text += fmt::format(", {} of {} elements", move.moved, move.elements);
  }
  if (!move.histogram.empty()) text += "; " + move.histogram;
  if (!move.worst.empty()) text += "; worst " + move.worst;
  return text + "\n";
}

}  // namespace draftmark
