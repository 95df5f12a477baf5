// SPDX-License-Identifier: BSD-3-Clause
// How a process notices the end of another one: by its mark, or in /proc if there is no mark.
#include "transport/life.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "namespaces.h"
#include "refused_calls.h"
#include "transport/keeper.h"
#include "transport/process.h"

using namespace coll::transport;
using coll::test::refuse;
using namespace std::chrono_literals;

namespace {

// Memory that a child and the test share.
struct Shared {
  static constexpr size_t most = 5000;
  std::atomic<uint32_t> ready;
  LifeMark marks[most];
};

class LifeTest : public testing::Test {
 protected:
  LifeTest()
      : shared_(*new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Shared) {}
  ~LifeTest() override {
    if (child_ > 0) kill(child_, SIGKILL), waitpid(child_, nullptr, 0);
    munmap(&shared_, sizeof(Shared));
  }

  // A child that runs the function, which signals when it is ready.
  void start(const std::function<void()>& function) {
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      function();
      _exit(0);
    }
    EXPECT_TRUE(soon([this] { return shared_.ready == 1; })) << "the child does not get ready";
  }
  void ready() { shared_.ready = 1; }
  [[noreturn]] void stay() {
    ready();
    for (;;) ::pause();
  }
  // Registers the first marks for the lifetime of the process.
  void register_marks(size_t count = 1) {
    static auto& registrations = *new std::vector<std::unique_ptr<LifeRegistration>>;
    for (size_t i = 0; i < count; i++) registrations.push_back(std::make_unique<LifeRegistration>(shared_.marks[i]));
  }
  LifeMark& mark() { return shared_.marks[0]; }
  // Waits until the child is a zombie.
  void await_exit() {
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, id_t(child_), &info, WEXITED | WNOWAIT), 0);
  }
  static bool soon(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
    return condition();
  }
  // So that the next check of a dying process reads /proc.
  static void let_a_look_be_due() { std::this_thread::sleep_for(2ms * dying_look_ms); }

  Shared& shared_;
  pid_t child_ = -1;
};

TEST_F(LifeTest, AKilledProcessIsMarkedWhileItIsAZombie) {
  start([this] {
    register_marks();
    stay();
  });
  EXPECT_NE(mark().word, 0u);
  EXPECT_FALSE(mark().ended());
  kill(child_, SIGKILL);
  await_exit();
  EXPECT_TRUE(mark().ended());
}

TEST_F(LifeTest, AProcessThatExitsIsMarked) {
  start([this] {
    register_marks();
    ready();
  });
  await_exit();
  EXPECT_TRUE(mark().ended());
}

TEST_F(LifeTest, AProcessThatExecutesAnotherProgramIsMarked) {
  start([this] {
    register_marks();
    ready();
    execl("/bin/sleep", "sleep", "60", nullptr);
  });
  EXPECT_TRUE(soon([this] { return mark().ended(); }));
  EXPECT_EQ(kill(child_, 0), 0);
  EXPECT_EQ(waitpid(child_, nullptr, WNOHANG), 0) << "it has ended";
}

TEST_F(LifeTest, AnotherThreadMayExecute) {
  start([this] {
    register_marks();
    ready();
    std::thread([] { execl("/bin/sleep", "sleep", "60", nullptr); }).join();
  });
  EXPECT_TRUE(soon([this] { return mark().ended(); }));
  EXPECT_EQ(waitpid(child_, nullptr, WNOHANG), 0) << "it has ended";
}

// More marks than the kernel follows in one list.
TEST_F(LifeTest, AllOfManyMarksAreMarked) {
  start([this] {
    register_marks(Shared::most);
    stay();
  });
  kill(child_, SIGKILL);
  await_exit();
  size_t marked = 0;
  for (const LifeMark& mark : shared_.marks) marked += mark.ended();
  EXPECT_EQ(marked, Shared::most);
}

TEST_F(LifeTest, ARemovedMarkIsNotSet) {
  start([this] {
    register_marks();
    { LifeRegistration gone(shared_.marks[1]); }
    stay();
  });
  kill(child_, SIGKILL);
  await_exit();
  EXPECT_TRUE(mark().ended());
  EXPECT_FALSE(shared_.marks[1].ended());
}

// The copies of the parent's registrations have no effect, and the child has a keeper of its own.
TEST_F(LifeTest, AForkedChildHasMarksOfItsOwn) {
  start([this] {
    auto inherited = std::make_unique<LifeRegistration>(mark());
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      inherited.reset();
      new LifeRegistration(shared_.marks[1]);
      if (shared_.marks[1].word == mark().word || shared_.marks[1].word == 0) abort();
      _exit(0);
    }
    int status = 1;
    waitpid(grandchild, &status, 0);
    if (status == 0) stay();
  });
  EXPECT_TRUE(shared_.marks[1].ended());
  EXPECT_FALSE(mark().ended());
  kill(child_, SIGKILL);
  await_exit();
  EXPECT_TRUE(mark().ended());
}

// The C library ends a process with its last thread, whichever threads registered marks.
TEST_F(LifeTest, AKeeperDoesNotKeepAProcessAlive) {
  start([this] {
    static Shared& shared = shared_;
    // At once: the leak sanitizer would report all memory that the stack of the first thread referenced.
    atexit([] { shared.marks[1].start = 77, _exit(0); });
    std::thread([this] { register_marks(marks_per_keeper + 1); }).detach();
    std::thread([this] {
      while (shared_.marks[marks_per_keeper].word == 0) {}
      ready();
      std::this_thread::sleep_for(100ms);
    }).detach();
    pthread_exit(nullptr);
  });
  int status = 1;
  bool ended = false;
  EXPECT_TRUE(soon([&] { return ended = ended || waitpid(child_, &status, WNOHANG) == child_; }));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shared_.marks[1].start, 77u) << "its exit handlers did not run";
  child_ = -1;
}

TEST_F(LifeTest, AProcessLivesOnAfterItsFirstThread) {
  start([this] {
    register_marks();
    std::thread([this] {
      std::this_thread::sleep_for(50ms);
      stay();
    }).detach();
    pthread_exit(nullptr);
  });
  Life life(child_);
  let_a_look_be_due();
  EXPECT_FALSE(life.is_dying(mark()));
  std::this_thread::sleep_for(1500ms);  // longer than the interval at which a keeper checks the threads
  EXPECT_FALSE(life.is_dying(mark()));
}

// Stopped during its exit, where a process may take long to write a core file or to free its memory.
TEST_F(LifeTest, AProcessCountsAsDyingAsSoonAsASignalEndsIt) {
  child_ = fork();
  if (child_ == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    for (;;) ::pause();
  }
  int status = 0;
  ASSERT_EQ(waitpid(child_, &status, 0), child_);
  if (!WIFSTOPPED(status)) GTEST_SKIP() << "processes may not be traced here";
  ASSERT_EQ(ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL), 0);
  ASSERT_EQ(ptrace(PTRACE_CONT, child_, nullptr, nullptr), 0);
  Life life(child_);
  mark().word = 1;  // a thread that does not reach its list
  let_a_look_be_due();
  EXPECT_FALSE(life.is_dying(mark()));
  kill(child_, SIGTERM);
  ASSERT_EQ(waitpid(child_, &status, 0), child_);
  ASSERT_EQ(WSTOPSIG(status), SIGTERM);
  ASSERT_EQ(ptrace(PTRACE_CONT, child_, nullptr, SIGTERM), 0);
  ASSERT_EQ(waitpid(child_, &status, 0), child_);
  ASSERT_EQ(status >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
  let_a_look_be_due();
  EXPECT_TRUE(life.is_dying(mark()));
  EXPECT_TRUE(life.is_dying(mark())) << "what was found once is not forgotten";
  ASSERT_EQ(ptrace(PTRACE_CONT, child_, nullptr, nullptr), 0);
  ASSERT_EQ(waitpid(child_, &status, 0), child_);
  child_ = -1;
}

enum class Refused { lists, threads };
class Unwatched : public LifeTest, public testing::WithParamInterface<Refused> {
 protected:
  // In a sandbox without robust futexes, or at the limit of threads.
  void register_refused() {
    // An emulator that lacks them has no filters either.
    const bool has_lists = syscall(SYS_set_robust_list, nullptr, 0) == 0 || errno != ENOSYS;
    if (GetParam() == Refused::threads) refuse({{SYS_clone3, ENOSYS}, {SYS_clone, EAGAIN}});
    else if (has_lists) refuse({{SYS_set_robust_list, ENOSYS}});
    register_marks(2);
  }
};

TEST_P(Unwatched, AZombieIsSeen) {
  start([this] {
    register_refused();
    stay();
  });
  EXPECT_EQ(mark().word, 0u);
  EXPECT_NE(mark().start, 0u);
  Life life(child_);
  let_a_look_be_due();
  EXPECT_FALSE(life.is_dying(mark()));
  kill(child_, SIGKILL);
  await_exit();
  let_a_look_be_due();
  EXPECT_TRUE(life.is_dying(mark()));
}

TEST_P(Unwatched, AProcessThatHasBeenReapedIsSeenAtOnce) {
  start([this] {
    register_refused();
    stay();
  });
  Life life(child_);
  EXPECT_FALSE(life.is_dying(mark()));
  kill(child_, SIGKILL);
  ASSERT_EQ(waitpid(child_, nullptr, 0), child_);
  EXPECT_TRUE(life.is_dying(mark()));
  child_ = -1;
}

TEST_P(Unwatched, AnotherProgramIsSeen) {
  start([this] {
    register_refused();
    ready();
    execl("/bin/sleep", "sleep", "60", nullptr);
  });
  Life life(child_);
  EXPECT_TRUE(soon([&] { return life.is_dying(mark()); }));
  EXPECT_EQ(waitpid(child_, nullptr, WNOHANG), 0) << "it has ended";
}

TEST_P(Unwatched, AnotherProcessOfTheSameNumberIsSeen) {
  start([this] {
    register_refused();
    stay();
  });
  Life life(child_);
  mark().start++;
  let_a_look_be_due();
  EXPECT_TRUE(life.is_dying(mark()));
  Life by_another_clock(child_);
  mark().time_space++;
  let_a_look_be_due();
  EXPECT_FALSE(by_another_clock.is_dying(mark()));
}

INSTANTIATE_TEST_SUITE_P(All, Unwatched, testing::Values(Refused::lists, Refused::threads), [](const auto& info) {
  return info.param == Refused::lists ? "WithoutRobustFutexes" : "WithoutThreads";
});

// A process that has left the pid namespace of its /proc, where other processes have the numbers of its peers.
TEST_F(LifeTest, NumbersAreNotComparedInTheProcOfAnotherPidNamespace) {
  constexpr int kinds = CLONE_NEWUSER | CLONE_NEWPID;
  if (const std::string problem = coll::test::refused_namespaces(kinds); !problem.empty())
    GTEST_SKIP() << "this user may not make namespaces: " << problem;
  const Namespaces here = own_namespaces();
  ASSERT_TRUE(share_proc(here, here));
  const pid_t child = fork();
  if (child == 0) {
    if (!coll::test::enter_namespaces(kinds).empty()) _exit(1);
    const Namespaces there = own_namespaces();
    const bool known = stat_of("1").known || !stat_of("self").known;
    _exit(known || there.proc_is_own || share_proc(here, there) || share_pids(here, there) || share_proc(there, there)
              ? 2
              : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  GTEST_FLAG_SET(catch_exceptions, false);  // pthread_exit() unwinds the stack and must not meet a catch (...)
  return RUN_ALL_TESTS();
}
