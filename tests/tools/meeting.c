/* SPDX-License-Identifier: BSD-3-Clause
 * meeting WORD...: a rank, for run_test.py and tests/launch. Each word is one action, done in this order:
 *   create      creates a communicator, or prints why it cannot and exits with 3
 *   try         the same, but exits with 0, so that no rank is ended
 *   thread      creates one in a thread of its own, and goes on half a second later
 *   free        frees the newest one that it has not freed
 *   sum         an allreduce with it; prints its rank, the number of ranks and the status
 *   start CMD   runs CMD in a shell and waits for it
 *   fork        continues in a child, and returns its exit status
 *   exec PROG   becomes PROG, called with `create sum`
 *   only RANK   other ranks leave out the next word, and its argument
 *   pause S     sleeps S seconds
 *   end         exits with 0
 */
#include <coll/coll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// The communicators that it has. They stay reachable until the process ends, so that none counts as leaked.
enum { most = 4 };
static coll_comm *comms[most];
static int has;

static void create(int status_of_failure) {
  if (has == most) abort();
  if (coll_comm_create_from_launcher(&comms[has]) == COLL_OK) {
    ++has;
    return;
  }
  printf("error %s\n", coll_last_error());
  exit(status_of_failure);
}

static void *create_in_thread(void *unused) {
  coll_comm *comm = NULL;
  printf("thread: status %d\n", coll_comm_create_from_launcher(&comm));
  coll_comm_free(comm);
  return unused;
}

static void start_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, create_in_thread, NULL) != 0) abort();
  usleep(500000);
}

static void sum(void) {
  int one = 1, all = 0;
  coll_comm *comm = comms[has - 1];
  const coll_status status = coll_allreduce(&one, &all, 1, COLL_INT32, COLL_SUM, comm);
  printf("rank %d of %d: status %d, sum %d\n", coll_comm_rank(comm), coll_comm_size(comm), status, all);
}

static void go_on_in_child(void) {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  exit(WEXITSTATUS(status));
}

// The rank by the variables of its launcher.
static int own_rank(void) {
  static const char *const variables[] = {"COLL_LAUNCH", "COLL_RANK", "SLURM_PROCID", "PMIX_RANK", "PMI_RANK", "RANK"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    if (getenv(variables[i]) != NULL) return atoi(getenv(variables[i]));
  return 0;
}

int main(int count, char **words) {
  const int rank = own_rank();
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 1; i < count; i++) {
    int skipped = 0;
    if (strcmp(words[i], "only") == 0) {
      skipped = atoi(words[i + 1]) != rank;
      i += 2;
    }
    const char *word = words[i];
    const int has_argument = strcmp(word, "start") == 0 || strcmp(word, "exec") == 0 || strcmp(word, "pause") == 0;
    const char *argument = has_argument ? words[++i] : NULL;
    if (skipped) continue;
    if (strcmp(word, "create") == 0) create(3);
    else if (strcmp(word, "try") == 0) create(0);
    else if (strcmp(word, "thread") == 0) start_thread();
    else if (strcmp(word, "free") == 0) coll_comm_free(comms[--has]);
    else if (strcmp(word, "sum") == 0) sum();
    else if (strcmp(word, "start") == 0) printf("started: %d\n", WEXITSTATUS(system(argument)));
    else if (strcmp(word, "fork") == 0) go_on_in_child();
    else if (strcmp(word, "pause") == 0) usleep((useconds_t)(atof(argument) * 1e6));
    else if (strcmp(word, "exec") == 0) execl(argument, argument, "create", "sum", (char *)NULL);
    else if (strcmp(word, "end") == 0) exit(0);
    else return fprintf(stderr, "meeting: unknown word %s\n", word), 2;
  }
  return 0;
}
