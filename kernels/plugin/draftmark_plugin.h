/* draftmark_plugin.h: the C interface by which Draftmark judges and times anyone's kernels.
 *
 * A plug-in is a shared library that exports one function, draftmark_plugin_entry, which returns a
 * table: who it is, which device it computes on, the operations that it has, and, if it likes, a
 * whole draft session. `draftmark verify --backend ./libmine.so` then runs each operation at its
 * boundary shapes and compares every element with what is right, and
 * `operations_benchmark --backend ./libmine.so` times it. README.md beside this file walks through
 * it.
 *
 *   static draftmark_result Run(const draftmark_call* call, draftmark_message* message) {
 *     const draftmark_operand* x = draftmark_find_operand(call, "x");
 *     ...
 *     return DRAFTMARK_OK;
 *   }
 *
 * C99 and C++. Nothing else is needed to build a plug-in: this file may be copied into any project.
 *
 * Units: sizes are in bytes where a name says bytes, else in elements. Strings are UTF-8 and end
 * with a NUL. Ownership: everything in the table belongs to the plug-in and must live as long as
 * the library is loaded; everything that a function gets belongs to the host and is gone when it
 * returns, but for what draftmark_session_options says. Threads: one call at a time. The library
 * runs in a process of its own: a crash, an exit or a hang costs the case that ran, and no other.
 * What operations compute, on which shapes, is src/operations and the project's drafter
 * specification; kernels/plugin/README.md lists operands and attributes of each.
 *
 * How it grows: a struct that gets new fields gets them at its end, and says its size as the one
 * who filled it in was compiled. Read a field only if struct_size covers it. DRAFTMARK_PLUGIN_ABI
 * changes when an old plug-in would be misunderstood; the host then refuses it. */
#ifndef DRAFTMARK_PLUGIN_H_
#define DRAFTMARK_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DRAFTMARK_PLUGIN_ABI 1u
/* Of a name or version, without the NUL. */
#define DRAFTMARK_PLUGIN_LONGEST_NAME 64u

#if defined(__GNUC__)
#define DRAFTMARK_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define DRAFTMARK_PLUGIN_EXPORT
#endif

/* What a function answers. Unsupported is no failure: the case is skipped, and counted as such. */
typedef int32_t draftmark_result;
#define DRAFTMARK_OK 0
#define DRAFTMARK_UNSUPPORTED 1
#define DRAFTMARK_FAILED 2

typedef int32_t draftmark_device;
#define DRAFTMARK_CPU 1 /* operands in host memory, results there when the function returns */
#define DRAFTMARK_CUDA \
  2 /* operands in memory of the current device, work put on the call's stream */

typedef int32_t draftmark_dtype;
#define DRAFTMARK_BF16 1
#define DRAFTMARK_F16 2
#define DRAFTMARK_F32 3
#define DRAFTMARK_F64 4
#define DRAFTMARK_I32 5
#define DRAFTMARK_U32 6
#define DRAFTMARK_I64 7
/* One bit of draftmark_operation.dtypes. */
#define DRAFTMARK_DTYPE_BIT(dtype) (UINT64_C(1) << (dtype))

typedef int32_t draftmark_role;
#define DRAFTMARK_INPUT 1  /* must not be changed */
#define DRAFTMARK_OUTPUT 2 /* every element must be written; holds 0xFF bytes before */
#define DRAFTMARK_INOUT 3  /* read and written */

/* Where a function says why: `capacity` bytes with room for the NUL. Empty before each call. */
typedef struct draftmark_message {
  char* text;
  uint64_t capacity;
} draftmark_message;

/* A scalar by name. Integers are exact: none exceeds 2^53. Fixed for all versions. */
typedef struct draftmark_number {
  const char* name;
  double value;
} draftmark_number;

/* Row-major and dense: strides[rank - 1] is 1. `data` is aligned to 256 bytes; NULL in a query. */
typedef struct draftmark_operand {
  uint32_t struct_size;
  uint32_t rank;
  draftmark_dtype dtype;
  draftmark_role role;
  const char* name;
  void* data;
  uint64_t bytes;
  const uint64_t* shape;   /* `rank` extents */
  const uint64_t* strides; /* in elements */
} draftmark_operand;

/* One case of an operation. */
typedef struct draftmark_call {
  uint32_t struct_size;
  uint32_t operand_count;
  const draftmark_operand* const* operands; /* those that the case has */
  const draftmark_number* numbers;          /* the case's sizes and flags, then the attributes */
  uint64_t number_count;
  const char* operation; /* "rms_norm" */
  const char* case_id;   /* "op/rms_norm/rows=16,h=4096/bf16" */
  void* workspace;       /* what `query` asked for, aligned to 256; its contents are undefined */
  uint64_t workspace_bytes;
  void* stream; /* a cudaStream_t; NULL on the CPU */
} draftmark_call;

/* A size, flag or attribute of the operation lies within [least, most]; else it is unsupported. */
typedef struct draftmark_limit {
  const char* name;
  double least;
  double most;
} draftmark_limit;

typedef struct draftmark_operation {
  uint32_t struct_size;
  uint32_t limit_count;
  const char* id;  /* of the registry: "rms_norm" */
  uint64_t dtypes; /* bits of the dtypes of operands that it takes */
  const draftmark_limit* limits;
  /* May be NULL: no case needs workspace, and all are run. Else it answers OK and sets
   * *workspace_bytes (0 before), or UNSUPPORTED. It neither computes nor allocates. */
  draftmark_result (*query)(const draftmark_call* call, uint64_t* workspace_bytes,
                            draftmark_message* message);
  /* On CUDA: puts the work on the stream and returns. For the benchmarks it must not wait, allocate
   * or use another stream, since they replay it from a graph. */
  draftmark_result (*run)(const draftmark_call* call, draftmark_message* message);
} draftmark_operation;

/* A tensor of a checkpoint, by its name there, in host memory. */
typedef struct draftmark_weight {
  uint32_t struct_size;
  uint32_t rank;
  draftmark_dtype dtype;
  int32_t reserved;
  const char* name;
  const void* data; /* perhaps not aligned to its elements */
  uint64_t bytes;
  const uint64_t* shape;
} draftmark_weight;

/* A drafter to open. config, numbers and weights stay until the session is destroyed. */
typedef struct draftmark_session_options {
  uint32_t struct_size;
  uint32_t max_batch;              /* sequences ("bands") */
  uint64_t max_context;            /* context rows of a band */
  uint64_t ctx_window;             /* context rows of one pass; longer tails go in chunks */
  uint64_t gamma;                  /* rows of the widest block */
  const char* config;              /* the config.json, as it is */
  const draftmark_number* numbers; /* what it means: "hidden_size", "layers.0.window", ... */
  uint64_t number_count;
  const draftmark_weight* const* weights; /* the drafter's, and embed_tokens and lm_head */
  uint64_t weight_count;
} draftmark_session_options;

/* A stage of one band, as stages are named in cases: "layers.3.q_norm", "logits". */
typedef struct draftmark_stage {
  uint32_t struct_size;
  uint32_t band;
  const char* name;
  draftmark_dtype dtype;
  draftmark_device memory; /* where `data` lies; the host copies it before `emit` returns */
  uint32_t rank;
  uint32_t reserved;
  const uint64_t* shape;
  const void* data;
} draftmark_stage;

typedef struct draftmark_stage_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;                                      /* for the two functions */
  int32_t (*wants)(void* context, const char* stage); /* 0: need not be emitted */
  void (*emit)(void* context, const draftmark_stage* stage);
} draftmark_stage_sink;

/* One block: `width` tokens, the anchor and then mask ids. The plug-in fills in `draft_count`
 * entries of the arrays behind it, in host memory; margins and confidences may be left as they
 * are. */
typedef struct draftmark_block {
  uint32_t struct_size;
  uint32_t band;
  uint32_t width;
  uint32_t draft_count; /* how many drafts a block of this width has */
  int64_t start;        /* absolute position of the anchor */
  const uint32_t* tokens;
  uint32_t* draft_tokens;
  double* margins;     /* best minus second-best score of each draft */
  double* confidences; /* of drafters with a confidence head */
} draftmark_block;

/* A whole draft. Pointers that functions get are to host memory. A session belongs to one thread;
 * a call that does not answer OK changes nothing that later calls can see. */
typedef struct draftmark_session_table {
  uint32_t struct_size;
  uint32_t reserved;
  draftmark_result (*create)(const draftmark_session_options* options, void** session,
                             draftmark_message* message);
  /* `taps` is BF16 [rows, taps * target hidden size], one absolute position per row, ascending. */
  draftmark_result (*append_context)(void* session, uint32_t band, const uint16_t* taps,
                                     const int32_t* positions, uint64_t rows,
                                     draftmark_message* message);
  /* Drops rows from the front of a band's context; the others keep their positions. */
  draftmark_result (*drop_front)(void* session, uint32_t band, uint64_t rows,
                                 draftmark_message* message);
  draftmark_result (*reset)(void* session, uint32_t band, draftmark_message* message);
  /* One block each for distinct bands, all of one width. `sink` is never NULL. */
  draftmark_result (*propose)(void* session, const draftmark_block* const* blocks,
                              uint32_t block_count, const draftmark_stage_sink* sink,
                              draftmark_message* message);
  void (*destroy)(void* session);
} draftmark_session_table;

typedef struct draftmark_plugin {
  uint32_t struct_size;
  uint32_t abi; /* DRAFTMARK_PLUGIN_ABI, as the plug-in was compiled */
  const char* name;
  const char* version;
  draftmark_device device;
  uint32_t operation_count;
  const draftmark_operation* const* operations;
  /* CUDA: compute capabilities as 90 for sm_90; none: any that the code was compiled for. */
  const uint32_t* architectures;
  uint32_t architecture_count;
  uint32_t reserved;
  const draftmark_session_table* session; /* NULL: none */
} draftmark_plugin;

/* The one symbol. `host_abi` is the host's DRAFTMARK_PLUGIN_ABI: a library with tables for several
 * may choose. Called once, before anything else. */
#define DRAFTMARK_PLUGIN_ENTRY_NAME "draftmark_plugin_entry"
typedef const draftmark_plugin* (*draftmark_plugin_entry_function)(uint32_t host_abi);
DRAFTMARK_PLUGIN_EXPORT const draftmark_plugin* draftmark_plugin_entry(uint32_t host_abi);

/* Helpers for plug-ins; the host does not use them. */

/* NULL for an operand that the case does not have. */
static inline const draftmark_operand* draftmark_find_operand(const draftmark_call* call,
                                                              const char* name) {
  uint32_t i;
  for (i = 0; i < call->operand_count; ++i) {
    if (strcmp(call->operands[i]->name, name) == 0) return call->operands[i];
  }
  return NULL;
}

/* `otherwise` for a number that is not there. */
static inline double draftmark_find_number(const draftmark_number* numbers, uint64_t count,
                                           const char* name, double otherwise) {
  uint64_t i;
  for (i = 0; i < count; ++i) {
    if (strcmp(numbers[i].name, name) == 0) return numbers[i].value;
  }
  return otherwise;
}

/* A size or flag of the case, which has it. */
static inline uint64_t draftmark_size(const draftmark_call* call, const char* name) {
  return (uint64_t)draftmark_find_number(call->numbers, call->number_count, name, 0);
}

/* An attribute of the operation, which has it. */
static inline float draftmark_attribute(const draftmark_call* call, const char* name) {
  return (float)draftmark_find_number(call->numbers, call->number_count, name, 0);
}

/* A BF16 is the upper half of an FP32. */
static inline float draftmark_from_bf16(uint16_t value) {
  const uint32_t bits = (uint32_t)value << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/* To the nearest, ties to even; a NaN stays one. */
static inline uint16_t draftmark_to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return (uint16_t)((bits >> 16) | 0x0040);
  return (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

/* return draftmark_answer(message, DRAFTMARK_FAILED, "no memory"); */
static inline draftmark_result draftmark_answer(draftmark_message* message, draftmark_result result,
                                                const char* text) {
  if (message->capacity > 0) {
    const size_t length = strlen(text);
    const size_t room = (size_t)message->capacity - 1;
    memcpy(message->text, text, length < room ? length : room);
    message->text[length < room ? length : room] = '\0';
  }
  return result;
}

#ifdef __cplusplus
}
#endif

#endif /* DRAFTMARK_PLUGIN_H_ */
