/* What the example of a draft session computes with: a DFlash drafter on the CPU (spec/drafter.md
 * sections 3 to 5). session_plugin.c fills this in from what the host hands over.
 *
 * A context row is computed when it is appended, into a record of all that stages and attention
 * want of it: fc, hidden_norm, and of each layer K before RoPE, K and V. A block's rows have
 * records behind those of the context, in the same array, so that attention reads both alike; the
 * next append overwrites them. Everything of a context row depends on the row and its position
 * alone, so that dropping rows from the front moves records and computes nothing. BF16 in memory,
 * float64 in registers, rounded at each stage. */
#ifndef DRAFTMARK_EXAMPLES_SESSION_DRAFTER_H_
#define DRAFTMARK_EXAMPLES_SESSION_DRAFTER_H_

#include "draftmark_plugin.h"

#define MOST_LAYERS 64
#define MOST_PAIRS 256

typedef uint16_t bf16;
/* Of a checkpoint: BF16, perhaps not aligned. NULL: the drafter has none. */
typedef const unsigned char* weight;

typedef struct layer {
  weight input_norm, post_norm, q, k, v, o, q_bias, k_bias, v_bias, o_bias, q_norm, k_norm, sinks;
  weight gate, up, down;
  uint64_t window; /* 0: none */
  int causal;
} layer;

/* One sequence. */
typedef struct band {
  bf16* records; /* [max_context + gamma][record] */
  int64_t* positions;
  uint64_t rows;     /* of context */
  uint64_t new_rows; /* of these, since the last propose: what stages show */
} band;

typedef struct session {
  uint64_t h, layers, heads, kv_heads, d, inner, vocabulary, taps, max_context, gamma, record;
  uint32_t band_count;
  int anchor_first;
  double epsilon, embed_scale, multiplier, softcap, amplitude;
  uint64_t pairs, partner;
  float frequency[MOST_PAIRS];
  weight fc, hidden_norm, norm, embed, lm_head, mask_embedding;
  layer layer[MOST_LAYERS];
  band* bands;
  /* Of one block, all in `memory`. */
  bf16* memory;
  bf16 *x, *normed, *q, *attended, *added, *gate, *up, *logits, *gathered;
  double* scores; /* of one row's keys */
} session;

/* There must be room for the row. */
void AppendRow(session* s, band* b, const bf16* taps, int64_t position);
/* Fills in the block's drafts and margins. The band's new rows are then no longer new. */
void RunBlock(session* s, const draftmark_block* block, const draftmark_stage_sink* sink);

#endif /* DRAFTMARK_EXAMPLES_SESSION_DRAFTER_H_ */
