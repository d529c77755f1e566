#include "src/scratch/sub_layouts.h"

#include <fmt/format.h>

#include <string_view>

#include "src/scratch/sizing_terms.h"
#include "src/scratch/sub_layout_formulas.h"

namespace draftmark {
namespace {

template <template <typename> class Regions>
StatusOr<Regions<std::uint64_t>> ToNumbers(const Regions<CheckedU64>& checked) {
  constexpr auto kFrom = Regions<CheckedU64>::Regions();
  constexpr auto kTo = Regions<std::uint64_t>::Regions();
  Regions<std::uint64_t> result;
  for (std::size_t i = 0; i < kFrom.size(); ++i) {
    const CheckedU64 value = checked.*kFrom[i].member;
    if (!value.ok()) {
      return OutOfRangeError(fmt::format("{}.{}: the offset exceeds 2^64-1 (overflow)",
                                         Regions<std::uint64_t>::kPrefix, kFrom[i].name));
    }
    result.*kTo[i].member = value.value();
  }
  return result;
}

template <typename Layout>
void Append(const Layout& layout, std::vector<NamedOffset>& offsets) {
  for (const auto& region : Layout::Regions()) {
    offsets.emplace_back(fmt::format("{}.{}", Layout::kPrefix, region.name), layout.*region.member);
  }
}

template <typename Layout>
void Append(const std::optional<Layout>& layout, std::vector<NamedOffset>& offsets) {
  if (layout.has_value()) Append(*layout, offsets);
}

Status CheckCount(std::string_view layout, std::string_view what, std::uint64_t count,
                  std::uint64_t capacity) {
  if (count >= 1 && count <= capacity) return OkStatus();
  return OutOfRangeError(
      fmt::format("{}: expected 1 to {} {}, found {}", layout, capacity, what, count));
}

template <typename Layout>
Status CheckPresent(const std::optional<Layout>& layout) {
  if (layout.has_value()) return OkStatus();
  return FailedPreconditionError(
      fmt::format("{}: this config has no such layout", Layout::kPrefix));
}

}  // namespace

StatusOr<SubLayouts> SubLayouts::Create(const SizingFields& fields,
                                        const SizingArguments& arguments) {
  SubLayouts s;
  s.fields = fields;
  s.arguments = arguments;
  const std::uint64_t m = arguments.max_batch_tokens;
  if (HasGdnFla(fields)) {
    DM_ASSIGN_OR_RETURN(s.gdn_fla, ToNumbers(GdnFlaFormula(fields, GdnFlaChunks(m))));
  }
  if (HasSsd(fields)) {
    DM_ASSIGN_OR_RETURN(s.ssd, ToNumbers(SsdFormula(fields, SsdChunks(m))));
  }
  if (HasQsa(fields)) {
    DM_ASSIGN_OR_RETURN(s.qsa_select, ToNumbers(QsaSelectFormula(fields, arguments.max_seq_len)));
    if (s.qsa_select->end == 0) s.qsa_select.reset();
  }
  if (HasHcLowrank(fields) && m > 0) {
    DM_ASSIGN_OR_RETURN(s.hc_split, ToNumbers(HcSplitFormula(fields, std::min(m, kHcSplitTokens))));
    DM_ASSIGN_OR_RETURN(s.hc_gemm, ToNumbers(HcGemmFormula(fields, std::min(m, kSlabRows))));
  }
  const ScratchFormulas scratch = ScratchFormulas::At(fields, arguments);
  if (!scratch.max_blocks.ok()) {
    return OutOfRangeError("scratch.max_blocks: exceeds 2^64-1 (overflow)");
  }
  s.max_blocks = scratch.max_blocks.value();
  DM_ASSIGN_OR_RETURN(s.prefill, ToNumbers(scratch.prefill));
  DM_ASSIGN_OR_RETURN(s.decode, ToNumbers(scratch.decode));
  DM_ASSIGN_OR_RETURN(s.verify, ToNumbers(scratch.verify));
  DM_ASSIGN_OR_RETURN(s.batched_prefill, ToNumbers(scratch.batched_prefill));
  return s;
}

std::vector<NamedOffset> SubLayouts::Offsets() const {
  std::vector<NamedOffset> offsets;
  Append(gdn_fla, offsets);
  Append(ssd, offsets);
  Append(qsa_select, offsets);
  Append(hc_split, offsets);
  Append(hc_gemm, offsets);
  offsets.emplace_back("scratch.max_blocks", max_blocks);
  Append(prefill, offsets);
  Append(decode, offsets);
  Append(verify, offsets);
  Append(batched_prefill, offsets);
  return offsets;
}

StatusOr<GdnFlaLayout> SubLayouts::GdnFlaFor(std::uint64_t streams, std::uint64_t tokens) const {
  DM_RETURN_IF_ERROR(CheckPresent(gdn_fla));
  const CheckedU64 chunks = CeilDiv(CheckedU64(tokens), kChunk) * streams;
  if (!chunks.ok()) return OutOfRangeError("gdn_fla_scratch: the chunk count exceeds 2^64-1");
  DM_RETURN_IF_ERROR(CheckCount(GdnFlaLayout::kPrefix, "chunks", chunks.value(), gdn_fla->nt));
  return ToNumbers(GdnFlaFormula(fields, chunks.value()));
}

StatusOr<SsdLayout> SubLayouts::SsdFor(std::uint64_t chunks) const {
  DM_RETURN_IF_ERROR(CheckPresent(ssd));
  DM_RETURN_IF_ERROR(CheckCount(SsdLayout::kPrefix, "chunks", chunks, ssd->nc));
  return ToNumbers(SsdFormula(fields, chunks));
}

StatusOr<HcSplitLayout> SubLayouts::HcSplitFor(std::uint64_t tokens) const {
  DM_RETURN_IF_ERROR(CheckPresent(hc_split));
  DM_RETURN_IF_ERROR(CheckCount(HcSplitLayout::kPrefix, "tokens", tokens, hc_split->tokens));
  return ToNumbers(HcSplitFormula(fields, tokens));
}

StatusOr<HcGemmLayout> SubLayouts::HcGemmFor(std::uint64_t tokens) const {
  DM_RETURN_IF_ERROR(CheckPresent(hc_gemm));
  DM_RETURN_IF_ERROR(CheckCount(HcGemmLayout::kPrefix, "tokens", tokens, hc_gemm->tokens));
  return ToNumbers(HcGemmFormula(fields, tokens));
}

StatusOr<QsaSelectLayout> SubLayouts::QsaSelectFor(std::uint64_t context) const {
  DM_RETURN_IF_ERROR(CheckPresent(qsa_select));
  DM_RETURN_IF_ERROR(
      CheckCount(QsaSelectLayout::kPrefix, "context tokens", context, arguments.max_seq_len));
  return ToNumbers(QsaSelectFormula(fields, context));
}

StatusOr<PrefillLayout> SubLayouts::PrefillFor(std::uint64_t tokens) const {
  DM_RETURN_IF_ERROR(
      CheckCount(PrefillLayout::kPrefix, "tokens", tokens, arguments.max_batch_tokens));
  return ToNumbers(PrefillFormula(fields, tokens, max_blocks));
}

StatusOr<DecodeLayout> SubLayouts::DecodeFor(std::uint64_t rows) const {
  DM_RETURN_IF_ERROR(CheckCount(DecodeLayout::kPrefix, "rows", rows, decode.rows));
  return ToNumbers(DecodeFormula(rows, max_blocks));
}

StatusOr<BatchedPrefillLayout> SubLayouts::BatchedPrefillFor(std::uint64_t streams,
                                                             std::uint64_t chunk_tokens) const {
  DM_RETURN_IF_ERROR(
      CheckCount(BatchedPrefillLayout::kPrefix, "streams", streams, batched_prefill.streams));
  DM_RETURN_IF_ERROR(CheckCount(BatchedPrefillLayout::kPrefix, "tokens per stream", chunk_tokens,
                                batched_prefill.chunk_tokens));
  return ToNumbers(BatchedPrefillFormula(fields, streams, chunk_tokens));
}

}  // namespace draftmark
