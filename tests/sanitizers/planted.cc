// SPDX-License-Identifier: BSD-3-Clause
// planted FAULT: a program with one fault, which a sanitizer must find. FAULT: none, overflow, index, heap, leak,
// leak_in_child, race.
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

volatile int sink;

char* volatile only;

void leak() {
  only = new char[100];
  only = nullptr;
}

// Runs the function in a child process, like the ranks of the tests.
int in_child(void (*function)()) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    function();
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void race() {
  int shared = 0;
  std::thread other([&] { shared++; });
  shared++;
  other.join();
  sink = shared;
}

}  // namespace

int main(int count, char** arguments) {
  const char* const fault = count > 1 ? arguments[1] : "";
  const auto is = [&](const char* name) { return strcmp(fault, name) == 0; };
  if (is("none")) return 0;
  if (is("overflow")) {
    int most = INT_MAX;
    most += int(strlen(fault));
    return sink = most, 0;
  }
  if (is("leak")) return leak(), 0;
  if (is("leak_in_child")) return in_child(leak);
  if (is("race")) return race(), 0;
  if (is("index")) {
    int array[4] = {};
    return array[strlen(fault)];
  }
  if (is("heap")) {
    only = new char[4]();
    delete[] only;
    return sink = *only, 0;
  }
  fprintf(stderr, "planted: unknown fault '%s'\n", fault);
  return 2;
}
