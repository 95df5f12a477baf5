// SPDX-License-Identifier: BSD-3-Clause
// Checks the collectives of one rank against their definition: sizes around all thresholds, every root, in place and
// not, ordinary and mappable memory, commutative and not.
#pragma once

#include <cstdint>
#include <memory>
#include <random>

#include "comm/ranks.h"

namespace ranks {

inline const std::vector<size_t>& sizes_bytes() {
  static const std::vector<size_t> sizes{4,    8,    48,    56,    1020,  1024,   1028,
                                         4096, 4100, 16384, 40000, 65536, 200004, 1 << 20};
  return sizes;
}

// Memory of either kind.
class Buffer {
 public:
  Buffer(size_t bytes, bool mappable) : mappable_(mappable) {
    if (mappable) coll_mem_alloc(bytes, &memory_);
    else memory_ = malloc(bytes + 1);
  }
  ~Buffer() { mappable_ ? (void)coll_mem_free(memory_) : free(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  uint32_t* data() { return static_cast<uint32_t*>(memory_); }

 private:
  void* memory_ = nullptr;
  bool mappable_;
};

inline uint32_t input(int rank, size_t i, uint32_t round) {
  return uint32_t(rank + 1) * 2654435761u + uint32_t(i) * 40503u + round * 97u;
}

inline uint32_t expected_sum(int ranks, size_t i, uint32_t round) {
  uint32_t sum = 0;
  for (int r = 0; r < ranks; r++) sum += input(r, i, round);
  return sum;
}

// Associative, not commutative: composition of affine maps x -> a x + b over 2^32.
struct Affine {
  uint32_t a, b;
};
inline void compose(const void* in, void* inout, size_t count, coll_datatype, void*) {
  auto* first = static_cast<const Affine*>(in);
  auto* second = static_cast<Affine*>(inout);
  for (size_t i = 0; i < count; i++) second[i] = {first[i].a * second[i].a, first[i].b * second[i].a + second[i].b};
}

inline void check_all(Context& c, coll_comm* comm, const std::vector<size_t>& sizes, bool mappable) {
  uint32_t round = 0;
  for (size_t bytes : thinned(sizes, c.ranks)) {
    size_t n = bytes / 4;
    Buffer send(bytes, mappable), recv(bytes, mappable);
    auto fill = [&](uint32_t* to) {
      for (size_t i = 0; i < n; i++) to[i] = input(c.rank, i, round);
    };
    auto is_sum = [&](const uint32_t* result) {
      for (size_t i = 0; i < n; i++)
        if (result[i] != expected_sum(c.ranks, i, round)) return false;
      return true;
    };
    auto is_input = [&](const uint32_t* result, int rank) {
      for (size_t i = 0; i < n; i++)
        if (result[i] != input(rank, i, round)) return false;
      return true;
    };
    for (int root = 0; root < c.ranks; root = next_root(root, c.ranks)) {
      round++;
      if (c.rank == root) fill(recv.data());
      else memset(recv.data(), 0xee, bytes);
      RANK_CHECK(c, coll_bcast(recv.data(), n, COLL_UINT32, root, comm) == COLL_OK);
      RANK_CHECK(c, is_input(recv.data(), root));

      round++;
      fill(send.data());
      RANK_CHECK(c, coll_reduce(send.data(), c.rank == root ? recv.data() : nullptr, n, COLL_UINT32, COLL_SUM, root,
                                comm) == COLL_OK);
      RANK_CHECK(c, c.rank != root || is_sum(recv.data()));
      RANK_CHECK(c, is_input(send.data(), c.rank));

      round++;
      fill(recv.data());
      RANK_CHECK(c, coll_reduce(c.rank == root ? COLL_IN_PLACE : recv.data(), recv.data(), n, COLL_UINT32, COLL_SUM,
                                root, comm) == COLL_OK);
      RANK_CHECK(c, c.rank != root || is_sum(recv.data()));
    }
    round++;
    fill(send.data());
    RANK_CHECK(c, coll_allreduce(send.data(), recv.data(), n, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
    RANK_CHECK(c, is_sum(recv.data()));
    RANK_CHECK(c, is_input(send.data(), c.rank));
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);

    round++;
    fill(recv.data());
    RANK_CHECK(c, coll_allreduce(COLL_IN_PLACE, recv.data(), n, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
    RANK_CHECK(c, is_sum(recv.data()));
  }
}

inline void check_non_commutative(Context& c, coll_comm* comm, size_t n) {
  coll_op op;
  RANK_CHECK(c, coll_op_create(compose, 0, nullptr, &op) == COLL_OK);
  std::vector<Affine> send(n), recv(n);
  auto value = [](int rank, size_t i) { return Affine{uint32_t(2 * rank + 3 + i % 5), uint32_t(rank * 7 + i)}; };
  for (size_t i = 0; i < n; i++) send[i] = value(c.rank, i);
  RANK_CHECK(c, coll_allreduce(send.data(), recv.data(), n, COLL_TYPE_BYTES(sizeof(Affine)), op, comm) == COLL_OK);
  for (size_t i = 0; i < n; i++) {
    Affine expected = value(0, i);
    for (int r = 1; r < c.ranks; r++) {
      Affine next = value(r, i);
      compose(&expected, &next, 1, 0, nullptr);
      expected = next;
    }
    if (recv[i].a != expected.a || recv[i].b != expected.b) {
      c.fail("non-commutative allreduce is wrong at element " + std::to_string(i));
      break;
    }
  }
  RANK_CHECK(c, coll_op_free(op) == COLL_OK);
}

}  // namespace ranks
