#include "conformance/scratch/worked_examples.h"

#include "src/cases/case_id.h"

namespace draftmark {
namespace {

// Qwen3.6-35B-A3B-like: h 2048, q_dim 4096, kv_dim 512, I 6144, L 8, V 248320, gamma = cw = 16. The
// spec gives no taps for it; they enter no field of version 1.
DflashScratchRequest Seed000() {
  DflashScratchRequest r;
  r.geometry.hidden_size = 2048;
  r.geometry.num_hidden_layers = 8;
  r.geometry.num_attention_heads = 32;
  r.geometry.num_key_value_heads = 4;
  r.geometry.head_dim = 128;
  r.geometry.intermediate_size = 6144;
  r.geometry.vocab_size = 248320;
  r.geometry.target_taps = 5;
  r.geometry.target_hidden_size = 2048;
  r.geometry.block_size = 16;
  r.version = 1;
  r.ctx_window = 16;
  return r;
}

// Qwen3.8-27B-DFlash2: h 5120, q_dim 4096, kv_dim 1024, I 17408, L 5, V 248320, five taps of 5120,
// two conv taps in groups of 16, selector rank 256, gamma 10, cw 4096.
DflashScratchRequest Seed001(std::uint64_t max_batch) {
  DflashScratchRequest r;
  r.geometry.hidden_size = 5120;
  r.geometry.num_hidden_layers = 5;
  r.geometry.num_attention_heads = 32;
  r.geometry.num_key_value_heads = 8;
  r.geometry.head_dim = 128;
  r.geometry.intermediate_size = 17408;
  r.geometry.vocab_size = 248320;
  r.geometry.target_taps = 5;
  r.geometry.target_hidden_size = 5120;
  r.geometry.block_size = 8;
  r.geometry.conv_kernel_size = 2;
  r.geometry.conv_group_size = 16;
  r.geometry.selector_rank = 256;
  r.tensors.convs = true;
  r.tensors.selector = true;
  r.version = 2;
  r.ctx_window = 4096;
  r.max_batch = max_batch;
  r.gamma = 10;
  return r;
}

// Ids are case ids; the layout is part of the system's name.
std::string Id(DflashLayoutName layout, const std::string& config,
               std::vector<std::pair<std::string, std::uint64_t>> keys) {
  CaseId id;
  id.room = CaseId::Room::kScratch;
  const bool v2 = layout == DflashLayoutName::kNormative || layout == DflashLayoutName::kAsUpstream;
  id.system =
      std::string(v2 ? "dflash_v2-" : "dflash_v1-") + std::string(DflashLayoutNameText(layout));
  id.subject = config;
  id.keys = std::move(keys);
  return id.ToString();
}

WorkedExample Seed000Doc() {
  return {
      Id(DflashLayoutName::kDoc, "qwen3.6-35b-a3b-like", {{"ctx_window", 16}, {"gamma", 16}}),
      Seed000(),
      {{"stream_buf", 131072},
       {"norm_buf", 131072},
       {"stream_acc", 131072},
       {"q_buf", 262144},
       {"attn_out", 262144},
       {"k_buf", 32768},
       {"v_buf", 32768},
       {"mlp_intermediate", 393216},
       {"mlp_up", 393216},
       {"fc_proj", 65536},
       {"fused_kv_out", 262144},
       {"slot_mapping_dev", 64},
       {"option_b_indirect_args_dev", 8},
       {"draft_tokens_dev", 128},
       {"position_ids", 128},
       {"draft_tokens_host_pinned", 64},
       {"logits", 15892480},
       {"stream_buf + norm_buf + q_buf + k_buf + v_buf + attn_out + mlp_intermediate + mlp_up + "
        "stream_acc",
        1769472},
       {"device total", 2097480 + 15892480}}};
}

WorkedExample Seed000Code(DflashLayoutName layout, std::uint64_t args, std::uint64_t logits) {
  DflashScratchRequest r = Seed000();
  r.layout = layout;
  return {Id(layout, "qwen3.6-35b-a3b-like", {{"ctx_window", 16}, {"gamma", 16}}),
          r,
          {{"slot_mapping_dev", 128}, {"option_b_indirect_args_dev", args}, {"logits", logits}}};
}

// "fused_kv_out at L=5, kv_dim=512, cw=512".
WorkedExample CodeComment() {
  DflashScratchRequest r = Seed000();
  r.geometry.num_hidden_layers = 5;
  r.ctx_window = 512;
  return {Id(DflashLayoutName::kDoc, "qwen3.6-35b-a3b-like",
             {{"layers", 5}, {"ctx_window", 512}, {"gamma", 16}}),
          r,
          {{"fused_kv_out", 5242880}}};
}

WorkedExample Seed001OfBands(std::uint64_t nb, std::uint64_t args, std::uint64_t pinned,
                             std::uint64_t logits, std::uint64_t conv_dyn, std::uint64_t conv_tmp,
                             std::uint64_t selector, std::uint64_t hproj, std::uint64_t total) {
  return {Id(DflashLayoutName::kNormative, "qwen3.8-27b-dflash2",
             {{"ctx_window", 4096}, {"nb", nb}, {"gamma", 10}}),
          Seed001(nb),
          {{"stream_buf", 42045440},
           {"norm_buf", 42045440},
           {"stream_acc", 42045440},
           {"q_buf", 33636352},
           {"attn_out", 33636352},
           {"k_buf", 8409088},
           {"v_buf", 8409088},
           {"mlp_intermediate", 142954496},
           {"mlp_up", 142954496},
           {"fc_proj", 41943040},
           {"fused_kv_out", 83886080},
           {"slot_mapping_dev", 32768},
           {"precompute_in", 13107200},
           {"option_b_indirect_args_dev", args},
           {"draft_tokens_host_pinned", pinned},
           {"logits", logits},
           {"draft_tokens_dev", 16424},
           {"position_ids", 16424},
           {"markov_embed", 0},
           {"markov_bias", 0},
           {"conf_out", 0},
           {"conv_dyn", conv_dyn},
           {"conv_tmp", conv_tmp},
           {"sel_vals", selector},
           {"sel_idx", selector},
           {"sel_hproj", hproj},
           {"device total", total}}};
}

// "DSpark (r_m=256, V=248320, gamma=7)". conf_out and the Markov buffers are those of one band, however many there are;
// batched heads size conf_out for all.
WorkedExample Dspark(DflashLayoutName layout, std::uint64_t nb, bool batched_heads) {
  DflashScratchRequest r = Seed001(nb);
  r.version = layout == DflashLayoutName::kDoc ? 1 : 2;
  r.layout = layout;
  r.geometry.markov_rank = 256;
  r.tensors = {.markov = true, .confidence = true};
  r.gamma = 7;
  r.batched_heads = batched_heads;
  return {Id(layout, batched_heads ? "qwen3.8-27b-dspark-batched-heads" : "qwen3.8-27b-dspark",
             {{"ctx_window", 4096}, {"nb", nb}, {"gamma", 7}}),
          r,
          {{"markov_embed", 512},
           {"markov_bias", 496640},
           {"conf_out", batched_heads ? nb * 14 : 14},
           {"conv_dyn", 0},
           {"conv_tmp", 0},
           {"sel_vals", 0},
           {"sel_idx", 0},
           {"sel_hproj", 0}}};
}

// "nb=64, gamma=16, cw=512: R=1024 rows, block slots need 8,192 B but cw*8 = 4,096 B".
WorkedExample ManyBands(DflashLayoutName layout, std::uint64_t slot_bytes) {
  DflashScratchRequest r = Seed001(64);
  r.layout = layout;
  r.ctx_window = 512;
  r.gamma = 16;
  return {Id(layout, "qwen3.8-27b-dflash2", {{"ctx_window", 512}, {"nb", 64}, {"gamma", 16}}),
          r,
          {{"slot_mapping_dev", slot_bytes},
           {"draft_tokens_dev", 1024 * 4},
           {"position_ids", 1024 * 4},
           {"stream_buf", std::uint64_t{1024} * 5120 * 2}}};
}

}  // namespace

std::vector<WorkedExample> WorkedExamples() {
  return {
      Seed000Doc(),
      Seed000Code(DflashLayoutName::kCodeA, 8, 15892480),
      Seed000Code(DflashLayoutName::kCodeB, 12, 7946240),
      CodeComment(),
      Seed001OfBands(1, 12, 40, 4966400, 25600, 102400, 640, 5120, 640238940),
      Seed001OfBands(8, 96, 320, 39731200, 204800, 819200, 5120, 40960, 675944624),
      Dspark(DflashLayoutName::kDoc, 1, false),
      Dspark(DflashLayoutName::kNormative, 1, false),
      Dspark(DflashLayoutName::kNormative, 8, false),
      Dspark(DflashLayoutName::kNormative, 8, true),
      ManyBands(DflashLayoutName::kNormative, 8192),
      ManyBands(DflashLayoutName::kAsUpstream, 4096),
  };
}

}  // namespace draftmark
