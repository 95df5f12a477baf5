// SPDX-License-Identifier: BSD-3-Clause
// Which mechanisms work between the ranks of a communicator to be, and how fast they are. Every rank offers some memory
// and copies from its neighbour's by each of them; rank 1 takes the time.
#pragma once

#include <memory>
#include <vector>

#include "comm/settings.h"
#include "transport/kcoll_device.h"
#include "transport/peer.h"

namespace coll::comm {

// Whether a communicator with this wish may come to use kcoll.
bool may_use_kcoll(Transport wish);

// First exchange: what others may copy from.
struct ProbeOffer {
  uint64_t address = 0;     // of the memory
  uint64_t cookie = 0;      // of the same as a region; 0 when kcoll does not work here
  transport::Token domain;  // rank 0's: the secret of this communicator's regions
};

// Of rank 1: one copy of 256 KiB, of each mechanism that works; two copies through shared memory.
struct ProbeTimes {
  double cma_us = 0, kcoll_copy_us = 0, kcoll_map_us = 0, staged_us = 0;
};

// Second exchange: what worked.
struct ProbeFindings : ProbeTimes {
  int cma_error = 0;
  transport::KcollStatus kcoll_copy = transport::KcollStatus::absent;
  transport::KcollStatus kcoll_map = transport::KcollStatus::absent;
  transport::KcollStatus kcoll_uring = transport::KcollStatus::absent;

  // What makes the transport impossible, for people; "" when nothing does.
  std::string problem(Transport transport) const;
};

class Probe {
 public:
  Probe() = default;
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Nothing that was not asked for is tried: kcoll only where it may be chosen.
  ProbeOffer offer(Transport wish);
  // After the exchange: copies from the neighbour, and joins the domain.
  ProbeFindings look(const ProbeOffer& neighbour, const transport::Address& its, const transport::Token& domain);
  // Measured once for each peer, then known.
  void take_times(const ProbeOffer& source, const transport::Address& its, ProbeFindings& found);

  // The communicator's descriptor, which has joined its domain; null when kcoll does not work here.
  std::shared_ptr<transport::KcollDevice> device() const { return device_; }

 private:
  ProbeTimes measure(const ProbeOffer& source, int pid, const ProbeFindings& found);

  Transport wish_ = Transport::automatic;
  transport::KcollStatus status_ = transport::KcollStatus::absent;
  std::shared_ptr<transport::KcollDevice> common_, device_;
  uint64_t cookie_ = 0;
};

// What the findings of all ranks come to; the same on every rank.
class Agreement {
 public:
  void add(const ProbeFindings& found) { all_.push_back(found); }
  // What keeps some rank from using the transport, for people; "" when nothing does. A rank alone needs none.
  std::string impossible(Transport transport) const;
  // Of what is possible. Mapped memory is read where it lies, also by reductions: a copy from it is all there is.
  Transport fastest() const;
  // How many times as long as staging kernel copies (CMA) take, which are possible.
  double cma_times() const { return all_.size() > 1 ? all_[1].cma_us / all_[1].staged_us : 1; }
  // "cma 20 us, shm 15 us": of what is possible.
  std::string times() const;

 private:
  std::vector<ProbeFindings> all_;
};

}  // namespace coll::comm
