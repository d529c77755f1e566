#include "src/scratch/dflash_geometry.h"

namespace draftmark {

DflashGeometry DflashGeometry::FromConfig(const DrafterConfig& config) {
  DflashGeometry g;
  g.hidden_size = config.hidden_size;
  g.num_hidden_layers = config.num_hidden_layers;
  g.num_attention_heads = config.num_attention_heads;
  g.num_key_value_heads = config.num_key_value_heads;
  g.head_dim = config.head_dim;
  g.intermediate_size = config.intermediate_size;
  g.vocab_size = config.vocab_size;
  g.target_taps = config.target_layer_ids.size();
  g.target_hidden_size = config.target_hidden_size;
  g.block_size = config.block_size;
  g.markov_rank = config.markov_rank;
  g.conv_kernel_size = config.conv_kernel_size;
  g.conv_group_size = config.conv_group_size;
  if (config.selector_rank > 0) g.selector_rank = config.selector_rank;
  return g;
}

DrafterTensorsPresent DrafterTensorsPresent::FromConfig(const DrafterConfig& config) {
  DrafterTensorsPresent present;
  present.markov = config.markov_rank > 0;
  present.confidence = config.confidence_head;
  present.convs = config.conv_kernel_size > 0;
  present.selector = config.kind == DrafterKind::kDflash2;
  return present;
}

}  // namespace draftmark
