// SPDX-License-Identifier: BSD-3-Clause
// Flows that share links. Each flow gets its max-min fair share (progressive filling), at most the rate at which its
// ends can move bytes, and less while other flows contend for the lock of the owner's pages. The caller passes the
// time, which never decreases.
//
// Flows with the same route and the same ends form a class: they move at one rate, so a class keeps one count of the
// bytes that each of its flows has moved, and a heap of their ends. The cost of an event therefore grows with the
// number of classes, not of flows.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/table.h"

namespace coll::sim {

// A flow at rate x uses weight * x of a link's capacity.
struct Use {
  uint32_t link = 0;
  double weight = 1;
  auto operator<=>(const Use&) const = default;
};

// The pages of an owner that a flow locks while it moves bytes: microseconds per byte without contention, and the
// fraction of a process that the flow counts for (a reduction of several sources locks each owner's pages for a part of
// its time).
struct Locks {
  uint32_t owner = 0;
  double us_per_byte = 0, presence = 1;
  auto operator<=>(const Locks&) const = default;
};

struct Route {
  std::vector<Use> uses;
  std::vector<Locks> locks;
  double us_per_byte = 0;  // of the ends, without links and locks
  auto operator<=>(const Route&) const = default;
};

class Network {
 public:
  Network(model::Gamma gamma, int owners, int ranks_per_socket)
      : gamma_(gamma), present_(size_t(owners)), most_present_(size_t(owners)), ranks_per_socket_(ranks_per_socket) {}

  // Returns the new link's index. The capacity is in bytes per microsecond. REQUIRES: no flow has started.
  uint32_t add_link(double capacity);

  void start(double now, uint32_t flow, double bytes, const Route& route);
  // For transfers so short that the shares of other flows do not change meanwhile: returns the microseconds that the
  // transfer takes if it starts now. Other flows see it until the caller ends it with end_short().
  double start_short(double bytes, const Route& route);
  void end_short(const Route& route);

  // Returns the time at which the next flow ends if no other starts; infinity if there is none.
  double next_end();
  // Advances to time `now` and removes one flow that has ended by then; returns false if there is none.
  bool take_ended(double now, uint32_t& flow);
  // The maximum number of processes that locked pages of one owner at the same time.
  double most_present() const;

 private:
  struct Class {
    Route route;
    uint32_t flows = 0;
    double rate = 0, moved = 0;                     // moved: bytes of each flow since the class was last empty
    std::vector<std::pair<double, uint32_t>> ends;  // min-heap: the value of `moved` at which a flow ends, and the flow
  };
  struct Link {
    double capacity = 0, long_users = 0, short_users = 0;  // users: sums of weights
    double left = 0, open = 0;                             // only while share() computes
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
