// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <numeric>

#include "hpp/ranks_of.h"

namespace {

using ranks::Context;

TEST(Communicator, FromTheLauncherIsAloneWithoutOne) {
  ranks::run_processes(1, [](Context& context) {
    coll::Communicator comm = coll::Communicator::from_launcher();
    RANK_CHECK(context, comm.rank() == 0 && comm.size() == 1);
    RANK_CHECK(context, !comm.describe().empty());
    RANK_CHECK(context, comm.allreduce(41, coll::sum) == 41);
  });
}

TEST(Communicator, RethrowsExceptionsOfTheBootstrap) {
  ranks::run_processes(1, [](Context& context) {
    struct Broken {};
    try {
      coll::Communicator comm(0, 2, [](std::span<const std::byte>, std::span<std::byte>) { throw Broken(); });
      context.fail("a communicator came of a broken bootstrap");
    } catch (const Broken&) {}
  });
}

TEST(Communicator, ImpossibleRankIsAnError) {
  try {
    coll::Communicator comm(3, 2, [](std::span<const std::byte>, std::span<std::byte>) {});
    FAIL() << "rank 3 of 2 was accepted";
  } catch (const coll::Error& error) {
    EXPECT_EQ(error.status(), COLL_ERR_ARG);
    EXPECT_NE(std::string(error.what()).find("rank 3 of 2"), std::string::npos) << error.what();
  }
}

TEST(Communicator, BroadcastsVectorsAndValues) {
  ranks::run(4, [](Context& context, coll::Communicator& comm) {
    struct Setting {
      char name[20];
      double value;
    };
    for (int root = 0; root < comm.size(); root++) {
      const bool mine = comm.rank() == root;
      std::vector<int> numbers(100000, 0);
      if (mine) std::iota(numbers.begin(), numbers.end(), root);
      Setting setting = mine ? Setting{"tolerance", 0.25 + root} : Setting{};
      std::array<coll::float16, 3> halves{};
      if (mine) halves.fill(coll::float16(1.5f));

      comm.bcast(numbers, root);
      comm.bcast(setting, root);
      comm.bcast(std::span(halves).first(2), root);

      RANK_CHECK(context, numbers.front() == root && numbers.back() == 99999 + root);
      RANK_CHECK(context, std::string(setting.name) == "tolerance" && setting.value == 0.25 + root);
      RANK_CHECK(context, static_cast<float>(halves[1]) == 1.5f);
      RANK_CHECK(context, static_cast<float>(halves[2]) == (mine ? 1.5f : 0.0f));
    }
    comm.barrier();
  });
}

template <class T>
T number(int value) {
  if constexpr (std::integral<T>) return static_cast<T>(value);
  else return T(static_cast<float>(value));
}

template <class T>
void expect_sum(Context& context, coll::Communicator& comm, std::size_t count) {
  std::vector<T> send(count, number<T>(comm.rank() + 1)), recv(count);
  const T expected = number<T>(comm.size() * (comm.size() + 1) / 2);
  comm.allreduce(send, recv, coll::sum);
  for (const T& value : recv) RANK_CHECK(context, std::memcmp(&value, &expected, sizeof(T) > 10 ? 10 : sizeof(T)) == 0);
}

TEST(Communicator, SumsEveryKindOfNumber) {
  ranks::run(3, [](Context& context, coll::Communicator& comm) {
    for (std::size_t count : {std::size_t{1}, std::size_t{17}, std::size_t{5000}}) {
      expect_sum<signed char>(context, comm, count);
      expect_sum<unsigned long long>(context, comm, count);
      expect_sum<double>(context, comm, count);
      expect_sum<long double>(context, comm, count);
      expect_sum<std::complex<float>>(context, comm, count);
      expect_sum<coll::float16>(context, comm, count);
      expect_sum<coll::bfloat16>(context, comm, count);
    }
  });
}

TEST(Communicator, ReducesToARootAndInPlace) {
  ranks::run(4, [](Context& context, coll::Communicator& comm) {
    const int p = comm.size(), total = p * (p - 1) / 2;
    for (int root = 0; root < p; root++) {
      const bool mine = comm.rank() == root;
      const std::vector<int> send(3000, comm.rank());
      std::vector<int> recv(mine ? 3000 : 0), same(send);
      comm.reduce(send, recv, coll::sum, root);
      comm.reduce(coll::in_place, same, coll::sum, root);
      for (int value : recv) RANK_CHECK(context, value == total);
      for (int value : same) RANK_CHECK(context, value == (mine ? total : comm.rank()));
    }
    std::vector<coll::Located<double>> where(1, {comm.rank() == 2 ? -1.0 : 5.0, comm.rank()});
    comm.allreduce(coll::in_place, where, coll::minloc);
    RANK_CHECK(context, where[0].value == -1.0 && where[0].index == 2);
    RANK_CHECK(context, comm.allreduce(comm.rank() != 1, coll::land) == false);
    RANK_CHECK(context, comm.allreduce(std::byte(1 << comm.rank()), coll::bor) == std::byte(15));
  });
}

TEST(Communicator, WorksOnMemoryThatPeersMap) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    std::vector<float, coll::allocator<float>> send(300000, 0.5f);
    coll::Memory<float> recv(300000);
    comm.allreduce(send, recv, coll::sum);
    for (float value : recv) RANK_CHECK(context, value == 1.0f);
  });
}

TEST(Communicator, SplitsAndOutlivesItsParent) {
  ranks::run(4, [](Context& context, coll::Communicator& comm) {
    std::optional<coll::Communicator> half = comm.split(comm.rank() % 2, -comm.rank());
    std::optional<coll::Communicator> none = comm.split(comm.rank() == 0 ? 0 : -1);
    RANK_CHECK(context, none.has_value() == (comm.rank() == 0));
    RANK_CHECK(context, half && half->size() == 2 && half->rank() == (comm.rank() < 2 ? 1 : 0));
    const int rank = comm.rank();
    comm = std::move(*half);
    RANK_CHECK(context, comm.allreduce(rank, coll::sum) == (rank % 2 == 0 ? 2 : 4));
  });
}

TEST(Communicator, ErrorsHaveStatusAndHint) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    auto status_of = [&](auto&& call) {
      try {
        call();
      } catch (const coll::Error& error) {
        RANK_CHECK(context, std::string(error.what()).size() > std::string(coll_strerror(error.status())).size());
        return error.status();
      }
      return COLL_OK;
    };
    std::vector<float> send(4), recv(5), same(4);
    RANK_CHECK(context, status_of([&] { comm.bcast(send, 2); }) == COLL_ERR_ROOT);
    RANK_CHECK(context, status_of([&] { comm.allreduce(send, recv, coll::sum); }) == COLL_ERR_COUNT);
    RANK_CHECK(context, status_of([&] { comm.allreduce(send, same, coll::bxor); }) == COLL_ERR_OP);
    RANK_CHECK(context, status_of([&] { comm.allreduce(send, send, coll::sum); }) == COLL_ERR_BUFFER);
    comm.barrier();
  });
}

TEST(Communicator, EmptyVectorsAreFine) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    std::vector<double> nothing, also_nothing;
    comm.bcast(nothing, 1);
    comm.allreduce(nothing, also_nothing, coll::prod);
    comm.reduce(coll::in_place, nothing, coll::max, 0);
    RANK_CHECK(context, nothing.empty());
  });
}

coll_status status_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const coll::Error& error) { return error.status(); }
  return COLL_OK;
}

TEST(Communicator, MovedFromRefusesCollectives) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    coll::Communicator other = std::move(comm);
    const coll::Communicator null(nullptr);
    // NOLINTNEXTLINE(bugprone-use-after-move): the test is about that
    RANK_CHECK(context, comm.rank() == -1 && comm.size() == -1 && comm.describe().empty() && comm.handle() == nullptr);
    RANK_CHECK(context, null.rank() == -1 && null.handle() == nullptr);
    std::vector<int> values(2);
    RANK_CHECK(context, status_of([&] { comm.barrier(); }) == COLL_ERR_ARG);
    RANK_CHECK(context, status_of([&] { comm.allreduce(coll::in_place, values, coll::sum); }) == COLL_ERR_ARG);
    RANK_CHECK(context, status_of([&] { static_cast<void>(comm.split(0)); }) == COLL_ERR_ARG);
    RANK_CHECK(context, status_of([&] { static_cast<void>(comm.ibarrier()); }) == COLL_ERR_ARG);
    comm = std::move(other);
    comm.barrier();
    RANK_CHECK(context, comm.size() == 2);
  });
}

TEST(Communicator, AfterAPeerHasLeftEveryCallThrows) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    comm.barrier();
    if (comm.rank() == 1) return;  // frees it
    RANK_CHECK(context, status_of([&] { comm.barrier(); }) == COLL_ERR_PEER_DIED);
    RANK_CHECK(context, status_of([&] { static_cast<void>(comm.ibarrier()); }) == COLL_ERR_PEER_DIED);
    RANK_CHECK(context, comm.size() == 2);
  });
}

TEST(Error, HasStatusAndText) {
  const coll::Error plain(COLL_ERR_TYPE, ""), full(COLL_ERR_TYPE, "why");
  EXPECT_STREQ(plain.what(), coll_strerror(COLL_ERR_TYPE));
  EXPECT_EQ(full.what(), std::string(coll_strerror(COLL_ERR_TYPE)) + ": why");
  EXPECT_EQ(full.status(), COLL_ERR_TYPE);
}

}  // namespace
