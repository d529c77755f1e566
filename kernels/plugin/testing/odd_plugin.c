/* Plug-ins that are odd as a whole, one for each value of ODD: for tests of whoever loads them. */
#include <signal.h>
#include <unistd.h>

#include "draftmark_plugin.h"

#define NEWER_ABI 1
#define CRASHES_AS_IT_LOADS 2
#define HANGS_AS_IT_LOADS 3
#define SUPPORTS_NOTHING 4
#define GIVES_NO_TABLE 5
#define HAS_NO_ENTRY 6
#define TABLE_OF_GARBAGE 7
#define NEEDS_A_GPU 8

static draftmark_result Query(const draftmark_call* call, uint64_t* workspace_bytes,
                              draftmark_message* message) {
  (void)call;
  (void)workspace_bytes;
  return draftmark_answer(message, DRAFTMARK_UNSUPPORTED, "this is a Tuesday");
}

static draftmark_result Run(const draftmark_call* call, draftmark_message* message) {
  (void)call;
  return draftmark_answer(message, DRAFTMARK_FAILED, "was called all the same");
}

static const draftmark_operation kRmsNorm = {sizeof(draftmark_operation),
                                             0,
                                             "rms_norm",
                                             DRAFTMARK_DTYPE_BIT(DRAFTMARK_BF16),
                                             NULL,
                                             Query,
                                             Run};
static const draftmark_operation* const kOperations[] = {
    &kRmsNorm,
#if ODD == TABLE_OF_GARBAGE
    (const draftmark_operation*)8,
#endif
};

static const draftmark_plugin kPlugin = {
    sizeof(draftmark_plugin),
    ODD == NEWER_ABI ? DRAFTMARK_PLUGIN_ABI + 1 : DRAFTMARK_PLUGIN_ABI,
    "odd",
    "1",
    ODD == NEEDS_A_GPU ? DRAFTMARK_CUDA : DRAFTMARK_CPU,
    sizeof(kOperations) / sizeof(kOperations[0]),
    kOperations,
    NULL,
    0,
    0,
    NULL};

#if ODD == HAS_NO_ENTRY
const draftmark_plugin* some_other_function(void);
const draftmark_plugin* some_other_function(void) { return &kPlugin; }
#else
const draftmark_plugin* draftmark_plugin_entry(uint32_t host_abi) {
  (void)host_abi;
  return ODD == GIVES_NO_TABLE ? NULL : &kPlugin;
}
#endif

#if ODD == CRASHES_AS_IT_LOADS
__attribute__((constructor)) static void Load(void) { raise(SIGSEGV); }
#elif ODD == HANGS_AS_IT_LOADS
__attribute__((constructor)) static void Load(void) {
  while (pause() != 0) continue;
}
#endif
