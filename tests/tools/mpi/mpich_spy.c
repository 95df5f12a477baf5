// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a program of MPICH over UCX: prints the bytes of every message of a broadcast or an allreduce, by which
// algorithms can be distinguished. MPICH's own functions cannot be interposed, those of UCX can.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <ucp/api/ucp.h>

// Prints one line with one write, because ranks share the stream.
static char line[4096];
static int length;  // 0: outside

// The next library's `function`, as real().
#define REAL(function)               \
  static __typeof__(function) *real; \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, #function)

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h to, const void *buffer, size_t count, ucp_tag_t tag,
                                  const ucp_request_param_t *how) {
  REAL(ucp_tag_send_nbx);
  const int typed = how->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE;
  const size_t element = typed ? how->datatype >> UCP_DATATYPE_SHIFT : 1;
  if (length > 0 && length < (int)sizeof line - 32) length += sprintf(line + length, " %zu", count * element);
  return real(to, buffer, count, tag, how);
}

static void begin(const char *what, int count, MPI_Datatype type, MPI_Comm comm) {
  int rank, size;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Type_size(type, &size);
  length = sprintf(line, "spy rank %d %s %d:", rank, what, count * size);
}
static int end(int result) {
  strcpy(line + length, "\n");
  fputs(line, stderr);
  length = 0;
  return result;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  begin("bcast", count, type, comm);
  return end(PMPI_Bcast(buffer, count, type, root, comm));
}
int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  begin("allreduce", count, type, comm);
  return end(PMPI_Allreduce(in, out, count, type, op, comm));
}
