// SPDX-License-Identifier: BSD-3-Clause
#include "exec/run.h"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include "exec/wait.h"
#include "sync/clock.h"
#include "sync/system_wait.h"
#include "transport/arena.h"

namespace coll::exec {

using plan::Add;
using plan::Extent;
using plan::Kind;

void Run::reserve(const Bound& bound) {
  lanes_.reserve(bound.lanes().size());
  for (size_t l = 0; l < bound.lanes().size(); l++)
    for (const auto& loop : bound.lanes()[l].loops) {
      if (running_loops_.size() <= l) running_loops_.resize(bound.lanes().size());
      running_loops_[l].steps.reserve(loop->steps.size());
      running_loops_[l].operands.reserve(loop->operands.size());
    }
}

coll_status Run::begin(const Bound& bound, Channel& channel, const Arguments& arguments) {
  lanes_.clear();
  lanes_.reserve(bound.lanes().size());
  bound_ = &bound;
  channel_ = &channel;
  arguments_ = arguments;
  element_bytes_ = bound.element_bytes();
  direct_ = 0;
  mapped_ = false;
  may_wait_ = false;
  recorded_ = false;
  stores_shared_ = bound.stores_shared();
  if (Record* record = channel.team->record.get(); record != nullptr) [[unlikely]] {
    recorded_ = true;
    record->begin(this, bound.plan(), channel.team->rank);
  }
  status_ = channel.begin(bound.plan().staging_bytes, &staging_offset_);
  if (status_ != COLL_OK) return status_;
  if (bound.fills_staging()) channel.touch_staging(bound.plan().staging_bytes);
  for (RemoteStep& step : remote_steps_) over(step);
  lanes_left_ = 0;
  for (const BoundLane& lane : bound.lanes()) {
    const Instruction* code = lane.code.data();
    lanes_.push_back({code, code, code + lane.code.size()});
    lanes_left_ += !lane.code.empty();
  }
  if (lanes_left_ == 0) end();
  return COLL_OK;
}

// Ends the operation with an error and marks this rank as failed: its peers would wait for its flags.
Run::Progress Run::fail(coll_status status) {
  status_ = status;
  lanes_left_ = 0;
  channel_->team->fail();
  return Progress::failed;
}

Run::Progress Run::advance() try {
  if (lanes_left_ == 0) return status_ == COLL_OK ? Progress::done : Progress::failed;
  bool moved = false;
  for (LaneState& lane : lanes_) {
    if (lane.done()) continue;
    const Instruction* before = lane.next;
    uint64_t index = lane.index;
    lane_ = size_t(&lane - lanes_.data());
    switch (recorded_ ? run_recorded_lane(lane) : run_lane<false>(lane)) {
      case Outcome::ended:
        moved = true;
        lanes_left_--;
        break;
      case Outcome::blocked: moved |= lane.next != before || lane.index != index; break;
      case Outcome::left:  // run_lane() handles it, after a compiled loop
      case Outcome::failed: return fail(status_);
    }
  }
  if (lanes_left_ > 0) return moved ? Progress::moved : Progress::blocked;
  if (!holds_.empty()) [[unlikely]]
    holds_.clear();
  end();
  return Progress::done;
} catch (const std::bad_alloc&) { return fail(COLL_ERR_NO_MEMORY); }

// A rank that stored to its staging will probably do so in the next operation, too, and prefetches those lines for
// write.
void Run::end() {
  const plan::Plan& plan = bound_->plan();
  channel_->end(plan.synchronizing, bound_->last_value());
  if (bound_->stored_first().empty() || direct_ != 0) return;
  const char* next = channel_->next_staging(plan.staging_bytes);
  if (next == nullptr) return;
  for (const Bound::Stored& stored : bound_->stored_first())
    channel_->team->stores.prepare(next + stored.offset, stored.bytes);
}

coll_status Run::finish() {
  Team& team = *channel_->team;
  Wait wait(team);
  may_wait_ = true;
  for (;;) {
    switch (advance()) {
      case Progress::done:
      case Progress::failed: return status_;
      case Progress::moved: wait.again(); continue;
      case Progress::blocked: break;
    }
    if (lanes_left_ == 1) {
      // A single flag is awaited: Team::wait() knows which rank posts it.
      const LaneState& lane = *waiting_lane();
      status_ = team.wait(*lane.next->flag, target(*lane.next, lane.index), lane.next->rank);
      if (status_ != COLL_OK) return lanes_left_ = 0, status_;
    } else {
      const sync::WaitStage stage = wait.pause([this] { return awaited().rank; });
      const bool look = wait.looks() || stage == sync::WaitStage::block;
      if (look && team.progress_others != nullptr) team.progress_others(team.progress_context);
      if (stage == sync::WaitStage::block && wait.stays_awake()) continue;
      if (!idle(stage)) return status_;
    }
  }
}

bool Run::idle(sync::WaitStage stage) {
  if (stage == sync::WaitStage::spin || lanes_left_ == 0) return true;
  Team& team = *channel_->team;
  team.make_refused_copies();
  for (const LaneState& lane : lanes_) {
    if (lane.done() || lane.next->kind != Kind::wait) continue;
    const Instruction& in = *lane.next;
    uint64_t value = target(in, lane.index);
    if (team.will_never_post(*in.flag, value, in.rank)) {
      team.fail();
      status_ = COLL_ERR_PEER_DIED;
      lanes_left_ = 0;
      return false;
    }
  }
  if (stage == sync::WaitStage::block) {
    const AwaitedPost post = awaited();
    if (post.sequence != nullptr) team.sleep(*post.sequence, post.value, post.rank, nap_us);
    else sync::sleep_us(nap_us);
  }
  return true;
}

AwaitedPost Run::awaited() const {
  if (lanes_left_ == 0) return {};
  const LaneState* const lane = waiting_lane();
  if (lane == nullptr) return {};
  return {lane->next->flag, target(*lane->next, lane->index), lane->next->rank};
}

const Run::LaneState* Run::waiting_lane() const {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [](const LaneState& lane) { return !lane.done() && lane.next->kind == Kind::wait; });
  return found == lanes_.end() ? nullptr : &*found;
}

uint64_t Run::target(const Instruction& in, uint64_t index) const {
  int64_t value = in.value;
  if (in.add == Add::index) value += int64_t(index);
  if (in.add == Add::trips) value += int64_t(in.trips);
  return value <= 0 ? 0 : channel_->base + uint64_t(value);
}

// Whether a wait is over. If so, learns the view that its flag announces.
bool Run::met(const Instruction& in, uint64_t index) {
  const uint64_t value = target(in, index);
  if (value == 0) return true;
  if (!sync::is_posted(*in.flag, value)) return false;
  if (in.announces != no_bound_view) learn(in.rank, in.announces);
  return true;
}

template <bool recorded>
Run::Outcome Run::run_lane(LaneState& lane) {
  if (!recorded && lane.in_compiled_loop) {
    if (running_loops_[size_t(&lane - lanes_.data())].known != known_) lane.in_compiled_loop = false;
    else if (run_compiled(lane) == Outcome::blocked) return Outcome::blocked;
  }
  const Instruction* in = lane.next;
  uint64_t index = lane.index;
  for (; in != lane.end; in++) {
    if (in->conditional && skipped(*in, index)) continue;
    const Instruction* const step = in;
    [[maybe_unused]] const uint64_t iteration = index;
    [[maybe_unused]] int64_t begin_ns = 0;
    if constexpr (recorded) begin_ns = sync::now_ns();
    switch (in->kind) {
      case Kind::wait:
        if (!met(*in, index)) {
          lane.next = in;
          lane.index = index;
          if constexpr (recorded)
            if (Record& record = *channel_->team->record; record.is_of(this))
              record.blocked(uint32_t(&lane - lanes_.data()));
          return Outcome::blocked;
        }
        break;
      case Kind::post:
        if (mem::SharedStores& stores = channel_->team->stores; stores_shared_ && stores.is_due()) [[unlikely]]
          stores.measure(*in->flag);
        sync::post(*in->flag, target(*in, index));
        channel_->team->posted();
        break;
      case Kind::copy:
        in = copy(in, lane.end, index);
        if (in == nullptr) return stop(lane, step, index);
        break;
      case Kind::reduce:
        if (!reduce(*in, index)) return stop(lane, step, index);
        break;
      case Kind::loop:
        index = 0;
        if (in->geometry->trips == 0) {
          in = lane.code + in->value - 1;
        } else if (!recorded && lane.code[in->value - 1].compiled != nullptr &&
                   enter_compiled(lane, lane.code[in->value - 1], 0)) {
          lane.index = 0;
          if (run_compiled(lane) == Outcome::blocked) return Outcome::blocked;
          in = lane.next - 1, index = lane.index;
        }
        break;
      case Kind::end:
        if (++index >= in->geometry->trips) {
          index = 0;
        } else if (!recorded && in->compiled != nullptr && enter_compiled(lane, *in, index)) {
          lane.index = index;
          if (run_compiled(lane) == Outcome::blocked) return Outcome::blocked;
          in = lane.next - 1, index = lane.index;
        } else {
          in = lane.code + in->value - 1;
        }
        break;
      case Kind::publish: publish(in->view); break;
    }
    if constexpr (recorded) note(lane, *step, iteration, begin_ns);
  }
  lane.next = in;
  lane.index = 0;
  return Outcome::ended;
}

Run::Outcome Run::stop(LaneState& lane, const Instruction* step, uint64_t index) {
  if (!suspended_) return Outcome::failed;
  suspended_ = false;
  lane.next = step;
  lane.index = index;
  return Outcome::blocked;
}

Run::Outcome Run::run_recorded_lane(LaneState& lane) { return run_lane<true>(lane); }

void Run::note(const LaneState& lane, const Instruction& in, uint64_t index, int64_t begin_ns) {
  Record& record = *channel_->team->record;
  if (!record.is_of(this)) return;
  const auto id = uint32_t(&lane - lanes_.data());
  size_t bytes = 0;
  std::string flag;
  switch (in.kind) {
    case Kind::copy:
    case Kind::reduce:
      bytes = in.geometry->at(index).length * element_bytes_ * in.blocks;
      if (bytes == 0) return;
      break;
    case Kind::post:
    case Kind::wait: {
      const uint64_t value = target(in, index);
      if (value == 0) return;
      const int writer = in.kind == Kind::post ? channel_->team->rank : in.rank;
      const auto* first = reinterpret_cast<const char*>(&channel_->flag(writer, 0).sequence);
      const auto number = (reinterpret_cast<const char*>(in.flag) - first) / ptrdiff_t(channel_->flag_stride);
      flag = std::to_string(writer) + "." + std::to_string(number) + "." + std::to_string(value);
      if (in.kind == Kind::post) break;
      if (const int64_t since = record.waited(id); since != 0) begin_ns = since;
      break;
    }
    case Kind::publish: break;
    case Kind::loop:
    case Kind::end: return;
  }
  record.done(id, uint32_t(&in - lane.code), index, begin_ns, bytes, flag);
}

// Decides how peers access one of this rank's buffers, and publishes its address before the flag that announces it.
void Run::publish(uint8_t view_index) {
  const plan::View& view = bound_->plan().views[view_index];
  const Team& team = *channel_->team;
  const bool is_send = view.buffer == plan::Buffer::send;
  const void* buffer = is_send ? arguments_.send : arguments_.recv;
  const Bound::BufferSize& size = bound_->size(view.buffer);
  if (size.piece_bytes < team.direct_min_bytes || buffer == nullptr) return;
  size_t span = size.span_bytes;
  const size_t* offsets = is_send ? arguments_.send_offsets : arguments_.recv_offsets;
  for (size_t block = 0; block < size.blocks.size(); block++)
    span = std::max(span, offsets[block] * element_bytes_ + size.blocks[block]);
  const transport::Arena* arena = team.map_arenas ? transport::Arena::existing() : nullptr;
  const std::optional<uint64_t> offset = arena != nullptr ? arena->offset_of(buffer, span) : std::nullopt;
  const bool in_arena = offset.has_value();
  sync::FlagLine& line = channel_->flag(team.rank, view.flag);
  if (!in_arena) {
    if (bound_->access_mode() == plan::AccessMode::staged) return;
    if (bound_->access_mode() == plan::AccessMode::remote && (team.stages_own || !offer(buffer, span, view, line)))
      return;
  }
  if (!size.blocks.empty()) {
    char* part = channel_->ring_of(bound_->plan().staging_bytes).parts.of(team.rank);
    char* table = part + staging_offset_ + view.table_offset;
    for (size_t block = 0; block < size.blocks.size(); block++)
      reinterpret_cast<uint64_t*>(table)[block] = offsets[block] * element_bytes_;
  }
  if (in_arena) team.publish_arena(arena->descriptor());
  line.published_address.store(uint64_t(uintptr_t(buffer)), std::memory_order_relaxed);
  line.published_offset.store(in_arena ? *offset + 1 : 0, std::memory_order_relaxed);
  sync::post(line.published_operation, channel_->operation);
  direct_ |= 1u << view_index;
  known_++;
  mapped_ |= in_arena;
  channel_->seen[channel_->place_of(team.rank, view_index)] = {channel_->operation,
                                                               static_cast<char*>(const_cast<void*>(buffer))};
}

void Run::learn(int rank, uint8_t view_index) {
  const Team& team = *channel_->team;
  const plan::View& view = bound_->plan().views[view_index];
  const sync::FlagLine& line = channel_->flag(rank, view.flag);
  Seen& seen = channel_->seen[channel_->place_of(rank, view_index)];
  if (seen.operation == channel_->operation || sync::seen(line.published_operation) != channel_->operation) return;
  uint64_t address = line.published_address.load(std::memory_order_relaxed);
  uint64_t offset = line.published_offset.load(std::memory_order_relaxed);
  seen.operation = channel_->operation;
  known_++;
  seen.local = nullptr;
  if (team.members[size_t(rank)].peer->same_process()) {
    seen.local = reinterpret_cast<char*>(address);
  } else if (offset == 0) {
    resolve_remote(rank, view_index, line);
  } else if (char* memory = team.arena_of(rank, offset - 1)) {
    seen.local = memory, mapped_ = true;
  } else {
    remote_view_of(rank, view_index) = {.address = address, .by_owner = true};
  }
}

// Byte offset of a block of an irregular plan's buffer. Only the owner of a view knows it, and stores it in a table
// before the flag announces the view.
size_t Run::looked_up(const Location& at) const {
  if (at.where == Location::Where::send) return arguments_.send_offsets[at.block] * element_bytes_;
  if (at.where == Location::Where::recv) return arguments_.recv_offsets[at.block] * element_bytes_;
  const char* table = at.staging + staging_offset_ + bound_->plan().views[at.view].table_offset;
  return reinterpret_cast<const uint64_t*>(table)[at.block];
}

char* Run::local(const Location& at, const Extent& extent, uint64_t index) const {
  if (is_staged(at)) return at.staging + staging_offset_ + slot(at, extent, index, element_bytes_);
  return buffer(at) + extent.low * element_bytes_;
}

// Makes the copy `in`, and, if it is remote, perhaps some steps after it. Returns the last step made; null if it failed
// or is suspended.
const Instruction* Run::copy(const Instruction* in, const Instruction* end, uint64_t index) {
  Extent extent = in->geometry->at(index);
  if (extent.length == 0) return in;
  if (in->blocks != 1) [[unlikely]]
    return copy_blocks(*in, extent, index), in;
  size_t bytes = extent.length * element_bytes_;
  const Location& to = in->locations[0];
  const Location& from = in->locations[in->destinations];
  if (is_remote(from)) return copy_remote(in, end, index);
  const char* source = local(from, extent, index);
  if (is_remote(to)) return copy_remote(in, end, index);
  char* first = local(to, extent, index);
  char* second = in->destinations == 2 ? local(in->locations[1], extent, index) : nullptr;
  copy_here(in->shared, in->stream, first, second, source, bytes);
  return in;
}

// Copies consecutive blocks, none of which is in a peer's buffer.
void Run::copy_blocks(const Instruction& in, const Extent& extent, uint64_t index) const {
  const Location &to = in.locations[0], &from = in.locations[1];
  const size_t bytes = extent.length * element_bytes_;
  char* first = local(to, extent, index);
  const char* source = local(from, extent, index);
  if (to.block_stride == bytes && from.block_stride == bytes)
    return copy_here(in.shared, in.stream, first, nullptr, source, in.blocks * bytes);
  for (int block = 0; block < in.blocks; block++, first += to.block_stride, source += from.block_stride)
    copy_here(in.shared, in.stream, first, nullptr, source, bytes);
}

void Run::copy_here(int shared, bool stream, char* first, char* second, const char* source, size_t bytes) const {
  if (shared == 0) return copy_local(first, second, source, bytes, stream);
  mem::SharedStores& stores = channel_->team->stores;
  if (second == nullptr) return stores.write(first, source, bytes);
  if (shared == 2) std::swap(first, second);
  stores.write(first, second, source, bytes);
}

bool Run::reduce(const Instruction& in, uint64_t index) {
  Extent extent = in.geometry->at(index);
  if (extent.length == 0) return true;
  int operands = in.destinations + in.sources;
  for (int i = 0; i < operands; i++)
    if (is_remote(in.locations[i])) [[unlikely]]
      return reduce_remote(in, extent, index);
  const void* few[16];
  std::unique_ptr<const void*[]> many;
  const void** sources = few;
  if (in.sources > 16) [[unlikely]]
    sources = (many = std::make_unique<const void*[]>(in.sources)).get();
  for (int s = 0; s < in.sources; s++) sources[s] = local(in.locations[in.destinations + s], extent, index);
  char* first = local(in.locations[0], extent, index);
  char* second = in.destinations == 2 ? local(in.locations[1], extent, index) : nullptr;
  reduce_here(in.shared, in.from_right, first, second, sources, in.sources, extent.length);
  return true;
}

void Run::reduce_here(int shared, bool from_right, char* first, char* second, const void** sources, int count,
                      size_t elements) const {
  if (second == first) second = nullptr;  // the view is direct: the result is stored there already
  if (shared == 0) return combine(from_right, first, second, sources, count, elements);
  if (shared == 2 && second != nullptr) std::swap(first, second);
  channel_->team->stores.reduce(first, second, sources, count, elements, element_bytes_,
                                [&](char* to, char* also_to, const void* const* from, size_t length) {
                                  combine(from_right, to, also_to, from, count, length);
                                });
}

}  // namespace coll::exec
