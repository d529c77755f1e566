// sizes and scratch.
#include "src/config/drafter_config.h"
#include "src/config/model_config.h"
#include "tools/commands/scratch/scratch_report.h"
#include "tools/commands/sizes/sizes_report.h"
#include "tools/python/calls.h"

namespace draftmark::python {

StatusOr<Reply> AnswerSizes(const JsonObject& request) {
  DM_ASSIGN_OR_RETURN(const RequestedConfig config, ReadRequestedConfig(request));
  DM_ASSIGN_OR_RETURN(const ModelConfig model, ParseModelConfig(config.json, config.source));
  SizingArguments a;
  DM_ASSIGN_OR_RETURN(a.max_batch_tokens, request.U64("max_batch_tokens"));
  DM_ASSIGN_OR_RETURN(a.max_seq_len, request.U64("max_seq_len"));
  DM_ASSIGN_OR_RETURN(a.kv_block_size, request.U64("kv_block_size"));
  DM_ASSIGN_OR_RETURN(a.max_batch_size, request.U64("max_batch_size"));
  DM_ASSIGN_OR_RETURN(a.native_q2, request.BoolOr("native_q2", a.native_q2));
  DM_ASSIGN_OR_RETURN(a.native_q2_mmq, request.BoolOr("native_q2_mmq", a.native_q2_mmq));
  DM_ASSIGN_OR_RETURN(a.sm_count, request.U64Or("sm_count", a.sm_count));
  DM_ASSIGN_OR_RETURN(const SizesReport report, SizesReport::Create(config.source, model, a));
  Reply reply;
  reply.json = report.ToJson();
  return reply;
}

StatusOr<Reply> AnswerScratch(const JsonObject& request) {
  DM_ASSIGN_OR_RETURN(const RequestedConfig config, ReadRequestedConfig(request));
  DM_ASSIGN_OR_RETURN(const std::string entry, request.StringOr("entry", ""));
  DM_ASSIGN_OR_RETURN(const DrafterConfig drafter,
                      ParseDrafterConfig(config.json, config.source, entry));
  DflashScratchRequest scratch;
  scratch.geometry = DflashGeometry::FromConfig(drafter);
  scratch.tensors = DrafterTensorsPresent::FromConfig(drafter);
  DM_ASSIGN_OR_RETURN(scratch.version, request.U64("version"));
  DM_ASSIGN_OR_RETURN(scratch.ctx_window, request.U64("ctx_window"));
  DM_ASSIGN_OR_RETURN(scratch.max_batch, request.U64("max_batch"));
  DM_ASSIGN_OR_RETURN(scratch.batched_heads, request.BoolOr("batched_heads", false));
  DM_ASSIGN_OR_RETURN(scratch.gamma, request.OptionalU64("gamma"));
  if (request.Has("layout")) {
    DM_ASSIGN_OR_RETURN(const std::string layout, request.String("layout"));
    DM_ASSIGN_OR_RETURN(scratch.layout, ParseDflashLayoutName(scratch.version, layout));
  }
  DM_ASSIGN_OR_RETURN(const ScratchReport report, ScratchReport::Create(config.source, scratch));
  Reply reply;
  reply.json = report.ToJson();
  return reply;
}

}  // namespace draftmark::python
