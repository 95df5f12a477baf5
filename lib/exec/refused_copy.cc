// SPDX-License-Identifier: BSD-3-Clause
#include "exec/refused_copy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include "exec/team.h"
#include "exec/wait.h"
#include "sync/system_wait.h"
#include "transport/arena.h"
#include "transport/cma.h"

namespace coll::exec {

namespace {

bool is_forbidden(int error) { return error == EPERM || error == EACCES || error == ENOSYS; }

// Between memory of this process that may be of any kind, or not there, and a piece of the segment. Not by loads and stores,
// which would raise a signal where there is no memory, unless the kernel forbids even this. 0 or errno.
int copy_from_any(char* piece, const void* any, size_t bytes) {
  const int error = transport::cma_write(getpid(), uint64_t(uintptr_t(piece)), any, bytes);
  if (!is_forbidden(error)) return error;
  return memcpy(piece, any, bytes), 0;
}
int copy_to_any(void* any, const char* piece, size_t bytes) {
  const int error = transport::cma_read(getpid(), any, uint64_t(uintptr_t(piece)), bytes);
  if (!is_forbidden(error)) return error;
  return memcpy(any, piece, bytes), 0;
}

}  // namespace

bool owner_can_copy(int error) { return error == EFAULT || is_forbidden(error); }

bool Team::copy_by_owner(int owner, bool write, uint64_t address, char* local, size_t bytes) {
  char* const piece = members[size_t(rank)].refused_piece;
  RefusedCopy& copy = members[size_t(rank)].state->refused;
  // An owner that has gone without an answer may still be in the middle of the copy: then the piece is not used again.
  if (piece == nullptr || copy.state.load(std::memory_order_acquire) == RefusedCopy::asked) return false;
  bool made = true;
  for (size_t done = 0, length = 0; made && done < bytes; done += length) {
    length = std::min(refused_piece_bytes, bytes - done);
    if (write && copy_from_any(piece, local + done, length) != 0) made = false;
    copy.owner = owner;
    copy.write = write;
    copy.address = address + done;
    copy.bytes = length;
    made = made && await_owner(copy, owner);
    if (made && !write && copy_to_any(local + done, piece, length) != 0) made = false;
  }
  return made;
}

bool Team::await_owner(RefusedCopy& copy, int owner) {
  constexpr uint32_t between_us = 50;
  copy.state.store(RefusedCopy::asked, std::memory_order_release);
  members[size_t(owner)].state->refusals.store(1, std::memory_order_release);
  posted();  // it probably waits for this rank
  Wait wait(*this);
  for (;;) {
    const sync::Rung rung = wait.climb([owner] { return owner; });
    const uint32_t state = copy.state.load(std::memory_order_acquire);
    if (state != RefusedCopy::asked) return state == RefusedCopy::made;
    if (rung == sync::Rung::spin) continue;
    make_refused_copies();
    if (gone(owner)) return copy.state.load(std::memory_order_acquire) == RefusedCopy::made;
    if (rung == sync::Rung::sleep) sync::sleep_us(between_us);
  }
}

void Team::make_all_refused_copies() {
  members[size_t(rank)].state->refusals.exchange(0, std::memory_order_acq_rel);
  for (const Member& member : members) {
    RefusedCopy& copy = member.state->refused;
    if (copy.state.load(std::memory_order_acquire) != RefusedCopy::asked || copy.owner != rank) continue;
    char* const piece = member.refused_piece;
    void* memory = reinterpret_cast<void*>(copy.address);
    const int error = copy.write ? copy_to_any(memory, piece, copy.bytes) : copy_from_any(piece, memory, copy.bytes);
    const transport::Arena* arena = transport::Arena::existing();
    if (arena != nullptr && arena->contains(memory, copy.bytes)) {
      map_arenas = false;
    } else if (error == 0 && !stages_own) {
      stages_own = true;
      if (on_refusal != nullptr) on_refusal();
    }
    copy.state.store(error == 0 ? RefusedCopy::made : RefusedCopy::failed, std::memory_order_release);
  }
}

}  // namespace coll::exec
