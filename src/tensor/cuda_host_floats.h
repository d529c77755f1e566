// For tests: the host versions of NVIDIA's conversions as functions on bit patterns.
#ifndef DRAFTMARK_SRC_TENSOR_CUDA_HOST_FLOATS_H_
#define DRAFTMARK_SRC_TENSOR_CUDA_HOST_FLOATS_H_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <bit>
#include <cstdint>

namespace draftmark::cuda_host {

inline std::uint16_t ToBFloat16(float x) {
  return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(x)).x;
}
inline std::uint16_t ToBFloat16(double x) {
  return static_cast<__nv_bfloat16_raw>(__double2bfloat16(x)).x;
}
inline float DecodeBFloat16(std::uint16_t bits) {
  __nv_bfloat16_raw raw;
  raw.x = bits;
  return __bfloat162float(__nv_bfloat16(raw));
}

inline std::uint16_t ToFloat16(float x) { return static_cast<__half_raw>(__float2half_rn(x)).x; }
inline std::uint16_t ToFloat16(double x) { return static_cast<__half_raw>(__double2half(x)).x; }
inline float DecodeFloat16(std::uint16_t bits) {
  __half_raw raw;
  raw.x = bits;
  return __half2float(__half(raw));
}

inline std::uint8_t ToFloat8(float x, __nv_saturation_t saturation,
                             __nv_fp8_interpretation_t interpretation) {
  return __nv_cvt_float_to_fp8(x, saturation, interpretation);
}
inline std::uint8_t ToFloat8(double x, __nv_saturation_t saturation,
                             __nv_fp8_interpretation_t interpretation) {
  return __nv_cvt_double_to_fp8(x, saturation, interpretation);
}
inline float DecodeFloat8(std::uint8_t bits, __nv_fp8_interpretation_t interpretation) {
  return DecodeFloat16(static_cast<__half_raw>(__nv_cvt_fp8_to_halfraw(bits, interpretation)).x);
}

inline float DecodeE8M0(std::uint8_t bits) {
  return DecodeBFloat16(__nv_cvt_e8m0_to_bf16raw(bits).x);
}

}  // namespace draftmark::cuda_host

#endif  // DRAFTMARK_SRC_TENSOR_CUDA_HOST_FLOATS_H_
