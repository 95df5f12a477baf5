/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded behind the shim: a generalized request that a waiting thread frees before MPI_Grequest_complete returns is
 * freed once more, as by Open MPI 6.0.0rc2 (ompi_grequest_complete, ompi_grequest_free). */
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Never freed: both threads may still look at it. */
struct request {
  MPI_Request handle;
  MPI_Grequest_query_function *query;
  MPI_Grequest_free_function *free;
  MPI_Grequest_cancel_function *cancel;
  void *state;
  atomic_int freed;
  struct request *next;
};

static _Atomic(struct request *) all;

static int query_it(void *request, MPI_Status *status) {
  struct request *of = request;
  return of->query(of->state, status);
}

static int free_it(void *request) {
  struct request *of = request;
  const int result = of->free(of->state);
  atomic_store(&of->freed, 1);
  return result;
}

static int cancel_it(void *request, int complete) {
  struct request *of = request;
  return of->cancel(of->state, complete);
}

int PMPI_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free,
                        MPI_Grequest_cancel_function *cancel, void *state, MPI_Request *handle) {
  int (*start)(MPI_Grequest_query_function *, MPI_Grequest_free_function *, MPI_Grequest_cancel_function *, void *,
               MPI_Request *);
  *(void **)&start = dlsym(RTLD_NEXT, "PMPI_Grequest_start");
  struct request *made = calloc(1, sizeof *made);
  made->query = query;
  made->free = free;
  made->cancel = cancel;
  made->state = state;
  const int result = start(query_it, free_it, cancel_it, made, handle);
  made->handle = *handle;
  made->next = atomic_load(&all);
  while (!atomic_compare_exchange_weak(&all, &made->next, made)) continue;
  return result;
}

int PMPI_Grequest_complete(MPI_Request handle) {
  int (*complete)(MPI_Request);
  *(void **)&complete = dlsym(RTLD_NEXT, "PMPI_Grequest_complete");
  /* The newest is first: handles are used again. */
  struct request *of = atomic_load(&all);
  while (of->handle != handle) of = of->next;
  const int result = complete(handle);
  /* Gives the thread that waits for it some time to free it; at the first requests only, as the test would take long. */
  static atomic_int completed;
  if (atomic_fetch_add(&completed, 1) < 40)
    for (int wait = 0; wait < 20 && !atomic_load(&of->freed); wait++) usleep(50);
  if (atomic_load(&of->freed)) of->free(of->state);
  return result;
}
