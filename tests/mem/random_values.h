// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <random>

#include "../seed.h"
#include "reference.h"

namespace coll::test {

using Random = std::mt19937_64;

inline size_t below(Random& random, size_t limit) { return random() % limit; }

// Mostly ordinary numbers of very different size, sometimes values that often break kernels.
template <typename T>
T random_floating(Random& random) {
  using Limits = std::numeric_limits<T>;
  const uint64_t bits = random();
  switch (bits % 64) {
    case 0: return 0;
    case 1: return -T(0);
    case 2: return Limits::infinity();
    case 3: return -Limits::infinity();
    case 4: return Limits::quiet_NaN();
    case 5: return Limits::denorm_min() * T(bits >> 60);
    case 6: return Limits::max();
    case 7: return 1;
    default: break;
  }
  const T fraction = T(static_cast<int64_t>(bits)) / T(0x1p63);
  return std::ldexp(fraction, static_cast<int>(bits >> 8 & 31) - 16);
}

template <typename T>
T random_integer(Random& random) {
  const uint64_t bits = random();
  switch (bits % 16) {
    case 0:
    case 1: return 0;
    case 2: return 1;
    case 3: return std::numeric_limits<T>::max();
    case 4: return std::numeric_limits<T>::min();
    default: return static_cast<T>(bits >> 8);
  }
}

template <typename T>
T random_element(Random& random) {
  if constexpr (std::is_same_v<T, bool>) return random() & 1;
  else if constexpr (std::is_same_v<T, Byte>) return {static_cast<uint8_t>(random())};
  else if constexpr (std::is_same_v<T, Half>) return static_cast<Half>(random_floating<float>(random));
  else if constexpr (std::is_same_v<T, Brain>) return round_to_brain(random_floating<float>(random));
  else if constexpr (std::is_integral_v<T>) return random_integer<T>(random);
  else if constexpr (std::is_floating_point_v<T>) return random_floating<T>(random);
  else if constexpr (is_complex<T>) {
    T element;
    for (auto& part : element.part) part = random_element<std::remove_reference_t<decltype(part)>>(random);
    return element;
  } else {
    // Few values and few indices, so that equal ones occur.
    T element = {static_cast<decltype(T::value)>(static_cast<int>(below(random, 5)) - 2),
                 static_cast<int>(below(random, 4))};
    if constexpr (std::is_floating_point_v<decltype(T::value)>)
      if (below(random, 8) == 0) element.value = random_element<decltype(T::value)>(random);
    return element;
  }
}

}  // namespace coll::test
