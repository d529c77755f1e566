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
                           StageShape(config, stage, bands[b][s].new_context_rows,
                                      bands[b][s].block_tokens.size())});
      }
    }
  }
  return tensors;
}

std::string PythonSnippet(const DrafterConfig& config) {
  const bool conv = config.kind == DrafterKind::kDflash2;
  // Lines of the snippet end at 100 columns.
  return fmt::format(R"py(import functools, re, safetensors.torch
dump, step = {{}}, 0  # step += 1 after every propose
wanted = r"fc|(hidden_)?norm|layers\.\d+\.(\w+_layernorm|q_norm|o_proj|mlp|output{})"
def keep(stage, module, args, y):
    y = y[0] if isinstance(y, tuple) else y
    dump[f"step{{step}}.{{stage}}"] = y.detach().squeeze(0).contiguous().cpu()
for name, module in drafter.named_modules():
    stage = re.sub(r"^(layers\.\d+)$", r"\1.output", re.sub(r"^model\.|self_attn\.", "", name))
{}    if re.fullmatch(wanted, stage): module.register_forward_hook(functools.partial(keep, stage))
# Run, add dump[f"step{{step}}.logits"] and dump[f"step{{step}}.draft_tokens"] by hand, then:
safetensors.torch.save_file(dump, "dump.safetensors")
)py",
                     conv ? R"(|\w+\.dynamic)" : "",
                     conv ? R"(    stage = stage.replace("_conv.kernel_projection", "_conv.dynamic")
)"
                          : "");
}

}  // namespace draftmark
