// SPDX-License-Identifier: BSD-3-Clause
// Converts float16 and bfloat16 to float and back, one value at a time, with the same bits as x86's F16C: rounds to
// nearest even, keeps subnormals and NaN, and makes NaN quiet. The SIMD kernels give the same bits.
#pragma once

#include <bit>
#include <cstdint>

namespace coll::mem {

struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

constexpr float to_float(BFloat16 value) { return std::bit_cast<float>(uint32_t{value.bits} << 16); }

constexpr BFloat16 to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

constexpr float to_float(Float16 value) {
  const uint32_t sign = (value.bits & 0x8000u) << 16;
  const uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const uint32_t mantissa = value.bits & 0x3ffu;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero and subnormals are multiples of 2^-24, which float holds exactly.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

constexpr Float16 to_float16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u | ((bits >> 13) & 0x3ffu))};
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // 65520 and above round to infinity
  uint32_t rounded = 0;
  if (magnitude >= 0x38800000u) {  // normal: rebias, then round off 13 bits
    const uint32_t rebiased = magnitude - (112u << 23);
    rounded = (rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13;
  } else if (magnitude > 0x33000000u) {  // subnormal, above half of the smallest
    const uint32_t shift = 126u - (magnitude >> 23);
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t half = 1u << (shift - 1);
    rounded = (mantissa + half - 1u + ((mantissa >> shift) & 1u)) >> shift;
  }
  return {static_cast<uint16_t>(sign | rounded)};
}

}  // namespace coll::mem
