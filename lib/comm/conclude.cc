// SPDX-License-Identifier: BSD-3-Clause
// The last part of a creation: every rank makes the same decisions from the same data, without further exchanges.
#include <algorithm>
#include <atomic>
#include <cstdio>

#include "comm/creation.h"
#include "comm/tuning.h"
#include "mem/huge_pages.h"
#include "mem/processor.h"
#include "model/fingerprint.h"
#include "transport/cma.h"
#include "transport/kcoll_map.h"
#include "transport/kcoll_uring.h"

namespace coll::comm {

void Creation::check_marks() {
  for (size_t r = 0; r < ranks(); r++)
    if (comm_->team_.members[r].state->life.word.load(std::memory_order_relaxed) == 0)
      return fate_.fail(COLL_ERR_BOOTSTRAP,
                        "the end of rank " + std::to_string(r) +
                            " cannot be noticed in another pid namespace: it has no thread libcoll-life; raise the "
                            "limit on processes (ulimit -u), or use one pid namespace (unshare without --pid)");
}

void Creation::decide() {
  exec::Team& team = comm_->team_;
  const Settings& settings = comm_->settings_;
  if (rendezvous_->pids_differ()) check_marks();
  if (fate_.status != COLL_OK) return;
  std::vector<topo::Place> places;
  for (const Report& report : reports_) places.push_back(report.place);
  comm_->hierarchy_ = topo::Hierarchy::from_places(places, sensitivity_);
  comm_->cache_bytes_ = topo::available_cache_bytes(*comm_->machine_, places);

  for (const Report& report : reports_) agreed_.add(report.found);
  const std::string problem = agreed_.impossible(settings.transport);
  if (!problem.empty())
    return fate_.fail(COLL_ERR_UNAVAILABLE,
                      std::string("COLL_TRANSPORT=") + name(settings.transport) + " cannot be used here: " + problem);
  const Transport chosen = settings.transport == Transport::automatic ? agreed_.fastest() : settings.transport;
  using plan::AccessMode;
  team.access_mode = one_process()                                             ? AccessMode::direct
                     : chosen == Transport::shm || chosen == Transport::mapped ? AccessMode::staged
                                                                               : AccessMode::remote;
  if (settings.transport == Transport::shm) team.access_mode = AccessMode::staged;
  team.map_arenas = settings.transport != Transport::shm && !rendezvous_->namespaces_differ();
  const bool stages =
      ranks() > 1 && settings.transport == Transport::automatic && team.access_mode == AccessMode::staged;
  const bool copies_work = stages && agreed_.impossible(Transport::cma).empty();
  comm_->copies_work_ = copies_work;
  if (copies_work) comm_->cma_times_ = agreed_.cma_times();
  if (team.access_mode == AccessMode::remote) team.mechanism = make_mechanism(chosen);
  else if (copies_work) team.mechanism = make_mechanism(Transport::cma);
  comm_->keeps_pins_ = team.access_mode == AccessMode::remote && chosen != Transport::cma;
  if (team.mechanism != nullptr) team.path = team.mechanism->path();
  if (settings.log)
    team.on_refusal = [rank = rank()] {
      fprintf(stderr,
              "libcoll: rank %d: the kernel refuses to copy between its peers and a buffer of this rank (memfd_secret, "
              "device memory); in this communicator its buffers are staged from now on\n",
              rank);
    };
  team.direct_min_bytes = settings.direct_min_bytes;
  if (settings.streamed.has_value()) team.stores.pin(*settings.streamed);
  comm_->heaps_are_shared_ = team.map_arenas && std::ranges::all_of(introductions_, &Introduction::shared_heap);
  comm_->huge_pages_ = std::ranges::all_of(introductions_, &Introduction::huge_pages);
  comm_->is_traced_ = std::ranges::any_of(introductions_, &Introduction::traces);
  if (!settings.trace.empty()) team.record = std::make_unique<exec::Record>();
  comm_->scheduler_groups_ =
      comm_->team_.oversubscribed && !std::ranges::all_of(reports_, [this](const Report& report) {
        return report.scheduler_group == reports_[0].scheduler_group;
      });
  team.spin_policy = comm_->team_.oversubscribed ? sync::SpinPolicy::oversubscribed(!comm_->scheduler_groups_)
                                                 : sync::SpinPolicy::own_core();
  for (int c = 0; c < channel_count; c++) set_up(comm_->channel(c), c);
  comm_->selector_ = {table_, comm_->hierarchy_, model::hardware_of(*comm_->machine_)};
  if (table_ != nullptr && table_->rep_movsb.has_value())
    mem::use_measured_rep_movsb(table_->rep_movsb->load_min_bytes, table_->rep_movsb->store_min_bytes);
  comm_->set_latency_paths();
  if (ranks() > 1 && team.access_mode != AccessMode::direct && settings.chunk_bytes == 0 && settings.throttle == 0)
    tune(stages);
  describe();
}

std::unique_ptr<transport::Mechanism> Creation::make_mechanism(Transport transport) {
  switch (transport) {
    case Transport::kcoll_copy: return std::make_unique<transport::KcollCopy>(probe_.device());
    case Transport::kcoll_map: return std::make_unique<transport::KcollMap>(probe_.device(), int(ranks()));
    case Transport::kcoll_uring: {
      transport::KcollStatus status;
      auto uring = transport::KcollUring::make(probe_.device(), !comm_->team_.oversubscribed, status);
      if (uring != nullptr) return uring;
      return std::make_unique<transport::KcollCopy>(probe_.device());
    }
    case Transport::automatic:
    case Transport::shm:
    case Transport::mapped:
    case Transport::cma: break;
  }
  std::vector<int> pids;
  for (const transport::Address& address : addresses_) pids.push_back(address.pid);
  return transport::cma_access(std::move(pids));
}

void Creation::tune(bool stages) {
  const auto level = Tune(std::ranges::min(introductions_, {}, &Introduction::tune).tune);
  const bool has_times = comm_->selector_.knows_times(int(ranks()));
  comm_->tuned_min_bytes_ = tuned_min_bytes(level, stages && table_ == nullptr, has_times);
  if (comm_->tuned_min_bytes_ == SIZE_MAX) return;
  const Introduction& first = introductions_[0];
  comm_->tuning_ = std::make_unique<Tuning>(
      rank(), int(ranks()), layout_, segment_->base(), comm_->team_.oversubscribed, level,
      tune::PricedCandidates(table_, comm_->machine_, comm_->hierarchy_),
      learned_of({learned_text(first), first.learned_bytes}, comm_->settings_, comm_->machine_->processor));
}

// The staging window of each half: twice the L2, capped so that the two halves of all ranks occupy at most half of the
// caches they share. It shrinks with the number of ranks, because a rank maps every page of every peer's window: until
// the window has been used once, each call of an algorithm that reads from all peers takes a page fault per peer.
size_t Creation::staging_window_bytes() const {
  constexpr size_t of_two = size_t(1) << 20;
  const size_t own = 2 * comm_->machine_->l2.size_bytes, share = comm_->cache_bytes_ / (4 * ranks());
  const size_t window = comm_->team_.oversubscribed ? of_two : std::clamp(std::min(own, share), of_two, half_bytes);
  return std::max(2 * window / std::max<size_t>(ranks(), 2), exec::least_staging_window_bytes);
}

void Creation::set_up(exec::Channel& channel, int index) {
  channel.team = &comm_->team_;
  layout_.place(channel, index, segment_->base());
  exec::StagingRing& longest = channel.rings.back();
  longest.staging_window_bytes = std::min(staging_window_bytes(), longest.half_bytes);
  channel.starts_over = comm_->team_.oversubscribed;
  if (index != 0 || comm_->team_.oversubscribed) return;
  channel.payloads = at(layout_.payloads(rank()));
  channel.payloads_bytes = layout_.payloads_bytes();
}

void Creation::describe() {
  const exec::Team& team = comm_->team_;
  std::string& text = comm_->description_;
  text = topo::describe(comm_->hierarchy_) + "; transport ";
  if (team.access_mode == plan::AccessMode::direct) text += "mapped (ranks are threads of one process)";
  else text += comm_->transport();
  if (comm_->settings_.transport != Transport::automatic) text += ", forced";
  else if (ranks() > 1 && team.access_mode != plan::AccessMode::direct) text += " (256 KiB: " + agreed_.times() + ")";
  if (team.access_mode != plan::AccessMode::direct && team.map_arenas)
    text += "; shared buffers (coll_mem_alloc): mapped";
  text += comm_->team_.oversubscribed ? "; oversubscribed (more ranks than cores)" : "";
  if (table_ == nullptr) text += "; table: none, built-in defaults (collctl calibrate writes one)";
  else text += "; table: " + table_->name + (table_->date.empty() ? "" : " of " + table_->date);
}

}  // namespace coll::comm
