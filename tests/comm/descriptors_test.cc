// SPDX-License-Identifier: BSD-3-Clause
// A communicator holds no descriptor after its creation, so a program may close all descriptors.
#include <dirent.h>
#include <fcntl.h>

#include "comm/collectives.h"

using namespace ranks;

namespace {

std::vector<int> descriptors() {
  std::vector<int> found;
  DIR* directory = opendir("/proc/self/fd");
  while (dirent* entry = readdir(directory))
    if (const int number = atoi(entry->d_name); entry->d_name[0] != '.' && number != dirfd(directory))
      found.push_back(number);
  closedir(directory);
  return found;
}

void use_it(Context& c, coll_comm* comm) { check_all(c, comm, {4, 40'000}, false); }

TEST(Descriptors, AreNotHeldByACommunicator) {
  if (access("/dev/kcoll", F_OK) == 0) GTEST_SKIP() << "a process keeps a descriptor of the kernel module";
  run_processes(9, [](Context& c) {
    const std::vector<int> before = descriptors();
    coll_comm* comm = c.comm();
    RANK_CHECK(c, descriptors() == before);
    use_it(c, comm);
    coll_comm* part = nullptr;
    RANK_CHECK(c, coll_comm_split(comm, c.rank % 2, 0, &part) == COLL_OK);
    RANK_CHECK(c, descriptors() == before);
    RANK_CHECK(c, coll_comm_free(part) == COLL_OK && coll_comm_free(comm) == COLL_OK);
    RANK_CHECK(c, descriptors() == before);
  });
}

// Daemons and some runtimes do that; the program's own files then get the same numbers.
TEST(Descriptors, MayAllBeClosed) {
  run_processes(
      3,
      [](Context& c) {
        coll_comm *comm = c.comm(), *part = nullptr;
        use_it(c, comm);
        if (c.rank == 1) {
          for (int number : descriptors())
            if (number > 2) close(number);
          for (int file = 0; file < 20; file++) open("/dev/null", O_RDWR);
        }
        c.meet();
        usleep(300'000);  // longer than the interval at which ranks check each other
        use_it(c, comm);
        RANK_CHECK(c, coll_comm_split(comm, 0, 0, &part) == COLL_OK);
        use_it(c, part);
        RANK_CHECK(c, coll_comm_free(part) == COLL_OK);
        // The other ranks notice the end of a rank, also those that have closed descriptors.
        c.meet();
        if (c.rank == 2) raise(SIGKILL);
        RANK_CHECK(c, coll_barrier(comm) == COLL_ERR_PEER_DIED);
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      },
      2);
}

}  // namespace
