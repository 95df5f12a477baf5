// SPDX-License-Identifier: BSD-3-Clause
// Moves a process into namespaces of its own, as in a container.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

namespace coll::test {

// Ends the same way as the child. Process 1 of a pid namespace cannot be killed by a signal of its own.
[[noreturn]] inline void end_as(pid_t child, bool is_first) {
  int status = 0;
  waitpid(child, &status, 0);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (!is_first && code > 128) kill(getpid(), code - 128);
  _exit(code);
}

// Enters new namespaces (CLONE_NEWUSER and others), in which the user is root. With CLONE_NEWPID, a grandchild
// continues; the caller ends the same way as the grandchild, and process 1 of the namespace is the child in between.
// Returns "", or why the system refuses it.
inline std::string enter_namespaces(int kinds) {
  const std::string user = std::to_string(geteuid()), group = std::to_string(getegid());
  if (unshare(kinds) != 0) return std::string("unshare: ") + strerror(errno);
  const auto write = [](const char* path, const std::string& text) {
    return bool(std::ofstream(path) << text << std::flush);
  };
  if ((kinds & CLONE_NEWUSER) != 0 &&
      (!write("/proc/self/setgroups", "deny") || !write("/proc/self/uid_map", "0 " + user + " 1") ||
       !write("/proc/self/gid_map", "0 " + group + " 1")))
    return "the users of the namespace cannot be mapped";
  for (int level = 0; (kinds & CLONE_NEWPID) != 0 && level < 2; level++) {
    const pid_t child = fork();
    if (child < 0) return std::string("fork: ") + strerror(errno);
    if (child > 0) end_as(child, level == 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  return "";
}

// Returns "" if entering would be possible here, without entering; else why not.
inline std::string refused_namespaces(int kinds) {
  int answer[2];
  if (pipe(answer) != 0) return strerror(errno);
  const pid_t child = fork();
  if (child == 0) {
    const std::string problem = enter_namespaces(kinds);
    _exit(write(answer[1], problem.data(), problem.size()) == ssize_t(problem.size()) ? 0 : 1);
  }
  close(answer[1]);
  char text[256] = "";
  if (read(answer[0], text, sizeof text - 1) < 0) text[0] = 0;
  close(answer[0]);
  waitpid(child, nullptr, 0);
  return text;
}

}  // namespace coll::test
