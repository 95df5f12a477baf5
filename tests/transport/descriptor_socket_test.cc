// SPDX-License-Identifier: BSD-3-Clause
// Passing an open file from one process to others over sockets, abstract ones and ones in a directory.
#include "transport/descriptor_socket.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "namespaces.h"

using namespace coll::transport;
using namespace std::chrono_literals;

namespace {

using Receiver = std::function<std::string(const DescriptorSocket& own)>;

class DescriptorSocketTest : public testing::TestWithParam<bool> {
 protected:
  DescriptorSocketTest() : file_(make_shared_file("test", problem_)) {
    char path[] = "/tmp/libcoll-test-XXXXXX";
    if (GetParam()) directory_ = mkdtemp(path);
  }
  ~DescriptorSocketTest() override {
    close(file_);
    if (!directory_.empty()) { EXPECT_EQ(rmdir(directory_.c_str()), 0) << "a socket is left"; }
  }

  std::unique_ptr<DescriptorSocket> make(const Token& name) {
    return DescriptorSocket::make(name, directory_, problem_);
  }
  DescriptorSocket::Sender sender() const { return {sender_, getpid(), true}; }
  FileIdentity identity() const { return FileIdentity(file_); }

  // A child creates the receiving socket. The test then runs one action before the child's function, and one
  // concurrently. The function returns "" on success.
  void receive_while(
      const Receiver& receiver, const std::function<void()>& meanwhile, const std::function<void()>& before = [] {}) {
    int ready[2], go[2];
    ASSERT_TRUE(pipe(ready) == 0 && pipe(go) == 0);
    const pid_t child = fork();
    if (child == 0) {
      std::string wrong = "no socket";
      close(ready[0]), close(go[1]);
      if (auto own = make(receiver_)) {
        char byte = 0;
        // A parent that has ended counts as one that continues.
        if (write(ready[1], "r", 1) == 1 && read(go[0], &byte, 1) >= 0) wrong = receiver(*own);
      }
      if (!wrong.empty()) fprintf(stderr, "%s\n", wrong.c_str());
      _exit(wrong.empty() ? 0 : 1);
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]), close(ready[1]), close(go[0]);
    before();
    close(go[1]);
    meanwhile();
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }

  std::string problem_, directory_;
  const int file_;
  const Token sender_ = fresh_token(), receiver_ = fresh_token();
};

std::string contains(const std::string& problem, const char* words) {
  return problem.find(words) != std::string::npos ? "" : "'" + problem + "' does not contain '" + words + "'";
}

TEST_P(DescriptorSocketTest, PassesAFile) {
  auto own = make(sender_);
  ASSERT_NE(own, nullptr) << problem_;
  const auto from = sender();
  receive_while(
      [&, from](const DescriptorSocket& socket) -> std::string {
        std::string problem;
        const int got = socket.receive(from, identity(), problem);
        char text[5] = "";
        if (got < 0 || !identity().is_of(got) || got == file_) return "no file: " + problem;
        return pread(got, text, 4, 0) == 4 && text == std::string("here") ? "" : "wrong contents";
      },
      [&] {
        if (GetParam()) {
          for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
            struct stat file {};
            EXPECT_EQ(stat(entry.path().c_str(), &file), 0);
            EXPECT_EQ(file.st_mode, mode_t(S_IFSOCK | S_IRUSR | S_IWUSR));
          }
        }
        EXPECT_EQ(pwrite(file_, "here", 4, 0), 4);
        EXPECT_EQ(own->send(receiver_, file_), "");  // the receiver's socket may be gone from now on
      });
}

TEST_P(DescriptorSocketTest, AcceptsNoOtherFile) {
  auto own = make(sender_), stranger = make(fresh_token());
  const int other = make_shared_file("other", problem_);
  const auto from = sender();
  receive_while(
      [&, from](const DescriptorSocket& socket) -> std::string {
        std::string problem;
        const int got = socket.receive(from, identity(), problem);
        for (int number = 3; number < 64; number++)
          if (number != other && FileIdentity(other).is_of(number)) return "a stranger's descriptor is left";
        return got >= 0 && identity().is_of(got) ? "" : "no file: " + problem;
      },
      [&] {
        EXPECT_EQ(own->send(receiver_, other), "");
        EXPECT_EQ(own->send(receiver_, file_), "");
      },
      [&] {
        for (int i = 0; i < 3; i++) EXPECT_EQ(stranger->send(receiver_, other), "");
      });
  close(other);
}

// The right file, and a datagram that the kernel accepts because it was sent before the receiver waits.
TEST_P(DescriptorSocketTest, AcceptsNothingFromAnotherProcess) {
  auto own = make(sender_), stranger = make(fresh_token());
  auto from = sender();
  from.pid++;
  receive_while(
      [&, from](const DescriptorSocket& socket) {
        std::string problem;
        return socket.receive(from, identity(), problem, 200ms) < 0 ? contains(problem, "has not passed") : "received";
      },
      [] {}, [&] { EXPECT_EQ(stranger->send(receiver_, file_), ""); });
}

TEST_P(DescriptorSocketTest, NamesASenderOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  if (GetParam()) GTEST_SKIP() << "the file system forbids it already";
  auto own = make(sender_);
  const auto from = sender();
  receive_while(
      [&, from](const DescriptorSocket& socket) -> std::string {
        std::string problem;
        if (setuid(65534) != 0) return "setuid";
        return socket.receive(from, identity(), problem) < 0
                   ? contains(problem, "runs as user 0 and this rank as user 65534; run all ranks as one user")
                   : "received";
      },
      [&] { EXPECT_EQ(own->send(receiver_, file_), ""); });
}

TEST_P(DescriptorSocketTest, NoticesASenderThatHasEnded) {
  int lives[2];
  ASSERT_EQ(pipe(lives), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto own = make(sender_);
    char byte = 'r';
    if (write(lives[1], &byte, 1) != 1) _exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(read(lives[0], &byte, 1), 1);
  const auto begin = std::chrono::steady_clock::now();
  receive_while(
      [&](const DescriptorSocket& socket) {
        std::string problem;
        return socket.receive({sender_, child, true}, identity(), problem) < 0 ? contains(problem, "has ended")
                                                                               : "received";
      },
      [&] {
        usleep(100'000);
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
      });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  close(lives[0]), close(lives[1]);
  // A process that is killed leaves its socket behind.
  if (GetParam())
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) std::filesystem::remove(entry);
}

TEST_P(DescriptorSocketTest, DoesNotWaitForeverForASenderThatLives) {
  auto own = make(sender_);
  const auto from = sender();
  receive_while(
      [&, from](const DescriptorSocket& socket) {
        std::string problem;
        return socket.receive(from, identity(), problem, 200ms) < 0 ? contains(problem, "has not passed") : "received";
      },
      [] {});
}

TEST_P(DescriptorSocketTest, NamesTheLimitOnDescriptors) {
  auto own = make(sender_);
  const auto from = sender();
  receive_while(
      [&, from](const DescriptorSocket& socket) {
        std::string problem;
        const int next = dup(0);
        close(next);
        const rlimit limit{rlim_t(next), rlim_t(next)};
        setrlimit(RLIMIT_NOFILE, &limit);
        return socket.receive(from, identity(), problem) < 0 ? contains(problem, "ulimit -n") : "received";
      },
      [&] { EXPECT_EQ(own->send(receiver_, file_), ""); });
}

TEST_P(DescriptorSocketTest, ReportsThatAReceiverHasEnded) {
  auto own = make(sender_);
  EXPECT_EQ(contains(own->send(receiver_, file_), "cannot be reached: it has ended"), "");
}

TEST_P(DescriptorSocketTest, DoesNotWaitForeverForAReceiverWhoseQueueIsFull) {
  auto own = make(sender_), receiver = make(receiver_);
  std::string problem;
  for (int i = 0; i < 10'000 && problem.empty(); i++) problem = own->send(receiver_, file_, 1ms);
  EXPECT_EQ(contains(problem, "does not take"), "");
}

TEST_P(DescriptorSocketTest, IsRemovedByItsCreatorAlone) {
  auto own = make(sender_);
  const pid_t child = fork();
  if (child == 0) {
    own = nullptr;
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  auto other = make(receiver_);
  EXPECT_EQ(other->send(sender_, file_), "");
}

TEST_P(DescriptorSocketTest, NamesADirectoryThatCannotBeUsed) {
  if (!GetParam()) GTEST_SKIP() << "an abstract socket has none";
  for (const std::string& unusable : {std::string("/nowhere"), "/tmp/" + std::string(100, 'x')}) {
    std::string problem;
    EXPECT_EQ(DescriptorSocket::make(sender_, unusable, problem), nullptr);
    EXPECT_EQ(contains(problem, unusable.c_str()), "");
    EXPECT_EQ(contains(problem, "COLL_RENDEZVOUS_DIR"), "");
  }
}

// Between namespaces of users, pids and networks.
TEST_P(DescriptorSocketTest, PassesAFileBetweenNamespaces) {
  const int kinds = CLONE_NEWUSER | CLONE_NEWPID | (GetParam() ? CLONE_NEWNET : 0);
  if (const std::string problem = coll::test::refused_namespaces(kinds); !problem.empty())
    GTEST_SKIP() << "this user may not make namespaces: " << problem;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  auto own = make(sender_);
  const pid_t child = fork();
  if (child == 0) {
    if (!coll::test::enter_namespaces(kinds).empty()) _exit(1);
    std::string problem;
    auto socket = make(receiver_);
    if (socket == nullptr || write(ready[1], "r", 1) != 1) _exit(2);
    const int got = socket->receive({sender_, 0, false}, identity(), problem);
    socket = nullptr;
    _exit(got >= 0 && identity().is_of(got) ? 0 : 3);
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(own->send(receiver_, file_), "");
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(ready[0]), close(ready[1]);
}

INSTANTIATE_TEST_SUITE_P(All, DescriptorSocketTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "inADirectory" : "abstract"; });

}  // namespace
