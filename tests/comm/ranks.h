// SPDX-License-Identifier: BSD-3-Clause
// Runs a function as N ranks, each a process (fork) or a thread, with a bootstrap over shared memory. The thread
// sanitizer cannot follow several processes, so the same tests run in both forms.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../environment.h"
#include "coll/coll.h"

namespace ranks {

// Memory that the ranks share for the bootstrap and for the errors that they report to the test.
struct Shared {
  static constexpr size_t slot_bytes = 4096, most_ranks = 256;
  pthread_barrier_t barrier;
  int ranks;
  std::atomic<int64_t> moment_ns;  // when the tested event happened, by the monotonic clock
  char slots[most_ranks][slot_bytes];
  char failure[most_ranks][512];
  char doing[most_ranks][128];  // Context::about at the last set()
};

// The arguments of a rank's function.
struct Context {
  Shared* shared;
  int rank;
  int ranks;
  bool threads;
  std::string about = {};  // the current case; precedes the reason of a failure

  coll_bootstrap bootstrap() { return {sizeof(coll_bootstrap), rank, ranks, allgather, this}; }
  coll_comm* comm() {
    coll_bootstrap b = bootstrap();
    coll_comm* made = nullptr;
    if (coll_comm_create(&b, &made) != COLL_OK) fail(std::string("coll_comm_create: ") + coll_last_error());
    return made;
  }
  void fail(const std::string& why) {
    if (shared->failure[rank][0] == 0)
      snprintf(shared->failure[rank], sizeof shared->failure[rank], "%s%s%s", about.c_str(), about.empty() ? "" : ": ",
               why.c_str());
  }
  bool failed() const { return shared->failure[rank][0] != 0; }
  // Sets an environment variable for all ranks, null to unset. Collective, because threads share the environment.
  void set(const char* name, const char* value) {
    snprintf(shared->doing[rank], sizeof shared->doing[rank], "%s", about.c_str());
    meet();
    if (!threads || rank == 0) value != nullptr ? setenv(name, value, 1) : unsetenv(name);
    meet();
  }
  void meet() { pthread_barrier_wait(&shared->barrier); }

  static int allgather(const void* send, void* recv, size_t bytes, void* context) {
    auto& self = *static_cast<Context*>(context);
    if (bytes > Shared::slot_bytes) return 1;
    memcpy(self.shared->slots[self.rank], send, bytes);
    self.meet();
    for (int r = 0; r < self.ranks; r++)
      memcpy(static_cast<char*>(recv) + size_t(r) * bytes, self.shared->slots[r], bytes);
    self.meet();
    return 0;
  }
};

#define RANK_CHECK(context, condition)                                                                                 \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      (context).fail(std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition " (" + coll_last_error() + \
                     ")");                                                                                             \
  } while (0)

using Function = std::function<void(Context&)>;

inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int slowness = 5;  // in a sanitizer build: lengthens time limits, thins out sweeps
#else
inline constexpr int slowness = 1;
#endif

// The machines of tests/kmod are emulated, and so are the programs of a cross build (cmake/CollEmulation.cmake):
// everything takes many times as long.
inline bool emulated() { return getenv("KCOLL_VM") != nullptr || getenv("COLL_TEST_EMULATED") != nullptr; }
inline int time_factor() { return slowness * (emulated() ? 5 : 1); }

// There, and under sanitizers, a few ranks test every second case of a sweep and many ranks the others; all test the
// last one. Many ranks test every third root.
inline bool thins() { return time_factor() > 1; }
inline std::vector<size_t> thinned(const std::vector<size_t>& all, int ranks) {
  if (!thins()) return all;
  std::vector<size_t> some;
  for (size_t i = ranks > 4 ? 1 : 0; i + 1 < all.size(); i += 2) some.push_back(all[i]);
  some.push_back(all.back());
  return some;
}
inline int next_root(int root, int ranks) { return root + (thins() && ranks > 4 ? 3 : 1); }

inline Shared* make_shared_memory(int ranks) {
  auto* shared =
      static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  shared->ranks = ranks;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->barrier, &attributes, unsigned(ranks));
  return shared;
}

// `killed`: the rank that is expected to end by SIGKILL; -1: none. All ranks must end within `seconds`.
inline void run_processes(int ranks, const Function& function, int killed = -1, int seconds = 60) {
  Shared* shared = make_shared_memory(ranks);
  std::vector<pid_t> children;
  fflush(nullptr);
  for (int rank = 0; rank < ranks; rank++) {
    pid_t child = fork();
    if (child == 0) {
      Context context{shared, rank, ranks, false};
      function(context);
      exit(shared->failure[rank][0] == 0 ? 0 : 1);
    }
    if (child < 0) {
      for (pid_t other : children) kill(other, SIGKILL), waitpid(other, nullptr, 0);
      FAIL() << "fork: " << strerror(errno);
    }
    children.push_back(child);
  }
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds * time_factor());
  for (int rank = 0; rank < ranks; rank++) {
    int status = 0;
    bool over = false;
    while (!(over = waitpid(children[size_t(rank)], &status, WNOHANG) > 0) &&
           std::chrono::steady_clock::now() < deadline)
      usleep(1000);
    if (!over) {
      for (int r = rank; r < ranks; r++) kill(children[size_t(r)], SIGKILL);
      waitpid(children[size_t(rank)], &status, 0);
      ADD_FAILURE() << "rank " << rank << " hangs " << shared->doing[rank];
      continue;
    }
    if (rank == killed) EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "rank " << rank;
    else
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
          << "rank " << rank << ": " << shared->failure[rank] << (WIFSIGNALED(status) ? " signal" : "");
  }
  munmap(shared, sizeof(Shared));
}

// Runs two ranks and returns rank 0's output on stderr.
inline std::string stderr_of_rank_0(const Function& function) {
  const std::string path = testing::TempDir() + "coll-log-" + std::to_string(getpid());
  run_processes(2, [&](Context& c) {
    if (c.rank == 0 && freopen(path.c_str(), "w", stderr) == nullptr) c.fail("no log");
    function(c);
  });
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  unlink(path.c_str());
  return text.str();
}

inline void run_threads(int ranks, const Function& function) {
  Shared* shared = make_shared_memory(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; rank++)
    threads.emplace_back([=] {
      Context context{shared, rank, ranks, true};
      function(context);
    });
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < ranks; rank++) EXPECT_STREQ(shared->failure[rank], "") << "rank " << rank;
  munmap(shared, sizeof(Shared));
}

// These transports, without those that COLL_TEST_WITHOUT names, separated by spaces, and with those of the kernel module
// if it is loaded (in the virtual machines of tests/kmod).
inline std::vector<const char*> transports(std::vector<const char*> names) {
  const char* without = getenv("COLL_TEST_WITHOUT");
  std::istringstream words(without != nullptr ? without : "");
  for (std::string word; words >> word;) std::erase_if(names, [&](const char* name) { return name == word; });
  if (access("/dev/kcoll", F_OK) == 0) names.insert(names.end(), {"kcoll_copy", "kcoll_map", "kcoll_uring"});
  return names;
}

using coll::test::Environment;

}  // namespace ranks
