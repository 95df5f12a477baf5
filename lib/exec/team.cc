// SPDX-License-Identifier: BSD-3-Clause
#include "exec/team.h"

#include <sched.h>

#include "exec/wait.h"

namespace coll::exec {

namespace {

struct Awaited {
  const std::atomic<uint64_t>& sequence;
  uint64_t value;
  const std::atomic<uint32_t>& state;    // of the rank that posts it
  const std::atomic<uint32_t>& aborted;  // of the rank that waits
  // Posted, left, failed or aborted: each of these rings the doorbell.
  bool over() const {
    return sync::is_posted(sequence, value) || sync::seen(state) != RankState::alive || sync::seen(aborted) != 0;
  }
};

void set_once(std::atomic<uint32_t>& word, uint32_t value) {
  uint32_t unset = 0;
  word.compare_exchange_strong(unset, value, std::memory_order_acq_rel);
}

}  // namespace

bool Team::has_exited(int of_rank) const {
  if (is_aborted()) return true;
  const Member& member = members[size_t(of_rank)];
  const bool ended = sync::seen(member.state->state) != RankState::alive || member.peer->is_dying(member.state->life);
  // The rank may have failed because the communicator was aborted, by a rank that has not marked this one yet.
  if (const uint32_t aborted = ended ? sync::seen(member.state->aborted) : 0; aborted != 0)
    set_once(members[size_t(rank)].state->aborted, aborted);
  return ended;
}

void Team::abort(coll_status why) {
  const uint32_t word = uint32_t(rank) << 8 | uint32_t(why);
  for (const Member& member : members) set_once(member.state->aborted, word);
  for (const Member& member : members) sync::doorbell_ring(member.state->bell);
}

Abort Team::aborted() const {
  const uint32_t word = sync::seen(members[size_t(rank)].state->aborted);
  return {int(word >> 8), coll_status(word & 0xff)};
}

void Team::fail() {
  RankState& own = *members[size_t(rank)].state;
  if (own.state.load(std::memory_order_relaxed) == RankState::alive) {
    sync::post(own.state, RankState::failed);
    posted();
  }
}

void Team::publish_core() {
  const uint32_t here = uint32_t(sched_getcpu()) + 1;
  std::atomic<uint32_t>& core = members[size_t(rank)].state->core;
  if (core.load(std::memory_order_relaxed) != here) core.store(here, std::memory_order_relaxed);
}

coll_status Team::wait_slow(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank, bool for_it_alone) {
  Wait wait(*this, for_it_alone && !may_share_core(of_rank));
  for (;;) {
    if (sync::is_posted(sequence, value)) return COLL_OK;
    const sync::WaitStage stage = wait.pause([of_rank] { return of_rank; });
    if (progress_others != nullptr && wait.looks()) progress_others(progress_context);
    if (stage == sync::WaitStage::spin) continue;
    if (will_never_post(sequence, value, of_rank)) return fail(), COLL_ERR_PEER_DIED;
    if (stage != sync::WaitStage::block) continue;
    if (progress_others != nullptr) progress_others(progress_context);
    if (!wait.stays_awake())
      sleep(sequence, value, of_rank, progress_others != nullptr ? nap_us : wait.next_sleep_us());
  }
}

void Team::sleep(const std::atomic<uint64_t>& sequence, uint64_t value, int of_rank, uint32_t at_most_us) {
  RankState& poster = *members[size_t(of_rank)].state;
  Awaited awaited{sequence, value, poster.state, members[size_t(rank)].state->aborted};
  sync::doorbell_sleep(
      poster.bell, [](const void* a) { return static_cast<const Awaited*>(a)->over(); }, &awaited, at_most_us);
}

}  // namespace coll::exec
