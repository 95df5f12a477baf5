// SPDX-License-Identifier: BSD-3-Clause
#include "comm/block.h"

#include <list>
#include <mutex>
#include <new>
#include <pthread.h>
#include <utility>

#include "comm/drift.h"
#include "mem/huge_pages.h"
#include "mem/processor.h"
#include "transport/arena.h"

namespace coll::comm {

namespace {

constexpr size_t page = 4096, huge_page = mem::huge_page_bytes;
// Where large memory of malloc() begins: what is copied in and out then lies alike on both sides, as string instructions
// like it. Others' vectors were measured with staging at the beginning of a page.
size_t behind_page() { return mem::processor().strings_overwrite() ? 16 : 0; }
static_assert(2 * half_bytes % huge_page == 0 && exec::payloads_bytes % huge_page == 0);
size_t page_up(size_t bytes) { return (bytes + page - 1) / page * page; }

// Of one process. Never destroyed: peers may be swept at any time until the process ends.
struct Graves {
  std::list<Graveyard::Grave> list;
  Graves* of_parent = nullptr;
};
std::mutex mutex;
Graves* own = nullptr;
Graves* inherited = nullptr;  // of all ancestors; referred to, so that leak checkers find what is in them
std::list<Graveyard::Grave>& graves() {
  if (own == nullptr) own = new Graves;
  return own->list;
}

// They are the parent's, in memory that is not mapped in a child, and another thread may have been at the list.
void forget_graves() {
  new (&mutex) std::mutex;
  if (own == nullptr) return;
  own->of_parent = inherited;
  inherited = std::exchange(own, nullptr);
}
const bool fork_is_watched = pthread_atfork(nullptr, nullptr, forget_graves) == 0;

bool everybody_left(const Graveyard::Grave& grave) {
  for (size_t rank = 0; rank < grave.members.size(); rank++) {
    if (int(rank) == grave.own_rank) continue;
    auto* left = reinterpret_cast<std::atomic<uint8_t>*>(grave.block + grave.layout.left_by + rank);
    if (left->load(std::memory_order_acquire) == 0 && !grave.members[rank].peer->ended()) return false;
  }
  return true;
}

}  // namespace

BlockLayout::BlockLayout(int ranks) {
  left_by = sizeof(exec::RankState);
  stamps = (left_by + size_t(ranks) + alignof(Stamp) - 1) / alignof(Stamp) * alignof(Stamp);
  size_t end = page_up(stamps + comm::stamps * sizeof(Stamp));
  for (int c = 0; c < channel_count; c++) {
    channel[c] = end;
    end = page_up(end + sizeof(exec::ChannelMemory));
  }
  payloads = (end + huge_page - 1) / huge_page * huge_page + behind_page();
  end = payloads + exec::payloads_bytes;
  for (int c = 0; c < channel_count; c++) {
    staging[c] = end;
    end += 2 * half_bytes;
  }
  bytes = page_up(end);
}

void Graveyard::bury(Grave grave) {
  {
    std::lock_guard lock(mutex);
    graves().push_back(std::move(grave));
  }
  sweep();
}

void Graveyard::sweep() {
  std::lock_guard lock(mutex);
  for (auto grave = graves().begin(); grave != graves().end();) {
    if (!everybody_left(*grave)) {
      ++grave;
      continue;
    }
    if (transport::Arena* arena = transport::Arena::existing()) arena->free(grave->block);
    grave = graves().erase(grave);
  }
}

}  // namespace coll::comm
