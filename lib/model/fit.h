// SPDX-License-Identifier: BSD-3-Clause
// Least squares of the model's parameters from measured times. Errors are relative: a point of 1 us counts as much as one
// of 1 ms. Pure and thread-safe.
#pragma once

#include <span>
#include <vector>

#include "model/table.h"

namespace coll::model {

// sum of coefficients[i] * terms[i] = us
struct Observation {
  std::vector<double> terms;
  double us = 0;  // > 0
};

struct Fit {
  std::vector<double> coefficients;  // [terms], none negative; 0 for a term that the observations do not show
  double residual = 0;               // root of the mean square, relative
};

// Of all coefficients >= 0 those with the least sum of squares of (fitted - us) / us. REQUIRES: equal numbers of terms;
// without observations all coefficients are 0.
Fit fit(std::span<const Observation> observations);

// How long c concurrent accesses take each, relative to one alone.
struct Contended {
  double c = 1, relative = 1;
};

// The quadratic through gamma(1) = 1 (Gamma::across is left alone). With observations of one c > 1 only it is the line,
// with none it is 1.
Gamma fit_gamma(std::span<const Contended> observations);

}  // namespace coll::model
