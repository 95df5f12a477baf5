// SPDX-License-Identifier: BSD-3-Clause
// Runs one blocking collective: on the latency path if its payload is short, otherwise by a bound plan.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "comm/comm.h"
#include "comm/long_buffers.h"
#include "comm/scratch.h"
#include "comm/stats.h"
#include "exec/latency.h"
#include "exec/latency_reductions.h"
#include "mem/copy.h"
#include "sync/clock.h"

namespace coll::comm {

using plan::Collective;

coll_status Comm::perform(const Call& call) {
  if (sync::seen(has_requests_)) [[unlikely]]
    return perform_among_requests(call);
  if (stats::wanted()) [[unlikely]]
    return perform_timed(call);
  return perform_now(call);
}

// Inline, because every blocking collective comes through here.
[[gnu::always_inline]] inline coll_status Comm::perform_ready(const Call& call) {
  if (ranks() == 1) return perform_alone(call), COLL_OK;
  if (call.empty()) return COLL_OK;
  if (is_tuned(call)) return perform_tuned(call);
  if (takes_latency_path(call)) return report(perform_short(call));
  const BoundEntry* entry;
  coll_status status = bound_for(call, 0, 0, entry);
  if (status != COLL_OK) return status;
  if (settings_.huge_pages) use_long_buffers(call, rank(), ranks());
  return run(*entry, call);
}

coll_status Comm::perform_now(const Call& call) {
  if (failed_ != COLL_OK) [[unlikely]]
    return report(failed_);
  if (settings_.debug && ranks() > 1) {
    int differs = -1;
    coll_status status = exec::latency_agree(blocking_, call.signature, &differs);
    if (status == COLL_ERR_MISMATCH)
      return failure(status, "this rank called " + std::string(plan::name(call.collective)) + ", rank " +
                                 std::to_string(differs) +
                                 " called another collective, or the same one with another count, root or operation");
    if (status != COLL_OK) return report(status);
  }
  if (call.exchange != nullptr) [[unlikely]]
    return perform_exchange(call);
  if (call.scaling != nullptr && !call.empty()) [[unlikely]] {
    Call scaled = call;
    scaled.send = scaled_input(call, ranks(), scaled_);
    return perform_ready(scaled);
  }
  return perform_ready(call);
}

coll_status Comm::bound_for(const Call& call, int channel, uint8_t candidate, const BoundEntry*& found) {
  const BoundKey key{call.collective, uint8_t(channel),   call.root,
                     call.count,      call.element_bytes, !call.reducer.commutative,
                     candidate,       call.rounds(),      call.pieces != nullptr ? call.pieces->digest() : 0};
  if (found = bounds_.find(key, call.pieces.get()); found != nullptr) [[likely]]
    return COLL_OK;
  BoundEntry entry{.key = key, .pieces = call.pieces};
  const coll_status status = make_bound(call, entry);
  if (status == COLL_OK) found = &bounds_.insert(std::move(entry));
  return status;
}

coll_status Comm::run(const BoundEntry& entry, const Call& call) {
  // Requests that advance during the call may replace the entry in the cache.
  const std::shared_ptr<exec::Bound> kept = outstanding_ > 0 ? entry.bound : nullptr;
  const size_t element_bytes = entry.bound->element_bytes();
  if (!needs_scratch(call, element_bytes)) [[likely]]
    return run(*entry.bound, call.arguments());
  coll_status status = run(*entry.bound, separate_buffers(call, element_bytes, rank(), ranks(), scratch_));
  if (status == COLL_OK) put_back(call, element_bytes, rank(), ranks(), scratch_);
  return status;
}

coll_status Comm::run(const exec::Bound& bound, const exec::Arguments& arguments) {
  coll_status status = blocking_run_.begin(bound, blocking_, arguments);
  if (status == COLL_OK) status = blocking_run_.finish();
  return report(status);
}

// Sets the error message for a failure of the executor, and marks the communicator as failed unless the failure leaves
// it usable.
coll_status Comm::report(coll_status status) {
  if (status == COLL_OK) [[likely]]
    return status;
  if (status == COLL_ERR_TRUNCATE || status == COLL_ERR_COUNT)
    return failure(status,
                   std::string("the message is ") + (status == COLL_ERR_COUNT ? "shorter" : "longer") +
                       " than what this rank expects; run with COLL_DEBUG=1 to find the rank whose call differs");
  if (status == COLL_ERR_STATE)
    return failure(status,
                   "the communicator belongs to the parent process; a child after fork() can only free it, and create "
                   "communicators of its own");
  failed_ = status = cause_of(status);
  if (status == COLL_ERR_ABORTED) return report_abort();
  if (const char* text = unusable_text(status); text != nullptr) return failure(status, text);
  const int error = errno;
  return failure(status, "a copy between processes failed: " +
                             (team_.mechanism != nullptr ? team_.mechanism->hint(error) : strerror(error)));
}

bool Comm::takes_latency_path(const Call& call) const {
  if (call.pieces != nullptr) return false;
  const size_t shown = call.bytes() * plan::pieces_shown(call.collective, ranks());
  return std::max<size_t>(shown, 1) <= latency_bytes_[size_t(call.collective)];
}

coll_status Comm::perform_short(const Call& call) try {
  switch (call.collective) {
    case Collective::barrier:
      if (takes_tree()) return exec::tree_barrier(blocking_, barrier_tree_);
      return are_many() ? exec::oversubscribed_barrier(blocking_) : exec::latency_barrier(blocking_);
    case Collective::bcast:
      if (takes_tree()) {
        const topo::Tree tree = bcast_groups_.tree_for_root(call.root);
        return exec::tree_bcast(blocking_, call.recv, call.bytes(), tree.parent(rank()), tree.levels_led(rank()) > 0);
      }
      return exec::latency_bcast(blocking_, call.recv, call.bytes(), call.root);
    case Collective::reduce:
      if (are_many())
        return exec::grouped_reduce(blocking_, groups_of(call), call.send, call.recv, call.count, call.reducer,
                                    call.root);
      return exec::latency_reduce(blocking_, call.send, call.recv, call.count, call.reducer, call.root);
    case Collective::allreduce:
      if (are_many())
        return exec::grouped_allreduce(blocking_, groups_of(call), call.send, call.recv, call.count, call.reducer);
      return exec::latency_allreduce(blocking_, call.send, call.recv, call.count, call.reducer);
    case Collective::scatter:
      if (takes_tree()) {
        const topo::Tree tree = bcast_groups_.tree_for_root(call.root);
        return exec::blocks_scatter(blocking_, call.send, call.recv, call.bytes(), call.root, tree.parent(rank()),
                                    tree.levels_led(rank()) > 0);
      }
      if (are_many())
        return exec::blocks_scatter(blocking_, call.send, call.recv, call.bytes(), call.root, call.root, false);
      return exec::latency_scatter(blocking_, call.send, call.recv, call.bytes(), call.root);
    case Collective::gather:
      if (are_many()) return exec::blocks_gather(blocking_, groups(), call.send, call.recv, call.bytes(), call.root);
      return exec::latency_gather(blocking_, call.send, call.recv, call.bytes(), call.root);
    case Collective::allgather:
      if (are_many()) return exec::blocks_allgather(blocking_, groups(), call.send, call.recv, call.bytes());
      return exec::latency_allgather(blocking_, call.send, call.recv, call.bytes());
    case Collective::alltoall:
      if (are_many()) {
        if (team_.oversubscribed && call.bytes() * size_t(ranks()) >= exec::least_row_to_readers)
          return exec::blocks_alltoall_to_readers(blocking_, call.send, call.recv, call.bytes());
        if (!forwarding_.has_value()) forwarding_.emplace(groups(), rank());
        return exec::blocks_alltoall(blocking_, groups(), *forwarding_, call.send, call.recv, call.bytes());
      }
      return exec::latency_alltoall(blocking_, call.send, call.recv, call.bytes());
    case Collective::reduce_scatter:
      if (are_many())
        return exec::grouped_reduce_scatter(blocking_, groups_of(call), call.send, call.recv, call.count, call.reducer);
      return exec::latency_reduce_scatter(blocking_, call.send, call.recv, call.count, call.reducer);
    case Collective::scan:
    case Collective::exscan:
      if (are_many())
        return exec::grouped_scan(blocking_, groups_of(call), call.send, call.recv, call.count, call.reducer,
                                  call.collective == Collective::scan);
      return exec::latency_scan(blocking_, call.send, call.recv, call.count, call.reducer,
                                call.collective == Collective::scan);
  }
  return COLL_OK;
} catch (const std::bad_alloc&) { return team_.fail(), COLL_ERR_NO_MEMORY; }

void Comm::perform_alone(const Call& call) {
  // With one rank, the result is a copy of the input; a barrier and a broadcast move no data, and an exscan has no
  // result.
  if (call.send == call.recv || call.collective == Collective::exscan) return;
  size_t bytes = call.bytes();
  auto* from = static_cast<const char*>(call.send);
  auto* to = static_cast<char*>(call.recv);
  if (call.pieces != nullptr) {
    const Pieces& pieces = *call.pieces;
    bytes = pieces.counts[0] * call.element_bytes;
    if (!pieces.send_offsets.empty()) from += pieces.send_offsets[0] * call.element_bytes;
    if (!pieces.recv_offsets.empty()) to += pieces.recv_offsets[0] * call.element_bytes;
  }
  if (from != to) mem::copy(to, from, bytes);
}

coll_status Comm::make_bound(const Call& call, BoundEntry& entry) {
  const int index = entry.key.channel;
  std::shared_ptr<exec::Bound>& bound = entry.bound;
  if (call.element_bytes > half_bytes / 8)
    return failure(COLL_ERR_TYPE, "an element of " + std::to_string(call.element_bytes) +
                                      " bytes does not fit into a staging slot; the largest element is " +
                                      std::to_string(half_bytes / 8) + " bytes");
  const tune::Situation situation = this->situation(call);
  tune::Selection selected = selector_.select(situation, forced(call.collective));
  if (entry.key.candidate != 0) {
    selected = {.choice = cell_of(call, index != 0).candidates()[entry.key.candidate].choice,
                .by = tune::Source::tuned};
    tune::complete(situation, selected.choice);
  }
  std::string problem = bind(call, index, selected.choice, bound);
  // The cost model does not consider the room for staging, and requests of many ranks have less of it than blocking
  // calls. Halve the chunks until the plan fits, because shorter chunks need less staging.
  constexpr uint32_t short_chunk = 16 << 10;
  const bool shortens = selected.by == tune::Source::priced || channel(index).room() < blocking_.room();
  while (!problem.empty() && shortens && selected.choice.parameters.chunk_bytes > short_chunk) {
    selected.choice.parameters.chunk_bytes /= 2;
    for (uint32_t& chunk : selected.choice.parameters.level_chunk_bytes)
      chunk = std::min(chunk, selected.choice.parameters.chunk_bytes);
    problem = bind(call, index, selected.choice, bound);
  }
  // If a choice of the table, the cost model or the auto-tuner does not fit, the built-in default serves the call. An
  // algorithm that the user forced by name is an error instead.
  if (!problem.empty() && selected.by != tune::Source::shipped && selected.by != tune::Source::forced) {
    selected = selector_.shipped(situation);
    problem = bind(call, index, selected.choice, bound);
  }
  if (!problem.empty()) return failure(COLL_ERR_UNAVAILABLE, std::string(plan::name(call.collective)) + " " + problem);
  log_decision(call, selected);
  return COLL_OK;
}

// Returns "", or "ALGORITHM cannot be used: why"; the result is the same on every rank.
std::string Comm::bind(const Call& call, int index, const tune::Choice& choice, std::shared_ptr<exec::Bound>& bound) {
  const auto refused = [&](const std::string& why) {
    return std::string(choice.algorithm->name) + " cannot be used: " + why;
  };
  if (call.pieces != nullptr && !choice.algorithm->irregular)
    return refused("it does not support counts that differ between ranks");
  if (choice.algorithm->refuses != nullptr) {
    std::string why = choice.algorithm->refuses({.hierarchy = &hierarchy_, .parameters = choice.parameters});
    if (!why.empty()) return refused(why);
  }
  const plan::Plan* plan = plan_for(call, choice, channel(index).room());
  const plan::Shape shape = call.pieces != nullptr ? call.pieces->shape(rank()) : plan::Shape(call.count);
  // Plans that store partial results store them in their wider type.
  const size_t element_bytes = call.rounds() && choice.algorithm->stores_partials ? sizeof(float) : call.element_bytes;
  std::string problem = exec::fits(*plan, channel(index), element_bytes);
  if (problem.empty() && plan->irregular && plan->smallest_chunk_bytes != 0)
    for (size_t r = 0; r < size_t(ranks()); r++)
      if (shape.counts[r] >
          plan::most_irregular_passes * std::max<size_t>(plan->smallest_chunk_bytes / element_bytes, 1))
        problem =
            "a block of " + std::to_string(shape.counts[r]) + " elements needs too many chunks; choose a larger chunk";
  const bool in_order = choice.algorithm->balanced || plan->balanced;
  if (problem.empty() && call.reducer.function != nullptr && !call.reducer.commutative && !in_order)
    problem = "it reorders operands, and the operation is not commutative";
  if (!problem.empty()) return std::string(plan->algorithm) + " (" + plan->parameters + ") cannot be used: " + problem;
  plan::AccessMode access_mode = choice.kernel_copies ? plan::AccessMode::remote
                                 : choice.staged      ? plan::AccessMode::staged
                                                      : team_.access_mode;
  if (access_mode == plan::AccessMode::remote && !team_.path.meet(exec::demands(*plan)))
    access_mode = plan::AccessMode::staged;
  bound = std::make_shared<exec::Bound>(*plan, channel(index),
                                        exec::BindOptions{shape, element_bytes, access_mode, choice.stream});
  return "";
}

const plan::Plan* Comm::plan_for(const Call& call, const tune::Choice& choice, size_t room_bytes) {
  const algo::Parameters& p = choice.parameters;
  const bool irregular = call.pieces != nullptr;
  std::string key = std::string(choice.algorithm->name) + '/' + std::to_string(int(call.collective)) + '/' +
                    std::to_string(call.root) + '/' + std::to_string(irregular) + '/' + std::to_string(p.chunk_bytes) +
                    '/' + std::to_string(p.depth) + '/' + std::to_string(p.k) + '/' + std::to_string(p.j) + '/' +
                    std::to_string(room_bytes);
  for (uint32_t chunk : p.level_chunk_bytes) key += '/' + std::to_string(chunk);
  std::unique_ptr<plan::Plan>& plan = plans_[key];
  if (plan == nullptr) {
    algo::PlanRequest request{.hierarchy = &hierarchy_,
                              .root = call.root,
                              .only_rank = rank(),
                              .irregular = irregular,
                              .parameters = p,
                              .room_bytes = room_bytes};
    plan = std::make_unique<plan::Plan>(choice.algorithm->make(request));
  }
  return plan.get();
}

}  // namespace coll::comm
