// SPDX-License-Identifier: BSD-3-Clause
// From which size on copies between cores use `rep movsb`.
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "mem/processor.h"
#include "tools/calibrate/fit/fitting.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

// Another size than the processor's own must make the copies that it changes faster by this, in the geometric mean.
constexpr double least_gain = 1.05;

struct Compared {
  size_t bytes;
  double gain;  // logarithm of the time with vectors over the time with rep movsb
};

// Ascending by bytes.
std::vector<Compared> compare(const std::vector<Point>& vectors, const std::vector<Point>& rep_movsb) {
  std::vector<Compared> compared;
  for (const Point& one : vectors)
    for (const Point& other : rep_movsb)
      if (one.key.bytes == other.key.bytes)
        compared.push_back({size_t(one.key.bytes), std::log(one.timing.us / other.timing.us)});
  return compared;
}

// The size from which all copies together are fastest with rep movsb; nullopt: those that differ from what `own`, the
// processor's size, selects are not clearly faster.
std::optional<size_t> best_size(const std::vector<Compared>& compared, size_t own) {
  size_t best = model::RepMovsb::never;
  double most = 0, gain = 0;
  for (size_t i = compared.size(); i-- > 0;)
    if (gain += compared[i].gain; gain > most) most = gain, best = compared[i].bytes;
  double gained = 0;
  int changed = 0;
  for (const Compared& of : compared) {
    const bool before = of.bytes >= own, after = of.bytes >= best;
    if (before == after) continue;
    gained += after ? of.gain : -of.gain;
    ++changed;
  }
  if (changed == 0 || gained < changed * std::log(least_gain)) return std::nullopt;
  return best;
}

std::string words(size_t bytes) {
  return bytes == model::RepMovsb::never ? "at no size" : "from " + bytes_text(bytes) + " on";
}

}  // namespace

void Fitting::rep_movsb() {
  const mem::Processor& own = mem::processor();
  const auto loads = best_size(compare(measured_.of(Quantity::fetch_vectors), measured_.of(Quantity::fetch_rep_movsb)),
                               own.rep_movsb_load_min_bytes);
  const auto stores = best_size(compare(measured_.of(Quantity::take_vectors), measured_.of(Quantity::take_rep_movsb)),
                                own.rep_movsb_store_min_bytes);
  if (!loads.has_value() && !stores.has_value()) return;
  table().rep_movsb = {loads.value_or(own.rep_movsb_load_min_bytes), stores.value_or(own.rep_movsb_store_min_bytes)};
  note("rep_movsb",
       fmt::format("measured: loads of data that another core has just written {}, stores to lines that one "
                   "has read {}",
                   words(table().rep_movsb->load_min_bytes), words(table().rep_movsb->store_min_bytes)));
}

}  // namespace coll::tools
