// SPDX-License-Identifier: BSD-3-Clause
// Steps on memory that only the team's mechanism reaches: through its windows while these are valid, otherwise by
// kernel-assisted copies, or by copies of the owner if neither is possible.
//
// A step through windows checks them before and after. If one has changed meanwhile, the step may have loaded or stored
// anything, and is made once more by copies. Hence no step through windows stores to its own sources: a reduction in
// place goes through a private block.
#include <algorithm>
#include <cerrno>

#include "exec/run.h"
#include "mem/copy.h"
#include "sync/clock.h"
#include "sync/system_wait.h"

namespace coll::exec {

using plan::Extent;
using plan::Kind;
using transport::Window;

namespace {

constexpr size_t bounce_bytes = 256 << 10;  // of all operands of a reduction by copies
constexpr size_t in_place_block_bytes =
    16 << 10;                          // of a reduction in place through windows: stays in the first-level cache
constexpr size_t most_transfers = 64;  // of one batch

bool overlap(uint64_t a, size_t a_bytes, uint64_t b, size_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

// A copy of a batch, and the address of its remote side in the owner's address space.
struct Placed {
  transport::Transfer transfer;
  uint64_t address;
};

// Whether neither copy touches memory that the other one writes.
bool independent(const Placed& x, const Placed& y) {
  const transport::Transfer &a = x.transfer, &b = y.transfer;
  const bool local_overlap = overlap(uint64_t(uintptr_t(a.local)), a.bytes, uint64_t(uintptr_t(b.local)), b.bytes);
  const bool remote_overlap = a.rank == b.rank && overlap(x.address, a.bytes, y.address, b.bytes);
  return !(local_overlap && !(a.write && b.write)) && !(remote_overlap && (a.write || b.write));
}

}  // namespace

// Makes the buffer accessible to peers and stores in the flag line how. Returns false if it cannot; the buffer is then
// staged.
bool Run::offer(const void* buffer, size_t bytes, const plan::View& view, sync::FlagLine& line) {
  transport::Announced at;
  transport::Hold hold;
  if (!channel_->team->mechanism->offer(buffer, bytes, view.buffer == plan::Buffer::recv, at, hold)) return false;
  if (hold != nullptr) holds_.push_back(std::move(hold));
  line.published_region.store(at.region, std::memory_order_relaxed);
  line.published_place.store(at.place, std::memory_order_relaxed);
  line.published_mappable.store(at.mappable, std::memory_order_relaxed);
  return true;
}

void Run::resolve_remote(int rank, uint8_t view_index, const sync::FlagLine& line) {
  Team& team = *channel_->team;
  RemoteView& remote = remote_view_of(rank, view_index);
  remote.at.region = line.published_region.load(std::memory_order_relaxed);
  remote.at.place = line.published_place.load(std::memory_order_relaxed);
  remote.at.mappable = line.published_mappable.load(std::memory_order_relaxed) != 0;
  remote.address = line.published_address.load(std::memory_order_relaxed);
  remote.by_owner = false;
  if (!team.path.load_store) return;
  const plan::View& view = bound_->plan().views[view_index];
  transport::Hold hold;
  remote.window = team.mechanism->map(rank, remote.at, view.buffer == plan::Buffer::recv, hold);
  if (hold != nullptr) holds_.push_back(std::move(hold));
}

// Address at which the operand can be loaded and stored now; null if only copies reach it.
char* Run::place(const Location& at, const Extent& extent, uint64_t index) const {
  if (!is_remote(at)) return local(at, extent, index);
  const Window& window = remote_view(at).window;
  return window.data != nullptr && window.current() ? window.data + remote_offset(at, extent) : nullptr;
}

// Whether the windows of operands are still valid after loads or stores through them.
bool Run::still_hold(const Location* operands, int count) const {
  Window::fence();
  return std::all_of(operands, operands + count,
                     [this](const Location& at) { return !is_remote(at) || remote_view(at).window.current(); });
}

// Whether two operands overlap in memory, local or remote.
bool Run::share_memory(const Location& a, const Location& b, const Extent& extent, uint64_t index) const {
  const size_t bytes = extent.length * element_bytes_;
  if (is_remote(a) != is_remote(b)) return false;
  if (!is_remote(a))
    return overlap(uint64_t(uintptr_t(local(a, extent, index))), bytes, uint64_t(uintptr_t(local(b, extent, index))),
                   bytes);
  return a.rank == b.rank && overlap(remote_view(a).address + remote_offset(a, extent), bytes,
                                     remote_view(b).address + remote_offset(b, extent), bytes);
}

// A kernel-assisted copy failed: its owner may be able to make it. Returns false if the copy failed, or, without a
// failure, if the step is suspended.
bool Run::copy_refused(int rank, bool write, uint64_t address, char* local, size_t bytes, int error) {
  Team& team = *channel_->team;
  if (!owner_can_copy(error)) return failed_copy(rank, error);
  if (may_wait_) return team.copy_by_owner(rank, write, address, local, bytes) || failed_copy(rank, error);
  RemoteStep& step = remote_step();
  if (step.counted++ < step.made) return true;
  if (step.copy.owner < 0) step.copy = {rank, write, address, local, bytes};
  switch (team.advance(step.copy)) {
    case OwnersAnswer::pending: return suspend();
    case OwnersAnswer::made: break;
    case OwnersAnswer::failed:
      status_ = team.has_exited(rank) ? COLL_ERR_PEER_DIED : COLL_ERR_SYSTEM;
      errno = error;
      return false;
  }
  step.copy = {};
  step.made++;
  return true;
}

bool Run::failed_copy(int rank, int error) {
  constexpr uint32_t between_us = 1000;
  const Team& team = *channel_->team;
  bool ended = error == ESRCH || team.has_exited(rank);
  if (may_wait_) {
    for (int64_t waited = 0; !ended && waited < end_awaited_ns; waited += between_us * 1000) {
      sync::sleep_us(between_us);
      ended = team.has_exited(rank);
    }
  } else if (!ended) {
    RemoteStep& step = remote_step();
    const int64_t now = sync::now_ns();
    if (step.failed_ns == 0) step.failed_ns = now;
    if (now - step.failed_ns < end_awaited_ns) return suspend();
  }
  status_ = ended ? COLL_ERR_PEER_DIED : COLL_ERR_SYSTEM;
  errno = error;
  return false;
}

// Copies a remote operand to memory of this rank.
bool Run::get(const Location& at, const Extent& extent, char* to) {
  Team& team = *channel_->team;
  const size_t bytes = extent.length * element_bytes_;
  const int error = remote_view(at).by_owner
                        ? EPERM
                        : team.mechanism->read(at.rank, remote_view(at).at, remote_offset(at, extent), to, bytes);
  if (!remote_view(at).by_owner) team.traffic.by_kernel += bytes;
  return error == 0 ||
         copy_refused(at.rank, false, remote_view(at).address + remote_offset(at, extent), to, bytes, error);
}

// Copies memory of this rank to an operand, local or remote.
bool Run::put(const Location& at, const Extent& extent, uint64_t index, const char* from) {
  Team& team = *channel_->team;
  const size_t bytes = extent.length * element_bytes_;
  if (!is_remote(at)) {
    char* to = local(at, extent, index);
    if (to != from) mem::copy(to, from, bytes);
    return true;
  }
  Window::fence();
  if (char* to = place(at, extent, index)) {
    mem::copy(to, from, bytes);
    Window::fence();
    if (remote_view(at).window.current()) return true;
  }
  const int error = remote_view(at).by_owner
                        ? EPERM
                        : team.mechanism->write(at.rank, remote_view(at).at, remote_offset(at, extent), from, bytes);
  if (!remote_view(at).by_owner) team.traffic.by_kernel += bytes;
  return error == 0 || copy_refused(at.rank, true, remote_view(at).address + remote_offset(at, extent),
                                    const_cast<char*>(from), bytes, error);
}

// Copies through windows. Returns false if an operand is not mapped or its window is no longer valid; the copy can then
// be made by other means.
bool Run::copy_mapped(const Instruction& in, const Extent& extent, uint64_t index) {
  Window::fence();
  char* first = place(in.locations[0], extent, index);
  char* second = in.destinations == 2 ? place(in.locations[1], extent, index) : nullptr;
  const char* source = place(in.locations[in.destinations], extent, index);
  if (first == nullptr || source == nullptr || (in.destinations == 2 && second == nullptr)) return false;
  const size_t bytes = extent.length * element_bytes_;
  copy_local(first, second, source, bytes, in.stream);
  if (!still_hold(in.locations, in.destinations + in.sources)) return false;
  channel_->team->traffic.loaded += bytes;
  channel_->team->traffic.stored += bytes * in.destinations;
  return true;
}

// Makes one system call for every remote operand. A copy between two remote operands goes through memory of this rank.
bool Run::copy_by_kernel(const Instruction& in, const Extent& whole, uint64_t index) {
  const Location& from = in.locations[in.destinations];
  if (!is_remote(from)) {
    const char* source = local(from, whole, index);
    for (int d = 0; d < in.destinations; d++)
      if (!put(in.locations[d], whole, index, source)) return false;
    return true;
  }
  for (int d = 0; d < in.destinations; d++) {
    if (is_remote(in.locations[d])) continue;
    char* here = local(in.locations[d], whole, index);
    return get(from, whole, here) && (in.destinations == 1 || put(in.locations[1 - d], whole, index, here));
  }
  RemoteStep& step = remote_step();
  const size_t block = std::max<size_t>(bounce_bytes / element_bytes_, 1);
  step.bounce.resize(std::min(block, whole.length) * element_bytes_);
  for (; step.done < whole.length; next_block(step, step.done + block)) {
    const Extent extent{whole.low + step.done, std::min(block, whole.length - step.done), whole.chunk_low};
    if (!get(from, extent, step.bounce.data())) return false;
    for (int d = 0; d < in.destinations; d++)
      if (!put(in.locations[d], extent, index, step.bounce.data())) return false;
  }
  return true;
}

void Run::next_block(RemoteStep& step, size_t done) {
  channel_->team->abandon(step.copy);
  step.done = done;
  step.combined = step.mapped = false;
  step.made = step.counted = 0;
  step.copy = {};
  step.failed_ns = 0;
}

const Instruction* Run::copy_remote(const Instruction* in, const Instruction* end, uint64_t index) {
  RemoteStep& step = remote_step();
  step.counted = 0;
  const Instruction* const last = copy_again(in, end, index);
  if (last != nullptr) over(step);
  return last;
}

// Makes the step from the start or, after it was suspended, once more: it stores the same data again.
const Instruction* Run::copy_again(const Instruction* in, const Instruction* end, uint64_t index) {
  const transport::Path& path = channel_->team->path;
  if (path.batches) return copy_several(in, end, index);
  const Extent extent = in->geometry->at(index);
  if (path.load_store && !remote_step().has_begun() && copy_mapped(*in, extent, index)) return in;
  return copy_by_kernel(*in, extent, index) ? in : nullptr;
}

// Makes consecutive copies as one batch, if only waits that are over are between them and none touches memory that
// another one writes.
const Instruction* Run::copy_several(const Instruction* in, const Instruction* end, uint64_t index) {
  Team& team = *channel_->team;
  std::vector<Placed> batch;
  const auto fits = [&](const Placed& next) {
    return std::all_of(batch.begin(), batch.end(), [&](const Placed& other) { return independent(other, next); });
  };
  const Instruction* last = nullptr;
  for (; in != end && batch.size() < most_transfers; last = in++) {
    if (in->conditional && skipped(*in, index)) continue;
    if (in->kind == Kind::wait && met(*in, index)) continue;
    if (in->kind != Kind::copy) break;
    const Extent extent = in->geometry->at(index);
    if (extent.length == 0) continue;
    const Location& to = in->locations[0];
    const Location& from = in->locations[in->destinations];
    const bool write = is_remote(to);
    if (in->destinations == 2 || write == is_remote(from)) break;
    const Location& there = write ? to : from;
    if (remote_view(there).by_owner) break;
    char* here = local(write ? from : to, extent, index);
    const uint64_t offset = remote_offset(there, extent);
    Placed next{{write, there.rank, remote_view(there).at, offset, here, extent.length * element_bytes_, 0},
                remote_view(there).address + offset};
    if (!fits(next)) break;
    batch.push_back(next);
  }
  // The first copy has a form that a batch does not take.
  if (batch.empty()) return copy_by_kernel(*in, in->geometry->at(index), index) ? in : nullptr;
  std::vector<transport::Transfer> transfers;
  for (const Placed& placed : batch) {
    transfers.push_back(placed.transfer);
    team.traffic.by_kernel += placed.transfer.bytes;
  }
  if (team.mechanism->transfer(transfers.data(), transfers.size()) == 0) return last;
  for (size_t i = 0; i < transfers.size(); i++) {
    const transport::Transfer& t = transfers[i];
    if (t.error != 0 && !copy_refused(t.rank, t.write, batch[i].address, t.local, t.bytes, t.error)) return nullptr;
  }
  return last;
}

// Reduces one block. Operands are in windows if `mapped`, otherwise remote ones are copied to this rank. Returns false
// if a copy failed, the step is suspended, or a window is no longer valid (then no status is set).
bool Run::reduce_block(const Instruction& in, const Extent& extent, uint64_t index, size_t stride, bool mapped) {
  RemoteStep& step = remote_step();
  sources_.resize(in.sources);
  Window::fence();
  step.counted = 0;
  for (int s = 0; s < in.sources && !step.combined; s++) {
    const Location& from = in.locations[in.destinations + s];
    char* here = step.bounce.data() + stride * size_t(s);
    if (mapped || !is_remote(from)) here = place(from, extent, index);
    else if (!get(from, extent, here)) return false;
    if (here == nullptr) return false;
    sources_[size_t(s)] = here;
  }
  // The result goes directly to memory of this rank if the step cannot have to be repeated.
  char* local_to[2] = {nullptr, nullptr};
  int local_count = 0;
  for (int d = 0; d < in.destinations && !mapped; d++)
    if (!is_remote(in.locations[d])) local_to[local_count++] = local(in.locations[d], extent, index);
  char* first = local_count > 0 ? local_to[0] : step.bounce.data() + stride * in.sources;
  if (!step.combined) {
    step.made = step.counted = 0;
    combine(in.from_right, first, local_to[1], sources_.data(), in.sources, extent.length);
    if (mapped && !still_hold(in.locations + in.destinations, in.sources)) return false;
    step.combined = true, step.mapped = mapped;
  }
  if (local_count == 0) channel_->team->traffic.bounced += extent.length * element_bytes_;
  for (int d = 0; d < in.destinations; d++)
    if ((mapped || is_remote(in.locations[d])) && !put(in.locations[d], extent, index, first)) return false;
  return true;
}

// Reduces in one pass if all operands are mapped and none is both loaded and stored, otherwise block by block. A user's
// function gets copies: it may not be prepared for bytes that were never an operand.
bool Run::reduce_remote(const Instruction& in, const Extent& whole, uint64_t index) {
  bool mapped = channel_->team->path.load_store && arguments_.reducer->kernel != nullptr, in_place = false;
  for (int d = 0; d < in.destinations && mapped; d++)
    for (int s = 0; s < in.sources; s++)
      in_place |= share_memory(in.locations[d], in.locations[in.destinations + s], whole, index);
  RemoteStep& step = remote_step();
  if (mapped && !in_place && !step.has_begun()) {
    if (reduce_mapped(in, whole, index)) return true;
    mapped = false;
  }
  if (step.has_begun()) mapped = step.mapped;
  while (step.done < whole.length) {
    const size_t operands = in.sources + 1u;
    const size_t block =
        std::max<size_t>((mapped ? in_place_block_bytes : bounce_bytes / operands) / element_bytes_, 1);
    const Extent extent{whole.low + step.done, std::min(block, whole.length - step.done), whole.chunk_low};
    const size_t stride = (block * element_bytes_ + sync::line_bytes - 1) / sync::line_bytes * sync::line_bytes;
    step.bounce.resize(stride * operands);
    if (reduce_block(in, extent, index, stride, mapped)) next_block(step, step.done + extent.length);
    else if (status_ != COLL_OK || suspended_ || !mapped) return false;
    else mapped = false;
  }
  over(step);
  return true;
}

// Returns false if an operand is not mapped or its window is no longer valid; no source has changed then.
bool Run::reduce_mapped(const Instruction& in, const Extent& extent, uint64_t index) {
  sources_.resize(in.sources);
  Window::fence();
  char* to[2] = {nullptr, nullptr};
  for (int d = 0; d < in.destinations; d++)
    if ((to[d] = place(in.locations[d], extent, index)) == nullptr) return false;
  for (int s = 0; s < in.sources; s++)
    if ((sources_[size_t(s)] = place(in.locations[in.destinations + s], extent, index)) == nullptr) return false;
  combine(in.from_right, to[0], to[1], sources_.data(), in.sources, extent.length);
  if (!still_hold(in.locations, in.destinations + in.sources)) return false;
  const size_t bytes = extent.length * element_bytes_;
  channel_->team->traffic.loaded += bytes * in.sources;
  channel_->team->traffic.stored += bytes * in.destinations;
  return true;
}

}  // namespace coll::exec
