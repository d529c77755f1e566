/* A plug-in with a whole draft session, in plain C for the CPU: DFlash drafters of any width, with
 * full and sliding layers, biases, sinks, a mask embedding, YaRN, softcap, and either row
 * convention. What it does not know (convolutions, selector, Markov and confidence heads) it does
 * not support, and says so in `create`. drafter.c computes; here is what the interface asks for.
 *
 *   gcc -std=c99 -O2 -shared -fPIC -I kernels/plugin -o libsession_plugin.so \
 *       kernels/plugin/examples/session/session_plugin.c kernels/plugin/examples/session/drafter.c -lm
 *   draftmark verify --backend ./libsession_plugin.so */
#include <stdio.h>
#include <stdlib.h>

#include "drafter.h"

/* --- Numbers and weights --- */

typedef struct loader {
  const draftmark_session_options* options;
  char missing[160]; /* the first one; empty: none */
} loader;

static double Number(const loader* l, const char* name, double otherwise) {
  return draftmark_find_number(l->options->numbers, l->options->number_count, name, otherwise);
}

static uint64_t Size(const loader* l, const char* name) { return (uint64_t)Number(l, name, 0); }

/* NULL for a tensor that is not there. Some checkpoints prefix all names. */
static weight IfThere(loader* l, const char* name, uint64_t elements) {
  uint64_t i;
  for (i = 0; i < l->options->weight_count; ++i) {
    const draftmark_weight* const w = l->options->weights[i];
    const char* const bare = strncmp(w->name, "model.", 6) == 0 ? w->name + 6 : w->name;
    if (strcmp(bare, name) != 0) continue;
    if (w->dtype == DRAFTMARK_BF16 && w->bytes == elements * sizeof(bf16)) return (weight)w->data;
    if (l->missing[0] == '\0') {
      snprintf(l->missing, sizeof l->missing, "%s: expected BF16 of %llu bytes, found %llu", name,
               (unsigned long long)(elements * sizeof(bf16)), (unsigned long long)w->bytes);
    }
  }
  return NULL;
}

static weight Needed(loader* l, const char* name, uint64_t elements) {
  const weight found = IfThere(l, name, elements);
  if (found == NULL && l->missing[0] == '\0') {
    snprintf(l->missing, sizeof l->missing, "%s is missing", name);
  }
  return found;
}

static weight OfLayer(loader* l, uint64_t index, const char* name, uint64_t elements) {
  char whole[96];
  snprintf(whole, sizeof whole, "layers.%u.%s", (unsigned)index, name);
  return Needed(l, whole, elements);
}

static void LoadLayer(loader* l, const session* s, uint64_t i, layer* to) {
  const uint64_t q = s->heads * s->d, kv = s->kv_heads * s->d;
  char name[96];
  to->input_norm = OfLayer(l, i, "input_layernorm.weight", s->h);
  to->post_norm = OfLayer(l, i, "post_attention_layernorm.weight", s->h);
  to->q = OfLayer(l, i, "self_attn.q_proj.weight", q * s->h);
  to->k = OfLayer(l, i, "self_attn.k_proj.weight", kv * s->h);
  to->v = OfLayer(l, i, "self_attn.v_proj.weight", kv * s->h);
  to->o = OfLayer(l, i, "self_attn.o_proj.weight", s->h * q);
  if (Number(l, "attention_bias", 0) != 0) {
    to->q_bias = OfLayer(l, i, "self_attn.q_proj.bias", q);
    to->k_bias = OfLayer(l, i, "self_attn.k_proj.bias", kv);
    to->v_bias = OfLayer(l, i, "self_attn.v_proj.bias", kv);
    to->o_bias = OfLayer(l, i, "self_attn.o_proj.bias", s->h);
  }
  to->q_norm = OfLayer(l, i, "self_attn.q_norm.weight", s->d);
  to->k_norm = OfLayer(l, i, "self_attn.k_norm.weight", s->d);
  to->gate = OfLayer(l, i, "mlp.gate_proj.weight", s->inner * s->h);
  to->up = OfLayer(l, i, "mlp.up_proj.weight", s->inner * s->h);
  to->down = OfLayer(l, i, "mlp.down_proj.weight", s->h * s->inner);
  snprintf(name, sizeof name, "layers.%u.self_attn.sinks", (unsigned)i);
  to->sinks = IfThere(l, name, s->heads);
  snprintf(name, sizeof name, "layers.%u.window", (unsigned)i);
  to->window = Size(l, name);
  snprintf(name, sizeof name, "layers.%u.causal", (unsigned)i);
  to->causal = Number(l, name, 0) != 0;
}

static void LoadNumbers(const loader* l, session* s) {
  uint64_t i;
  s->h = Size(l, "hidden_size");
  s->layers = Size(l, "num_hidden_layers");
  s->heads = Size(l, "num_attention_heads");
  s->kv_heads = Size(l, "num_key_value_heads");
  s->d = Size(l, "head_dim");
  s->inner = Size(l, "intermediate_size");
  s->vocabulary = Size(l, "vocab_size");
  s->taps = Size(l, "taps") * Size(l, "target_hidden_size");
  s->anchor_first = Number(l, "anchor_first", 0) != 0;
  s->epsilon = Number(l, "rms_norm_eps", 0);
  s->embed_scale = Number(l, "input_embedding_scale", 1);
  s->multiplier = Number(l, "output_multiplier", 1);
  s->softcap = Number(l, "final_logit_softcapping", 0);
  s->amplitude = Number(l, "rope.amplitude", 1);
  s->partner = Size(l, "rope.partner");
  s->pairs = Size(l, "rope.pairs");
  for (i = 0; i < s->pairs && i < MOST_PAIRS; ++i) {
    char name[64];
    snprintf(name, sizeof name, "rope.frequency.%u", (unsigned)i);
    s->frequency[i] = (float)Number(l, name, 0);
  }
  s->max_context = l->options->max_context;
  s->gamma = l->options->gamma;
  s->band_count = l->options->max_batch;
  s->record = 2 * s->h + 3 * s->layers * s->kv_heads * s->d;
}

/* What is not a DFlash drafter of our kind; NULL: nothing. */
static const char* Unsupported(const loader* l, const session* s) {
  if (Size(l, "conv_kernel_size") > 0) return "convolutions";
  if (Size(l, "markov_rank") > 0) return "Markov heads";
  if (Size(l, "confidence_head") > 0) return "confidence heads";
  if (s->layers > MOST_LAYERS) return "more than 64 layers";
  if (s->pairs > MOST_PAIRS) return "heads wider than 512";
  return NULL;
}

static void LoadWeights(loader* l, session* s) {
  uint64_t i;
  s->fc = Needed(l, "fc.weight", s->h * s->taps);
  s->hidden_norm = Needed(l, "hidden_norm.weight", s->h);
  s->norm = Needed(l, "norm.weight", s->h);
  s->embed = Needed(l, "embed_tokens.weight", s->vocabulary * s->h);
  s->lm_head = IfThere(l, "lm_head.weight", s->vocabulary * s->h);
  if (s->lm_head == NULL) s->lm_head = s->embed; /* tied */
  s->mask_embedding = IfThere(l, "mask_embedding", s->h);
  for (i = 0; i < s->layers; ++i) LoadLayer(l, s, i, &s->layer[i]);
}

/* --- The session --- */

static void Destroy(void* session_) {
  session* const s = (session*)session_;
  uint32_t i;
  for (i = 0; s->bands != NULL && i < s->band_count; ++i) {
    free(s->bands[i].records);
    free(s->bands[i].positions);
  }
  free(s->bands);
  free(s->memory);
  free(s->scores);
  free(s);
}

/* All at once, so that no later call can run out of it. Returns 0 if there is none. */
static int Allocate(session* s) {
  const uint64_t rows = s->max_context + s->gamma, q = s->heads * s->d, kv = s->kv_heads * s->d;
  const uint64_t widest = s->h > kv ? s->h : kv;
  const uint64_t sizes[9] = {s->gamma * s->h,     s->gamma * s->h,          s->gamma * q,
                             s->gamma * q,        s->gamma * s->h,          s->gamma * s->inner,
                             s->gamma * s->inner, s->gamma * s->vocabulary, rows * widest};
  bf16** const parts[9] = {&s->x,    &s->normed, &s->q,      &s->attended, &s->added,
                           &s->gate, &s->up,     &s->logits, &s->gathered};
  uint64_t total = 0, i;
  for (i = 0; i < 9; ++i) total += sizes[i];
  s->memory = (bf16*)calloc(total, sizeof(bf16));
  s->scores = (double*)calloc(rows, sizeof(double));
  s->bands = (band*)calloc(s->band_count, sizeof(band));
  if (s->memory == NULL || s->scores == NULL || s->bands == NULL) return 0;
  for (i = 0, total = 0; i < 9; total += sizes[i++]) *parts[i] = s->memory + total;
  for (i = 0; i < s->band_count; ++i) {
    s->bands[i].records = (bf16*)calloc(rows * s->record, sizeof(bf16));
    s->bands[i].positions = (int64_t*)calloc(rows, sizeof(int64_t));
    if (s->bands[i].records == NULL || s->bands[i].positions == NULL) return 0;
  }
  return 1;
}

static draftmark_result Create(const draftmark_session_options* options, void** session_,
                               draftmark_message* message) {
  loader l = {options, ""};
  session* const s = (session*)calloc(1, sizeof *s);
  const char* unsupported;
  draftmark_result result = DRAFTMARK_OK;
  if (s == NULL) return draftmark_answer(message, DRAFTMARK_FAILED, "no memory");
  LoadNumbers(&l, s);
  unsupported = Unsupported(&l, s);
  if (unsupported != NULL) {
    result = draftmark_answer(message, DRAFTMARK_UNSUPPORTED, unsupported);
  } else {
    LoadWeights(&l, s);
    if (l.missing[0] != '\0') {
      result = draftmark_answer(message, DRAFTMARK_FAILED, l.missing);
    } else if (!Allocate(s)) {
      result = draftmark_answer(message, DRAFTMARK_FAILED, "no memory");
    }
  }
  if (result == DRAFTMARK_OK) {
    *session_ = s;
  } else {
    Destroy(s);
  }
  return result;
}

/* NULL, and an answer, for a band that is not there. */
static band* BandOf(session* s, uint32_t index, draftmark_message* message) {
  if (index < s->band_count) return &s->bands[index];
  draftmark_answer(message, DRAFTMARK_FAILED, "no such band");
  return NULL;
}

static draftmark_result Append(void* session_, uint32_t index, const uint16_t* taps,
                               const int32_t* positions, uint64_t rows,
                               draftmark_message* message) {
  session* const s = (session*)session_;
  band* const b = BandOf(s, index, message);
  uint64_t row;
  if (b == NULL) return DRAFTMARK_FAILED;
  /* Before anything is changed. */
  if (rows > s->max_context - b->rows) {
    return draftmark_answer(message, DRAFTMARK_FAILED, "more context rows than max_context");
  }
  for (row = 0; row < rows; ++row) AppendRow(s, b, taps + row * s->taps, positions[row]);
  return DRAFTMARK_OK;
}

static draftmark_result DropFront(void* session_, uint32_t index, uint64_t rows,
                                  draftmark_message* message) {
  session* const s = (session*)session_;
  band* const b = BandOf(s, index, message);
  if (b == NULL) return DRAFTMARK_FAILED;
  if (rows > b->rows) {
    return draftmark_answer(message, DRAFTMARK_FAILED, "more rows to drop than there are");
  }
  b->rows -= rows;
  if (b->new_rows > b->rows) b->new_rows = b->rows;
  memmove(b->records, b->records + rows * s->record, b->rows * s->record * sizeof(bf16));
  memmove(b->positions, b->positions + rows, b->rows * sizeof *b->positions);
  return DRAFTMARK_OK;
}

static draftmark_result Reset(void* session_, uint32_t index, draftmark_message* message) {
  band* const b = BandOf((session*)session_, index, message);
  if (b == NULL) return DRAFTMARK_FAILED;
  b->rows = b->new_rows = 0;
  return DRAFTMARK_OK;
}

static draftmark_result Propose(void* session_, const draftmark_block* const* blocks,
                                uint32_t block_count, const draftmark_stage_sink* sink,
                                draftmark_message* message) {
  session* const s = (session*)session_;
  uint32_t i;
  for (i = 0; i < block_count; ++i) {
    if (BandOf(s, blocks[i]->band, message) == NULL) return DRAFTMARK_FAILED;
    if (blocks[i]->width > s->gamma) {
      return draftmark_answer(message, DRAFTMARK_FAILED, "a block of more rows than gamma");
    }
  }
  for (i = 0; i < block_count; ++i) RunBlock(s, blocks[i], sink);
  return DRAFTMARK_OK;
}

static const draftmark_session_table kSession = {
    sizeof(draftmark_session_table), 0, Create, Append, DropFront, Reset, Propose, Destroy};

static const draftmark_plugin kPlugin = {sizeof(draftmark_plugin),
                                         DRAFTMARK_PLUGIN_ABI,
                                         "plain C drafts",
                                         "1.0",
                                         DRAFTMARK_CPU,
                                         0,
                                         NULL,
                                         NULL,
                                         0,
                                         0,
                                         &kSession};

const draftmark_plugin* draftmark_plugin_entry(uint32_t host_abi) {
  return host_abi == DRAFTMARK_PLUGIN_ABI ? &kPlugin : NULL;
}
