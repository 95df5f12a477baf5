// SPDX-License-Identifier: BSD-3-Clause
// Ranks in namespaces of their own, as in one container each: they get the segment over a socket, stage their data, and
// notice the end of a peer whose pid is not valid in their namespace.
#include <sys/mount.h>
#include <sys/syscall.h>

#include <chrono>

#include "../namespaces.h"
#include "../refused_calls.h"
#include "api/handles.h"
#include "comm/collectives.h"

using namespace ranks;
using coll::plan::AccessMode;

namespace {

const coll::exec::Team& team_of(coll_comm* comm) { return comm->comm->team(); }

struct Kinds {
  const char* name;
  int flags;
};
const Kinds user{"user", CLONE_NEWUSER}, pid{"userAndPid", CLONE_NEWUSER | CLONE_NEWPID},
    net{"userAndNet", CLONE_NEWUSER | CLONE_NEWNET},
    every{"userPidAndNet", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET};

// The ranks that leave the namespaces of the test, each for new ones.
struct Apart {
  const char* name;
  bool (*is)(int rank, int ranks);
};
const Apart all{"all", [](int, int) { return true; }};
const Apart first{"first", [](int rank, int) { return rank == 0; }};
const Apart last{"last", [](int rank, int ranks) { return rank == ranks - 1; }};
const Apart others{"others", [](int rank, int) { return rank != 0; }};

void run_apart(const Kinds& kinds, const Apart& apart, int ranks, const Function& function, int killed = -1) {
  if (const std::string problem = coll::test::refused_namespaces(kinds.flags); !problem.empty())
    GTEST_SKIP() << "this user may not make namespaces: " << problem;
  run_processes(
      ranks,
      [&](Context& c) {
        if (apart.is(c.rank, c.ranks))
          if (const std::string problem = coll::test::enter_namespaces(kinds.flags); !problem.empty()) c.fail(problem);
        function(c);
      },
      killed);
}

class Namespaces : public testing::TestWithParam<std::tuple<Kinds, Apart, int>> {};

TEST_P(Namespaces, OfTheirOwnRunEveryCollective) {
  const auto& [kinds, apart, ranks] = GetParam();
  run_apart(kinds, apart, ranks, [](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    RANK_CHECK(c, team_of(comm).access_mode == AccessMode::staged && team_of(comm).mechanism == nullptr);
    for (bool mappable : {false, true}) check_all(c, comm, {4, 4096, 40'000, 1 << 20}, mappable);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

std::string name_of(const testing::TestParamInfo<std::tuple<Kinds, Apart, int>>& info) {
  const auto& [kinds, apart, ranks] = info.param;
  return std::string(kinds.name) + "_" + apart.name + std::to_string(ranks);
}

INSTANTIATE_TEST_SUITE_P(Four, Namespaces,
                         testing::Combine(testing::Values(user, pid, net, every),
                                          testing::Values(all, first, last, others), testing::Values(4)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Two, Namespaces,
                         testing::Combine(testing::Values(user, every), testing::Values(all, last), testing::Values(2)),
                         name_of);

// All parts of such a communicator make the same number of exchanges, and ranks that share namespaces map and copy
// again.
TEST(Namespaces, OfTheirOwnCanBeSplit) {
  run_apart(pid, last, 4, [](Context& c) {
    coll_comm *comm = c.comm(), *part = nullptr, *half = nullptr, *none = nullptr;
    if (comm == nullptr) return;
    RANK_CHECK(c, !team_of(comm).map_arenas);
    RANK_CHECK(c, coll_comm_split(comm, c.rank / 2, 0, &half) == COLL_OK);
    RANK_CHECK(c, coll_comm_split(comm, c.rank == 3 ? -1 : 0, 0, &part) == COLL_OK);
    RANK_CHECK(c, coll_comm_split(comm, -1, 0, &none) == COLL_OK && none == nullptr);
    RANK_CHECK(c, team_of(half).map_arenas == (c.rank < 2));
    std::vector<uint32_t> data(100'000, uint32_t(c.rank));
    RANK_CHECK(c, coll_allreduce(COLL_IN_PLACE, data.data(), data.size(), COLL_UINT32, COLL_SUM, half) == COLL_OK);
    RANK_CHECK(c, data[0] == (c.rank < 2 ? 1 : 5) && data.back() == data[0]);
    if (c.rank < 3) {
      Buffer mapped(400'000, true);
      mapped.data()[99'999] = uint32_t(c.rank);
      RANK_CHECK(c, coll_bcast(mapped.data(), 100'000, COLL_UINT32, 2, part) == COLL_OK);
      RANK_CHECK(c, mapped.data()[99'999] == 2 && team_of(part).map_arenas);
      RANK_CHECK(c, coll_comm_free(part) == COLL_OK);
    }
    RANK_CHECK(c, coll_comm_free(half) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// A rank that cannot read which node this is, is on the same one as far as the others know.
TEST(Namespaces, WithoutTheIdentityOfTheNode) {
  const Kinds mount_points{"userAndMount", CLONE_NEWUSER | CLONE_NEWNS};
  for (const Apart& apart : {first, last}) {
    run_apart(mount_points, all, 3, [&](Context& c) {
      const char* const identity = "/proc/sys/kernel/random/boot_id";
      if (apart.is(c.rank, c.ranks)) RANK_CHECK(c, mount("/dev/null", identity, nullptr, MS_BIND, nullptr) == 0);
      coll_comm* comm = c.comm();
      if (comm == nullptr) return;
      check_all(c, comm, {4, 40'000}, false);
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
  }
}

// A rank that has failed does not wait for the segment, which rank 0 does not pass to it.
TEST(Namespaces, ReportAWrongSettingAtOnce) {
  run_apart(user, all, 2, [](Context& c) {
    if (c.rank == 1) setenv("COLL_TRANSPORT", "pigeon", 1);
    const auto begin = std::chrono::steady_clock::now();
    coll_bootstrap bootstrap = c.bootstrap();
    coll_comm* comm = nullptr;
    RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_UNAVAILABLE);
    RANK_CHECK(c, std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  });
}

TEST(Namespaces, OfUsersForbidKernelCopiesWithAReason) {
  for (const Kinds& kinds : {user, pid}) {
    Environment forced("COLL_TRANSPORT", "cma");
    run_apart(kinds, all, 2, [](Context& c) {
      coll_bootstrap bootstrap = c.bootstrap();
      coll_comm* comm = nullptr;
      RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_UNAVAILABLE);
      RANK_CHECK(c, strstr(coll_last_error(), "namespace") != nullptr);
    });
  }
}

// The cause of the end of a rank.
enum class End { exits, is_killed, executes };
class EndInAPidNamespace : public testing::TestWithParam<End> {};

TEST_P(EndInAPidNamespace, IsNoticedWithinASecond) {
  constexpr int victim = 1;
  for (bool asleep : {false, true})
    run_apart(
        pid, all, 3,
        [=](Context& c) {
          coll_comm* comm = c.comm();
          if (comm == nullptr) return;
          RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
          c.meet();
          if (c.rank == victim) {
            if (asleep) usleep(100'000);
            c.shared->moment_ns = now_ns();
            if (GetParam() == End::is_killed) kill(getpid(), SIGKILL);
            // Long enough that peers find neither a zombie nor the end of its namespace.
            if (GetParam() == End::executes) execl("/bin/sleep", "sleep", "2", nullptr);
            _exit(0);
          }
          std::vector<uint32_t> data(40'000, 1);
          coll_status status = COLL_OK;
          while (status == COLL_OK)
            status = coll_allreduce(COLL_IN_PLACE, data.data(), data.size(), COLL_UINT32, COLL_SUM, comm);
          const int64_t took_ns = now_ns() - c.shared->moment_ns;
          RANK_CHECK(c, status == COLL_ERR_PEER_DIED);
          if (took_ns > int64_t(1'000'000'000) * slowness)
            c.fail("took " + std::to_string(took_ns / 1'000'000) + " ms");
          RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
        },
        GetParam() == End::is_killed ? victim : -1);
}

INSTANTIATE_TEST_SUITE_P(All, EndInAPidNamespace, testing::Values(End::exits, End::is_killed, End::executes),
                         [](const auto& info) {
                           if (info.param == End::exits) return "exits";
                           return info.param == End::executes ? "executes" : "isKilled";
                         });

TEST(Namespaces, OfPidsNeedTheMarksOfALife) {
  run_apart(pid, last, 2, [](Context& c) {
    if (c.rank == 1) coll::test::refuse({{SYS_set_robust_list, ENOSYS}});
    coll_bootstrap bootstrap = c.bootstrap();
    coll_comm* comm = nullptr;
    RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_BOOTSTRAP);
    RANK_CHECK(c, strstr(coll_last_error(), "the end of rank 1") != nullptr);
    RANK_CHECK(c, strstr(coll_last_error(), "unshare without --pid") != nullptr);
  });
}

// Rank 0 ends, or stops forwarding data, in the exchange of the names of the sockets.
TEST(Namespaces, OfTheirOwnDoNotWaitForARankThatHasEnded) {
  for (const Kinds& kinds : {user, every})
    run_apart(kinds, all, 3, [](Context& c) {
      coll_bootstrap bootstrap = c.bootstrap();
      static int exchange = 0;
      bootstrap.allgather = [](const void* send, void* recv, size_t bytes, void* context) {
        auto& self = *static_cast<Context*>(context);
        if (++exchange > 2) return 1;
        const int failed = Context::allgather(send, recv, bytes, context);
        if (exchange == 2 && self.rank == 0) _exit(0);
        return failed;
      };
      coll_comm* comm = nullptr;
      const int64_t begin = now_ns();
      RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_BOOTSTRAP && comm == nullptr);
      RANK_CHECK(c, strstr(coll_last_error(), "rank 0 does not pass its shared memory") != nullptr);
      RANK_CHECK(c, now_ns() - begin < int64_t(5'000'000'000));
    });
}

// Launchers forward little data: PMI one kilobyte, slowly. With many ranks each sends the same amount.
TEST(Namespaces, CreationSendsAtMost64BytesOfARank) {
  const auto counted = [](Context& c) {
    static size_t sent;
    sent = 0;
    coll_bootstrap bootstrap = c.bootstrap();
    bootstrap.allgather = [](const void* send, void* recv, size_t bytes, void* context) {
      sent += bytes;
      return Context::allgather(send, recv, bytes, context);
    };
    coll_comm* comm = nullptr;
    RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_OK);
    if (sent == 0 || sent > 64) c.fail(std::to_string(sent) + " bytes");
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  };
  run_processes(3, counted);
  run_apart(every, others, 3, counted);
}

// The reason of one rank reaches all ranks through the segment, including the rank that created it.
TEST(Namespaces, AllRanksReportWhyOneFailed) {
  for (int wrong : {0, 1, 2})
    run_processes(3, [wrong](Context& c) {
      if (c.rank == wrong) setenv("COLL_BCAST", "no_such_algorithm", 1);
      coll_bootstrap bootstrap = c.bootstrap();
      coll_comm* comm = nullptr;
      RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_UNAVAILABLE && comm == nullptr);
      const std::string error = coll_last_error();
      RANK_CHECK(c, error.find("no_such_algorithm") != std::string::npos);
      RANK_CHECK(c, c.rank == wrong || error.starts_with("rank " + std::to_string(wrong) + ": "));
    });
}

// A directory that only rank 0 has: the same variable names another directory for the other rank.
TEST(Namespaces, OfNetworksNeedADirectory) {
  run_apart(net, last, 2, [](Context& c) {
    char own[] = "/tmp/libcoll-test-XXXXXX";
    RANK_CHECK(c, mkdtemp(own) != nullptr);
    c.set("COLL_RENDEZVOUS_DIR", own);
    coll_bootstrap bootstrap = c.bootstrap();
    coll_comm* comm = nullptr;
    RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_BOOTSTRAP);
    const char* reason = c.rank == 0 ? "rank 1 cannot be reached" : "rank 0 does not pass its shared memory";
    RANK_CHECK(c, strstr(coll_last_error(), reason) != nullptr);
    RANK_CHECK(c, strstr(coll_last_error(), "COLL_RENDEZVOUS_DIR") != nullptr);
    RANK_CHECK(c, rmdir(own) == 0);  // no file remains there
  });
}

TEST(Namespaces, OfNetworksMeetInADirectory) {
  char shared[] = "/tmp/libcoll-test-XXXXXX";
  ASSERT_NE(mkdtemp(shared), nullptr);
  {
    Environment directory("COLL_RENDEZVOUS_DIR", shared);
    run_apart(every, all, 3, [](Context& c) {
      coll_comm* comm = c.comm();
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK && coll_comm_free(comm) == COLL_OK);
    });
  }
  EXPECT_EQ(rmdir(shared), 0);
  Environment directory("COLL_RENDEZVOUS_DIR", "/nowhere");
  run_apart(user, all, 2, [](Context& c) {
    coll_comm* comm = c.comm();
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
  run_apart(net, all, 2, [](Context& c) {
    coll_bootstrap bootstrap = c.bootstrap();
    coll_comm* comm = nullptr;
    RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_BOOTSTRAP);
    RANK_CHECK(c, strstr(coll_last_error(), "COLL_RENDEZVOUS_DIR") != nullptr);
  });
}

}  // namespace
