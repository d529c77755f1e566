#include "tools/commands/scratch/scratch_report.h"

#include <fmt/format.h>

#include <utility>

namespace draftmark {
namespace {

// For display only.
double Mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

std::string ShapeText(const DflashFieldLayout& field) {
  if (field.field->memory == DflashMemory::kEvent) return "64-bit handle";
  if (field.is_null) return "NULL";
  return fmt::format("{} {}", ShapeToString(field.shape), DTypeName(field.dtype));
}

StatusOr<std::vector<Borrow>> AllBorrows(const DflashScratchLayout& layout) {
  DM_ASSIGN_OR_RETURN(std::vector<Borrow> borrows, PrecomputeBorrows(layout, layout.ctx_window()));
  DM_ASSIGN_OR_RETURN(const std::vector<Borrow> block,
                      BlockBorrows(layout, layout.max_batch(), layout.gamma()));
  borrows.insert(borrows.end(), block.begin(), block.end());
  return borrows;
}

OrderedJson FieldToJson(const DflashFieldLayout& field) {
  OrderedJson json;
  json["memory"] = DflashMemoryName(field.field->memory);
  json["bytes"] = field.bytes;
  json["null"] = field.is_null;
  if (field.field->memory != DflashMemory::kEvent) {
    json["dtype"] = DTypeName(field.dtype);
    json["shape"] = field.shape;
    json["alignment"] = field.alignment;
  }
  json["null_rule"] = NullRuleText(field.field->null_rule);
  json["pointer"] = PointerStabilityText(field.field->stability);
  json["producer"] = field.field->producer;
  json["consumer"] = field.field->consumer;
  return json;
}

}  // namespace

StatusOr<ScratchReport> ScratchReport::Create(const std::string& source,
                                              const DflashScratchRequest& request) {
  StatusOr<DflashScratchLayout> layout = DflashScratchLayout::Create(request);
  if (!layout.ok()) return layout.status().Annotated(source);
  StatusOr<std::vector<Borrow>> borrows = AllBorrows(*layout);
  if (!borrows.ok()) return borrows.status().Annotated(source);
  const std::uint64_t max_rows = MaxPrecomputeRows(*layout);
  ScratchReport report{source, *std::move(layout), *std::move(borrows), max_rows, {}};
  report.warnings = report.layout.warnings();
  if (max_rows < report.layout.ctx_window()) {
    report.warnings.push_back(fmt::format(
        "precompute: its borrows hold for passes of at most {} rows, not for ctx_window ({})",
        max_rows, report.layout.ctx_window()));
  }
  return report;
}

std::string ScratchReport::ToText() const {
  std::string text =
      fmt::format("{}\nversion {}, layout {}, ctx_window {}, max_batch {}, gamma {}, rows {}\n\n",
                  source, layout.version(), DflashLayoutNameText(layout.layout()),
                  layout.ctx_window(), layout.max_batch(), layout.gamma(), layout.rows());
  text += fmt::format("{:<27} {:>16} {:>12}  {:<26} {:<12} {:>5}  {:<31} {}\n", "field", "bytes",
                      "MiB", "shape", "memory", "align", "address in graphs", "null");
  for (const DflashFieldLayout& field : layout.fields()) {
    text += fmt::format("{:<27} {:>16} {:>12.3f}  {:<26} {:<12} {:>5}  {:<31} {}\n",
                        field.field->name, field.bytes, Mebibytes(field.bytes), ShapeText(field),
                        DflashMemoryName(field.field->memory), field.alignment,
                        PointerStabilityText(field.field->stability),
                        NullRuleText(field.field->null_rule));
  }
  text += fmt::format("\n{:<27} {:>16} {:>12.3f}\n", "device", layout.device_bytes(),
                      Mebibytes(layout.device_bytes()));
  text += fmt::format("{:<27} {:>16} {:>12.3f}\n\n", "host pinned", layout.host_pinned_bytes(),
                      Mebibytes(layout.host_pinned_bytes()));
  for (const Borrow& borrow : borrows) {
    text += fmt::format("{:<34} needs {:>14} of {:>14} {:<9} {}\n", borrow.name, borrow.needed,
                        borrow.available, borrow.unit, borrow.holds() ? "ok" : "DOES NOT HOLD");
  }
  return text;
}

OrderedJson ScratchReport::ToJson() const {
  OrderedJson json;
  json["drafter"] = source;
  json["version"] = layout.version();
  json["layout"] = DflashLayoutNameText(layout.layout());
  json["ctx_window"] = layout.ctx_window();
  json["max_batch"] = layout.max_batch();
  json["gamma"] = layout.gamma();
  json["rows"] = layout.rows();
  OrderedJson& fields = json["fields"];
  for (const DflashFieldLayout& field : layout.fields()) {
    fields[std::string(field.field->name)] = FieldToJson(field);
  }
  json["device_bytes"] = layout.device_bytes();
  json["host_pinned_bytes"] = layout.host_pinned_bytes();
  OrderedJson& list = json["borrows"] = OrderedJson::array();
  for (const Borrow& borrow : borrows) {
    OrderedJson entry;
    entry["name"] = borrow.name;
    entry["unit"] = borrow.unit;
    entry["needed"] = borrow.needed;
    entry["available"] = borrow.available;
    entry["holds"] = borrow.holds();
    list.push_back(entry);
  }
  json["max_precompute_rows"] = max_precompute_rows;
  json["warnings"] = warnings;
  return json;
}

}  // namespace draftmark
