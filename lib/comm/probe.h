// SPDX-License-Identifier: BSD-3-Clause
// Probes which transports work between the ranks of a new communicator, and how fast they are. Every rank offers some
// memory and copies from its neighbour's memory by each transport; rank 1 measures the times.
#pragma once

#include <memory>
#include <vector>

#include "comm/settings.h"
#include "transport/kcoll_device.h"
#include "transport/peer.h"

namespace coll::comm {

// Whether a communicator with this COLL_TRANSPORT may use kcoll.
bool may_use_kcoll(Transport wish);

// In the introduction: the memory that peers may copy from.
struct ProbeOffer {
  uint64_t address = 0;     // of the memory
  uint64_t cookie = 0;      // of the memory as a region; 0 if kcoll does not work here
  transport::Token domain;  // of rank 0: the key of this communicator's regions
};

// Measured by rank 1, for 256 KiB: one copy by each mechanism that works, and an estimate of the two copies of staging.
struct ProbeTimes {
  double cma_us = 0, kcoll_copy_us = 0, kcoll_map_us = 0, staged_us = 0;
};

// In the report: what worked.
struct ProbeFindings : ProbeTimes {
  int cma_error = 0;
  transport::KcollStatus kcoll_copy = transport::KcollStatus::absent;
  transport::KcollStatus kcoll_map = transport::KcollStatus::absent;
  transport::KcollStatus kcoll_uring = transport::KcollStatus::absent;

  // The message for users why this rank cannot use the transport; "" if it can.
  std::string problem(Transport transport) const;
};

class Probe {
 public:
  Probe() = default;
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Offers this rank's memory. It tries kcoll only if `wish` allows that transport.
  ProbeOffer offer(Transport wish);
  // Copies from the neighbour by each transport, and joins the domain.
  ProbeFindings look(const ProbeOffer& neighbour, const transport::Address& its, const transport::Token& domain);
  // Sets the times of `found`; each process measures them once per peer.
  void take_times(const ProbeOffer& source, const transport::Address& its, ProbeFindings& found);

  // The communicator's descriptor of the device, which has joined its domain; null if kcoll does not work here.
  std::shared_ptr<transport::KcollDevice> device() const { return device_; }

 private:
  ProbeTimes measure(const ProbeOffer& source, int pid, const ProbeFindings& found);

  Transport wish_ = Transport::automatic;
  transport::KcollStatus status_ = transport::KcollStatus::absent;
  std::shared_ptr<transport::KcollDevice> common_, device_;
  uint64_t cookie_ = 0;
};

// Combines the findings of all ranks; the result is the same on every rank.
class Agreement {
 public:
  void add(const ProbeFindings& found) { all_.push_back(found); }
  // The message for users why some rank cannot use the transport; "" if all can, or if there is only one rank.
  std::string impossible(Transport transport) const;
  // The fastest transport that works on all ranks. The time of kcoll_map is one copy, because ranks read mapped memory
  // in place, in reductions as well.
  Transport fastest() const;
  // Time of a CMA copy divided by the time of staging. REQUIRES: CMA works.
  double cma_times() const { return all_.size() > 1 ? all_[1].cma_us / all_[1].staged_us : 1; }
  // For example "cma 20 us, shm 15 us": the transports that work on all ranks.
  std::string times() const;

 private:
  std::vector<ProbeFindings> all_;
};

}  // namespace coll::comm
