// SPDX-License-Identifier: BSD-3-Clause
// Every wrong argument has its status and a text that names the fault or the fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "coll/coll.h"
#include "mem/types.h"

namespace {

using testing::HasSubstr;

int alone(const void* send, void* recv, size_t bytes, void*) {
  memcpy(recv, send, bytes);
  return 0;
}

#define EXPECT_FAILURE(call, status, text)           \
  do {                                               \
    EXPECT_EQ(call, status) << coll_last_error();    \
    EXPECT_THAT(coll_last_error(), HasSubstr(text)); \
  } while (0)

class Arguments : public testing::Test {
 protected:
  void SetUp() override {
    coll_bootstrap bootstrap{sizeof(coll_bootstrap), 0, 1, alone, nullptr};
    ASSERT_EQ(coll_comm_create(&bootstrap, &comm), COLL_OK) << coll_last_error();
  }
  void TearDown() override { EXPECT_EQ(coll_comm_free(comm), COLL_OK); }

  coll_comm* comm = nullptr;
  int a[8] = {}, b[8] = {};
};

TEST_F(Arguments, Bootstrap) {
  coll_comm* made = comm;
  EXPECT_FAILURE(coll_comm_create(nullptr, &made), COLL_ERR_ARG, "size_bytes");
  EXPECT_EQ(made, nullptr);
  coll_bootstrap old{8, 0, 1, alone, nullptr}, silent{sizeof old, 0, 1, nullptr, nullptr},
      outside{sizeof old, 3, 3, alone, nullptr}, none{sizeof old, 0, 0, alone, nullptr},
      too_many_ranks{sizeof old, 0, 1 << 20, alone, nullptr};
  EXPECT_FAILURE(coll_comm_create(&old, &made), COLL_ERR_ARG, "size_bytes");
  EXPECT_FAILURE(coll_comm_create(&silent, &made), COLL_ERR_ARG, "allgather");
  EXPECT_FAILURE(coll_comm_create(&outside, &made), COLL_ERR_ARG, "rank 3 of 3");
  EXPECT_FAILURE(coll_comm_create(&none, &made), COLL_ERR_ARG, "0 ranks");
  EXPECT_FAILURE(coll_comm_create(&too_many_ranks, &made), COLL_ERR_ARG, "exceed the limit of");
  EXPECT_FAILURE(coll_comm_create(&old, nullptr), COLL_ERR_ARG, "NULL");
}

TEST_F(Arguments, BootstrapThatFails) {
  coll_comm* made = comm;
  coll_bootstrap broken{sizeof(coll_bootstrap), 0, 1, [](const void*, void*, size_t, void*) { return 1; }, nullptr};
  EXPECT_FAILURE(coll_comm_create(&broken, &made), COLL_ERR_BOOTSTRAP,
                 "allgather callback of the bootstrap returned an error");
  EXPECT_EQ(made, nullptr);
  // Fails the second time it is called.
  int calls = 0;
  coll_bootstrap second{sizeof(coll_bootstrap), 0, 1,
                        [](const void* send, void* recv, size_t bytes, void* context) {
                          memcpy(recv, send, bytes);
                          return ++*static_cast<int*>(context) == 2 ? 1 : 0;
                        },
                        &calls};
  EXPECT_FAILURE(coll_comm_create(&second, &made), COLL_ERR_BOOTSTRAP,
                 "allgather callback of the bootstrap returned an error");
  EXPECT_EQ(calls, 2);
}

TEST_F(Arguments, Communicator) {
  coll_comm* part = comm;
  EXPECT_FAILURE(coll_barrier(nullptr), COLL_ERR_ARG, "communicator is NULL");
  EXPECT_FAILURE(coll_bcast(a, 8, COLL_INT, 0, nullptr), COLL_ERR_ARG, "communicator is NULL");
  EXPECT_FAILURE(coll_allreduce(a, b, 8, COLL_INT, COLL_SUM, nullptr), COLL_ERR_ARG, "communicator is NULL");
  EXPECT_FAILURE(coll_comm_split(nullptr, 0, 0, &part), COLL_ERR_ARG, "NULL");
  EXPECT_FAILURE(coll_comm_split(comm, 0, 0, nullptr), COLL_ERR_ARG, "NULL");
  EXPECT_FAILURE(coll_comm_set_progress(nullptr, nullptr, nullptr), COLL_ERR_ARG, "NULL");
  EXPECT_EQ(coll_comm_free(nullptr), COLL_OK);
  EXPECT_EQ(coll_comm_rank(nullptr), -1);
  EXPECT_EQ(coll_comm_size(nullptr), -1);
  EXPECT_STREQ(coll_comm_describe(nullptr), "");
}

TEST_F(Arguments, Count) {
  EXPECT_FAILURE(coll_bcast(a, SIZE_MAX, COLL_INT, 0, comm), COLL_ERR_COUNT, "exceed the address space");
  EXPECT_FAILURE(coll_bcast(a, SIZE_MAX / 2, COLL_INT, 0, comm), COLL_ERR_COUNT, "exceed");
  EXPECT_FAILURE(coll_allreduce(a, b, SIZE_MAX / 16 + 1, COLL_COMPLEX_LONG_DOUBLE, COLL_SUM, comm), COLL_ERR_COUNT,
                 "exceed");
  EXPECT_EQ(coll_bcast(nullptr, 0, COLL_INT, 0, comm), COLL_OK);
  EXPECT_EQ(coll_allreduce(nullptr, nullptr, 0, COLL_INT, COLL_SUM, comm), COLL_OK);
}

TEST_F(Arguments, Root) {
  for (int root : {-1, 1, 1000}) {
    EXPECT_FAILURE(coll_bcast(a, 8, COLL_INT, root, comm), COLL_ERR_ROOT, "root " + std::to_string(root));
    EXPECT_FAILURE(coll_reduce(a, b, 8, COLL_INT, COLL_SUM, root, comm), COLL_ERR_ROOT, "0..0");
  }
}

TEST_F(Arguments, Datatype) {
  for (coll_datatype type :
       {coll_datatype(0), coll_datatype(COLL_DATATYPE_END_), coll_datatype(0x7fffffff), COLL_TYPE_BYTES(0)}) {
    EXPECT_FAILURE(coll_bcast(a, 1, type, 0, comm), COLL_ERR_TYPE, "unknown");
    EXPECT_FAILURE(coll_allreduce(a, b, 1, type, COLL_SUM, comm), COLL_ERR_TYPE, "unknown");
    EXPECT_EQ(coll_datatype_size(type), 0u);
  }
}

TEST_F(Arguments, Operation) {
  EXPECT_FAILURE(coll_allreduce(a, b, 1, COLL_FLOAT, COLL_BAND, comm), COLL_ERR_OP,
                 "band is not defined for datatype float");
  EXPECT_FAILURE(coll_allreduce(a, b, 1, COLL_INT, COLL_MINLOC, comm), COLL_ERR_OP, "minloc");
  EXPECT_FAILURE(coll_allreduce(a, b, 1, COLL_TYPE_BYTES(4), COLL_SUM, comm), COLL_ERR_OP,
                 "sum is not defined for datatype bytes");
  EXPECT_FAILURE(coll_allreduce(a, b, 1, COLL_INT, 0, comm), COLL_ERR_OP, "not defined");
  EXPECT_FAILURE(coll_allreduce(a, b, 1, COLL_INT, 0xffff, comm), COLL_ERR_OP, "coll_op_create");
  coll_op op = 0;
  EXPECT_FAILURE(coll_op_create(nullptr, 1, nullptr, &op), COLL_ERR_ARG, "NULL");
  EXPECT_FAILURE(coll_op_free(COLL_SUM), COLL_ERR_OP, "not an operation made by coll_op_create");
  ASSERT_EQ(coll_op_create([](const void*, void*, size_t, coll_datatype, void*) {}, 1, nullptr, &op), COLL_OK);
  EXPECT_STREQ(coll_op_name(op), "user");
  EXPECT_EQ(coll_op_free(op), COLL_OK);
  EXPECT_FAILURE(coll_op_free(op), COLL_ERR_OP, "freed already");
  EXPECT_FAILURE(coll_allreduce(a, b, 1, COLL_INT, op, comm), COLL_ERR_OP, "unknown");
  EXPECT_EQ(coll_op_name(op), nullptr);
}

TEST_F(Arguments, ScaledSum) {
  const float half = 0.5F;
  coll_op op = 77;
  EXPECT_FAILURE(coll_op_create_scaled_sum(nullptr, COLL_FLOAT, &op), COLL_ERR_ARG, "factor or op is NULL");
  EXPECT_FAILURE(coll_op_create_scaled_sum(&half, COLL_FLOAT, nullptr), COLL_ERR_ARG, "factor or op is NULL");
  EXPECT_FAILURE(coll_op_create_scaled_sum(&half, 0, &op), COLL_ERR_TYPE, "datatype 0 is unknown");
  EXPECT_FAILURE(coll_op_create_scaled_sum(&half, COLL_BOOL, &op), COLL_ERR_OP, "sum is not defined for datatype bool");
  EXPECT_FAILURE(coll_op_create_scaled_sum(&half, COLL_TYPE_BYTES(4), &op), COLL_ERR_OP, "not defined");
  EXPECT_EQ(op, 77u);
  ASSERT_EQ(coll_op_create_scaled_sum(&half, COLL_FLOAT, &op), COLL_OK);
  EXPECT_STREQ(coll_op_name(op), "scaled_sum");
  EXPECT_TRUE(coll_op_defined(op, COLL_FLOAT));
  EXPECT_FALSE(coll_op_defined(op, COLL_DOUBLE));
  EXPECT_FALSE(coll_op_defined(op, COLL_TYPE_BYTES(4)));
  float in[] = {6, 8}, out[] = {0, 0};
  EXPECT_FAILURE(coll_allreduce(in, out, 2, COLL_DOUBLE, op, comm), COLL_ERR_OP,
                 "a scaled sum of float, not of double");
  EXPECT_FAILURE(coll_reduce(in, out, 2, COLL_TYPE_BYTES(4), op, 0, comm), COLL_ERR_OP, "not of bytes");
  EXPECT_FAILURE(coll_scan(in, in, 2, COLL_FLOAT, op, comm), COLL_ERR_BUFFER, "COLL_IN_PLACE");
  EXPECT_FAILURE(coll_allreduce(nullptr, out, 2, COLL_FLOAT, op, comm), COLL_ERR_BUFFER, "send buffer is NULL");
  EXPECT_FAILURE(coll_reduce_scatter_block(in, out, SIZE_MAX / 2, COLL_FLOAT, op, comm), COLL_ERR_COUNT, "exceed");
  EXPECT_EQ(coll_allreduce(nullptr, nullptr, 0, COLL_FLOAT, op, comm), COLL_OK);
  EXPECT_EQ(coll_allreduce(in, out, 2, COLL_FLOAT, op, comm), COLL_OK);
  EXPECT_EQ(out[0] * 10 + out[1], 34);
  EXPECT_EQ(coll_op_free(op), COLL_OK);
  EXPECT_FAILURE(coll_op_free(op), COLL_ERR_OP, "freed already");
  EXPECT_FAILURE(coll_allreduce(in, out, 2, COLL_FLOAT, op, comm), COLL_ERR_OP, "unknown");
  EXPECT_EQ(coll_op_name(op), nullptr);
  EXPECT_FALSE(coll_op_defined(op, COLL_FLOAT));
}

TEST_F(Arguments, Buffer) {
  EXPECT_FAILURE(coll_bcast(nullptr, 1, COLL_INT, 0, comm), COLL_ERR_BUFFER, "broadcast buffer is NULL");
  EXPECT_FAILURE(coll_bcast(const_cast<void*>(COLL_IN_PLACE), 1, COLL_INT, 0, comm), COLL_ERR_BUFFER, "not allowed");
  EXPECT_FAILURE(coll_allreduce(nullptr, b, 1, COLL_INT, COLL_SUM, comm), COLL_ERR_BUFFER, "send buffer is NULL");
  EXPECT_FAILURE(coll_allreduce(a, nullptr, 1, COLL_INT, COLL_SUM, comm), COLL_ERR_BUFFER, "receive buffer is NULL");
  EXPECT_FAILURE(coll_reduce(a, const_cast<void*>(COLL_IN_PLACE), 1, COLL_INT, COLL_SUM, 0, comm), COLL_ERR_BUFFER,
                 "not allowed");
  EXPECT_FAILURE(coll_allreduce(a, a + 3, 4, COLL_INT, COLL_SUM, comm), COLL_ERR_BUFFER, "COLL_IN_PLACE");
  EXPECT_FAILURE(coll_allreduce(a, a, 4, COLL_INT, COLL_SUM, comm), COLL_ERR_BUFFER, "COLL_IN_PLACE");
  EXPECT_EQ(coll_allreduce(a, a + 4, 4, COLL_INT, COLL_SUM, comm), COLL_OK);
  EXPECT_EQ(coll_allreduce(COLL_IN_PLACE, a, 4, COLL_INT, COLL_SUM, comm), COLL_OK);
}

TEST_F(Arguments, Blocks) {
  const size_t counts[] = {4}, far[] = {SIZE_MAX / 4}, none[] = {0}, huge[] = {SIZE_MAX / 2}, other[] = {3};
  EXPECT_FAILURE(coll_scatter(a, b, 4, COLL_INT, 1, comm), COLL_ERR_ROOT, "root 1");
  EXPECT_FAILURE(coll_gather(a, b, 4, COLL_INT, -1, comm), COLL_ERR_ROOT, "root -1");
  EXPECT_FAILURE(coll_scatter(nullptr, b, 4, COLL_INT, 0, comm), COLL_ERR_BUFFER, "send buffer is NULL");
  EXPECT_FAILURE(coll_scatter(COLL_IN_PLACE, b, 4, COLL_INT, 0, comm), COLL_ERR_BUFFER, "not allowed");
  EXPECT_FAILURE(coll_gather(a, nullptr, 4, COLL_INT, 0, comm), COLL_ERR_BUFFER, "receive buffer is NULL");
  EXPECT_FAILURE(coll_gather(a, COLL_RECV_IN_PLACE, 4, COLL_INT, 0, comm), COLL_ERR_BUFFER, "not allowed");
  EXPECT_FAILURE(coll_allgather(a, a, 4, COLL_INT, comm), COLL_ERR_BUFFER, "COLL_IN_PLACE");
  EXPECT_FAILURE(coll_alltoall(a, a + 2, 4, COLL_INT, comm), COLL_ERR_BUFFER, "overlap");
  EXPECT_FAILURE(coll_allgather(a, b, SIZE_MAX / 2, COLL_INT, comm), COLL_ERR_COUNT, "exceed");
  EXPECT_FAILURE(coll_allgather(a, b, 4, 0, comm), COLL_ERR_TYPE, "unknown");
  EXPECT_FAILURE(coll_alltoall(a, b, 4, COLL_INT, nullptr), COLL_ERR_ARG, "communicator is NULL");
  EXPECT_FAILURE(coll_reduce_scatter_block(a, b, 4, COLL_FLOAT, COLL_BAND, comm), COLL_ERR_OP, "band");
  EXPECT_FAILURE(coll_scan(a, a, 4, COLL_INT, COLL_SUM, comm), COLL_ERR_BUFFER, "COLL_IN_PLACE");
  EXPECT_FAILURE(coll_exscan(nullptr, b, 4, COLL_INT, COLL_SUM, comm), COLL_ERR_BUFFER, "send buffer is NULL");
  EXPECT_EQ(coll_exscan(a, nullptr, 4, COLL_INT, COLL_SUM, comm), COLL_OK);  // rank 0 has no result

  EXPECT_FAILURE(coll_scatterv(a, nullptr, nullptr, b, 4, COLL_INT, 0, comm), COLL_ERR_ARG, "counts");
  EXPECT_FAILURE(coll_allgatherv(a, 4, b, nullptr, nullptr, COLL_INT, comm), COLL_ERR_ARG, "counts");
  EXPECT_FAILURE(coll_scatterv(a, counts, nullptr, b, 3, COLL_INT, 0, comm), COLL_ERR_COUNT, "sends 4");
  EXPECT_FAILURE(coll_gatherv(a, 3, b, counts, nullptr, COLL_INT, 0, comm), COLL_ERR_COUNT, "receives 4");
  EXPECT_FAILURE(coll_alltoallv(a, counts, nullptr, b, other, nullptr, COLL_INT, comm), COLL_ERR_COUNT, "equal");
  EXPECT_FAILURE(coll_gatherv(a, 4, b, counts, far, COLL_INT, 0, comm), COLL_ERR_COUNT, "from element");
  EXPECT_FAILURE(coll_reduce_scatter(a, b, huge, COLL_INT, COLL_SUM, comm), COLL_ERR_COUNT, "exceeds");
  EXPECT_FAILURE(coll_gatherv(a, 4, a, counts, nullptr, COLL_INT, 0, comm), COLL_ERR_BUFFER, "overlap");
  EXPECT_FAILURE(coll_reduce_scatter(nullptr, b, counts, COLL_INT, COLL_SUM, comm), COLL_ERR_BUFFER, "NULL");
  EXPECT_FAILURE(coll_reduce_scatter(COLL_IN_PLACE, nullptr, counts, COLL_INT, COLL_SUM, comm), COLL_ERR_BUFFER,
                 "NULL");
  EXPECT_EQ(coll_gatherv(nullptr, 0, nullptr, none, far, COLL_INT, 0, comm), COLL_OK);
  EXPECT_EQ(coll_gatherv(a, 4, a + 4, counts, nullptr, COLL_INT, 0, comm), COLL_OK);
}

// A single rank gets its own block, at any displacement.
TEST_F(Arguments, BlocksOfOneRank) {
  const size_t counts[] = {2}, at[] = {3};
  for (int i = 0; i < 8; i++) a[i] = i;
  EXPECT_EQ(coll_scatterv(a, counts, at, b, 2, COLL_INT, 0, comm), COLL_OK);
  EXPECT_EQ(b[0] * 10 + b[1], 34);
  EXPECT_EQ(coll_alltoallv(a, counts, at, b, counts, at, COLL_INT, comm), COLL_OK);
  EXPECT_EQ(b[3] * 10 + b[4], 34);
  EXPECT_EQ(coll_reduce_scatter(a + 5, b, counts, COLL_INT, COLL_SUM, comm), COLL_OK);
  EXPECT_EQ(b[0] * 10 + b[1], 56);
  EXPECT_EQ(coll_gatherv(COLL_IN_PLACE, 0, b, counts, at, COLL_INT, 0, comm), COLL_OK);
  EXPECT_EQ(coll_scatterv(a, counts, at, COLL_RECV_IN_PLACE, 0, COLL_INT, 0, comm), COLL_OK);
  EXPECT_EQ(coll_alltoallv(COLL_IN_PLACE, nullptr, nullptr, b, counts, at, COLL_INT, comm), COLL_OK);
  EXPECT_EQ(b[3] * 10 + b[4], 34);
  EXPECT_EQ(coll_scan(a, b, 8, COLL_INT, COLL_SUM, comm), COLL_OK);
  EXPECT_EQ(b[7], 7);
}

TEST_F(Arguments, Requests) {
  coll_request *request = nullptr, *persistent = nullptr;
  int done = 0;
  EXPECT_FAILURE(coll_ibarrier(comm, nullptr), COLL_ERR_ARG, "request is NULL");
  EXPECT_FAILURE(coll_ibcast(nullptr, 1, COLL_INT, 0, comm, &request), COLL_ERR_BUFFER, "NULL");
  EXPECT_EQ(request, nullptr);
  EXPECT_FAILURE(coll_allreduce_init(a, b, 1, COLL_INT, 99, comm, &persistent), COLL_ERR_OP, "99");
  EXPECT_FAILURE(coll_start(nullptr), COLL_ERR_ARG, "NULL");
  EXPECT_FAILURE(coll_test(nullptr, &done), COLL_ERR_ARG, "NULL");
  EXPECT_FAILURE(coll_test(&request, nullptr), COLL_ERR_ARG, "NULL");
  EXPECT_FAILURE(coll_wait(nullptr), COLL_ERR_ARG, "NULL");
  EXPECT_EQ(coll_wait(&request), COLL_OK);
  EXPECT_EQ(coll_test(&request, &done), COLL_OK);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(coll_request_free(nullptr), COLL_OK);
  ASSERT_EQ(coll_ibarrier(comm, &request), COLL_OK);
  EXPECT_FAILURE(coll_start(request), COLL_ERR_STATE, "persistent");
  EXPECT_EQ(coll_wait(&request), COLL_OK);
}

TEST_F(Arguments, Memory) {
  void* memory = nullptr;
  EXPECT_FAILURE(coll_mem_alloc(100, nullptr), COLL_ERR_ARG, "NULL");
  EXPECT_FAILURE(coll_mem_alloc(SIZE_MAX / 2, &memory), COLL_ERR_NO_MEMORY,
                 "do not fit into this process's shared arena");
  EXPECT_EQ(memory, nullptr);
  EXPECT_FAILURE(coll_mem_free(a), COLL_ERR_ARG, "coll_mem_alloc");
  EXPECT_EQ(coll_mem_free(nullptr), COLL_OK);
  ASSERT_EQ(coll_mem_alloc(100, &memory), COLL_OK);
  EXPECT_FAILURE(coll_mem_free(static_cast<char*>(memory) + 64), COLL_ERR_ARG, "not allocated");
  EXPECT_EQ(coll_mem_free(memory), COLL_OK);
  EXPECT_FAILURE(coll_mem_free(memory), COLL_ERR_ARG, "freed already");
}

TEST(Status, EveryOneHasASentence) {
  for (int status = COLL_OK; status <= COLL_ERR_ABORTED; status++) {
    EXPECT_STRNE(coll_strerror(coll_status(status)), "unknown status") << status;
    for (int other = COLL_OK; other < status; other++)
      EXPECT_STRNE(coll_strerror(coll_status(status)), coll_strerror(coll_status(other)));
  }
  EXPECT_STREQ(coll_strerror(coll_status(1234)), "unknown status");
}

}  // namespace
