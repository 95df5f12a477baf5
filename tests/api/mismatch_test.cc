// SPDX-License-Identifier: BSD-3-Clause
// COLL_DEBUG=1 detects ranks that call different collectives before any buffer changes. Lengths of short messages that
// differ from those of the receiver are detected without it. Elements that are too large to stage are refused.
#include <algorithm>

#include "comm/collectives.h"

using namespace ranks;

namespace {

using Call = coll_status (*)(coll_comm*);
int in[4096], out[4096];
const size_t counts[] = {4, 4, 4, 5};

// A scaled sum of int.
coll_op scaled_sum() {
  const int two = 2;
  coll_op op = 0;
  return coll_op_create_scaled_sum(&two, COLL_INT, &op) == COLL_OK ? op : 0;
}

struct Pair {
  const char* what;
  Call rank0, others;
};

const Pair pairs[] = {
    {"collective", [](coll_comm* c) { return coll_barrier(c); },
     [](coll_comm* c) { return coll_bcast(in, 4, COLL_INT, 0, c); }},
    {"size", [](coll_comm* c) { return coll_bcast(in, 5, COLL_INT, 0, c); },
     [](coll_comm* c) { return coll_bcast(in, 4, COLL_INT, 0, c); }},
    {"large size", [](coll_comm* c) { return coll_allreduce(in, out, 4000, COLL_INT, COLL_SUM, c); },
     [](coll_comm* c) { return coll_allreduce(in, out, 4001, COLL_INT, COLL_SUM, c); }},
    {"none against some", [](coll_comm* c) { return coll_bcast(in, 0, COLL_INT, 0, c); },
     [](coll_comm* c) { return coll_bcast(in, 1, COLL_INT, 0, c); }},
    {"root", [](coll_comm* c) { return coll_bcast(in, 4, COLL_INT, 0, c); },
     [](coll_comm* c) { return coll_bcast(in, 4, COLL_INT, 1, c); }},
    {"root of a reduction", [](coll_comm* c) { return coll_reduce(in, out, 4, COLL_INT, COLL_SUM, 0, c); },
     [](coll_comm* c) { return coll_reduce(in, out, 4, COLL_INT, COLL_SUM, 1, c); }},
    {"operation", [](coll_comm* c) { return coll_allreduce(in, out, 4, COLL_INT, COLL_SUM, c); },
     [](coll_comm* c) { return coll_allreduce(in, out, 4, COLL_INT, COLL_MAX, c); }},
    {"size of a piece", [](coll_comm* c) { return coll_allgather(in, out, 4, COLL_INT, c); },
     [](coll_comm* c) { return coll_allgather(in, out, 5, COLL_INT, c); }},
    {"form", [](coll_comm* c) { return coll_scatter(in, out, 4, COLL_INT, 0, c); },
     [](coll_comm* c) { return coll_scatterv(in, counts, nullptr, out, 4, COLL_INT, 0, c); }},
    {"counts that all must know",
     [](coll_comm* c) { return coll_reduce_scatter(in, out, counts, COLL_INT, COLL_SUM, c); },
     [](coll_comm* c) { return coll_reduce_scatter(in, out, counts + 1, COLL_INT, COLL_SUM, c); }},
    {"inclusive or not", [](coll_comm* c) { return coll_scan(in, out, 4, COLL_INT, COLL_SUM, c); },
     [](coll_comm* c) { return coll_exscan(in, out, 4, COLL_INT, COLL_SUM, c); }},
    {"datatype", [](coll_comm* c) { return coll_allreduce(in, out, 4, COLL_INT, COLL_SUM, c); },
     [](coll_comm* c) { return coll_allreduce(in, out, 4, COLL_FLOAT, COLL_SUM, c); }},
    {"scaled or not", [](coll_comm* c) { return coll_reduce_scatter_block(in, out, 4, COLL_INT, COLL_SUM, c); },
     [](coll_comm* c) { return coll_reduce_scatter_block(in, out, 4, COLL_INT, scaled_sum(), c); }},
};

TEST(Mismatch, IsFoundInDebugMode) {
  Environment debug("COLL_DEBUG", "1");
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(pair.what);
    run_processes(3, [&](Context& c) {
      coll_comm* comm = c.comm();
      for (int round = 0; round < 10; round++)
        RANK_CHECK(c, coll_allreduce(in, out, 100, COLL_INT, COLL_SUM, comm) == COLL_OK);
      coll_status status = c.rank == 0 ? pair.rank0(comm) : pair.others(comm);
      RANK_CHECK(c, status == COLL_ERR_MISMATCH);
      RANK_CHECK(c, strstr(coll_last_error(), c.rank == 0 ? "rank 1 called" : "rank 0 called") != nullptr);
      // No buffer has changed, so all ranks can continue.
      RANK_CHECK(c, coll_allreduce(in, out, 100, COLL_INT, COLL_SUM, comm) == COLL_OK);
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
  }
}

TEST(Mismatch, DebugModeLeavesRightCallsAlone) {
  Environment debug("COLL_DEBUG", "1");
  run_processes(3, [](Context& c) {
    coll_comm* comm = c.comm();
    check_all(c, comm, {4, 1024, 65536}, false);
    check_non_commutative(c, comm, 500);
    coll_comm* part = nullptr;
    RANK_CHECK(c, coll_comm_split(comm, c.rank % 2, 0, &part) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(part) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// A rank that accepts less than it is sent reports that and has the part that fits; all ranks can continue.
TEST(Mismatch, LengthsOfShortMessagesAreCompared) {
  run_processes(3, [](Context& c) {
    coll_comm* comm = c.comm();
    const bool root = c.rank == 0;
    for (size_t there : {size_t(1), size_t(5), size_t(200)})
      for (size_t here : {size_t(1), size_t(4), size_t(5), size_t(200)}) {
        std::vector<int> data(256, root ? 7 : -1);
        const coll_status status = coll_bcast(data.data(), root ? there : here, COLL_INT, 0, comm);
        const coll_status expected = there > here ? COLL_ERR_TRUNCATE : there < here ? COLL_ERR_COUNT : COLL_OK;
        RANK_CHECK(c, status == (root ? COLL_OK : expected));
        for (size_t i = 0; i < 256; i++) RANK_CHECK(c, data[i] == (root || i < std::min(there, here) ? 7 : -1));
        if (!root && status != COLL_OK)
          RANK_CHECK(c, strstr(coll_last_error(), "than what this rank expects") != nullptr);
      }
    // All ranks but the first name a longer message.
    const size_t n = root ? 2 : 3;
    const auto only_root_fails = [&](coll_status status) {
      RANK_CHECK(c, status == (root ? COLL_ERR_TRUNCATE : COLL_OK));
    };
    only_root_fails(coll_reduce(in, out, n, COLL_INT, COLL_SUM, 0, comm));
    only_root_fails(coll_allreduce(in, out, n, COLL_INT, COLL_SUM, comm));
    only_root_fails(coll_gather(in, out, n, COLL_INT, 0, comm));
    only_root_fails(coll_allgather(in, out, n, COLL_INT, comm));
    only_root_fails(coll_alltoall(in, out, n, COLL_INT, comm));
    const coll_status scattered = coll_scatter(in, out, root ? 3 : 2, COLL_INT, 0, comm);
    RANK_CHECK(c, scattered == (root ? COLL_OK : COLL_ERR_TRUNCATE));
    check_all(c, comm, {4, 1024}, false);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

void keep_larger(const void* from, void* to, size_t count, coll_datatype type, void*) {
  size_t bytes = coll_datatype_size(type);
  for (size_t i = 0; i < count; i++) {
    auto* a = static_cast<const unsigned char*>(from) + i * bytes;
    auto* b = static_cast<unsigned char*>(to) + i * bytes;
    if (memcmp(a, b, bytes) > 0) memcpy(b, a, bytes);
  }
}

// Elements up to the limit are reduced whole; every rank refuses larger ones.
TEST(LargeElements, AreReducedOrRefused) {
  for (const char* transport : transports({"shm", "cma"}))
    for (const char* algorithm : {"", "fused", "all_read", "recursive_doubling", "hierarchical", "movement_avoiding"}) {
      SCOPED_TRACE(std::string(transport) + " " + algorithm);
      Environment forced("COLL_TRANSPORT", transport);
      Environment choice("COLL_ALLREDUCE", algorithm);
      run_processes(3, [&](Context& c) {
        coll_comm* comm = c.comm();
        coll_op op;
        RANK_CHECK(c, coll_op_create(keep_larger, 1, nullptr, &op) == COLL_OK);
        for (uint32_t element : {3u, 1000u, 5000u, 65536u, 100'003u, 524288u, 524289u, 3u << 20})
          for (size_t n : {size_t(1), size_t(3)}) {
            std::vector<unsigned char> send(element * n, static_cast<unsigned char>(10 + c.rank)),
                recv(element * n + 64, 0xab);
            coll_status status = coll_allreduce(send.data(), recv.data(), n, COLL_TYPE_BYTES(element), op, comm);
            if (status == COLL_OK) {
              for (size_t i = 0; i < element * n; i++)
                if (recv[i] != 12)
                  return c.fail("wrong at byte " + std::to_string(i) + " with elements of " + std::to_string(element));
            } else {
              RANK_CHECK(c, status == COLL_ERR_TYPE || status == COLL_ERR_UNAVAILABLE);
              RANK_CHECK(c, strstr(coll_last_error(), "staging") != nullptr);
              RANK_CHECK(c, element > 5000);
            }
            for (size_t i = 0; i < 64; i++) RANK_CHECK(c, recv[element * n + i] == 0xab);
            if (element > 524288) RANK_CHECK(c, status == COLL_ERR_TYPE);
          }
        RANK_CHECK(c, coll_op_free(op) == COLL_OK && coll_comm_free(comm) == COLL_OK);
      });
    }
}

}  // namespace
