// SPDX-License-Identifier: BSD-3-Clause
#include "exec/latency_many.h"

#include <algorithm>

#include "mem/copy.h"
#include "mem/fetch.h"

namespace coll::exec {

namespace {

void post(Channel& channel, std::atomic<uint64_t>& word) {
  sync::post(word, channel.operation);
  channel.team->posted();
}

bool shows(const Channel& channel, const std::atomic<uint64_t>& word) { return sync::seen(word) >= channel.operation; }

}  // namespace

coll_status tree_barrier(Channel& channel, const TreeNeighbors& tree) {
  channel.begin_without_cell();
  Team& team = *channel.team;
  for (int child : tree.children)
    if (coll_status status = team.wait(channel.progress(child).arrived, channel.operation, child); status != COLL_OK)
      return status;
  if (tree.parent >= 0) {
    post(channel, channel.own_progress().arrived);
    coll_status status = team.wait(channel.progress(tree.parent).done, channel.operation, tree.parent);
    if (status != COLL_OK) return status;
  }
  channel.end(true, 0);
  return COLL_OK;
}

coll_status tree_bcast(Channel& channel, void* buffer, size_t bytes, int parent, bool forwards) {
  coll_status status = COLL_OK;
  if (!forwards) channel.begin_without_cell();
  else if ((status = channel.begin_cell()) != COLL_OK) return status;
  Team& team = *channel.team;
  const char* data = static_cast<const char*>(buffer);
  size_t shown = bytes;
  if (parent >= 0) {
    const Mailbox& from = channel.mailbox(parent);
    if ((status = team.wait(from.sequence, channel.operation, parent)) != COLL_OK) return status;
    data = from.payload;
    shown = from.check;
  }
  if (forwards) {
    // Forward all that the root shows, even if this rank expects less.
    Mailbox& mailbox = channel.mailbox(team.rank);
    mem::copy(mailbox.payload, data, shown);
    channel.show(mailbox, shown);
    if (parent >= 0) data = mailbox.payload;
  }
  if (parent >= 0) mem::copy(buffer, data, std::min(shown, bytes));
  if (forwards)
    mem::fetch_for_writing(&channel.next_mailbox(),
                           offsetof(Mailbox, payload) + std::min(shown, prefetched_bytes(false)));
  channel.end(false, 0);
  if (shown == bytes) return COLL_OK;
  return shown > bytes ? COLL_ERR_TRUNCATE : COLL_ERR_COUNT;
}

coll_status oversubscribed_barrier(Channel& channel) {
  channel.begin_without_cell();
  Team& team = *channel.team;
  team.publish_core();
  post(channel, channel.own_progress().begun);
  // First wait for the ranks that need this rank's core, then for the others, which do not wait for it.
  for (const bool all : {false, true})
    // The ranks just below this one have most likely run before it.
    for (int step = 1; step < team.ranks; step++) {
      const int other = (team.rank - step + team.ranks) % team.ranks;
      const Progress& of = channel.progress(other);
      if (!shows(channel, of.begun) && (all || team.may_share_core(other)))
        if (coll_status status = team.wait(of.begun, channel.operation, other, all); status != COLL_OK) return status;
      if (shows(channel, of.done)) return channel.end(true, 0), COLL_OK;
    }
  channel.end(true, 0);
  return COLL_OK;
}

}  // namespace coll::exec
