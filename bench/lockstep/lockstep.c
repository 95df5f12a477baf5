/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules: every rank writes its own `value` and `times` only. To synchronise each adds itself to `arrived`, after all it
 * wrote before; the last one owns `deadline` until it sets `go`, and a rank that has seen `go` may read what all wrote.
 * Only the last rank wakes others: a rank that others wait for may still need the core that a wake-up would take.
 */
#define _GNU_SOURCE
#include "lockstep.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

struct line {
  _Alignas(128) _Atomic int64_t value;
};

struct flag {
  _Alignas(128) _Atomic uint64_t value;
};

struct times {
  uint64_t begin, end; /* ticks */
};

struct segment {
  struct line of[LOCKSTEP_MAX_RANKS];
  _Alignas(128) _Atomic uint64_t arrived; /* in all synchronisations so far */
  _Alignas(128) _Atomic uint64_t go;      /* synchronisations completed */
  uint64_t deadline;                      /* tick at which all start */
  int64_t agreed;
  struct flag flags[8]; /* of lockstep_flag_ns; ranks 0 and 1 write alternately */
  _Alignas(128) struct times times[LOCKSTEP_MAX_RANKS][LOCKSTEP_MAX_ITERATIONS];
};

struct lockstep {
  struct segment *segment;
  int rank, ranks, spin;
  uint64_t round;  /* synchronisations so far */
  uint64_t turns;  /* of each flag so far */
  uint64_t margin; /* ticks between the last arrival and the common start */
};

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t lockstep_ticks(void) {
#if defined(__x86_64__)
  unsigned core;
  return __rdtscp(&core);
#else
  return now_ns();
#endif
}

double lockstep_ns_per_tick(void) {
  static double ratio;
  if (ratio == 0) {
    uint64_t ns = now_ns(), ticks = lockstep_ticks(), end;
    while ((end = now_ns()) - ns < 20000000) {}
    ratio = (double)(end - ns) / (double)(lockstep_ticks() - ticks);
  }
  return ratio;
}

int lockstep_pin(int rank, int ranks) {
  cpu_set_t allowed, mine;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < ranks)
    return CPU_COUNT(&allowed) == 1 && ranks <= (int)sysconf(_SC_NPROCESSORS_ONLN) ? sched_getcpu() : -1;
  int left = rank;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &allowed) && left-- == 0) {
      CPU_ZERO(&mine);
      CPU_SET(cpu, &mine);
      return sched_setaffinity(0, sizeof mine, &mine) == 0 ? cpu : -1;
    }
  return -1;
}

size_t lockstep_segment_bytes(void) { return sizeof(struct segment); }

struct lockstep *lockstep_attach(void *segment, int rank, int ranks, int spin) {
  struct lockstep *step = calloc(1, sizeof *step);
  if (!step || ranks > LOCKSTEP_MAX_RANKS) {
    free(step);
    return NULL;
  }
  *step = (struct lockstep){.segment = segment, .rank = rank, .ranks = ranks, .spin = spin};
  /* The release must reach all ranks: a sleeper on an idle core of a virtual machine takes about 50 us to wake. */
  step->margin = (uint64_t)((spin ? 1000.0 : 100000.0) / lockstep_ns_per_tick());
  return step;
}

void lockstep_close(struct lockstep *step) { free(step); }

/* Oversubscribed ranks sleep. Yielding is not enough: if every rank has a session of its own, as MPICH's
 * launcher creates it, Linux's autogroups let a rank yield only to itself. */
static uint32_t *futex_of(_Atomic uint64_t *flag) {
  return (uint32_t *)(void *)flag; /* the low half, which changes with every increment (little-endian) */
}

static void synchronise(struct lockstep *step, uint64_t margin) {
  struct segment *segment = step->segment;
  uint64_t round = ++step->round, seen;
  if (atomic_fetch_add_explicit(&segment->arrived, 1, memory_order_acq_rel) + 1 == round * (uint64_t)step->ranks) {
    segment->deadline = lockstep_ticks() + margin;
    atomic_store_explicit(&segment->go, round, memory_order_release);
    if (!step->spin) syscall(SYS_futex, futex_of(&segment->go), FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    return;
  }
  while ((seen = atomic_load_explicit(&segment->go, memory_order_acquire)) < round) {
    if (!step->spin) syscall(SYS_futex, futex_of(&segment->go), FUTEX_WAIT, (uint32_t)seen, NULL, NULL, 0);
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* see sync::pause() */
#endif
  }
}

void lockstep_warm(void) {
  enum { BYTES = 1 << 20 };
  const double ticks = 0.3e9 / lockstep_ns_per_tick();
  /* Not from malloc(), which may place the benchmark's buffers differently after it has freed large memory. */
  char *memory = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  memset(memory, 1, 2 * BYTES); /* pages of its own */
  for (const uint64_t begin = lockstep_ticks(); (double)(lockstep_ticks() - begin) < ticks;) {
    memcpy(memory, memory + BYTES, BYTES);
    __asm__ volatile("" : : "r"(memory) : "memory");
  }
  munmap(memory, 2 * BYTES);
}

int64_t lockstep_rehearse(struct lockstep *step, double seconds, int (*iterate)(void *context), void *context) {
  enum { LEAST = 3, FEW = 12 };
  const double part_ns = seconds * 1e9 / 6, few_ns = 0.1e9;
  uint64_t quickest_ns = 0;
  for (int part = 0; part < 2; part++) {
    const uint64_t begin = now_ns();
    int made = 0, on;
    quickest_ns = UINT64_MAX;
    do {
      const uint64_t called = now_ns();
      if (iterate(context) != 0) return -1;
      const uint64_t took = now_ns() - called;
      quickest_ns = took < quickest_ns ? took : quickest_ns;
      const double gone_ns = (double)(now_ns() - begin);
      on = ++made < LEAST || gone_ns < part_ns || (made < FEW && gone_ns < few_ns);
    } while (lockstep_agree(step, on));
  }
  return lockstep_agree(step, (int64_t)(seconds * 1e9 / (double)(quickest_ns + 1)));
}

void lockstep_start(struct lockstep *step) {
  synchronise(step, step->margin);
  while (lockstep_ticks() < step->segment->deadline)
    if (!step->spin) sched_yield();
}

void lockstep_record(struct lockstep *step, int iteration, uint64_t begin, uint64_t end) {
  step->segment->times[step->rank][iteration] = (struct times){begin, end};
  if (!step->spin) synchronise(step, 0);
}

uint64_t lockstep_duration(const struct lockstep *step, int iteration) {
  uint64_t slowest = 0, first = UINT64_MAX, last = 0;
  for (int i = 0; i < step->ranks; i++) {
    struct times t = step->segment->times[i][iteration];
    slowest = t.end - t.begin > slowest ? t.end - t.begin : slowest;
    first = t.begin < first ? t.begin : first;
    last = t.end > last ? t.end : last;
  }
  return step->spin ? slowest : last - first;
}

int64_t lockstep_agree(struct lockstep *step, int64_t value) {
  if (step->rank == 0) step->segment->agreed = value;
  synchronise(step, 0);
  int64_t agreed = step->segment->agreed;
  synchronise(step, 0); /* no rank overwrites it before all have read it */
  return agreed;
}

void lockstep_post(struct lockstep *step, int64_t value) {
  atomic_store_explicit(&step->segment->of[step->rank].value, value, memory_order_relaxed);
}

int64_t lockstep_least(const struct lockstep *step) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < step->ranks; i++) {
    int64_t value = atomic_load_explicit(&step->segment->of[i].value, memory_order_relaxed);
    least = value < least ? value : least;
  }
  return least;
}

int64_t lockstep_sum(struct lockstep *step, int64_t value) {
  int64_t sum = 0;
  lockstep_post(step, value);
  synchronise(step, 0);
  for (int i = 0; i < step->ranks; i++) sum += atomic_load_explicit(&step->segment->of[i].value, memory_order_relaxed);
  synchronise(step, 0);
  return sum;
}

/* Two ranks write one line alternately. The latency depends on the home of the line in the L3: average over several. */
double lockstep_flag_ns(struct lockstep *step) {
  enum { LINES = 8, BURSTS = 3, TRIPS = 50 };
  uint64_t ticks = 0;
  if (!step->spin || step->ranks < 2) return 0;
  lockstep_start(step);
  for (int line = 0; step->rank < 2 && line < LINES; line++) {
    _Atomic uint64_t *flag = &step->segment->flags[line].value;
    uint64_t turn = step->turns, best = UINT64_MAX;
    for (int burst = 0; burst < BURSTS; burst++) {
      uint64_t begin = lockstep_ticks();
      for (int trip = 0; trip < TRIPS; trip++, turn += 2) {
        if (step->rank == 0) atomic_store_explicit(flag, turn + 1, memory_order_release);
        while (atomic_load_explicit(flag, memory_order_acquire) < turn + (step->rank == 0 ? 2 : 1)) {}
        if (step->rank == 1) atomic_store_explicit(flag, turn + 2, memory_order_release);
      }
      uint64_t took = lockstep_ticks() - begin;
      best = took < best ? took : best;
    }
    ticks += best;
  }
  step->turns += 2 * BURSTS * TRIPS;
  lockstep_start(step);
  return step->rank < 2 ? (double)ticks * lockstep_ns_per_tick() / (2.0 * TRIPS * LINES) : 0;
}
