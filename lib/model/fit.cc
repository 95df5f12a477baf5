// SPDX-License-Identifier: BSD-3-Clause
#include "model/fit.h"

#include <cmath>
#include <set>

#include <Eigen/Dense>

namespace coll::model {

namespace {

// Rows divided by their measured times, so that least squares minimize relative errors.
struct Rows {
  Eigen::MatrixXd terms;
  Eigen::VectorXd ones;
};

Rows relative(std::span<const Observation> observations, const std::vector<size_t>& used) {
  Rows rows{Eigen::MatrixXd(long(observations.size()), long(used.size())),
            Eigen::VectorXd::Ones(long(observations.size()))};
  for (size_t row = 0; row < observations.size(); ++row)
    for (size_t column = 0; column < used.size(); ++column)
      rows.terms(long(row), long(column)) = observations[row].terms[used[column]] / observations[row].us;
  return rows;
}

double mean_square_root(const Eigen::VectorXd& errors) {
  return errors.size() == 0 ? 0 : std::sqrt(errors.squaredNorm() / double(errors.size()));
}

}  // namespace

Fit fit(std::span<const Observation> observations) {
  Fit made;
  if (observations.empty()) return made;
  const size_t terms = observations.front().terms.size();
  made.coefficients.assign(terms, 0);
  made.residual = 1;
  // Tries every subset of the few terms; the best one without negative coefficients is the result.
  for (unsigned subset = 1; subset < 1u << terms; ++subset) {
    std::vector<size_t> used;
    for (size_t term = 0; term < terms; ++term)
      if (subset >> term & 1u) used.push_back(term);
    const Rows rows = relative(observations, used);
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> solver(rows.terms);
    if (solver.rank() < long(used.size())) continue;
    const Eigen::VectorXd found = solver.solve(rows.ones);
    const double residual = mean_square_root(rows.terms * found - rows.ones);
    if (found.minCoeff() < 0 || residual >= made.residual) continue;
    made.residual = residual;
    made.coefficients.assign(terms, 0);
    for (size_t column = 0; column < used.size(); ++column) made.coefficients[used[column]] = found(long(column));
  }
  return made;
}

Gamma fit_gamma(std::span<const Contended> observations) {
  std::set<double> contended;
  for (const Contended& of : observations)
    if (of.c > 1) contended.insert(of.c);
  Gamma gamma;
  if (contended.empty()) return gamma;
  const bool line = contended.size() == 1;
  Eigen::MatrixXd terms(long(observations.size()), line ? 1 : 2);
  Eigen::VectorXd wanted(long(observations.size()));
  for (size_t row = 0; row < observations.size(); ++row) {
    const auto& [c, relative] = observations[row];
    const long at = long(row);
    terms(at, 0) = (c - 1) / relative;
    if (!line) terms(at, 1) = (c * c - 1) / relative;
    wanted(at) = (relative - 1) / relative;
  }
  const Eigen::VectorXd found = terms.colPivHouseholderQr().solve(wanted);
  gamma.linear = found(0);
  if (!line) gamma.quadratic = found(1);
  gamma.residual = mean_square_root(terms * found - wanted);
  return gamma;
}

}  // namespace coll::model
