/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of every kind, created and freed often: right results, and no leaks. */
#include "check.h"

#include <dirent.h>
#include <unistd.h>

static void use(MPI_Comm comm, const char *what) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int sum = -1, word = rank == size - 1 ? 77 : 0, largest = -1;
  const int mine = rank + 1;
  MPI_Barrier(comm);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * (size + 1) / 2, "%s: sum of %d is %d", what, size, sum);
  MPI_Bcast(&word, 1, MPI_INT, size - 1, comm);
  CHECK(word == 77, "%s: broadcast gave %d", what, word);
  MPI_Reduce(&mine, &largest, 1, MPI_INT, MPI_MAX, 0, comm);
  CHECK(rank != 0 || largest == size, "%s: largest is %d", what, largest);
}

static int open_descriptors(void) {
  int count = 0;
  DIR *directory = opendir("/proc/self/fd");
  CHECK(directory != NULL, "/proc/self/fd cannot be read");
  while (readdir(directory) != NULL) count++;
  closedir(directory);
  return count;
}

static long mapped_kib(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1, "/proc/self/statm cannot be read");
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int mapped_segments(void) {
  int lines = 0, c;
  FILE *file = fopen("/proc/self/maps", "r");
  CHECK(file != NULL, "/proc/self/maps cannot be read");
  while ((c = getc(file)) != EOF) lines += c == '\n';
  fclose(file);
  return lines;
}

static void one_of_each(int round) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  use(comm, "duplicate");
  MPI_Comm_free(&comm);

  /* Its first collective comes when the duplicate is complete; the original is used meanwhile. */
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  use(MPI_COMM_WORLD, "while it is duplicated");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  use(comm, "non-blocking duplicate");
  MPI_Comm_free(&comm);

  MPI_Comm_split(MPI_COMM_WORLD, (world_rank + round) % 2, -world_rank, &comm);
  use(comm, "half, reversed");
  MPI_Comm_free(&comm);

  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world_rank, MPI_INFO_NULL, &comm);
  use(comm, "of one node");
  MPI_Comm_free(&comm);

  MPI_Group all, group;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, world_size > 2, (int[]){round % world_size}, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
  if (comm != MPI_COMM_NULL) {
    use(comm, "all but one");
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&all);
}

static void check_leaks(void) {
  /* The shim keeps the last communicators for the next ones of the same ranks. Which they are, and so their size, depends on
     the last round, so the figures are taken after rounds of the same communicators. These take longer to make the more
     ranks share a core. */
  const int period = 2 * world_size, rounds = period * (40 / (world_size * world_size) + 1);
  for (int round = 0; round < period; round++) one_of_each(round);
  const int descriptors = open_descriptors(), segments = mapped_segments();
  const long kib = mapped_kib();
  for (int round = 0; round < rounds; round++) one_of_each(round);
  CHECK(open_descriptors() <= descriptors, "%d descriptors, %d after %d rounds", descriptors, open_descriptors(),
        rounds);
  CHECK(mapped_segments() <= segments + 8, "%d mappings, %d after %d rounds", segments, mapped_segments(), rounds);
  /* MPI itself grows by a little. The address sanitizer delays freeing, so sizes are not checked with it. */
  const char *preloaded = getenv("LD_PRELOAD");
  if (preloaded != NULL && strstr(preloaded, "libasan") != NULL) return;
  if (unchecked_in_qemu("the mapped memory, to which qemu-user adds translated code")) return;
  CHECK(mapped_kib() <= kib + 16 * 1024, "%ld KiB mapped, %ld after %d rounds", kib, mapped_kib(), rounds);
}

/* More than any cache of recent ones holds, used in turn, freed in another order. */
static void check_many(void) {
  enum { many = 12 };
  MPI_Comm comms[many];
  for (int i = 0; i < many; i++) MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? world_rank : -world_rank, &comms[i]);
  for (int round = 0; round < 5; round++)
    for (int i = 0; i < many; i++) use(comms[(i * 5 + round) % many], "one of many");
  for (int i = 0; i < many; i += 2) MPI_Comm_free(&comms[i]);
  for (int i = 1; i < many; i += 2) use(comms[i], "one of those left");
  for (int i = 1; i < many; i += 2) MPI_Comm_free(&comms[i]);
}

/* The attribute of the program is copied, whatever other attributes the communicator has. */
static int copies, deletions;
static int copy_attribute(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag) {
  (void)comm, (void)key, (void)extra;
  *(void **)copied = value;
  *flag = 1;
  copies++;
  return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  deletions++;
  return MPI_SUCCESS;
}

static void check_attributes(void) {
  int key, flag, *value, own = 5;
  MPI_Comm comm, twin;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  use(comm, "before the attribute");
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
  MPI_Comm_set_attr(comm, key, &own);
  MPI_Comm_dup(comm, &twin);
  use(twin, "twin");
  MPI_Comm_get_attr(twin, key, &value, &flag);
  CHECK(flag && value == &own && copies == 1, "the attribute was copied %d times", copies);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&twin);
  CHECK(deletions == 2, "the attribute was deleted %d times", deletions);
  MPI_Comm_free_keyval(&key);
}

static void check_self(void) {
  use(MPI_COMM_SELF, "MPI_COMM_SELF");
  double in = 3.5, out = 0;
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_PROD, MPI_COMM_SELF);
  CHECK(out == 3.5, "MPI_COMM_SELF: %g", out);
}

/* Created by its members alone, while the others continue. */
static void check_group(void) {
  MPI_Group all, group;
  MPI_Comm comm;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, world_size > 2, (int[]){world_size - 2}, &group);
  if (world_size <= 2 || world_rank != world_size - 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &comm);
    use(comm, "of a group");
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&all);
}

static void check_inter(void) {
  MPI_Comm half, inter;
  const int upper = world_rank >= world_size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, upper, world_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : world_size / 2, 1, &inter);
  int mine = upper ? 1 : 100, sum = 0, others;
  MPI_Comm_remote_size(inter, &others);
  MPI_Barrier(inter);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == others * (upper ? 100 : 1), "across the inter-communicator: %d", sum);
  int word = !upper && world_rank == 0 ? 9 : 0;
  MPI_Bcast(&word, 1, MPI_INT, upper ? 0 : world_rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
  CHECK(!upper || word == 9, "broadcast across: %d", word);
  MPI_Comm_free(&inter);
  use(half, "half");
  MPI_Comm_free(&half);
}

/* Attributes of MPI_COMM_SELF go first in MPI_Finalize, while MPI still works; here they were set at different
   times at different ranks. */
static int at_the_end(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  use(MPI_COMM_WORLD, "in MPI_Finalize");
  return MPI_SUCCESS;
}

static void set_at_the_end(void) {
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

/* A communicator without a parent. */
static void check_session(void) {
#if MPI_VERSION >= 4
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "tests/mpi", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  use(comm, "of a session");
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
#endif
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  if (world_rank == 0) set_at_the_end();
  use(MPI_COMM_WORLD, "MPI_COMM_WORLD");
  check_self();
  check_many();
  check_attributes();
  check_group();
  check_inter();
  check_session();
  check_leaks();
  if (world_rank != 0) set_at_the_end();
  return done();
}
