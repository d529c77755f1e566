/* A plug-in of which every operation does another thing that kernels must not do: for tests of
 * whoever judges them. residual_add alone is right. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "draftmark_plugin.h"

static unsigned char* Data(const draftmark_call* call, const char* name) {
  return (unsigned char*)draftmark_find_operand(call, name)->data;
}

static draftmark_result Add(const draftmark_call* call, draftmark_message* message) {
  uint16_t* const x = (uint16_t*)draftmark_find_operand(call, "x")->data;
  const uint16_t* const delta = (const uint16_t*)draftmark_find_operand(call, "delta")->data;
  const uint64_t count = draftmark_size(call, "rows") * draftmark_size(call, "width");
  uint64_t i;
  (void)message;
  for (i = 0; i < count; ++i)
    x[i] = draftmark_to_bf16(draftmark_from_bf16(x[i]) + draftmark_from_bf16(delta[i]));
  return DRAFTMARK_OK;
}

/* Writes nothing: what was there before is found. */
static draftmark_result Nothing(const draftmark_call* call, draftmark_message* message) {
  (void)call;
  (void)message;
  return DRAFTMARK_OK;
}

static draftmark_result Crash(const draftmark_call* call, draftmark_message* message) {
  (void)message;
  printf("about to crash in %s\n", call->operation);
  fflush(stdout);
  raise(SIGSEGV);
  return DRAFTMARK_OK;
}

static draftmark_result Hang(const draftmark_call* call, draftmark_message* message) {
  (void)call;
  (void)message;
  while (pause() != 0) continue; /* it never returns 0 */
  return DRAFTMARK_OK;
}

static draftmark_result Exit(const draftmark_call* call, draftmark_message* message) {
  (void)call;
  (void)message;
  exit(0);
  return DRAFTMARK_OK;
}

static draftmark_result WriteBehind(const draftmark_call* call, draftmark_message* message) {
  (void)message;
  Data(call, "out")[draftmark_find_operand(call, "out")->bytes] = 0;
  return DRAFTMARK_OK;
}

static draftmark_result WriteBefore(const draftmark_call* call, draftmark_message* message) {
  (void)message;
  Data(call, "k")[-2] = 0;
  return DRAFTMARK_OK;
}

static draftmark_result ChangeInput(const draftmark_call* call, draftmark_message* message) {
  const draftmark_operand* const logits = draftmark_find_operand(call, "logits");
  (void)message;
  Data(call, "logits")[logits->bytes - 1] ^= 1;
  return DRAFTMARK_OK;
}

static draftmark_result Fail(const draftmark_call* call, draftmark_message* message) {
  (void)call;
  return draftmark_answer(message, DRAFTMARK_FAILED, "no luck\ntoday");
}

static draftmark_result Nonsense(const draftmark_call* call, draftmark_message* message) {
  (void)call;
  (void)message;
  return 77;
}

static draftmark_result Late(const draftmark_call* call, draftmark_message* message) {
  (void)call;
  return draftmark_answer(message, DRAFTMARK_UNSUPPORTED, "on second thoughts");
}

static draftmark_result NoWorkspace(const draftmark_call* call, uint64_t* workspace_bytes,
                                    draftmark_message* message) {
  (void)call;
  (void)workspace_bytes;
  (void)message;
  return DRAFTMARK_OK;
}

static draftmark_result SmallWorkspace(const draftmark_call* call, uint64_t* workspace_bytes,
                                       draftmark_message* message) {
  (void)call;
  (void)message;
  *workspace_bytes = 100;
  return DRAFTMARK_OK;
}

static draftmark_result BeyondWorkspace(const draftmark_call* call, draftmark_message* message) {
  (void)message;
  ((unsigned char*)call->workspace)[call->workspace_bytes + 3] = 0;
  return DRAFTMARK_OK;
}

static draftmark_result HugeWorkspace(const draftmark_call* call, uint64_t* workspace_bytes,
                                      draftmark_message* message) {
  (void)call;
  (void)message;
  *workspace_bytes = UINT64_MAX;
  return DRAFTMARK_OK;
}

static draftmark_result OddRowsOnly(const draftmark_call* call, uint64_t* workspace_bytes,
                                    draftmark_message* message) {
  (void)workspace_bytes;
  if (draftmark_size(call, "rows") % 2 == 1) return DRAFTMARK_OK;
  return draftmark_answer(message, DRAFTMARK_UNSUPPORTED, "an even number of rows");
}

#define ALL                                                                   \
  (DRAFTMARK_DTYPE_BIT(DRAFTMARK_BF16) | DRAFTMARK_DTYPE_BIT(DRAFTMARK_F32) | \
   DRAFTMARK_DTYPE_BIT(DRAFTMARK_I32) | DRAFTMARK_DTYPE_BIT(DRAFTMARK_U32) |  \
   DRAFTMARK_DTYPE_BIT(DRAFTMARK_I64))
#define OPERATION(id, query, run) \
  { sizeof(draftmark_operation), 0, id, ALL, NULL, query, run }

static const draftmark_limit kFewRows[] = {{"rows", 1, 4}};

static const draftmark_operation kTable[] = {
    OPERATION("residual_add", NULL, Add),
    OPERATION("silu_mul", NULL, Nothing),
    OPERATION("rms_norm", NULL, Crash),
    OPERATION("head_norm", NULL, Hang),
    OPERATION("rope", NULL, Exit),
    OPERATION("row_gather", NULL, WriteBehind),
    OPERATION("kv_split", NULL, WriteBefore),
    OPERATION("argmax", NULL, ChangeInput),
    OPERATION("conv_prepare", NULL, Fail),
    OPERATION("conv_finish", NULL, Nonsense),
    OPERATION("top16", NoWorkspace, Late),
    OPERATION("confidence", SmallWorkspace, BeyondWorkspace),
    OPERATION("slot_fill", HugeWorkspace, Nothing),
    OPERATION("kv_write", OddRowsOnly, Nothing),
    {sizeof(draftmark_operation), 1, "embed", ALL, kFewRows, NULL, Nothing},
    {sizeof(draftmark_operation), 0, "linear", DRAFTMARK_DTYPE_BIT(DRAFTMARK_F32), NULL, NULL,
     Nothing},
    OPERATION("markov_step", NULL, Late),
};

#define COUNT (sizeof(kTable) / sizeof(kTable[0]))

const draftmark_plugin* draftmark_plugin_entry(uint32_t host_abi) {
  static const draftmark_operation* operations[COUNT];
  static draftmark_plugin plugin = {sizeof(draftmark_plugin),
                                    DRAFTMARK_PLUGIN_ABI,
                                    "misbehaving",
                                    "1",
                                    DRAFTMARK_CPU,
                                    COUNT,
                                    NULL,
                                    NULL,
                                    0,
                                    0,
                                    NULL};
  size_t i;
  (void)host_abi;
  for (i = 0; i < COUNT; ++i) operations[i] = &kTable[i];
  plugin.operations = operations;
  return &plugin;
}
