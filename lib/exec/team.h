// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a communicator as the executor needs them: where their flags and staging are, how to wait for them, and
// how to detect that one has exited. lib/comm fills it in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "coll/coll.h"
#include "exec/record.h"
#include "exec/refused_copy.h"
#include "mem/shared_stores.h"
#include "plan/access_mode.h"
#include "sync/backoff.h"
#include "sync/doorbell.h"
#include "sync/flag.h"
#include "sync/protocols.h"
#include "transport/life.h"
#include "transport/mechanism.h"
#include "transport/peer.h"

namespace coll::exec {

// A spinning rank advances other operations once in so many rounds. A yielding rank also checks after each yield
// whether the awaited rank is alive: a yield can last a time slice of every other rank on the core, a check takes less.
inline constexpr uint32_t rounds_between_looks = 64;
// Set by Team::progress_others in the waiting thread: other work of the program moved, and more of it is likely to follow
// before a sleep would end.
inline constinit thread_local bool others_moved = false;
// A sleep for one flag while something else may come first: another lane, another operation, another library.
inline constexpr uint32_t nap_us = 200;

// State of a rank of the communicator in shared memory, besides its channels. The rank writes it, except for `life`, by
// which the kernel marks its end, and `refusals`, `aborted` and the sleepers of `bell`, which its peers write.
struct RankState {
  enum : uint32_t { alive = 0, left = 1, failed = 2 };
  alignas(sync::line_bytes) std::atomic<uint32_t> state;
  std::atomic<uint32_t> core;      // 1 + the processor that it last published; 0: none
  std::atomic<uint32_t> refusals;  // 1: a peer wants a copy that it cannot make; see refused_copy.h
  std::atomic<uint32_t> arena;     // 1 + the descriptor of the rank's arena; 0: no view was in it yet
  transport::LifeMark life;
  std::atomic<uint32_t> aborted;  // rank and reason, see Abort; 0: not aborted. Set once
  sync::Doorbell bell;
  RefusedCopy refused;
};
static_assert(offsetof(RankState, bell) == sync::line_bytes);  // to check a peer loads one line

// Describes the abort by which a rank ended all waiting on the communicator; `why` is not OK.
struct Abort {
  int by_rank;
  coll_status why;
};

struct Member {
  RankState* state = nullptr;
  char* refused_piece = nullptr;  // [refused_piece_bytes]; null: the rank can ask no peer for a copy
  std::shared_ptr<transport::Peer> peer;
};

// Bytes that this rank's remote steps have moved: loaded and stored through mappings, through a private bounce
// buffer, and by kernel-assisted copies.
struct Traffic {
  uint64_t loaded = 0, stored = 0, bounced = 0, by_kernel = 0;
};

// A value that a rank waits for another rank to post.
struct AwaitedPost {
  const std::atomic<uint64_t>* sequence = nullptr;  // null: none
  uint64_t value = 0;
  int rank = -1;
};

class Team {
 public:
  int rank = 0;
  int ranks = 1;
  std::vector<Member> members;
  plan::AccessMode access_mode = plan::AccessMode::staged;
  std::unique_ptr<transport::Mechanism> mechanism;  // of AccessMode::remote; may be null if no plan uses that
  transport::Path path;                             // of the mechanism
  Traffic traffic;
  std::unique_ptr<Record> record;    // null: nothing is recorded
  bool map_arenas = true;            // peers use this rank's buffers in place if they are in its arena
  size_t direct_min_bytes = 8192;    // smaller vectors are staged although they could be reached
  bool stages_own = false;           // this rank stages its buffers: the kernel refused a copy of one
  std::function<void()> on_refusal;  // called when stages_own becomes true; may be null
  sync::SpinPolicy spin_policy;
  bool oversubscribed = false;  // more ranks than cores
  // Result of the last long wait: the awaited rank was on this core although it could have one of its own. While true,
  // every wait publishes the core first, so that a migration is noticed at once. Written by any thread of the rank.
  std::atomic<bool> shares_core = false;
  mem::SharedStores stores;  // how this rank stores staged data
  // Called periodically while a rank waits, so that other operations of the communicator advance. May be null.
  void (*progress_others)(void* context) = nullptr;
  void* progress_context = nullptr;
  // Latency paths: copies, by rank, of payloads in an arena that could not be mapped. Otherwise empty.
  std::vector<std::vector<char>> fetched;

  // After every post: wakes the ranks that sleep on this rank's doorbell.
  void posted() { sync::doorbell_after_post(bell()); }
  sync::Doorbell& bell() { return members[size_t(rank)].state->bell; }

  // Waits until sequence >= value, which `of_rank` posts. Returns OK or PEER_DIED. `for_it_alone`: no rank but
  // `of_rank` needs this core during the wait, so that it is not yielded at once if that rank runs on another.
  coll_status wait(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank, bool for_it_alone = false) {
    if (sync::is_posted(sequence, value)) [[likely]]
      return COLL_OK;
    return wait_slow(sequence, value, of_rank, for_it_alone);
  }
  // Publishes the core that this rank runs on: always if oversubscribed, otherwise when a wait gets long. Only the way
  // of waiting may depend on it, because ranks migrate.
  void publish_core();
  // True if another rank was last seen on this rank's core, or has not published one.
  bool may_share_core(int of_rank) const { return core_of(of_rank) == 0 || shares_core_with(of_rank); }
  // True if it was last seen there. REQUIRES: publish_core(). False for rank -1.
  bool shares_core_with(int of_rank) const { return of_rank >= 0 && core_of(of_rank) == core_of(rank); }

  // Sleeps until sequence >= value may hold, at most so long.
  void sleep(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank, uint32_t at_most_us);

  // True if the rank has exited, left or failed, or the communicator was aborted: it posts nothing more.
  bool has_exited(int of_rank) const;
  // True if the rank has exited without posting the value; a value posted before still counts. A waiting rank calls it
  // periodically. It also makes copies for peers, because one of them may be what this rank waits for.
  bool will_never_post(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank) {
    make_refused_copies();
    return has_exited(of_rank) && !sync::is_posted(sequence, value);
  }
  // Lets the owner make a copy between its memory and this rank's that the kernel refuses. Returns false if it cannot
  // be made or the owner has exited. See refused_copy.h.
  bool copy_by_owner(int owner, bool write, uint64_t address, char* local, size_t bytes);
  // The same without waiting: call it until it no longer returns `pending`.
  OwnersAnswer advance(OwnersCopy& copy);
  // Gives up a copy that is no longer needed; the owner may still make it.
  void abandon(const OwnersCopy& copy) { piece_is_abandoned_ |= copy.asked != 0; }
  void make_refused_copies() {
    if (sync::is_wanted(members[size_t(rank)].state->refusals)) make_all_refused_copies();
  }
  // Publishes the descriptor of this rank's arena. REQUIRES: called before a view of it is announced.
  void publish_arena(int descriptor) const {
    std::atomic<uint32_t>& arena = members[size_t(rank)].state->arena;
    if (arena.load(std::memory_order_relaxed) == 0) arena.store(uint32_t(descriptor) + 1, std::memory_order_relaxed);
  }
  // The address at which an announced view in another process's arena is mapped. Null if it cannot be mapped: then the
  // owner copies, see refused_copy.h.
  char* arena_of(int of_rank, uint64_t offset) const {
    const Member& member = members[size_t(of_rank)];
    return member.peer->arena(int(member.state->arena.load(std::memory_order_relaxed)) - 1, offset);
  }
  // Marks this rank as failed; all other ranks see it.
  void fail();
  // Ends all waiting of all ranks: for them every peer has_exited(). Thread safe.
  void abort(coll_status why);
  bool is_aborted() const { return sync::seen(members[size_t(rank)].state->aborted) != 0; }
  // REQUIRES: is_aborted().
  Abort aborted() const;

 private:
  bool piece_is_used_ = false, piece_is_abandoned_ = false;  // this rank's, by an OwnersCopy

  uint32_t core_of(int of_rank) const { return members[size_t(of_rank)].state->core.load(std::memory_order_relaxed); }
  void make_all_refused_copies();
  coll_status wait_slow(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank, bool for_it_alone);
};

}  // namespace coll::exec
