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

// Copy between memory of this process, which may be of any kind or unmapped, and a part of the segment. They use CMA on
// this process: loads and stores, which would raise a signal on unmapped memory, serve only if the kernel forbids even
// this. Return 0 or errno.
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
  constexpr uint32_t between_us = 50;
  OwnersCopy copy{owner, write, address, local, bytes};
  Wait wait(*this);
  for (;;) {
    const OwnersAnswer answer = advance(copy);
    if (answer != OwnersAnswer::pending) return answer == OwnersAnswer::made;
    const sync::WaitStage stage = wait.pause([owner] { return owner; });
    if (stage == sync::WaitStage::spin) continue;
    make_refused_copies();
    // A request of this rank may hold the piece.
    if (progress_others != nullptr) progress_others(progress_context);
    if (stage == sync::WaitStage::block) sync::sleep_us(between_us);
  }
}

OwnersAnswer Team::advance(OwnersCopy& copy) {
  char* const piece = members[size_t(rank)].refused_piece;
  RefusedCopy& shared = members[size_t(rank)].state->refused;
  if (piece == nullptr) return OwnersAnswer::failed;
  for (;;) {
    // An owner that exited without an answer may still be in the middle of the copy: then the piece is not used again.
    const bool has_gone = piece_is_used_ && has_exited(shared.owner);
    const uint32_t state = sync::seen(shared.state);
    if (piece_is_abandoned_ && state != RefusedCopy::asked) piece_is_used_ = piece_is_abandoned_ = false;
    if (copy.asked == 0 && piece_is_used_) return has_gone ? OwnersAnswer::failed : OwnersAnswer::pending;
    if (copy.asked != 0) {
      if (state == RefusedCopy::asked) return has_gone ? OwnersAnswer::failed : OwnersAnswer::pending;
      piece_is_used_ = false;
      if (state != RefusedCopy::made) return OwnersAnswer::failed;
      if (!copy.write && copy_to_any(copy.local + copy.done, piece, copy.asked) != 0) return OwnersAnswer::failed;
      copy.done += copy.asked;
      copy.asked = 0;
    }
    if (copy.done >= copy.bytes) return OwnersAnswer::made;
    const size_t length = std::min(refused_piece_bytes, copy.bytes - copy.done);
    if (copy.write && copy_from_any(piece, copy.local + copy.done, length) != 0) return OwnersAnswer::failed;
    copy.asked = length;
    piece_is_used_ = true;
    shared.owner = copy.owner;
    shared.write = copy.write;
    shared.address = copy.address + copy.done;
    shared.bytes = length;
    sync::ask(shared.state, RefusedCopy::asked, members[size_t(copy.owner)].state->refusals);
    posted();  // the owner probably waits for this rank
  }
}

void Team::make_all_refused_copies() {
  sync::clear_wanted(members[size_t(rank)].state->refusals);
  for (const Member& member : members) {
    RefusedCopy& copy = member.state->refused;
    if (sync::seen(copy.state) != RefusedCopy::asked || copy.owner != rank) continue;
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
    sync::post(copy.state, error == 0 ? RefusedCopy::made : RefusedCopy::failed);
  }
}

}  // namespace coll::exec
