// SPDX-License-Identifier: BSD-3-Clause
// A fit in progress: reads measurements and fills a table. fit.cc fits flags, links and thresholds, memory.cc the rates
// of memory by size, copies.cc copies between processes, rep_movsb.cc when copies use `rep movsb`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/fit.h"
#include "tools/calibrate/fit/fit.h"

namespace coll::tools {

inline double gbs(double bytes, double us) { return us > 0 ? bytes / us / 1000 : 0; }
double median_spread(const std::vector<Point>& points);
// Sets the values of all distances as the reader of a table does: a missing one is that of the next nearer distance,
// else of the next farther one.
model::ByDistance complete(const std::vector<std::pair<topo::Distance, double>>& known,
                           const model::ByDistance& otherwise);

// Keeps references to its arguments, which must outlive it.
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

  // Notes the precision of a value, by its name in named_values().
  void add_precision(const std::string& name, double spread, size_t points) {
    made_.precisions.push_back({name, spread, int(points)});
  }
  // The same for a value by distance: the farthest measured distance also stands for those beyond it.
  void add_precision_at(const std::string& name, topo::Distance distance, double spread, size_t points);
  void note(const std::string& key, const std::string& text) { table().notes.emplace_back(key, text); }
  void lacks(const std::string& what, const std::string& why) { made_.remarks.push_back(what + ": " + why); }
  // The median of one quantity, times `scale`; `otherwise` if it was not measured.
  double single(Quantity quantity, const std::string& name, double scale, double otherwise);

  void lines();
  void links();
  void thresholds();

  void memory();
  double rate(Quantity quantity, double bytes) const;
  double representative() const;
  model::Bandwidth pair(const std::string& name, Quantity alone, Quantity all, double bytes, double share,
                        model::Bandwidth otherwise);
  // Fits copy = longer + overlap * shorter, where longer and shorter are the times of its loads and stores.
  void overlap();

  // Keeps the processor's own size unless the copies that another size changes are clearly faster.
  void rep_movsb();

  void near_copies();
  // Fits the time of c concurrent accesses over that of one, after subtracting the startup, which does not depend on c.
  model::Gamma gamma(model::Mechanism mechanism, Quantity quantity, double startup_us);
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
