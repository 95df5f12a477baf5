/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of a user: sums over the ranks that collctl run has started. */
#include <coll/coll.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	size_t count = 100000, i;
	coll_comm *comm = NULL;
	float *in = malloc(count * sizeof(*in)), *out = malloc(count * sizeof(*out));
	int rank, ranks;

	if (!in || !out || coll_comm_create_from_launcher(&comm) != COLL_OK) {
		fprintf(stderr, "installed: %s\n", coll_last_error());
		return 1;
	}
	rank = coll_comm_rank(comm);
	ranks = coll_comm_size(comm);
	for (i = 0; i < count; i++)
		in[i] = rank + i % 7;
	if (coll_allreduce(in, out, count, COLL_FLOAT, COLL_SUM, comm) != COLL_OK) {
		fprintf(stderr, "installed: %s\n", coll_last_error());
		return 1;
	}
	for (i = 0; i < count; i++)
		if (out[i] != ranks * (ranks - 1) / 2 + ranks * (float)(i % 7)) {
			fprintf(stderr, "installed: element %zu is %g\n", i, out[i]);
			return 1;
		}
	return coll_comm_free(comm) != COLL_OK;
}
