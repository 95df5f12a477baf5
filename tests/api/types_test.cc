// SPDX-License-Identifier: BSD-3-Clause
// Compares every datatype with every operation with the definition.
#include "mem/types.h"
#include "comm/collectives.h"
#include "mem/random_values.h"

using namespace ranks;
namespace reference = coll::test;

namespace {

// std::vector would pack bool.
template <typename T>
std::unique_ptr<T[]> values(int rank, size_t n, uint64_t seed) {
  reference::Random random(seed * 64 + uint64_t(rank));
  std::unique_ptr<T[]> all(new T[n]());
  for (size_t i = 0; i < n; i++) all[i] = reference::random_element<T>(random);
  return all;
}

template <typename T>
void check_type(Context& c, coll_comm* comm, coll_datatype type, uint64_t seed) {
  RANK_CHECK(c, coll_datatype_size(type) == sizeof(T));
  for (coll_op op = COLL_SUM; op < COLL_OP_END_; op++) {
    c.about = std::string(coll_datatype_name(type)) + " " + coll_op_name(op);
    for (size_t n : {size_t(1), size_t(7), size_t(1100), size_t(9001)}) {
      std::vector<std::unique_ptr<T[]>> all;
      for (int r = 0; r < c.ranks; r++) all.push_back(values<T>(r, n, seed + op));
      std::unique_ptr<T[]> recv(new T[n]());
      coll_status status = coll_allreduce(all[size_t(c.rank)].get(), recv.get(), n, type, op, comm);
      RANK_CHECK(c, status == (coll_op_defined(op, type) ? COLL_OK : COLL_ERR_OP));
      if (status != COLL_OK) break;
      std::vector<const T*> sources;
      for (const auto& one : all) sources.push_back(one.get());
      for (size_t i = 0; i < n; i++)
        if (!reference::same(recv[i], reference::fold(op, sources.data(), c.ranks, i)))
          return c.fail("wrong at element " + std::to_string(i) + " of " + std::to_string(n));
    }
  }
}

TEST(Types, EveryDatatypeWithEveryOperation) {
  uint64_t seed = reference::seed();
  run_processes(3, [=](Context& c) {
    coll_comm* comm = c.comm();
    for (coll_datatype type = COLL_INT8; type < COLL_DATATYPE_END_ && !c.failed(); type++)
      reference::with_type(type, [&](auto zero) {
        using T = decltype(zero);
        check_type<T>(c, comm, type, seed);
      });
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
