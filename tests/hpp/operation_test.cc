// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include "hpp/ranks_of.h"

namespace {

using ranks::Context;

// 2 by 2 matrices modulo a prime: associative, not commutative.
struct Matrix {
  std::uint64_t a, b, c, d;
  friend bool operator==(const Matrix&, const Matrix&) = default;
};
Matrix times(const Matrix& l, const Matrix& r) {
  constexpr std::uint64_t m = 1000003;
  return {(l.a * r.a + l.b * r.c) % m, (l.a * r.b + l.b * r.d) % m, (l.c * r.a + l.d * r.c) % m,
          (l.c * r.b + l.d * r.d) % m};
}
Matrix matrix(int rank, std::uint64_t i) {
  return {std::uint64_t(rank) + 2, i % 97, 3, std::uint64_t(rank) * i % 89 + 1};
}

TEST(Operation, CombinesInRankOrder) {
  ranks::run(4, [](Context& context, coll::Communicator& comm) {
    const coll::Op<Matrix> product(times);
    for (std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{5000}}) {
      std::vector<Matrix> send(count), recv(count);
      for (std::size_t i = 0; i < count; i++) send[i] = matrix(comm.rank(), i);
      comm.allreduce(send, recv, product);
      for (std::size_t i = 0; i < count; i++) {
        Matrix expected = matrix(0, i);
        for (int r = 1; r < comm.size(); r++) expected = times(expected, matrix(r, i));
        RANK_CHECK(context, recv[i] == expected);
      }
    }
  });
}

TEST(Operation, ScaledSum) {
  ranks::run(3, [](Context& context, coll::Communicator& comm) {
    std::vector<float> send(100, 4), recv(100);
    coll::Request request;
    {
      const auto op = coll::Op<float>::scaled_sum(comm.rank() == 2 ? 0.5F : 0.25F);
      comm.allreduce(send, recv, op);
      request = comm.iallreduce(coll::in_place, send, op);
    }
    request.wait();
    for (std::size_t i = 0; i < send.size(); i++) RANK_CHECK(context, recv[i] == 4 && send[i] == 4);
    using Complex = std::complex<double>;
    const Complex turned = comm.allreduce(Complex(1, 2), coll::Op<Complex>::scaled_sum(Complex(0, 1)));
    RANK_CHECK(context, turned == Complex(-6, 3));
    try {
      coll::Op<bool>::scaled_sum(true);
      context.fail("bool has no sum");
    } catch (const coll::Error& error) { RANK_CHECK(context, error.status() == COLL_ERR_OP); }
  });
}

TEST(Operation, WholeSpansAndState) {
  ranks::run(3, [](Context& context, coll::Communicator& comm) {
    std::size_t calls = 0;
    const coll::Op<int> larger_magnitude(
        [&calls](std::span<const int> lower, std::span<int> upper) {
          calls++;
          for (std::size_t i = 0; i < upper.size(); i++)
            if (std::abs(lower[i]) > std::abs(upper[i])) upper[i] = lower[i];
        },
        coll::Order::any);
    std::vector<int> values(2000, comm.rank() == 1 ? -7 : comm.rank());
    comm.allreduce(coll::in_place, values, larger_magnitude);
    for (int value : values) RANK_CHECK(context, value == -7);
    const auto all_calls = comm.allreduce(calls, coll::sum);
    RANK_CHECK(context, all_calls > 0);
  });
}

TEST(Operation, StateOfItsOwnLivesAsLongAsARequestNeedsIt) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    std::vector<long> values(40000, comm.rank() + 1);
    auto modulus = std::make_shared<long>(2);
    const std::weak_ptr<long> watch = modulus;
    coll::Request request;
    {
      coll::Op<long> sum_modulo([modulus](const long& l, const long& r) { return (l + r) % *modulus; });
      request = comm.iallreduce(coll::in_place, values, sum_modulo);
      modulus.reset();
    }
    RANK_CHECK(context, !watch.expired());
    request.wait();
    for (long value : values) RANK_CHECK(context, value == 1);
    request = coll::Request();
    RANK_CHECK(context, watch.expired());
  });
}

// The algorithm decides which rank combines, so every rank's callable throws, and the ranks count which one did.
TEST(Operation, ExceptionsArriveOutsideOfC) {
  ranks::run(3, [](Context& context, coll::Communicator& comm) {
    struct Overflow {
      int rank;
    };
    const int rank = comm.rank();
    const coll::Op<double> never([rank](const double&, const double&) -> double { throw Overflow{rank}; });
    const coll::Op<double> twice([](const double& l, const double& r) { return 2 * (l + r); });
    for (std::size_t count : {std::size_t{1}, std::size_t{20000}}) {
      std::vector<double> send(count, 1.0), recv(count);
      int caught = 0;
      try {
        comm.allreduce(send, recv, never);
      } catch (const Overflow& overflow) {
        RANK_CHECK(context, overflow.rank == rank);
        caught++;
      }
      coll::Request request = comm.iallreduce(send, recv, never);
      try {
        request.wait();
      } catch (const Overflow&) { caught++; }
      const int somewhere = comm.allreduce(caught, coll::sum);
      RANK_CHECK(context, somewhere >= 2);
      // Dropping a request drops its exception, and the communicator still works.
      { coll::Request dropped = comm.iallreduce(send, recv, never); }
      RANK_CHECK(context, never.operation()->take() == nullptr);
      RANK_CHECK(context, comm.allreduce(1.0, coll::sum) == 3.0);
      RANK_CHECK(context, comm.allreduce(1.0, twice) > 3.0);
    }
  });
}

// A persistent request throws the exception of its callable, and can run again.
TEST(Operation, ThatThrewMayRunAgain) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    bool broken = true;
    const coll::Op<int> add(
        [&broken](const int& l, const int& r) { return broken ? throw std::domain_error("no") : l + r; });
    std::vector<int> in(100, comm.rank() + 1), sums(100);
    coll::Request request = comm.scan_init(in, sums, add);
    request.start();
    bool thrown = false;
    try {
      request.wait();
    } catch (const std::domain_error&) { thrown = true; }
    RANK_CHECK(context, thrown == (comm.rank() == 1));
    broken = false;
    request.start();
    request.wait();
    RANK_CHECK(context, sums[99] == (comm.rank() == 0 ? 1 : 3));
  });
}

TEST(Operation, CopiesShareTheCallable) {
  const coll::Op<int> first([](const int& l, const int&) { return l; });
  const coll::Op<int> second = first;
  EXPECT_EQ(first.handle(), second.handle());
  EXPECT_EQ(first.operation(), second.operation());
}

}  // namespace
