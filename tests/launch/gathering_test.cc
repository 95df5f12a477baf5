// SPDX-License-Identifier: BSD-3-Clause
// The rendezvous of ranks, which are threads here: late, absent, duplicate and dead ones, and messages of unrelated
// processes.
#include "launch/gathering.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <thread>

#include "launch/claim.h"
#include "launch/frames.h"

namespace {

using namespace std::chrono_literals;
using coll::config::Rendezvous;
using coll::launch::Clock;
using coll::launch::Frame;
using coll::launch::Gathering;
using coll::launch::JobRank;
using coll::launch::Kind;
using coll::launch::OwnSocket;
using coll::launch::SocketAddress;
using testing::HasSubstr;

std::string fresh_job() {
  static std::atomic<int> number = 0;
  return "test/" + std::to_string(getpid()) + "/" + std::to_string(number++);
}

JobRank place_of(int rank, int ranks, const std::string& job) {
  JobRank place;
  place.launcher = "the test";
  place.rank = rank;
  place.ranks = ranks;
  place.job = job;
  return place;
}

const Rendezvous patient{60s, ""}, impatient{1s, ""};

// Runs each rank in a thread of its own.
void run_ranks(int ranks, const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; rank++) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

// Meets, then exchanges `rounds` times.
void expect_exchanges(const JobRank& place, const Rendezvous& options, int rounds) {
  std::string problem;
  const auto gathering = Gathering::meet(place, options, problem);
  ASSERT_NE(gathering, nullptr) << problem;
  for (int round = 1; round <= rounds; round++) {
    const size_t words = size_t(round) * 1000;
    std::vector<int> mine(words, place.rank * 100 + round), all(words * size_t(place.ranks));
    ASSERT_TRUE(gathering->allgather(mine.data(), all.data(), words * sizeof(int), problem)) << problem;
    for (int r = 0; r < place.ranks; r++)
      ASSERT_EQ(all[words * size_t(r + 1) - 1], r * 100 + round) << place.rank << " of " << r;
  }
}

std::string problem_of(const JobRank& place, const Rendezvous& options) {
  std::string problem;
  EXPECT_EQ(Gathering::meet(place, options, problem), nullptr);
  return problem;
}

// Connects as a process that is no rank, once rank 0 listens.
int connect_as_stranger(const std::string& job) {
  const SocketAddress address = SocketAddress::abstract(coll::launch::socket_name(job));
  for (;;) {
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(made, address.get(), address.bytes) == 0) return made;
    close(made);
    std::this_thread::sleep_for(1ms);
  }
}

TEST(Gatherings, OfManyRanksInAnyOrder) {
  for (int ranks : {2, 3, 24}) {
    const std::string job = fresh_job();
    run_ranks(ranks, [&](int rank) {
      std::this_thread::sleep_for(std::chrono::milliseconds(rank * 7 % 5 * 10));
      expect_exchanges(place_of(rank, ranks, job), patient, 3);
    });
  }
}

TEST(Gatherings, OfOneNameAfterAnother) {
  const std::string job = fresh_job();
  run_ranks(3, [&](int rank) {
    for (int again = 0; again < 20; again++) expect_exchanges(place_of(rank, 3, job), patient, 1);
  });
}

TEST(Gatherings, OfJobsAtOnce) {
  const std::string jobs[] = {fresh_job(), fresh_job()};
  run_ranks(6, [&](int thread) { expect_exchanges(place_of(thread / 2, 3, jobs[thread % 2]), patient, 2); });
}

TEST(Gatherings, ByAFile) {
  char folder[] = "/tmp/libcoll-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/socket";
  for (int again = 0; again < 2; again++) {
    run_ranks(3, [&](int rank) {
      JobRank place = place_of(rank, 3, "");
      place.path = path;
      expect_exchanges(place, patient, 2);
    });
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  // Meets in a directory besides the abstract name, with the mode of its user.
  const Rendezvous there{60s, folder};
  const std::string job = fresh_job(), made = std::string(folder) + "/" + coll::launch::socket_name(job);
  run_ranks(2, [&](int rank) {
    struct stat file {};
    if (rank == 1)
      while (stat(made.c_str(), &file) != 0) std::this_thread::sleep_for(1ms);
    if (rank == 1) { EXPECT_EQ(file.st_mode & 0777, mode_t(0600)); }
    expect_exchanges(place_of(rank, 2, job), there, 1);
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  rmdir(folder);
}

TEST(Gatherings, NameTheRanksThatHaveNotCome) {
  const std::string job = fresh_job();
  run_ranks(6, [&](int rank) {
    if (rank == 2 || rank == 4) return;
    EXPECT_THAT(problem_of(place_of(rank, 6, job), rank == 0 ? impatient : patient),
                HasSubstr("ranks 2, 4 of the test have not come within 1 s"));
  });
  EXPECT_THAT(problem_of(place_of(1, 2, fresh_job()), impatient), HasSubstr("rank 0 of the test has not come"));
  EXPECT_THAT(problem_of(place_of(0, 100, fresh_job()), impatient),
              HasSubstr("ranks 1, 2, 3, 4, 5, 6, 7, 8 and 91 more of the test have not come"));
}

TEST(Gatherings, DoNotWaitForARankThatHasEnded) {
  const std::string job = fresh_job();
  const auto begin = Clock::now();
  run_ranks(3, [&](int rank) {
    if (rank == 2) {  // comes, and ends before rank 1 comes
      const int made = connect_as_stranger(job);
      const Frame hello{coll::launch::magic, Kind::hello, coll::launch::version, 2, 4, 0, 0};
      EXPECT_EQ(write(made, &hello, sizeof hello), ssize_t(sizeof hello));
      std::this_thread::sleep_for(100ms);
      close(made);
      return;
    }
    EXPECT_THAT(problem_of(place_of(rank, 4, job), patient), HasSubstr("rank 2 of the test has ended before"));
  });
  EXPECT_LT(Clock::now() - begin, 30s);
}

TEST(Gatherings, NameTheRankThatHasEndedBetweenExchanges) {
  for (int victim : {0, 1}) {
    const std::string job = fresh_job();
    run_ranks(3, [&](int rank) {
      std::string problem;
      auto gathering = Gathering::meet(place_of(rank, 3, job), patient, problem);
      ASSERT_NE(gathering, nullptr) << problem;
      int mine = rank, all[3];
      ASSERT_TRUE(gathering->allgather(&mine, all, sizeof mine, problem)) << problem;
      if (rank == victim) return;
      EXPECT_FALSE(gathering->allgather(&mine, all, sizeof mine, problem));
      EXPECT_THAT(problem, HasSubstr("rank " + std::to_string(victim) + " of the test has ended or given up"));
    });
  }
}

TEST(Gatherings, RefuseARankThatHasComeAlready) {
  const std::string job = fresh_job();
  std::atomic<int> refused = 0;
  run_ranks(4, [&](int thread) {
    const int rank = thread == 3 ? 1 : thread;  // rank 1 comes twice, and rank 2 later
    if (rank == 2)
      while (refused == 0) std::this_thread::sleep_for(1ms);
    std::string problem;
    const auto gathering = Gathering::meet(place_of(rank, 3, job), patient, problem);
    if (gathering != nullptr) return;
    EXPECT_EQ(rank, 1);
    EXPECT_THAT(problem, HasSubstr("rank 1 of the test is another process ("));
    refused++;
  });
  EXPECT_EQ(refused, 1);
}

TEST(Gatherings, RefuseOtherNumbersOfRanks) {
  const std::string job = fresh_job();
  run_ranks(2, [&](int rank) {
    if (rank == 0) {
      EXPECT_THAT(problem_of(place_of(0, 2, job), impatient), HasSubstr("rank 1 of the test has not come"));
    } else {
      EXPECT_THAT(problem_of(place_of(1, 3, job), patient), HasSubstr("rank 1 of 3 by its variables"));
    }
  });
}

// Rank 0 continues with the real ranks.
TEST(Gatherings, IgnoreUnrelatedProcesses) {
  const std::string job = fresh_job();
  std::atomic<bool> over = false;
  std::thread rude([&] {
    const std::string junk(300, 'x');
    for (const size_t bytes : {size_t(0), size_t(1), sizeof(Frame) - 1, sizeof(Frame), junk.size()}) {
      const int made = connect_as_stranger(job);
      EXPECT_EQ(write(made, junk.data(), bytes), ssize_t(bytes));
      close(made);
    }
    const int silent = connect_as_stranger(job);
    over = true;
    char text[256];
    while (read(silent, text, sizeof text) > 0) {}
    close(silent);
  });
  run_ranks(2, [&](int rank) {
    if (rank == 1)
      while (!over) std::this_thread::sleep_for(1ms);
    expect_exchanges(place_of(rank, 2, job), patient, 2);
  });
  rude.join();
}

// Silent connections of another user must not use up the descriptors of rank 0.
TEST(Gatherings, CloseConnectionsOfOtherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start a process of another user";
  constexpr rlim_t few = 64;
  constexpr int many = 3 * few;
  const std::string job = fresh_job();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t stranger = fork();
  if (stranger == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
    for (int n = 0; n < many; n++) connect_as_stranger(job);
    if (write(ready[1], "", 1) != 1) _exit(1);
    pause();
  }
  close(ready[1]);
  const pid_t ranks = fork();
  if (ranks == 0) {
    const rlimit limit{few, few};
    setrlimit(RLIMIT_NOFILE, &limit);
    run_ranks(2, [&](int rank) {
      char byte = 0;
      if (rank == 1) { EXPECT_EQ(read(ready[0], &byte, 1), 1); }
      expect_exchanges(place_of(rank, 2, job), {20s, ""}, 1);
    });
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(ranks, &status, 0);
  EXPECT_EQ(status, 0);
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
  close(ready[0]);
}

TEST(Gatherings, RefuseTooManyRanks) {
  for (int rank : {0, 1}) {
    EXPECT_THAT(problem_of(place_of(rank, 4097, fresh_job()), patient), HasSubstr("limit of 4096 ranks"));
    EXPECT_THAT(problem_of(place_of(rank, 2'000'000'000, fresh_job()), patient), HasSubstr("limit of 4096 ranks"));
  }
}

TEST(Gatherings, DoNotWaitAtAPathThatIsTooLong) {
  for (int rank : {0, 1}) {
    JobRank place = place_of(rank, 2, "");
    place.path = "/tmp/" + std::string(200, 'x');
    EXPECT_THAT(problem_of(place, patient), HasSubstr("File name too long"));
  }
}

TEST(Claims, AreOfOneProcess) {
  const JobRank place = place_of(0, 2, fresh_job());
  std::string problem;
  std::shared_ptr<coll::launch::Claim> first = claim(place, problem), second = claim(place, problem);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first, second);
  EXPECT_NE(claim(place_of(1, 2, place.job), problem), nullptr);
  const auto refused_in_child = [&] {
    const pid_t child = fork();
    if (child == 0) {
      std::string why;
      const bool refused = claim(place, why) == nullptr && why.find("(" + std::to_string(getppid()) + ")") < why.size();
      first.reset();  // must not release that of its parent
      second.reset();
      _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 0;
  };
  EXPECT_TRUE(refused_in_child());
  EXPECT_TRUE(refused_in_child());
  first.reset();
  EXPECT_TRUE(refused_in_child());
  // A child that was forked before does not keep the claim after its exec.
  int runs[2];
  ASSERT_EQ(pipe(runs), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (write(runs[1], "", 1) == 1) pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(runs[0], &byte, 1), 1);
  close(runs[0]);
  close(runs[1]);
  second.reset();
  EXPECT_FALSE(refused_in_child());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
