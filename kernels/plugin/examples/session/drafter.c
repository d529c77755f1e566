#include "drafter.h"

#include <math.h>
#include <stdio.h>

/* --- Arithmetic --- */

static double Load(weight w, uint64_t i) {
  bf16 value;
  memcpy(&value, w + 2 * i, sizeof value);
  return draftmark_from_bf16(value);
}

/* Through FP32, which is 2^16 times as fine. */
static bf16 Round(double value) { return draftmark_to_bf16((float)value); }

/* y = x W^T + bias, then the logits' multiplier and softcap (1 and 0: neither). */
static void Linear(const bf16* x, uint64_t rows, uint64_t k, weight w, weight bias, uint64_t n,
                   double multiplier, double softcap, bf16* y) {
  uint64_t row, o, i;
  for (row = 0; row < rows; ++row) {
    for (o = 0; o < n; ++o) {
      double sum = bias == NULL ? 0 : Load(bias, o);
      for (i = 0; i < k; ++i) sum += draftmark_from_bf16(x[row * k + i]) * Load(w, o * k + i);
      sum *= multiplier;
      y[row * n + o] = Round(softcap > 0 ? softcap * tanh(sum / softcap) : sum);
    }
  }
}

/* In place or not. Of heads as well: rows * heads rows of width d. */
static void Norm(const session* s, const bf16* x, uint64_t rows, uint64_t width, weight w,
                 bf16* y) {
  uint64_t row, i;
  for (row = 0; row < rows; ++row) {
    double sum = 0, scale;
    for (i = 0; i < width; ++i) {
      const double value = draftmark_from_bf16(x[row * width + i]);
      sum += value * value;
    }
    scale = 1 / sqrt(sum / (double)width + s->epsilon);
    for (i = 0; i < width; ++i) {
      y[row * width + i] = Round(draftmark_from_bf16(x[row * width + i]) * scale * Load(w, i));
    }
  }
}

/* Heads of one row. The angle is an FP32 product: its error is part of the definition. */
static void Rotate(const session* s, int64_t position, bf16* row, uint64_t heads) {
  uint64_t head, i;
  for (head = 0; head < heads; ++head) {
    bf16* const x = row + head * s->d;
    for (i = 0; i < s->pairs; ++i) {
      const float angle = (float)position * s->frequency[i];
      const double cosine = cos((double)angle) * s->amplitude;
      const double sine = sin((double)angle) * s->amplitude;
      const double a = draftmark_from_bf16(x[i]), b = draftmark_from_bf16(x[i + s->partner]);
      x[i] = Round(a * cosine - b * sine);
      x[i + s->partner] = Round(b * cosine + a * sine);
    }
  }
}

static void Add(bf16* x, const bf16* delta, uint64_t count) {
  uint64_t i;
  for (i = 0; i < count; ++i) {
    x[i] = Round((double)draftmark_from_bf16(x[i]) + (double)draftmark_from_bf16(delta[i]));
  }
}

/* --- Records: fc, hidden_norm, then of each layer K before and after RoPE, and V --- */

enum { kNormed = 0, kKey = 1, kValue = 2 };

static bf16* Record(const session* s, const band* b, uint64_t row) {
  return b->records + row * s->record;
}

static uint64_t PartOffset(const session* s, uint64_t l, int part) {
  return 2 * s->h + (3 * l + (uint64_t)part) * s->kv_heads * s->d;
}

/* K and V of one row, from what the projections read. */
static void KeysAndValues(const session* s, uint64_t l, const bf16* input, int64_t position,
                          bf16* record) {
  const layer* const w = &s->layer[l];
  const uint64_t kv = s->kv_heads * s->d;
  bf16* const normed = record + PartOffset(s, l, kNormed);
  bf16* const key = record + PartOffset(s, l, kKey);
  Linear(input, 1, s->h, w->k, w->k_bias, kv, 1, 0, normed);
  Linear(input, 1, s->h, w->v, w->v_bias, kv, 1, 0, record + PartOffset(s, l, kValue));
  Norm(s, normed, s->kv_heads, s->d, w->k_norm, normed);
  memcpy(key, normed, kv * sizeof *key);
  Rotate(s, position, key, s->kv_heads);
}

/* --- Stages --- */

typedef struct stages {
  const session* s;
  const draftmark_stage_sink* sink;
  uint32_t band;
} stages;

static void Emit(const stages* to, const char* name, draftmark_dtype dtype, uint32_t rank,
                 const uint64_t* shape, const void* data) {
  draftmark_stage stage = {sizeof stage, to->band, name,  dtype, DRAFTMARK_CPU,
                           rank,         0,        shape, data};
  if (to->sink->wants(to->sink->context, name)) to->sink->emit(to->sink->context, &stage);
}

/* Rows of the block. */
static void EmitRows(const stages* to, const char* name, uint64_t rows, uint64_t width,
                     const bf16* data) {
  const uint64_t shape[2] = {rows, width};
  Emit(to, name, DRAFTMARK_BF16, 2, shape, data);
}

static const char* LayerName(char* text, size_t size, uint64_t l, const char* stage) {
  snprintf(text, size, "layers.%u.%s", (unsigned)l, stage);
  return text;
}

static void EmitLayer(const stages* to, uint64_t l, const char* stage, uint64_t rows,
                      uint64_t width, const bf16* data) {
  char name[64];
  EmitRows(to, LayerName(name, sizeof name, l, stage), rows, width, data);
}

/* A part of the records of new context rows, and of `width` block rows behind them. Without heads
 * (0) a row is `d` wide. */
static void EmitRecords(const stages* to, const char* name, const band* b, uint64_t width,
                        uint64_t offset, uint64_t heads, uint64_t d) {
  const session* const s = to->s;
  const uint64_t rows = b->new_rows + width, first = b->rows - b->new_rows;
  const uint64_t size = heads == 0 ? d : heads * d;
  const uint64_t flat[2] = {rows, d}, shape[3] = {rows, heads, d};
  uint64_t row;
  for (row = 0; row < rows; ++row) {
    memcpy(s->gathered + row * size, Record(s, b, first + row) + offset,
           size * sizeof *s->gathered);
  }
  Emit(to, name, DRAFTMARK_BF16, heads == 0 ? 2 : 3, heads == 0 ? flat : shape, s->gathered);
}

/* --- A context row --- */

void AppendRow(session* s, band* b, const bf16* taps, int64_t position) {
  bf16* const record = Record(s, b, b->rows);
  uint64_t l;
  b->positions[b->rows] = position;
  Linear(taps, 1, s->taps, s->fc, NULL, s->h, 1, 0, record);
  Norm(s, record, 1, s->h, s->hidden_norm, record + s->h);
  for (l = 0; l < s->layers; ++l) KeysAndValues(s, l, record + s->h, position, record);
  ++b->rows;
  ++b->new_rows;
}

/* --- The block --- */

static int Sees(const layer* w, int64_t distance) {
  if (w->causal && distance < 0) return 0;
  return w->window == 0 || (uint64_t)(distance < 0 ? -distance : distance) < w->window;
}

/* One head of one row over context and block. */
static void Attend(const session* s, uint64_t l, const band* b, uint64_t keys, int64_t position,
                   uint64_t head, const bf16* q, bf16* out) {
  const layer* const w = &s->layer[l];
  const uint64_t at = head / (s->heads / s->kv_heads) * s->d;
  double most = w->sinks == NULL ? -INFINITY : Load(w->sinks, head), total;
  uint64_t m, i;
  for (m = 0; m < keys; ++m) {
    const bf16* const key = Record(s, b, m) + PartOffset(s, l, kKey) + at;
    double dot = 0;
    s->scores[m] = -INFINITY;
    if (!Sees(w, position - b->positions[m])) continue;
    for (i = 0; i < s->d; ++i)
      dot += (double)draftmark_from_bf16(q[i]) * draftmark_from_bf16(key[i]);
    s->scores[m] = dot / sqrt((double)s->d);
    if (s->scores[m] > most) most = s->scores[m];
  }
  total = w->sinks == NULL ? 0 : exp(Load(w->sinks, head) - most);
  for (m = 0; m < keys; ++m) total += s->scores[m] = exp(s->scores[m] - most);
  for (i = 0; i < s->d; ++i) {
    double sum = 0;
    for (m = 0; m < keys; ++m) {
      if (s->scores[m] == 0) continue;
      sum += s->scores[m] * draftmark_from_bf16(Record(s, b, m)[PartOffset(s, l, kValue) + at + i]);
    }
    out[i] = Round(sum / total);
  }
}

static void Attention(const session* s, const stages* to, uint64_t l, const band* b,
                      uint64_t width) {
  const layer* const w = &s->layer[l];
  const uint64_t q_dim = s->heads * s->d;
  char name[64];
  uint64_t j, head;
  Norm(s, s->x, width, s->h, w->input_norm, s->normed);
  EmitLayer(to, l, "input_layernorm", width, s->h, s->normed);
  Linear(s->normed, width, s->h, w->q, w->q_bias, q_dim, 1, 0, s->q);
  Norm(s, s->q, width * s->heads, s->d, w->q_norm, s->q);
  {
    const uint64_t shape[3] = {width, s->heads, s->d};
    Emit(to, LayerName(name, sizeof name, l, "q_norm"), DRAFTMARK_BF16, 3, shape, s->q);
  }
  for (j = 0; j < width; ++j) {
    Rotate(s, b->positions[b->rows + j], s->q + j * q_dim, s->heads);
    KeysAndValues(s, l, s->normed + j * s->h, b->positions[b->rows + j], Record(s, b, b->rows + j));
  }
  EmitRecords(to, LayerName(name, sizeof name, l, "k_norm"), b, width, PartOffset(s, l, kNormed),
              s->kv_heads, s->d);
  EmitRecords(to, LayerName(name, sizeof name, l, "k_new"), b, width, PartOffset(s, l, kKey),
              s->kv_heads, s->d);
  EmitRecords(to, LayerName(name, sizeof name, l, "v_new"), b, width, PartOffset(s, l, kValue),
              s->kv_heads, s->d);
  for (j = 0; j < width; ++j) {
    for (head = 0; head < s->heads; ++head) {
      const uint64_t at = j * q_dim + head * s->d;
      Attend(s, l, b, b->rows + width, b->positions[b->rows + j], head, s->q + at,
             s->attended + at);
    }
  }
  EmitLayer(to, l, "attn_out", width, q_dim, s->attended);
  Linear(s->attended, width, q_dim, w->o, w->o_bias, s->h, 1, 0, s->added);
  EmitLayer(to, l, "o_proj", width, s->h, s->added);
  Add(s->x, s->added, width * s->h);
}

static void Mlp(const session* s, const stages* to, uint64_t l, uint64_t width) {
  const layer* const w = &s->layer[l];
  uint64_t i;
  Norm(s, s->x, width, s->h, w->post_norm, s->normed);
  EmitLayer(to, l, "post_attention_layernorm", width, s->h, s->normed);
  Linear(s->normed, width, s->h, w->gate, NULL, s->inner, 1, 0, s->gate);
  Linear(s->normed, width, s->h, w->up, NULL, s->inner, 1, 0, s->up);
  for (i = 0; i < width * s->inner; ++i) {
    const double g = draftmark_from_bf16(s->gate[i]);
    s->gate[i] = Round(g / (1 + exp(-g)) * draftmark_from_bf16(s->up[i]));
  }
  Linear(s->gate, width, s->inner, w->down, NULL, s->h, 1, 0, s->added);
  EmitLayer(to, l, "mlp", width, s->h, s->added);
  Add(s->x, s->added, width * s->h);
  EmitLayer(to, l, "output", width, s->h, s->x);
}

/* The greatest logit of each draft's row, ties to the lowest id, and how far the second one is. */
static void Choose(const session* s, const stages* to, const draftmark_block* block) {
  const uint64_t first = block->width - block->draft_count;
  const uint64_t shape[1] = {block->draft_count};
  uint64_t draft, id;
  for (draft = 0; draft < block->draft_count; ++draft) {
    const bf16* const row = s->logits + (first + draft) * s->vocabulary;
    double best = -1e30, second = -1e30;
    block->draft_tokens[draft] = 0;
    for (id = 0; id < s->vocabulary; ++id) {
      const double value = draftmark_from_bf16(row[id]);
      if (value > best) {
        second = best;
        best = value;
        block->draft_tokens[draft] = (uint32_t)id;
      } else if (value > second) {
        second = value;
      }
    }
    block->margins[draft] = best - second;
  }
  Emit(to, "draft_tokens", DRAFTMARK_U32, 1, shape, block->draft_tokens);
  Emit(to, "margin", DRAFTMARK_F64, 1, shape, block->margins);
}

void RunBlock(session* s, const draftmark_block* block, const draftmark_stage_sink* sink) {
  const stages stages_of_band = {s, sink, block->band};
  const stages* const to = &stages_of_band;
  band* const b = &s->bands[block->band];
  uint64_t j, l, i;
  EmitRecords(to, "fc", b, 0, 0, 0, s->h);
  EmitRecords(to, "hidden_norm", b, 0, s->h, 0, s->h);
  for (j = 0; j < block->width; ++j) {
    /* A mask row may have a vector of its own. */
    const int own = j > 0 && s->mask_embedding != NULL;
    const weight row = own ? s->mask_embedding : s->embed + 2 * s->h * block->tokens[j];
    for (i = 0; i < s->h; ++i) s->x[j * s->h + i] = Round(Load(row, i) * s->embed_scale);
    b->positions[b->rows + j] = block->start + (int64_t)j;
  }
  for (l = 0; l < s->layers; ++l) {
    Attention(s, to, l, b, block->width);
    Mlp(s, to, l, block->width);
  }
  Norm(s, s->x, block->width, s->h, s->norm, s->normed);
  EmitRows(to, "norm", block->width, s->h, s->normed);
  Linear(s->normed, block->width, s->h, s->lm_head, NULL, s->vocabulary, s->multiplier, s->softcap,
         s->logits);
  EmitRows(to, "logits", block->width, s->vocabulary, s->logits);
  Choose(s, to, block);
  b->new_rows = 0;
}
