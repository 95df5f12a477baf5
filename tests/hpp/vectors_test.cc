// SPDX-License-Identifier: BSD-3-Clause
// The vectors, elements and operations that each call accepts, checked at compile time; and that accepted ones work.
#include <array>
#include <deque>
#include <functional>
#include <list>
#include <string>

#include "hpp/ranks_of.h"

namespace {

using ranks::Context;
using InPlace = const coll::in_place_t&;
using Ints = std::vector<int>;

// A call with these types of vectors is well-formed: false means refused by a constraint, not by an error in a body.
#define CAN(name, call)                                                                                               \
  template <class Send, class Recv>                                                                                   \
  concept name = requires(coll::Communicator & comm, Send && send, Recv && recv, std::array<std::size_t, 2> counts) { \
    comm.call;                                                                                                        \
  }
CAN(CanAllreduce, allreduce(std::forward<Send>(send), std::forward<Recv>(recv), coll::sum));
CAN(CanScan, scan(std::forward<Send>(send), std::forward<Recv>(recv), coll::sum));
CAN(CanScatter, scatter(std::forward<Send>(send), std::forward<Recv>(recv), 0));
CAN(CanScatterv, scatterv(std::forward<Send>(send), {counts, {}}, std::forward<Recv>(recv), 0));
CAN(CanGather, gather(std::forward<Send>(send), std::forward<Recv>(recv), 0));
CAN(CanGatherv, gatherv(std::forward<Send>(send), std::forward<Recv>(recv), {counts, {}}, 0));
CAN(CanAllgather, allgather(std::forward<Send>(send), std::forward<Recv>(recv)));
CAN(CanAllgatherv, allgatherv(std::forward<Send>(send), std::forward<Recv>(recv), {counts, {}}));
CAN(CanAlltoall, alltoall(std::forward<Send>(send), std::forward<Recv>(recv)));
CAN(CanAlltoallv, alltoallv(std::forward<Send>(send), {counts, {}}, std::forward<Recv>(recv), {counts, {}}));
CAN(CanReduceScatter, reduce_scatter(std::forward<Send>(send), std::forward<Recv>(recv), counts, coll::sum));
CAN(CanReduceLater, ireduce(std::forward<Send>(send), std::forward<Recv>(recv), coll::sum, 0));
CAN(CanAllgatherLater, iallgather(std::forward<Send>(send), std::forward<Recv>(recv)));
CAN(CanAllreduceOften, allreduce_init(std::forward<Send>(send), std::forward<Recv>(recv), coll::sum));
template <class R>
concept CanBroadcast = requires(coll::Communicator& comm, R&& r) {
  comm.bcast(std::forward<R>(r), 0);
};
template <class T, class F>
concept CanCombine = requires(F f) {
  coll::Op<T>(f);
};

// -- ranges
static_assert(CanAllreduce<Ints&, Ints&> && CanAllreduce<const Ints&, Ints&> && CanAllreduce<Ints, Ints&>);
static_assert(CanAllreduce<std::span<const double>, std::span<double>> &&
              CanAllreduce<int (&)[3], std::array<int, 3>&>);
static_assert(CanAllreduce<const std::array<float, 2>&, float (&)[2]> && CanAllreduce<std::string_view, std::string&>);
static_assert(CanAllreduce<const coll::Memory<int>&, coll::Memory<int>&>);
static_assert(CanAllreduce<std::vector<long, coll::allocator<long>>&, std::vector<long>&>);
static_assert(!CanAllreduce<Ints&, const Ints&> && !CanAllreduce<Ints&, std::span<const int>>, "a constant receives");
static_assert(!CanAllreduce<Ints&, const coll::Memory<int>&> && !CanBroadcast<const Ints&> &&
              !CanBroadcast<const int&>);
static_assert(!CanAllreduce<std::deque<int>&, Ints&> && !CanAllreduce<Ints&, std::list<int>&>, "not contiguous");
static_assert(!CanAllreduce<std::vector<bool>&, std::vector<bool>&>);
static_assert(CanAllreduce<std::span<bool>, bool (&)[3]>);
static_assert(!CanAllreduce<Ints&, std::vector<unsigned>&> && !CanScatter<Ints&, std::vector<long>&>, "other elements");
static_assert(!coll::Vector<std::span<volatile int>> && !coll::MutableVector<std::span<volatile int>>);
static_assert(!coll::Element<volatile int> && !coll::Combinable<volatile int>);

// -- in place: accepted if and only if coll.h allows it
static_assert(CanAllreduce<InPlace, Ints&> && CanScan<InPlace, Ints&> && CanReduceScatter<InPlace, Ints&>);
static_assert(!CanAllreduce<Ints&, InPlace> && !CanScan<Ints&, InPlace> && !CanReduceScatter<Ints&, InPlace>);
static_assert(CanGather<InPlace, Ints&> && CanGatherv<InPlace, Ints&> && CanAllgather<InPlace, Ints&>);
static_assert(CanAllgatherv<InPlace, Ints&> && CanAlltoall<InPlace, Ints&> && CanAlltoallv<InPlace, Ints&>);
static_assert(!CanGather<Ints&, InPlace> && !CanGatherv<Ints&, InPlace> && !CanAllgather<Ints&, InPlace>);
static_assert(!CanAllgatherv<Ints&, InPlace> && !CanAlltoall<Ints&, InPlace> && !CanAlltoallv<Ints&, InPlace>);
static_assert(CanScatter<Ints&, InPlace> && CanScatterv<Ints&, InPlace>);
static_assert(!CanScatter<InPlace, Ints&> && !CanScatterv<InPlace, Ints&> && !CanScatter<InPlace, InPlace>);
static_assert(!CanAllreduce<InPlace, InPlace> && !CanAllgatherLater<Ints&, InPlace>);

// -- vectors that would be destroyed before the collective ends
static_assert(CanReduceLater<Ints&, Ints&> && CanReduceLater<std::span<const int>, std::span<int>>);
static_assert(CanReduceLater<InPlace, Ints&> && CanAllreduceOften<InPlace, Ints&>);
static_assert(!CanReduceLater<Ints, Ints&> && !CanReduceLater<Ints&, Ints>, "a temporary is lost");
static_assert(!CanAllgatherLater<Ints, Ints&> && !CanAllgatherLater<Ints&, Ints> && !CanAllreduceOften<Ints, Ints&>);
static_assert(CanAllgatherLater<const Ints&, coll::Memory<int>&> && !CanAllgatherLater<Ints&, coll::Memory<int>>);

// -- elements and operations
struct Point {
  double x;
  int n;
};
static_assert(CanBroadcast<Point&> && CanBroadcast<std::vector<Point>&> && !CanAllreduce<Point (&)[1], Point (&)[1]>);
static_assert(!CanBroadcast<std::vector<std::string>&> && !CanBroadcast<std::vector<int*>&> &&
              !CanBroadcast<std::string*&>);
static_assert(coll::Combinable<std::complex<float>> && coll::Combinable<coll::bfloat16> && coll::Combinable<bool>);
static_assert(CanCombine<int, std::plus<>> && CanCombine<int, int (*)(const int&, const int&)>);
static_assert(CanCombine<Point, void (*)(std::span<const Point>, std::span<Point>)>);
static_assert(!CanCombine<Point, std::plus<>> && !CanCombine<int, int (*)(int&, int&)> && !CanCombine<int, int>);
#ifdef COLL_HPP_FLOAT16
static_assert(coll::datatype_of<_Float16> == COLL_FLOAT16 && coll::Combinable<_Float16>);
static_assert(CanAllreduce<std::vector<_Float16>&, std::span<_Float16>>);
#endif

// A generic lambda combines elements: instantiating it with spans would be an error inside of it.
TEST(Vectors, GenericLambdasCombineElements) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    const coll::Op<int> append([](auto lower, auto upper) { return 10 * lower + upper; });
    int digits[3] = {comm.rank() + 1, comm.rank() + 3, comm.rank() + 5};
    comm.allreduce(coll::in_place, digits, append);
    RANK_CHECK(context, digits[0] == 12 && digits[1] == 34 && digits[2] == 56);
  });
}

TEST(Vectors, RangesOfEveryKind) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    const int me = comm.rank();
    const std::array<double, 2> fixed{1.0 + me, 2.0};
    double plain[2] = {};
    comm.allreduce(fixed, plain, coll::sum);
    RANK_CHECK(context, plain[0] == 3.0 && plain[1] == 4.0);
    std::string text = me == 0 ? "ab" : "..";
    comm.bcast(text, 0);
    RANK_CHECK(context, text == "ab");
    coll::Memory<std::complex<float>> memory(1);
    memory[0] = {1.0f, float(me)};
    std::vector<std::complex<float>> sums(1);
    comm.allreduce(std::as_const(memory), std::span(sums), coll::sum);
    RANK_CHECK(context, sums[0] == std::complex<float>(2.0f, 1.0f));
    bool flags[2] = {me == 0, false};
    comm.allreduce(coll::in_place, std::span(flags), coll::lor);
    RANK_CHECK(context, flags[0] && !flags[1]);
    std::vector<Point> points{{double(me), me}}, all(2);
    comm.allgather(points, all);
    RANK_CHECK(context, all[1].x == 1.0 && all[1].n == 1);
#ifdef COLL_HPP_FLOAT16
    _Float16 halves[1] = {static_cast<_Float16>(1.5f)};
    comm.allreduce(coll::in_place, halves, coll::sum);
    RANK_CHECK(context, static_cast<float>(halves[0]) == 3.0f);
#endif
  });
}

}  // namespace
