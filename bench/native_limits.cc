// SPDX-License-Identifier: BSD-3-Clause
// Compares the native API with the limits of the machine, in one run, two ranks on two cores:
//
//   allreduce of 8 B     against two one-way latencies of a cache line plus 60 ns
//   bcast of 1 MiB       against the copies that its plan makes: the root copies into memory that the reader has read,
//                        the reader copies what the root has just written; the two overlap, so the slower one counts
//   allreduce of 1 MiB   against what each rank does one after the other: copy a half in, reduce a half with one operand
//                        that the peer has just written, copy a half out
//
// The machine's speeds are measured with the same memory, between the same two cores, in the same rounds. Prints a
// table, exits with 3 when a limit is missed; --json prints one object.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "coll/coll.h"
#include "mem/copy.h"
#include "mem/reduce.h"

namespace {

constexpr size_t mib = size_t(1) << 20;
constexpr int rounds = 41;
constexpr int small_loops = 2000;

struct alignas(128) Line {
  std::atomic<uint64_t> value;
};

// Memory that the two ranks share besides libcoll: a bootstrap, a common start, a buffer for measuring the machine.
struct Shared {
  Line arrived[2], turn;
  std::atomic<double> took[2];
  char exchange[2][4096];
  alignas(4096) char buffer[mib];
};

Shared* shared;
int rank;
uint64_t meetings;

double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

void meet() {
  meetings++;
  shared->arrived[rank].value.store(meetings, std::memory_order_release);
  while (shared->arrived[1 - rank].value.load(std::memory_order_acquire) < meetings) {}
}

int allgather(const void* send, void* recv, size_t bytes, void*) {
  if (bytes > sizeof shared->exchange[0]) return 1;
  memcpy(shared->exchange[rank], send, bytes);
  meet();
  for (int r = 0; r < 2; r++) memcpy(static_cast<char*>(recv) + size_t(r) * bytes, shared->exchange[r], bytes);
  meet();
  return 0;
}

// Returns the time of the slower rank for `work`; both start together after `prepare`.
double timed(const std::function<void()>& prepare, const std::function<void()>& work) {
  prepare();
  meet();
  double begin = now_ns();
  work();
  shared->took[rank].store(now_ns() - begin);
  meet();
  double slower = std::max(shared->took[0].load(), shared->took[1].load());
  meet();
  return slower;
}

void touch(char* memory, char value) {
  for (size_t i = 0; i < mib; i += 64) memory[i] = value;
}

void read_through(const char* memory) {
  for (size_t i = 0; i < mib; i += 64) (void)*static_cast<const volatile char*>(memory + i);
}

// One-way latency of a line that both write alternately.
double line_latency_ns() {
  uint64_t first = shared->turn.value.load();
  meet();
  double begin = now_ns();
  for (uint64_t i = 0; i < small_loops; i++) {
    uint64_t mine = first + 2 * i + uint64_t(rank);
    while (shared->turn.value.load(std::memory_order_acquire) != mine) {}
    shared->turn.value.store(mine + 1, std::memory_order_release);
  }
  double one_way = (now_ns() - begin) / (2.0 * small_loops);
  meet();
  return one_way;
}

struct Measured {
  std::vector<double> latency, small, copy_in, copy_out, fold, bcast, allreduce;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(coll_comm* comm, Measured& m) {
  std::vector<char> first(mib), second(mib);
  char *a = first.data(), *b = second.data();
  coll::mem::ReduceKernel sum = coll::mem::reduce_kernel(COLL_SUM, COLL_FLOAT);
  auto nothing = [] {};
  for (int round = 0; round < rounds; round++) {
    char value = char(round);
    m.latency.push_back(line_latency_ns());
    m.small.push_back(timed(nothing,
                            [&] {
                              double in = 1, out;
                              for (int i = 0; i < small_loops; i++)
                                coll_allreduce(&in, &out, 1, COLL_DOUBLE, COLL_SUM, comm);
                            }) /
                      small_loops);
    m.copy_in.push_back(timed([&] { rank == 0 ? touch(a, value) : read_through(shared->buffer); },
                              [&] {
                                if (rank == 0) coll::mem::copy(shared->buffer, a, mib);
                              }));
    m.copy_out.push_back(timed([&] { rank == 0 ? coll::mem::copy(shared->buffer, a, mib) : touch(b, value); },
                               [&] {
                                 if (rank == 1) coll::mem::copy(b, shared->buffer, mib);
                               }));
    m.fold.push_back(timed([&] { rank == 0 ? coll::mem::copy(shared->buffer, a, mib) : touch(b, value); },
                           [&] {
                             const void* operands[] = {a, shared->buffer};
                             if (rank == 1) sum(b, nullptr, operands, 2, mib / sizeof(float));
                           }));
    m.bcast.push_back(timed([&] { touch(a, value); }, [&] { coll_bcast(a, mib, COLL_BYTE, 0, comm); }));
    m.allreduce.push_back(timed(
        [&] {
          touch(a, value);
          touch(b, value);
        },
        [&] { coll_allreduce(a, b, mib / sizeof(float), COLL_FLOAT, COLL_SUM, comm); }));
  }
}

int report(const Measured& m, bool json) {
  struct Row {
    const char* what;
    double measured_ns, limit_ns, allowed;
  };
  double latency = median(m.latency), in = median(m.copy_in), out = median(m.copy_out), fold = median(m.fold);
  const Row rows[] = {
      {"allreduce 8 B / (2 one-way latencies + 60 ns)", median(m.small), 2 * latency + 60, 1},
      {"bcast 1 MiB / its copies", median(m.bcast), std::max(in, out), 2},
      {"allreduce 1 MiB / its copies and sums", median(m.allreduce), (in + out + fold) / 2, 2},
  };
  auto speed = [](double ns) { return double(mib) / ns; };
  bool met = true;
  if (json)
    printf("{\"one_way_ns\":%.1f,\"copy_in_gbs\":%.2f,\"copy_out_gbs\":%.2f,\"sum_gbs\":%.2f,\"rows\":[", latency,
           speed(in), speed(out), speed(fold));
  else
    printf("One-way latency %.0f ns (%s); copy into a peer's cache lines %.1f GB/s, out of them %.1f, sum %.1f.\n",
           latency, latency < 120 ? "near" : "far", speed(in), speed(out), speed(fold));
  for (const Row& row : rows) {
    double ratio = row.measured_ns / row.limit_ns;
    met &= ratio <= row.allowed;
    if (json)
      printf("%s{\"what\":\"%s\",\"measured_ns\":%.1f,\"limit_ns\":%.1f,\"ratio\":%.3f,\"allowed\":%.1f}",
             &row == rows ? "" : ",", row.what, row.measured_ns, row.limit_ns, ratio, row.allowed);
    else
      printf("%s  %-46s %10.2f us / %10.2f us = %.2f (at most %.1f)\n", ratio <= row.allowed ? "pass" : "FAIL",
             row.what, row.measured_ns / 1e3, row.limit_ns / 1e3, ratio, row.allowed);
  }
  if (json) printf("]}\n");
  fflush(stdout);
  return met ? 0 : 3;
}

int run(bool json) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(rank, &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
  coll_bootstrap bootstrap{sizeof(coll_bootstrap), rank, 2, allgather, nullptr};
  coll_comm* comm = nullptr;
  if (coll_comm_create(&bootstrap, &comm) != COLL_OK) {
    fprintf(stderr, "native_limits: %s\n", coll_last_error());
    return 1;
  }
  Measured measured;
  measure(comm, measured);
  coll_comm_free(comm);
  return rank == 0 ? report(measured, json) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
    fprintf(stderr, "native_limits: needs two processors\n");
    return 77;
  }
  shared =
      static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return perror("native_limits: mmap"), 1;
  pid_t other = fork();
  if (other < 0) return perror("native_limits: fork"), 1;
  rank = other == 0 ? 1 : 0;
  int result = run(json);
  if (other == 0) return result;
  int status = 0;
  waitpid(other, &status, 0);
  return result != 0 ? result : WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
