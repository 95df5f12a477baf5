// SPDX-License-Identifier: BSD-3-Clause
#include "api/launcher.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coll/coll.h"
#include "comm/error.h"

namespace {

using coll::failure;
using coll::launcher::Meeting;
using coll::launcher::slot_bytes;

struct Place {
  Meeting* meeting;
  int rank;
};

// Everybody arrives before anybody goes on. A rank that dies before is the launcher's to notice: it ends the others.
void meet(Meeting& meeting) {
  uint32_t generation = meeting.generation.load(std::memory_order_acquire);
  if (meeting.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == meeting.ranks) {
    meeting.arrived.store(0, std::memory_order_relaxed);
    meeting.generation.store(generation + 1, std::memory_order_release);
    syscall(SYS_futex, &meeting.generation, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return;
  }
  while (meeting.generation.load(std::memory_order_acquire) == generation)
    syscall(SYS_futex, &meeting.generation, FUTEX_WAIT, generation, nullptr, nullptr, 0);
}

int allgather(const void* send, void* recv, size_t bytes, void* context) {
  const Place& place = *static_cast<Place*>(context);
  if (bytes > slot_bytes) return 1;
  char* slots = reinterpret_cast<char*>(place.meeting) + slot_bytes;
  memcpy(slots + size_t(place.rank) * slot_bytes, send, bytes);
  meet(*place.meeting);
  for (uint32_t r = 0; r < place.meeting->ranks; r++)
    memcpy(static_cast<char*>(recv) + r * bytes, slots + r * slot_bytes, bytes);
  meet(*place.meeting);
  return 0;
}

int alone(const void* send, void* recv, size_t bytes, void*) {
  memcpy(recv, send, bytes);
  return 0;
}

}  // namespace

extern "C" coll_status coll_comm_create_from_launcher(coll_comm** comm) {
  if (comm == nullptr) return failure(COLL_ERR_ARG, "coll_comm_create_from_launcher: comm is NULL");
  *comm = nullptr;
  coll_bootstrap bootstrap{sizeof(coll_bootstrap), 0, 1, alone, nullptr};
  const char* text = std::getenv(coll::launcher::variable);
  if (text == nullptr) return coll_comm_create(&bootstrap, comm);
  int rank = 0, ranks = 0, descriptor = -1;
  if (sscanf(text, "%d/%d/%d", &rank, &ranks, &descriptor) != 3 || ranks < 1 || rank < 0 || rank >= ranks)
    return failure(COLL_ERR_BOOTSTRAP,
                   std::string("COLL_LAUNCH='") + text +
                       "' was not set by collctl run; start the program with `collctl run -n N program`");
  size_t bytes = coll::launcher::meeting_bytes(ranks);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return failure(COLL_ERR_BOOTSTRAP, std::string("cannot map the shared memory of collctl run: ") + strerror(errno));
  Place place{static_cast<Meeting*>(memory), rank};
  coll_status status = COLL_ERR_BOOTSTRAP;
  if (place.meeting->ranks == uint32_t(ranks)) {
    bootstrap = {sizeof(coll_bootstrap), rank, ranks, allgather, &place};
    status = coll_comm_create(&bootstrap, comm);
  } else {
    failure(status,
            "COLL_LAUNCH does not match the shared memory of collctl run; start the program with `collctl run -n N "
            "program`");
  }
  munmap(memory, bytes);
  return status;
}
