// SPDX-License-Identifier: BSD-3-Clause
// Least squares: a fit finds the parameters that generated the points, noise stays within bounds, and no parameter is
// negative.
#include "model/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "../seed.h"

namespace coll::model {
namespace {

std::vector<Observation> line(double startup, double per_byte, double noise = 0) {
  std::mt19937_64 random(test::seed());
  std::uniform_real_distribution<double> off(-noise, noise);
  std::vector<Observation> seen;
  for (double bytes = 1024; bytes <= 16 << 20; bytes *= 2)
    seen.push_back({{1, bytes}, (startup + per_byte * bytes) * (1 + off(random))});
  return seen;
}

TEST(Fit, FindsTheParametersOfThePoints) {
  const Fit found = fit(line(1.5, 1e-4));
  ASSERT_EQ(found.coefficients.size(), 2u);
  EXPECT_NEAR(found.coefficients[0], 1.5, 1e-9);
  EXPECT_NEAR(found.coefficients[1], 1e-4, 1e-12);
  EXPECT_NEAR(found.residual, 0, 1e-9);
}

TEST(Fit, WeighsPointsByTheirOwnSize) {
  // With absolute errors the startup would have no weight: the longest point is a thousand times as long.
  const Fit found = fit(line(1.5, 1e-4, 0.05));
  EXPECT_NEAR(found.coefficients[0], 1.5, 0.15);
  EXPECT_NEAR(found.coefficients[1], 1e-4, 1e-5);
  EXPECT_GT(found.residual, 0.005);
  EXPECT_LT(found.residual, 0.05);
}

TEST(Fit, NothingIsNegative) {
  // Short times are below the line through the longer ones: a negative startup would fit best.
  std::vector<Observation> seen = {{{1, 1000}, 0.5}, {{1, 2000}, 1.5}, {{1, 4000}, 3.5}};
  const Fit found = fit(seen);
  EXPECT_EQ(found.coefficients[0], 0);
  EXPECT_GT(found.coefficients[1], 0);
  EXPECT_GT(found.residual, 0.05);
}

TEST(Fit, TermsThatThePointsDoNotShowAreZero) {
  // The second term is twice the first in all points.
  const Fit found = fit(std::vector<Observation>{{{1, 2}, 4}, {{2, 4}, 8}});
  EXPECT_NEAR(found.coefficients[0] + 2 * found.coefficients[1], 4, 1e-9);
  EXPECT_TRUE(fit({}).coefficients.empty());
}

TEST(Gamma, IsTheQuadraticOfThePapersThroughOne) {
  const Gamma knl = {.quadratic = 0.11, .linear = 1.6};
  std::vector<Contended> seen;
  for (double c : {1., 2., 4., 8., 16., 64.}) seen.push_back({c, knl(c)});
  const Gamma found = fit_gamma(seen);
  EXPECT_NEAR(found.quadratic, 0.11, 1e-9);
  EXPECT_NEAR(found.linear, 1.6, 1e-7);
  EXPECT_NEAR(found.residual, 0, 1e-9);
  EXPECT_EQ(found(1), 1);
}

TEST(Gamma, OfTwoProcessorsIsALine) {
  const Gamma found = fit_gamma(std::vector<Contended>{{1, 1}, {2, 1.6}, {2, 1.8}});
  EXPECT_EQ(found.quadratic, 0);
  EXPECT_NEAR(found(2), 1.7, 0.02);
  EXPECT_GT(found.residual, 0.02);
  EXPECT_EQ(fit_gamma({})(8), 1);
  EXPECT_EQ(fit_gamma(std::vector<Contended>{{1, 1}})(8), 1);
}

}  // namespace
}  // namespace coll::model
