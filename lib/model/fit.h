// SPDX-License-Identifier: BSD-3-Clause
// Fits the model's parameters to measured times by least squares. Errors are relative, so that a time of 1 us counts as
// much as one of 1 ms. Pure and thread-safe.
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
  std::vector<double> coefficients;  // [terms], none negative; 0 for a term that the observations do not determine
  double residual = 0;               // relative root mean square
};

// Returns the coefficients >= 0 that minimize the sum of squares of (fitted - us) / us; none without observations.
// REQUIRES: all observations have equally many terms.
Fit fit(std::span<const Observation> observations);

// The time of each of c concurrent accesses, relative to that of a single one.
struct Contended {
  double c = 1, relative = 1;
};

// Returns the quadratic with gamma(1) = 1, without Gamma::across. If all observations with c > 1 have the same c, it is
// a line; without such observations it is 1.
Gamma fit_gamma(std::span<const Contended> observations);

}  // namespace coll::model
