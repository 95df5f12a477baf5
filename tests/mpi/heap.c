/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator as a program sees it, with COLL_HEAP=shared and without: the guarantees of C, children of fork(),
 * threads, and collectives on all of that. Whether large memory is shared is read off /proc. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { large = 1 << 20, threads = 3, blocks = 24 };
extern char **environ;
static int shared; /* large memory must be of the shared heap */

static int in_shared_memory(const void *memory) {
  char line[512];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL, "no /proc/self/maps");
  while (fgets(line, sizeof line, maps)) {
    uintptr_t first, last;
    if (sscanf(line, "%lx-%lx", &first, &last) == 2 && (uintptr_t)memory >= first && (uintptr_t)memory < last)
      found = strstr(line, "memfd:libcoll") != NULL;
  }
  fclose(maps);
  return found;
}

/* Size of the file of the heap. */
static long long shared_bytes(void) {
  for (int fd = 3; fd < 1024; fd++) {
    char path[64], name[256] = "";
    struct stat status;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, name, sizeof name - 1) > 0 && strstr(name, "memfd:libcoll") != NULL && fstat(fd, &status) == 0)
      return (long long)status.st_blocks * 512;
  }
  return 0;
}

static void fill(unsigned char *memory, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) memory[i] = (unsigned char)(i * 7 + seed);
}
static int holds(const unsigned char *memory, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++)
    if (memory[i] != (unsigned char)(i * 7 + seed)) return 0;
  return 1;
}

static void check_family(void) {
  unsigned char *memory = malloc(large);
  CHECK(memory != NULL && malloc_usable_size(memory) >= large, "malloc");
  CHECK(in_shared_memory(memory) == shared, "a large block is %sshared", shared ? "not " : "");
  fill(memory, large, 1);
  /* Growing, shrinking, and from large to small and back. */
  const size_t sizes[] = {5 * large, 3 * large, 70000, 100, 20000, 16384, 16383, 64 * large, large};
  size_t before = large;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    memory = realloc(memory, sizes[i]);
    CHECK(memory != NULL && malloc_usable_size(memory) >= sizes[i], "realloc to %zu", sizes[i]);
    CHECK(holds(memory, before < sizes[i] ? before : sizes[i], 1), "realloc to %zu lost bytes", sizes[i]);
    CHECK((uintptr_t)memory % 16 == 0, "realloc to %zu is not aligned", sizes[i]);
    before = sizes[i];
    fill(memory, before, 1);
  }
  errno = 77;
  free(memory);
  CHECK(errno == 77, "free changed errno");
  free(NULL);
  memory = realloc(NULL, large);
  CHECK(memory != NULL && in_shared_memory(memory) == shared, "realloc of nothing");
  CHECK(realloc(memory, 0) == NULL, "realloc to nothing");

  /* Zeroed memory, also in reused memory. */
  for (int turn = 0; turn < 4; turn++) {
    memory = calloc(3, large);
    CHECK(memory != NULL, "calloc");
    for (size_t i = 0; i < 3 * large; i++) CHECK(memory[i] == 0, "calloc: byte %zu is %d", i, memory[i]);
    memset(memory, 0xff, 3 * large);
    free(memory);
  }
  volatile size_t most = SIZE_MAX;
  CHECK(calloc(most / 2, 3) == NULL && errno == ENOMEM, "calloc of too much");
  CHECK(malloc(most - large) == NULL && errno == ENOMEM, "malloc of too much");

  for (size_t alignment = 8; alignment <= (size_t)8 << 20; alignment *= 2) {
    void *several[3] = {NULL, aligned_alloc(alignment, large), memalign(alignment, large)};
    CHECK(posix_memalign(&several[0], alignment, large) == 0, "posix_memalign");
    for (int i = 0; i < 3; i++) {
      CHECK(several[i] != NULL && (uintptr_t)several[i] % alignment == 0, "alignment %zu of way %d", alignment, i);
      CHECK(in_shared_memory(several[i]) == shared, "an aligned block is %sshared", shared ? "not " : "");
      fill(several[i], large, (unsigned)i);
    }
    for (int i = 0; i < 3; i++) CHECK(holds(several[i], large, (unsigned)i), "aligned blocks overlap");
    for (int i = 0; i < 3; i++) free(several[i]);
  }
  CHECK(posix_memalign((void **)&memory, 24, large) == EINVAL, "posix_memalign takes a wrong alignment");
}

static void check_sum(int *data, int count) {
  for (int i = 0; i < count; i++) data[i] = i % 1000 + world_rank;
  MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++)
    CHECK(data[i] == i % 1000 * world_size + world_size * (world_size - 1) / 2, "sum %d: %d", i, data[i]);
}

/* With a shim, MPI_Alloc_mem() always returns shared memory. Hints are for the underlying MPI library. */
static void check_alloc_mem(void) {
  const char *preloaded = getenv("LD_PRELOAD");
  const int taken = preloaded != NULL && strstr(preloaded, "libcoll_mpi_") != NULL;
  const size_t sizes[] = {1, 100, 5000, large, 3 * large + 1};
  void *several[5], *hinted;
  MPI_Info hints;
  for (int i = 0; i < 5; i++) {
    CHECK(MPI_Alloc_mem((MPI_Aint)sizes[i], MPI_INFO_NULL, &several[i]) == MPI_SUCCESS, "MPI_Alloc_mem");
    CHECK(in_shared_memory(several[i]) == taken || shared, "memory of MPI_Alloc_mem is %sshared", taken ? "not " : "");
    fill(several[i], sizes[i], (unsigned)i);
  }
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "unknown_key", "value");
  CHECK(MPI_Alloc_mem(large, hints, &hinted) == MPI_SUCCESS, "MPI_Alloc_mem with hints");
  MPI_Info_free(&hints);
  check_sum(hinted, large / (int)sizeof(int));
  for (int i = 0; i < 5; i++) CHECK(holds(several[i], sizes[i], (unsigned)i), "blocks of MPI_Alloc_mem overlap");
  check_sum(several[3], large / (int)sizeof(int));
  for (int i = 0; i < 5; i++) CHECK(MPI_Free_mem(several[i]) == MPI_SUCCESS, "MPI_Free_mem");
  CHECK(MPI_Free_mem(hinted) == MPI_SUCCESS, "MPI_Free_mem of the library's");
  /* Tools call the PMPI functions; a program may mix both. */
  CHECK(MPI_Alloc_mem(large, MPI_INFO_NULL, &several[0]) == MPI_SUCCESS, "MPI_Alloc_mem");
  CHECK(PMPI_Alloc_mem(large, MPI_INFO_NULL, &several[1]) == MPI_SUCCESS, "PMPI_Alloc_mem");
  CHECK(PMPI_Alloc_mem(large, MPI_INFO_NULL, &several[2]) == MPI_SUCCESS, "PMPI_Alloc_mem");
  CHECK(PMPI_Free_mem(several[0]) == MPI_SUCCESS, "PMPI_Free_mem of the shim's");
  CHECK(PMPI_Free_mem(several[1]) == MPI_SUCCESS, "PMPI_Free_mem");
  CHECK(MPI_Free_mem(several[2]) == MPI_SUCCESS, "MPI_Free_mem of the library's by another name");
}

static int exit_status_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The child has a copy as of fork(); the parent continues to share. */
static void check_fork(void) {
  const int count = large / (int)sizeof(int);
  int *data = allocate(large);
  check_sum(data, count);
  int go[2], first = data[0];
  CHECK(pipe(go) == 0, "no pipe");
  unsigned char *sparse = malloc((size_t)4 << 30), word = 0; /* of which two pages are used */
  CHECK(sparse != NULL, "no memory");
  sparse[0] = 1, sparse[((size_t)4 << 30) - 1] = 2;
  pid_t child = fork();
  if (child == 0) {
    if (read(go[0], &word, 1) != 1) _exit(1);
    if (data[0] != first || data[count - 1] != (count - 1) % 1000 * world_size + world_size * (world_size - 1) / 2)
      _exit(2);
    if (sparse[0] != 1 || sparse[large] != 0 || sparse[((size_t)4 << 30) - 1] != 2) _exit(3);
    memset(data, 0xee, large);
    /* The allocator of the child handles inherited blocks and its own. */
    int *own = malloc(2 * large);
    if (own == NULL || in_shared_memory(own)) _exit(4);
    memset(own, 1, 2 * large);
    data = realloc(data, 4 * large);
    if (data == NULL || data[count - 1] != (int)0xeeeeeeee) _exit(5);
    memset(data, 3, 4 * large);
    pid_t grandchild = fork();
    if (grandchild == 0) _exit(data[0] == 0x03030303 && own[0] == 0x01010101 ? 0 : 6);
    if (exit_status_of(grandchild) != 0) _exit(7);
    free(data), free(own), free(sparse);
    _exit(0);
  }
  check_sum(data, count);
  memset(data, 0, large);
  CHECK(write(go[1], "g", 1) == 1, "no pipe");
  const int status = exit_status_of(child);
  CHECK(status == 0, "the child says %d", status);
  for (int i = 0; i < count; i++) CHECK(data[i] == 0, "the child wrote into the parent's memory");
  CHECK(in_shared_memory(data) == shared, "the parent's memory is no longer shared");
  check_sum(data, count);

  char *command[] = {"true", NULL};
  CHECK(posix_spawnp(&child, "true", NULL, NULL, command, environ) == 0 && exit_status_of(child) == 0, "posix_spawn");
  CHECK(system("exit 3") >> 8 == 3, "system");
  close(go[0]), close(go[1]);
  free(sparse), free(data);
}

static volatile int stop;

/* Allocates, writes, checks, frees; threads must not get the same blocks. */
static void *churn(void *argument) {
  const unsigned me = (unsigned)(size_t)argument;
  unsigned char *block[blocks] = {NULL};
  size_t bytes[blocks];
  unsigned random = test_seed() + me * 977 + 1;
  for (int turn = 0; turn < 3000 && !stop; turn++) {
    random = random * 1103515245 + 12345;
    const int i = (int)(random >> 16) % blocks;
    if (block[i] != NULL) {
      CHECK(holds(block[i], bytes[i] < 512 ? bytes[i] : 512, me + (unsigned)i), "a block of thread %u was changed", me);
      free(block[i]), block[i] = NULL;
      continue;
    }
    bytes[i] = ((size_t)1 << (random >> 20) % 21) + (random >> 8) % 5000;
    block[i] = turn % 3 ? malloc(bytes[i]) : calloc(1, bytes[i]);
    CHECK(block[i] != NULL, "thread %u has no memory", me);
    fill(block[i], bytes[i] < 512 ? bytes[i] : 512, me + (unsigned)i);
  }
  for (int i = 0; i < blocks; i++) free(block[i]);
  return NULL;
}

static void check_threads(void) {
  pthread_t handles[threads];
  int *data = allocate(large);
  for (size_t i = 0; i < threads; i++) CHECK(pthread_create(&handles[i], NULL, churn, (void *)i) == 0, "no thread");
  /* Forks and collectives meanwhile. */
  for (int round = 0; round < 12; round++) {
    check_sum(data, large / (int)sizeof(int));
    memset(data, round, large);
    pid_t child = fork();
    if (child == 0) {
      void *own = malloc(large);
      _exit(own != NULL && holds((unsigned char *)data, 0, 0) && data[77] == round * 0x01010101 ? 0 : 1);
    }
    const int status = exit_status_of(child);
    CHECK(status == 0, "round %d: the child of a process with threads says %d", round, status);
  }
  stop = 1;
  for (int i = 0; i < threads; i++) pthread_join(handles[i], NULL);
  free(data);
}

/* Free memory that peers have mapped is returned to the system. */
static void check_return(void) {
  if (!shared || unchecked_in_qemu("the return of memory: qemu-user ignores madvise()")) return;
  const size_t bytes = (size_t)256 << 20;
  const long long before = shared_bytes();
  int *data = allocate(bytes);
  memset(data, 1, bytes);
  check_sum(data, large);
  CHECK(shared_bytes() >= before + (long long)bytes, "256 MiB are not in the heap");
  free(data);
  CHECK(shared_bytes() < before + ((long long)64 << 20), "freed memory stays: %lld MiB", shared_bytes() >> 20);
}

/* More than the heap can have. */
static void check_full(void) {
  enum { many = 40 };
  unsigned char *block[many];
  int in_heap = 0;
  for (int i = 0; i < many; i++) {
    block[i] = allocate(8 << 20);
    fill(block[i], 8 << 20, (unsigned)i);
    in_heap += in_shared_memory(block[i]);
  }
  CHECK(in_heap > 0 && in_heap < many, "%d of %d blocks are in the heap", in_heap, many);
  for (int i = 0; i < many; i++) {
    CHECK(holds(block[i], 8 << 20, (unsigned)i), "block %d was changed", i);
    check_sum((int *)block[i], 1 << 20);
  }
  block[0] = realloc(block[0], 16 << 20);
  CHECK(block[0] != NULL, "realloc in a full heap");
  for (int i = 0; i < many; i++) free(block[i]);
}

int main(int argc, char **argv) {
  const char *wish = getenv("COLL_HEAP"), *full = getenv("HEAP_TEST_LIMIT");
  shared = wish != NULL && strcmp(wish, "shared") == 0;
  if (full != NULL) {
    const struct rlimit limit = {(rlim_t)atoi(full) << 20, (rlim_t)atoi(full) << 20};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
  }
  start(&argc, &argv);
  if (full != NULL) {
    check_full();
    return done();
  }
  check_family();
  check_alloc_mem();
  if (getenv("HEAP_TEST_INERT") != NULL) return done(); /* on a kernel that discards nothing */
  check_fork();
  check_threads();
  check_return();
  return done();
}
