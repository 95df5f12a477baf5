// SPDX-License-Identifier: BSD-3-Clause
// Children of a test.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace coll::test {

// Waits for the child and returns its exit status, or 1000 plus the signal that ended it; -1 if fork() returned -1.
inline int exit_status_of(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Runs the function in a child, whose exit status is what the function returns. Returns as exit_status_of().
template <typename Function>
int in_child(Function&& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return exit_status_of(child);
}

// In such a function: prints a condition that does not hold and returns 1.
#define CHILD_CHECK(condition)                                                      \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                                     \
    }                                                                               \
  } while (0)

}  // namespace coll::test
