// A plug-in whose operations do what nobody means to do: for tests of whether each costs its own
// case and no other. residual_add is right, unless something else has broken it.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "draftmark_plugin.h"

namespace {

bool broken = false;

draftmark_result Add(const draftmark_call* call, draftmark_message* /*message*/) {
  if (broken) raise(SIGSEGV);
  auto* const x = static_cast<uint16_t*>(draftmark_find_operand(call, "x")->data);
  const auto* const delta =
      static_cast<const uint16_t*>(draftmark_find_operand(call, "delta")->data);
  const uint64_t count = draftmark_size(call, "rows") * draftmark_size(call, "width");
  for (uint64_t i = 0; i < count; ++i) {
    x[i] = draftmark_to_bf16(draftmark_from_bf16(x[i]) + draftmark_from_bf16(delta[i]));
  }
  return DRAFTMARK_OK;
}

draftmark_result Throw(const draftmark_call* /*call*/, draftmark_message* /*message*/) {
  throw std::runtime_error("out of\nluck");
}

draftmark_result ThrowANumber(const draftmark_call* /*call*/, draftmark_message* /*message*/) {
  throw 5;
}

// Both come back.
draftmark_result Fork(const draftmark_call* /*call*/, draftmark_message* /*message*/) {
  return fork() < 0 ? DRAFTMARK_FAILED : DRAFTMARK_OK;
}

// What it started lives on, with all descriptors.
draftmark_result LeaveAChild(const draftmark_call* /*call*/, draftmark_message* /*message*/) {
  if (fork() == 0) {
    sleep(600);
    _exit(0);
  }
  _exit(7);
}

draftmark_result BreakTheNext(const draftmark_call* /*call*/, draftmark_message* /*message*/) {
  broken = true;
  return DRAFTMARK_OK;
}

// As for a slot of a padded row, one row too far.
draftmark_result MinusOneBehind(const draftmark_call* call, draftmark_message* /*message*/) {
  const draftmark_operand* const slots = draftmark_find_operand(call, "slots");
  std::memset(static_cast<char*>(slots->data) + slots->bytes, 0xFF, 8);
  return DRAFTMARK_OK;
}

draftmark_result Flood(const draftmark_call* /*call*/, draftmark_message* /*message*/) {
  static char text[1 << 16];
  std::memset(text, 'x', sizeof text);
  while (write(STDOUT_FILENO, text, sizeof text) > 0) continue;
  return DRAFTMARK_OK;
}

draftmark_result PrintColours(const draftmark_call* /*call*/, draftmark_message* /*message*/) {
  const char text[] = "\033[31mred\0\377";
  if (write(STDOUT_FILENO, text, sizeof text) < 0) return DRAFTMARK_FAILED;
  raise(SIGSEGV);
  return DRAFTMARK_OK;
}

draftmark_result LargeWorkspace(const draftmark_call* /*call*/, uint64_t* workspace_bytes,
                                draftmark_message* /*message*/) {
  *workspace_bytes = uint64_t{1} << 28;
  return DRAFTMARK_OK;
}

// 0xFF bytes at both ends, and what is written in between is taken.
draftmark_result UseWorkspace(const draftmark_call* call, draftmark_message* message) {
  auto* const bytes = static_cast<unsigned char*>(call->workspace);
  if (bytes[0] != 0xFF || bytes[call->workspace_bytes - 1] != 0xFF) {
    return draftmark_answer(message, DRAFTMARK_FAILED, "the workspace is not poisoned");
  }
  bytes[call->workspace_bytes / 2] = 1;
  return draftmark_answer(message, DRAFTMARK_FAILED, "as it should be");
}

constexpr uint64_t kAll = (UINT64_C(1) << (DRAFTMARK_I64 + 1)) - 2;  // there is no dtype 0

#define OPERATION(id, query, run) \
  { sizeof(draftmark_operation), 0, id, kAll, nullptr, query, run }

const draftmark_operation kTable[] = {OPERATION("residual_add", nullptr, Add),
                                      OPERATION("rms_norm", nullptr, Throw),
                                      OPERATION("head_norm", nullptr, ThrowANumber),
                                      OPERATION("silu_mul", nullptr, Fork),
                                      OPERATION("rope", nullptr, LeaveAChild),
                                      OPERATION("row_gather", nullptr, BreakTheNext),
                                      OPERATION("slot_fill", nullptr, MinusOneBehind),
                                      OPERATION("argmax", nullptr, Flood),
                                      OPERATION("embed", nullptr, PrintColours),
                                      OPERATION("linear", LargeWorkspace, UseWorkspace)};
constexpr uint32_t kCount = sizeof kTable / sizeof kTable[0];

}  // namespace

extern "C" const draftmark_plugin* draftmark_plugin_entry(uint32_t /*host_abi*/) {
  static const draftmark_operation* operations[kCount];
  for (uint32_t i = 0; i < kCount; ++i) operations[i] = &kTable[i];
  static const draftmark_plugin plugin = {sizeof(draftmark_plugin),
                                          DRAFTMARK_PLUGIN_ABI,
                                          "careless",
                                          "1",
                                          DRAFTMARK_CPU,
                                          kCount,
                                          operations,
                                          nullptr,
                                          0,
                                          0,
                                          nullptr};
  return &plugin;
}
