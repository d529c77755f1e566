/* A plug-in for the CPU in plain C: five operations, each as its definition says.
 *
 *   gcc -std=c99 -O2 -shared -fPIC -I kernels/plugin -o libcpu_plugin.so \
 *       kernels/plugin/examples/cpu/cpu_plugin.c -lm
 *   draftmark verify --backend ./libcpu_plugin.so
 *
 * BF16 in and out, FP32 in between, one rounding at the end: what the tolerances allow. */
#include <math.h>

#include "draftmark_plugin.h"

static uint16_t* Bf16(const draftmark_call* call, const char* name) {
  const draftmark_operand* const operand = draftmark_find_operand(call, name);
  return operand == NULL ? NULL : (uint16_t*)operand->data;
}

static draftmark_result RmsNorm(const draftmark_call* call, draftmark_message* message) {
  const uint16_t* const x = Bf16(call, "x");
  const uint16_t* const weight = Bf16(call, "weight");
  uint16_t* const y = Bf16(call, "y");
  const uint64_t rows = draftmark_size(call, "rows"), width = draftmark_size(call, "h");
  const float epsilon = draftmark_attribute(call, "epsilon");
  uint64_t row, i;
  (void)message;
  for (row = 0; row < rows; ++row) {
    const uint16_t* const in = x + row * width;
    float sum = 0, scale;
    for (i = 0; i < width; ++i) sum += draftmark_from_bf16(in[i]) * draftmark_from_bf16(in[i]);
    scale = 1.0f / sqrtf(sum / (float)width + epsilon);
    for (i = 0; i < width; ++i) {
      y[row * width + i] =
          draftmark_to_bf16(draftmark_from_bf16(in[i]) * scale * draftmark_from_bf16(weight[i]));
    }
  }
  return DRAFTMARK_OK;
}

/* One row of x in FP32. */
static draftmark_result QueryLinear(const draftmark_call* call, uint64_t* workspace_bytes,
                                    draftmark_message* message) {
  (void)message;
  *workspace_bytes = draftmark_size(call, "k") * sizeof(float);
  return DRAFTMARK_OK;
}

static draftmark_result Linear(const draftmark_call* call, draftmark_message* message) {
  const uint16_t* const x = Bf16(call, "x");
  const uint16_t* const weight = Bf16(call, "weight");
  const uint16_t* const bias = Bf16(call, "bias"); /* NULL without one */
  uint16_t* const y = Bf16(call, "y");
  const uint64_t rows = draftmark_size(call, "rows"), n = draftmark_size(call, "n");
  const uint64_t k = draftmark_size(call, "k");
  const int capped = draftmark_size(call, "cap") == 1;
  const float multiplier = draftmark_attribute(call, "multiplier");
  const float cap = draftmark_attribute(call, "softcap");
  float* const wide = (float*)call->workspace;
  uint64_t row, o, i;
  (void)message;
  for (row = 0; row < rows; ++row) {
    for (i = 0; i < k; ++i) wide[i] = draftmark_from_bf16(x[row * k + i]);
    for (o = 0; o < n; ++o) {
      float sum = bias == NULL ? 0.0f : draftmark_from_bf16(bias[o]);
      for (i = 0; i < k; ++i) sum += wide[i] * draftmark_from_bf16(weight[o * k + i]);
      if (capped) sum = cap * tanhf(sum * multiplier / cap);
      y[row * n + o] = draftmark_to_bf16(sum);
    }
  }
  return DRAFTMARK_OK;
}

static draftmark_result SiluMul(const draftmark_call* call, draftmark_message* message) {
  uint16_t* const gate = Bf16(call, "gate");
  const uint16_t* const up = Bf16(call, "up");
  const uint64_t count = draftmark_size(call, "rows") * draftmark_size(call, "width");
  uint64_t i;
  (void)message;
  for (i = 0; i < count; ++i) {
    const float g = draftmark_from_bf16(gate[i]);
    gate[i] = draftmark_to_bf16(g / (1.0f + expf(-g)) * draftmark_from_bf16(up[i]));
  }
  return DRAFTMARK_OK;
}

static draftmark_result ResidualAdd(const draftmark_call* call, draftmark_message* message) {
  uint16_t* const x = Bf16(call, "x");
  const uint16_t* const delta = Bf16(call, "delta");
  const uint64_t count = draftmark_size(call, "rows") * draftmark_size(call, "width");
  uint64_t i;
  (void)message;
  for (i = 0; i < count; ++i)
    x[i] = draftmark_to_bf16(draftmark_from_bf16(x[i]) + draftmark_from_bf16(delta[i]));
  return DRAFTMARK_OK;
}

/* Ties go to the lowest id; a NaN is never the greatest. */
static draftmark_result ArgMax(const draftmark_call* call, draftmark_message* message) {
  const uint16_t* const logits = Bf16(call, "logits");
  uint32_t* const tokens = (uint32_t*)draftmark_find_operand(call, "tokens")->data;
  const uint64_t rows = draftmark_size(call, "rows"), v = draftmark_size(call, "v");
  uint64_t row, id;
  (void)message;
  for (row = 0; row < rows; ++row) {
    float best = -1e30f;
    tokens[row] = 0;
    for (id = 0; id < v; ++id) {
      const float value = draftmark_from_bf16(logits[row * v + id]);
      if (value > best) {
        best = value;
        tokens[row] = (uint32_t)id;
      }
    }
  }
  return DRAFTMARK_OK;
}

#define BF16 DRAFTMARK_DTYPE_BIT(DRAFTMARK_BF16)
#define U32 DRAFTMARK_DTYPE_BIT(DRAFTMARK_U32)

/* Longer rows would need a sum in several parts to stay within FP32's error. */
static const draftmark_limit kNormLimits[] = {{"h", 1, 16384}};

static const draftmark_operation kRmsNorm = {
    sizeof(draftmark_operation), 1, "rms_norm", BF16, kNormLimits, NULL, RmsNorm};
static const draftmark_operation kLinear = {
    sizeof(draftmark_operation), 0, "linear", BF16, NULL, QueryLinear, Linear};
static const draftmark_operation kSiluMul = {
    sizeof(draftmark_operation), 0, "silu_mul", BF16, NULL, NULL, SiluMul};
static const draftmark_operation kResidualAdd = {
    sizeof(draftmark_operation), 0, "residual_add", BF16, NULL, NULL, ResidualAdd};
static const draftmark_operation kArgMax = {
    sizeof(draftmark_operation), 0, "argmax", BF16 | U32, NULL, NULL, ArgMax};

static const draftmark_operation* const kOperations[] = {&kRmsNorm, &kLinear, &kSiluMul,
                                                         &kResidualAdd, &kArgMax};

static const draftmark_plugin kPlugin = {sizeof(draftmark_plugin),
                                         DRAFTMARK_PLUGIN_ABI,
                                         "plain C",
                                         "1.0",
                                         DRAFTMARK_CPU,
                                         sizeof(kOperations) / sizeof(kOperations[0]),
                                         kOperations,
                                         NULL,
                                         0,
                                         0,
                                         NULL};

const draftmark_plugin* draftmark_plugin_entry(uint32_t host_abi) {
  return host_abi == DRAFTMARK_PLUGIN_ABI ? &kPlugin : NULL;
}
