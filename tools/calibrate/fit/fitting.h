// SPDX-License-Identifier: BSD-3-Clause
// The fit in the making: what was measured on one side, a table that fills on the other. calibrate_fit.cc is what ranks
// wait for and share, calibrate_fit_memory.cc memory by size, calibrate_fit_copies.cc the ways from process to process.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/fit.h"
#include "tools/calibrate/fit/fit.h"

namespace coll::tools {

constexpr double page_bytes = 4096;

inline double gbs(double bytes, double us) { return us > 0 ? bytes / us / 1000 : 0; }
double median_spread(const std::vector<Point>& points);
// The values by distance, as a table's reader completes them: the next nearer one, else the next farther.
model::ByDistance complete(const std::vector<std::pair<topo::Distance, double>>& known,
                           const model::ByDistance& otherwise);

// Refers to its arguments, which outlive it.
class Fitting {
 public:
  Fitting(const Measured& measured, const model::Fingerprint& machine, const model::Table& otherwise)
      : measured_(measured), otherwise_(otherwise) {
    made_.table.fingerprint = machine;
  }
  Model all();

 private:
  model::Table& table() { return made_.table; }
  model::Access& access(model::Mechanism mechanism) { return table().access[size_t(mechanism)]; }

  // How well a value is known, by its name in named_values().
  void tell(const std::string& name, double spread, size_t points) {
    made_.precisions.push_back({name, spread, int(points)});
  }
  // Of distances: the farthest that was measured stands for those beyond, too.
  void tell_at(const std::string& name, topo::Distance distance, double spread, size_t points);
  void note(const std::string& key, const std::string& text) { table().notes.emplace_back(key, text); }
  void lacks(const std::string& what, const std::string& why) { made_.remarks.push_back(what + ": " + why); }
  // The median of one kind; `otherwise` where there is none.
  double single(What what, const std::string& name, double scale, double otherwise);

  void lines();
  void links();
  void thresholds();

  void memory();
  double rate(What what, double bytes) const;
  double representative() const;
  model::Bandwidth pair(const std::string& name, What alone, What all, double bytes, double share,
                        model::Bandwidth otherwise);
  // copy = longer + overlap * shorter
  void overlap();

  void near_copies();
  // Times of c at once over that of one, after what does not depend on c.
  model::Gamma gamma(model::Mechanism mechanism, What what, double startup_us);
  model::Gamma gamma(model::Mechanism mechanism, const std::vector<model::Contended>& seen, double spread);
  void cma();
  void kernel_rates();
  void kcoll();
  void kcoll_first_touch(const model::Fit& move, size_t moves);

  const Measured& measured_;
  const model::Table& otherwise_;
  Model made_;
};

}  // namespace coll::tools
