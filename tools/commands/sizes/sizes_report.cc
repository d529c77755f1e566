#include "tools/commands/sizes/sizes_report.h"

#include <fmt/format.h>

namespace draftmark {
namespace {

// For display only: sizes themselves never become floating point.
double Mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

double Percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

StatusOr<SizesReport> SizesReport::Create(const std::string& source, const ModelConfig& config,
                                          const SizingArguments& arguments) {
  SizesReport report;
  report.source = source;
  report.config = config;
  report.arguments = arguments;
  const auto fill = [&]() -> Status {
    DM_ASSIGN_OR_RETURN(report.sizes, BufferSizes::FromConfig(config.fields, arguments));
    DM_ASSIGN_OR_RETURN(report.total_bytes, report.sizes.TotalBytes());
    DM_ASSIGN_OR_RETURN(report.upstream_reported_total_bytes,
                        report.sizes.UpstreamReportedTotalBytes());
    DM_ASSIGN_OR_RETURN(report.layouts, SubLayouts::Create(config.fields, arguments));
    return OkStatus();
  };
  if (const Status status = fill(); !status.ok()) return status.Annotated(source);
  return report;
}

std::string SizesReport::ToText() const {
  const SizingArguments& a = arguments;
  std::string text = fmt::format(
      "{} ({})\nmax_batch_tokens {}, max_seq_len {}, kv_block_size {}, max_batch_size {}, "
      "native_q2 {}, native_q2_mmq {}, sm_count {}\n\n",
      source, config.family, a.max_batch_tokens, a.max_seq_len, a.kv_block_size, a.max_batch_size,
      a.native_q2, a.native_q2_mmq, a.sm_count);
  const auto line = [&text](std::string_view name, std::uint64_t bytes, std::uint64_t total,
                            std::string_view shape, std::string_view content) {
    text += fmt::format("{:<30} {:>20} {:>14.2f} {:>7.2f} %  ", name, bytes, Mebibytes(bytes),
                        Percent(bytes, total));
    text +=
        content.empty() ? fmt::format("{}\n", shape) : fmt::format("{:<24} {}\n", shape, content);
  };
  text += fmt::format("{:<30} {:>20} {:>14} {:>9}  {:<24} {}\n", "buffer", "bytes", "MiB", "share",
                      "shape", "content");
  for (const BufferField& field : kBufferFields) {
    line(field.name, sizes.*field.bytes, total_bytes,
         BufferShape(field, sizes, config.fields, arguments), field.content);
  }
  text += "\n";
  line("total_bytes", total_bytes, total_bytes, "all 41", "");
  line("upstream_reported_total_bytes", upstream_reported_total_bytes, total_bytes,
       "without o_latent, norm_unit_w", "");
  if (a.max_batch_tokens < a.max_batch_size) {
    text += fmt::format(
        "\nnote: {} token rows cannot decode {} sequences at once; batched decode needs "
        "max_batch_tokens of at least max_batch_size\n",
        a.max_batch_tokens, a.max_batch_size);
  }
  return text;
}

OrderedJson SizesReport::ToJson() const {
  OrderedJson json;
  json["config"] = source;
  json["family"] = config.family;
  OrderedJson& args = json["args"];
  args["max_batch_tokens"] = arguments.max_batch_tokens;
  args["max_seq_len"] = arguments.max_seq_len;
  args["kv_block_size"] = arguments.kv_block_size;
  args["max_batch_size"] = arguments.max_batch_size;
  args["sm_count"] = arguments.sm_count;
  OrderedJson& flags = json["flags"];
  flags["native_q2"] = arguments.native_q2;
  flags["native_q2_mmq"] = arguments.native_q2_mmq;
  OrderedJson& buffers = json["buffers"];
  for (const BufferField& field : kBufferFields) {
    buffers[std::string(field.name)] = sizes.*field.bytes;
  }
  json["total_bytes"] = total_bytes;
  json["upstream_reported_total_bytes"] = upstream_reported_total_bytes;
  OrderedJson& offsets = json["sub_offsets"];
  for (const NamedOffset& offset : layouts.Offsets()) offsets[offset.first] = offset.second;
  return json;
}

}  // namespace draftmark
