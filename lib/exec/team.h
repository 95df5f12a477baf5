// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a communicator as the executor needs them: where their flags and staging lie, how to wait for them, and
// how to notice that one has gone. lib/comm fills it in.
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
#include "sync/doorbell.h"
#include "sync/flag.h"
#include "sync/ladder.h"
#include "sync/protocols.h"
#include "transport/access.h"
#include "transport/life.h"
#include "transport/peer.h"

namespace coll::exec {

// Between two looks of a rank that spins at whether anything else wants progress. One that yields also looks after each
// yield whether the awaited rank still lives: a yield can last a time slice of all other ranks on the core, and a look
// takes less than the yield.
inline constexpr uint32_t rounds_between_looks = 64;
// A sleep for one flag while something else may come first: another lane, another operation, another library.
inline constexpr uint32_t nap_us = 200;

// How ranks reach each other's ordinary memory; chosen for each plan. Memory of an arena is mapped whatever it is.
enum class Reach : uint8_t {
  staged,  // not at all: data is staged in shared memory
  remote,  // by the team's access: the kernel copies or maps
  direct,  // all ranks are threads of one process
};

// What stands in shared memory for each rank of a communicator, besides its channels. One writer: the rank; the kernel
// marks its end, and any rank may abort it.
struct RankState {
  enum : uint32_t { alive = 0, left = 1, failed = 2 };
  alignas(sync::line_bytes) std::atomic<uint32_t> state;
  std::atomic<uint32_t> core;      // one more than that which it was last on, as far as it has told; 0: it has not
  std::atomic<uint32_t> refusals;  // 1: a peer wants a copy that it cannot make; see refused_copy.h
  std::atomic<uint32_t> arena;     // one more than the descriptor of the rank's arena; 0: no view lay there yet
  transport::LifeMark life;
  std::atomic<uint32_t> aborted;  // by whom and why, see Abort; 0: not. Stays as it was first set
  sync::Doorbell bell;
  RefusedCopy refused;
};
static_assert(offsetof(RankState, bell) == sync::line_bytes);  // a look at a peer loads one line

// That a rank has ended all waiting of the communicator, for a reason that is not OK.
struct Abort {
  int by_rank;
  coll_status why;
};

struct Member {
  RankState* state = nullptr;
  char* refused_piece = nullptr;  // [refused_piece_bytes]; null: the rank can ask no peer for a copy
  std::shared_ptr<transport::Peer> peer;
};

// What this rank's far steps have moved: through windows, as the plan says; in place through a block of its own in
// between; by copies of the kernel.
struct Traffic {
  uint64_t loaded = 0, stored = 0, apart = 0, by_kernel = 0;
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
  Reach reach = Reach::staged;
  std::unique_ptr<transport::Access> access;  // may be null when no plan is bound to Reach::remote
  transport::Abilities abilities;             // of the access
  Traffic traffic;
  std::unique_ptr<Record> record;    // null: nothing is recorded
  bool map_arenas = true;            // peers use this rank's buffers in place where they lie in its arena
  size_t direct_min_bytes = 8192;    // smaller vectors are staged although they could be reached
  bool stages_own = false;           // this rank's buffers, as the kernel refused a copy of one
  std::function<void()> on_refusal;  // called when that begins; may be null
  sync::Patience patience;
  bool crowded = false;  // more ranks than cores
  // As the last long wait found: the awaited rank was on this core although it could have one of its own. While it holds,
  // every wait tells the core first, so that ranks which part notice at once. Several threads of the rank may write it.
  std::atomic<bool> shares_core = false;
  mem::SharedStores stores;  // to what this rank stages
  // Called now and then while a rank waits, so that other operations of the communicator advance. May be null.
  void (*progress_others)(void* context) = nullptr;
  void* progress_context = nullptr;
  // Of the latency paths: by rank, what it showed in its arena, which could not be mapped. Else empty.
  std::vector<std::vector<char>> fetched;

  // After every post: wakes whoever sleeps on this rank.
  void posted() { sync::doorbell_after_post(bell()); }
  sync::Doorbell& bell() { return members[size_t(rank)].state->bell; }

  // Until line.sequence >= value, which `rank` posts. OK or PEER_DIED. `for_it_alone`: for nobody else who needs this core,
  // so that it need not be passed on at once if that rank has another.
  coll_status wait(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank, bool for_it_alone = false) {
    if (sync::is_posted(sequence, value)) [[likely]]
      return COLL_OK;
    return wait_slow(sequence, value, of_rank, for_it_alone);
  }
  // Tells the others which core this rank runs on: always where ranks share cores, else when a wait gets long. Only how
  // a rank waits depends on it: ranks move.
  void tell_core();
  // Whether another rank was last seen on this rank's core, or nowhere.
  bool is_here(int of_rank) const { return core_of(of_rank) == 0 || is_known_here(of_rank); }
  // Whether it was last seen there; after tell_core(). False for -1: no rank.
  bool is_known_here(int of_rank) const { return of_rank >= 0 && core_of(of_rank) == core_of(rank); }

  // Sleeps until that may hold, or for a while.
  void sleep(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank, uint32_t at_most_us);

  // The rank has ended, left or failed, or the communicator was aborted: what it has not posted yet it never will.
  bool gone(int of_rank) const;
  // The rank has gone without posting it. What it posted before it went still counts. A rank that waits looks here now and
  // then, and makes copies for peers that may be what it waits for.
  bool lost(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank) {
    make_refused_copies();
    return gone(of_rank) && !sync::is_posted(sequence, value);
  }
  // A copy between a peer's memory and memory here that the kernel refuses. False: it cannot be made, or the owner is
  // gone. See refused_copy.h.
  bool copy_by_owner(int owner, bool write, uint64_t address, char* local, size_t bytes);
  // The same without waiting: to be called until it is no longer pending.
  OwnersAnswer advance(OwnersCopy& copy);
  // It is no longer needed; the owner may still make it.
  void abandon(const OwnersCopy& copy) { piece_is_abandoned_ |= copy.asked != 0; }
  void make_refused_copies() {
    if (sync::is_wanted(members[size_t(rank)].state->refusals)) make_all_refused_copies();
  }
  // Tells the others where this rank's arena is. To be called before a view of it is announced.
  void tell_arena(int descriptor) const {
    std::atomic<uint32_t>& told = members[size_t(rank)].state->arena;
    if (told.load(std::memory_order_relaxed) == 0) told.store(uint32_t(descriptor) + 1, std::memory_order_relaxed);
  }
  // Where a view in another process's arena, which the rank has announced, is mapped. Null when it cannot be mapped: then
  // the rank copies, see refused_copy.h.
  char* arena_of(int of_rank, uint64_t offset) const {
    const Member& member = members[size_t(of_rank)];
    return member.peer->arena(int(member.state->arena.load(std::memory_order_relaxed)) - 1, offset);
  }
  // Tells the others that this rank can no longer take part.
  void fail();
  // Ends all waiting of all ranks: to them every peer is gone(). By any thread.
  void abort(coll_status why);
  bool is_aborted() const { return sync::seen(members[size_t(rank)].state->aborted) != 0; }
  // REQUIRES: is_aborted().
  Abort aborted() const;

 private:
  bool piece_is_taken_ = false, piece_is_abandoned_ = false;  // this rank's, by an OwnersCopy

  uint32_t core_of(int of_rank) const { return members[size_t(of_rank)].state->core.load(std::memory_order_relaxed); }
  void make_all_refused_copies();
  coll_status wait_slow(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank, bool for_it_alone);
};

}  // namespace coll::exec
