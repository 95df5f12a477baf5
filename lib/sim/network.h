// SPDX-License-Identifier: BSD-3-Clause
// Flows that share links: each gets its max-min fair share (progressive filling), at most what its ends can move, and less
// while the lock of the owner's pages is contended. Time is given by the caller and never goes back.
//
// Flows with the same route and the same ends are of one class: they move at one rate, so a class keeps one count of the
// bytes that each of its flows has moved, and a heap of where they end. What an event costs grows with classes, not flows.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/table.h"

namespace coll::sim {

// A flow at rate x takes weight * x of a link.
struct Use {
  uint32_t link = 0;
  double weight = 1;
  auto operator<=>(const Use&) const = default;
};

// Pages of an owner that a flow locks as it goes: us per byte if it were alone, and how much of a process it counts for
// (a reduction of many sources visits each for a part of its time).
struct Locks {
  uint32_t owner = 0;
  double us_per_byte = 0, presence = 1;
  auto operator<=>(const Locks&) const = default;
};

struct Route {
  std::vector<Use> uses;
  std::vector<Locks> locks;
  double us_per_byte = 0;  // of the ends alone
  auto operator<=>(const Route&) const = default;
};

class Network {
 public:
  Network(model::Gamma gamma, int owners, int ranks_per_socket)
      : gamma_(gamma), present_(size_t(owners)), most_present_(size_t(owners)), ranks_per_socket_(ranks_per_socket) {}

  // Bytes per microsecond; all links are added before the first flow.
  uint32_t add_link(double capacity);

  void start(double now, uint32_t flow, double bytes, const Route& route);
  // For transfers so short that the shares of others do not change meanwhile: how long one takes that starts now. It is
  // seen by others until the caller ends it.
  double start_short(double bytes, const Route& route);
  void end_short(const Route& route);

  // When the next flow ends if nothing else starts; infinity when there is none.
  double next_end();
  // Moves time forward and takes a flow that has ended by then, or none (false).
  bool take_ended(double now, uint32_t& flow);
  // The most processes that ever locked pages of one owner at once.
  double most_present() const;

 private:
  struct Class {
    Route route;
    uint32_t flows = 0;
    double rate = 0, moved = 0;                     // bytes of each of its flows since the class was last empty
    std::vector<std::pair<double, uint32_t>> ends;  // a heap, least first: where a flow ends in `moved`, which
  };
  struct Link {
    double capacity = 0, long_users = 0, short_users = 0;  // weights
    double left = 0, open = 0;                             // while shares are computed
  };
  void advance(double now);
  void share();
  void enter(const Route& route, double sign, bool brief);

  model::Gamma gamma_;
  std::vector<Link> links_;
  std::vector<double> present_, most_present_;  // by owner
  int ranks_per_socket_;
  std::map<Route, uint32_t> class_of_;
  std::vector<Class> classes_;
  std::vector<uint32_t> active_, open_;
  double now_ = 0;
  bool stale_ = true;
};

}  // namespace coll::sim
