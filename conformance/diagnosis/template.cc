#include "conformance/diagnosis/template.h"

#include <fmt/format.h>

#include "conformance/diagnosis/inputs.h"
#include "src/backend/stages.h"

namespace draftmark {

std::vector<TemplateTensor> DumpTemplate(const DrafterConfig& config, const plain::Bands& bands) {
  std::vector<TemplateTensor> tensors;
  std::size_t steps = 0;
  for (const auto& band : bands) steps = std::max(steps, band.size());
  for (std::size_t s = 0; s < steps; ++s) {
    for (std::size_t b = 0; b < bands.size(); ++b) {
      if (s >= bands[b].size()) continue;
      for (const std::string& stage : StagesInDataFlowOrder(config)) {
        if (stage == "confidence_logits" && !config.confidence_head) continue;
        const bool exact = !plain::IsBf16Stage(stage);
        const DType dtype = IsIdStage(stage) ? DType::kU32 : exact ? DType::kF32 : DType::kBF16;
        tensors.push_back({JoinTensorName(s, b, stage), dtype,
                           StageShape(config, stage, bands[b][s].new_context_rows, bands[b][s].block_tokens.size())});
      }
    }
  }
  return tensors;
}

std::string PythonSnippet(const DrafterConfig& config) {
  std::string parts = "input_layernorm q_norm o_proj post_attention_layernorm mlp output";
  if (config.kind == DrafterKind::kDflash2) {
    parts += " attention_conv.kernel_projection mlp_conv.kernel_projection";
  }
  return fmt::format(R"(import re, safetensors.torch
dump, step = {{}}, 0                      # step += 1 after every propose
wanted = {{"fc", "hidden_norm", "norm"}} | {{f"layers.{{i}}.{{s}}" for i in range({}) for s in "{}".split()}}
def keep(stage, module, inputs, output):
    value = output[0] if isinstance(output, tuple) else output
    dump[f"step{{step}}.{{stage}}"] = value.detach().squeeze(0).contiguous().cpu()
for name, module in drafter.named_modules():
    stage = re.sub(r"^(layers\.\d+)$", r"\1.output", name.removeprefix("model.").replace("self_attn.", ""))
    if stage in wanted:
        stage = stage.replace(".kernel_projection", ".dynamic")
        module.register_forward_hook(lambda m, i, o, stage=stage: keep(stage, m, i, o))
# Where the engine has them: dump[f"step{{step}}.logits"] = ..., dump[f"step{{step}}.draft_tokens"] = ...
# After the run:
safetensors.torch.save_file(dump, "dump.safetensors")
)",
                     config.num_hidden_layers, parts);
}

}  // namespace draftmark
