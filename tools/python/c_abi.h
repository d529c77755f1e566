/* The C interface of libdraftmark.so, which the Python package `draftmark` calls by ctypes.
 *
 * One function does everything: it takes the name of a call, a request in JSON and tensors, and gives
 * an answer with a text in JSON and tensors. The calls, with the keys of their requests, are listed in
 * calls.h.
 *
 *   draftmark_answer* a = draftmark_call("sizes", "{\"config\": \"config.json\", ...}", NULL, 0);
 *   if (draftmark_answer_status(a) == 0) puts(draftmark_answer_text(a));
 *   draftmark_answer_free(a);
 *
 * Ownership: what is passed in is borrowed during the call; what an answer points to lives until the
 * answer is freed. No exception and no abort leaves this interface for wrong input: the status is
 * not 0 and the text is one message that names file or tensor, expected and found. Calls are
 * independent of each other and may come from several threads. The interface changes with
 * draftmark_abi_version; library and package of one wheel belong together.
 */
#ifndef DRAFTMARK_TOOLS_PYTHON_C_ABI_H_
#define DRAFTMARK_TOOLS_PYTHON_C_ABI_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define DRAFTMARK_ABI_VERSION 1
#define DRAFTMARK_EXPORT __attribute__((visibility("default")))

typedef struct draftmark_tensor {
  const char* name;
  const char* dtype;     /* as in safetensors: "BF16", "F64", ... */
  const uint64_t* shape; /* `rank` extents, row-major */
  uint64_t rank;
  const void* data; /* aligned to its element, little-endian */
  uint64_t bytes;
} draftmark_tensor;

typedef struct draftmark_answer draftmark_answer;

DRAFTMARK_EXPORT int draftmark_abi_version(void);
DRAFTMARK_EXPORT draftmark_answer* draftmark_call(const char* call, const char* request,
                                                  const draftmark_tensor* tensors, size_t count);
/* 0 is good; others are the values of StatusCode (src/base/status.h). */
DRAFTMARK_EXPORT int draftmark_answer_status(const draftmark_answer* answer);
/* JSON, or the message of an error. */
DRAFTMARK_EXPORT const char* draftmark_answer_text(const draftmark_answer* answer);
DRAFTMARK_EXPORT size_t draftmark_answer_tensor_count(const draftmark_answer* answer);
DRAFTMARK_EXPORT const draftmark_tensor* draftmark_answer_tensor(const draftmark_answer* answer,
                                                                 size_t index);
DRAFTMARK_EXPORT void draftmark_answer_free(draftmark_answer* answer);

#if defined(__cplusplus)
}
#endif

#endif /* DRAFTMARK_TOOLS_PYTHON_C_ABI_H_ */
