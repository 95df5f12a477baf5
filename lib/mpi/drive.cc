// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/drive.h"

#include "mpi/below.h"
#include "mpi/communicators.h"

#include <sched.h>

namespace coll::shim {
namespace {

constexpr int short_wait_tests = 128;  // some microseconds: peers that arrive together need no more
constexpr int tests_per_look = 16;     // so that a look into MPI delays the collective little
constexpr int patient_looks = 16;      // then others may want the core

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Asking after a request that is not complete is what makes both libraries progress. (A probe is not: MPICH looks
// no further than the message queue of a communicator of one.)
void look_into_mpi() {
  int flag = 0;
  found.Request_get_status(endless_request(), &flag, MPI_STATUS_IGNORE);
}

}  // namespace

coll_status drive(coll_request *request) {
  int done = 0;
  for (int i = 0; i < short_wait_tests; i++) {
    const coll_status status = coll_test(&request, &done);
    if (done != 0 || status != COLL_OK) return status;
    relax();
  }
  for (long looks = 0;; looks++) {
    look_into_mpi();
    const bool yield = looks >= patient_looks;
    if (yield) sched_yield();
    for (int i = 0; i < (yield ? 1 : tests_per_look); i++) {
      const coll_status status = coll_test(&request, &done);
      if (done != 0 || status != COLL_OK) return status;
      relax();
    }
  }
}

}  // namespace coll::shim
