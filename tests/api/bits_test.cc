// SPDX-License-Identifier: BSD-3-Clause
// Reductions of floats have the bits of the definition for every collective, algorithm, transport, memory and form of
// the call: fold(0, p), or its prefixes for scans. tests/algo/bits_test.cc has more ranks than processes could be
// started.
#include "algo/registry.h"
#include "comm/collectives.h"
#include "mem/reference.h"

using namespace ranks;
namespace reference = coll::test;
using coll::plan::Collective;

namespace {

constexpr Collective reductions[] = {Collective::reduce, Collective::allreduce, Collective::reduce_scatter,
                                     Collective::scan, Collective::exscan};

std::string variable_of(Collective collective) {
  std::string name = std::string("COLL_") + coll::plan::name(collective);
  for (char& letter : name) letter = char(toupper(letter));
  return name;
}

// The values differ so much in size that every other order of addition gives other bits.
template <typename T>
T value(int rank, size_t i, int magnitudes) {
  const float mantissa = float(int(input(rank, i, 3) % 4001)) - 2000;
  const float made = std::ldexp(mantissa, int(input(rank, i, 5) % uint32_t(magnitudes)) - magnitudes / 2);
  if constexpr (std::is_same_v<T, reference::Brain>) return {uint16_t(std::bit_cast<uint32_t>(made) >> 16)};
  else return T(made);
}

// Performs one call in one of its forms.
enum class Form { blocking, in_place, started };

coll_status call(Collective collective, Form form, const void* send, void* recv, size_t n, coll_datatype type, int root,
                 coll_comm* comm) {
  coll_request* request = nullptr;
  coll_status status = COLL_OK;
  const bool starts = form == Form::started;
  switch (collective) {
    case Collective::reduce:
      status = starts ? coll_ireduce(send, recv, n, type, COLL_SUM, root, comm, &request)
                      : coll_reduce(send, recv, n, type, COLL_SUM, root, comm);
      break;
    case Collective::allreduce:
      status = starts ? coll_iallreduce(send, recv, n, type, COLL_SUM, comm, &request)
                      : coll_allreduce(send, recv, n, type, COLL_SUM, comm);
      break;
    case Collective::reduce_scatter:
      status = starts ? coll_ireduce_scatter_block(send, recv, n, type, COLL_SUM, comm, &request)
                      : coll_reduce_scatter_block(send, recv, n, type, COLL_SUM, comm);
      break;
    case Collective::scan:
      status = starts ? coll_iscan(send, recv, n, type, COLL_SUM, comm, &request)
                      : coll_scan(send, recv, n, type, COLL_SUM, comm);
      break;
    default:
      status = starts ? coll_iexscan(send, recv, n, type, COLL_SUM, comm, &request)
                      : coll_exscan(send, recv, n, type, COLL_SUM, comm);
      break;
  }
  return status == COLL_OK && starts ? coll_wait(&request) : status;
}

template <typename T>
void check(Context& c, coll_comm* comm, Collective collective, Form form, size_t n, coll_datatype type, int magnitudes,
           bool mappable) {
  const int root = c.ranks / 2;
  const bool blocks = collective == Collective::reduce_scatter;
  const size_t all = blocks ? n * size_t(c.ranks) : n;
  const int folded = collective == Collective::scan     ? c.rank + 1
                     : collective == Collective::exscan ? c.rank
                     : collective == Collective::reduce ? (c.rank == root ? c.ranks : 0)
                                                        : c.ranks;
  Buffer mine(all * sizeof(T), mappable), result(all * sizeof(T), mappable);
  T *in = reinterpret_cast<T*>(mine.data()), *out = reinterpret_cast<T*>(result.data());
  for (size_t i = 0; i < all; i++) in[i] = value<T>(c.rank, i, magnitudes);
  const bool in_place = form == Form::in_place && (collective != Collective::reduce || c.rank == root);
  if (in_place) std::copy_n(in, all, out);
  RANK_CHECK(c, call(collective, form, in_place ? COLL_IN_PLACE : in, out, n, type, root, comm) == COLL_OK);
  const size_t first = blocks ? size_t(c.rank) * n : 0;
  std::vector<T> values(static_cast<size_t>(c.ranks));
  std::vector<const T*> sources;
  for (const T& one : values) sources.push_back(&one);
  for (size_t i = 0; i < n && folded != 0; i += n < 5000 ? 1 : 7) {
    for (int rank = 0; rank < folded; rank++) values[size_t(rank)] = value<T>(rank, first + i, magnitudes);
    if (!reference::same(out[i], reference::fold(COLL_SUM, sources.data(), folded, 0)))
      return c.fail("form " + std::to_string(int(form)) + ": wrong at element " + std::to_string(i) + " of " +
                    std::to_string(n));
  }
}

// Every balanced algorithm by its name, and the selected one (no name).
std::vector<std::string> algorithms_of(Collective collective) {
  std::vector<std::string> names{""};
  for (const coll::algo::Algorithm& algorithm : coll::algo::algorithms())
    if (algorithm.collective == collective && algorithm.balanced) names.emplace_back(algorithm.name);
  return names;
}

// Calls check(comm, collective, mappable) with a communicator for every collective and algorithm.
template <class Check>
void for_every_algorithm(Context& c, const std::string& transport, Check check) {
  for (Collective collective : reductions)
    for (const std::string& algorithm : algorithms_of(collective)) {
      Environment of_transport("COLL_TRANSPORT", transport.c_str());
      Environment of_algorithm(variable_of(collective).c_str(), algorithm.c_str());
      coll_comm* comm = c.comm();
      if (comm == nullptr) return;
      c.about = std::string(coll::plan::name(collective)) + " " + algorithm + " by " + transport;
      check(comm, collective, transport == "mapped");
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      if (c.failed()) return;
    }
}

class Bits : public testing::TestWithParam<const char*> {};

void check_floats(Context& c, const std::string& transport) {
  unsigned form = 0;
  for_every_algorithm(c, transport, [&](coll_comm* comm, Collective collective, bool mappable) {
    for (size_t n : {size_t(1), size_t(100), size_t(3001), size_t(40'001)})
      for (Form how : {Form(form++ % 3), Form(form++ % 3)})
        check<float>(c, comm, collective, how, n, COLL_FLOAT, 60, mappable);
  });
}

TEST_P(Bits, OfFloatsAreThoseOfTheBalancedOrder) {
  for (int ranks : {2, 3, 5, 8}) run_processes(ranks, [](Context& c) { check_floats(c, GetParam()); });
}

// Results of 16-bit floats are rounded once.
void check_short_floats(Context& c, const std::string& transport) {
  unsigned form = 0;
  for_every_algorithm(c, transport, [&](coll_comm* comm, Collective collective, bool mappable) {
    for (size_t n : {size_t(1), size_t(100), size_t(3001), size_t(20'001)}) {
      check<reference::Half>(c, comm, collective, Form(form++ % 3), n, COLL_FLOAT16, 8, mappable);
      check<reference::Brain>(c, comm, collective, Form(form++ % 3), n, COLL_BFLOAT16, 60, mappable);
    }
  });
}

TEST_P(Bits, OfShortFloatsAreRoundedOnce) {
  for (int ranks : {2, 7}) run_processes(ranks, [](Context& c) { check_short_floats(c, GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(By, Bits, testing::ValuesIn(transports({"auto", "shm", "cma", "mapped"})),
                         [](const auto& by) { return std::string(by.param); });

}  // namespace
