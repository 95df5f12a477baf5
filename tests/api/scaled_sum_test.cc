// SPDX-License-Identifier: BSD-3-Clause
// Scaled sums: the bits of COLL_SUM of vectors that the ranks have multiplied before, for every type, collective and form.
#include <numeric>

#include "comm/collectives.h"
#include "mem/reference.h"

using namespace ranks;
namespace reference = coll::test;

namespace {

enum class Kind { reduce, allreduce, reduce_scatter, reduce_scatter_block, scan, exscan };
constexpr Kind kinds[] = {Kind::reduce, Kind::allreduce, Kind::reduce_scatter, Kind::scan, Kind::reduce_scatter_block,
                          Kind::exscan};
enum class Form { blocking, in_place, nonblocking, persistent };
constexpr Form forms[] = {Form::blocking, Form::in_place, Form::nonblocking, Form::persistent};

template <typename T>
inline constexpr bool has_sum =
    !std::is_same_v<T, bool> && !std::is_same_v<T, reference::Byte> && !reference::is_located<T>;

template <typename T>
T number(double value) {
  if constexpr (std::is_same_v<T, reference::Brain>) return reference::round_to_brain(float(value));
  else if constexpr (std::is_same_v<T, reference::Half>) return T(float(value));
  else if constexpr (reference::is_complex<T>) {
    using Part = std::decay_t<decltype(T().part[0])>;
    return {{Part(value), Part(1 - value / 3)}};
  } else if constexpr (std::is_integral_v<T>) return T(int64_t(value));
  else return T(value);
}

// Values and factors of many magnitudes: another order of the sum, and a product that is not rounded, give other bits.
template <typename T>
T value(int rank, size_t i) {
  return number<T>(std::ldexp(double(input(rank, i, 3) % 4001) - 2000, int(input(rank, i, 5) % 8) - 9));
}
template <typename T>
T factor(int rank) {
  return number<T>(std::is_integral_v<T> ? rank + 3 : 1.1 / (rank + 1.3));
}
template <typename T>
T product(const T& a, const T& b) {
  return reference::narrow<T>(reference::step(COLL_PROD, reference::widen(a), reference::widen(b)));
}

// Calls one collective; `complete` completes it if it is a request. Frees the operation as early as a program may.
template <class Complete>
coll_status call(Kind kind, Form how, const void* in, void* out, size_t n, const size_t* counts, coll_datatype type,
                 coll_op op, int root, coll_comm* comm, Complete complete) {
  coll_request* request = nullptr;
  const auto form = [&](auto blocking, auto nonblocking, auto persistent, auto... arguments) {
    coll_status status = COLL_OK;
    if (how == Form::nonblocking) status = nonblocking(arguments..., comm, &request);
    else if (how == Form::persistent) status = persistent(arguments..., comm, &request);
    else status = blocking(arguments..., comm);
    if (coll_op_free(op) != COLL_OK) return COLL_ERR_OP;
    return status != COLL_OK || request == nullptr ? status : complete(request);
  };
  switch (kind) {
    case Kind::reduce: return form(coll_reduce, coll_ireduce, coll_reduce_init, in, out, n, type, op, root);
    case Kind::allreduce: return form(coll_allreduce, coll_iallreduce, coll_allreduce_init, in, out, n, type, op);
    case Kind::reduce_scatter:
      return form(coll_reduce_scatter, coll_ireduce_scatter, coll_reduce_scatter_init, in, out, counts, type, op);
    case Kind::reduce_scatter_block:
      return form(coll_reduce_scatter_block, coll_ireduce_scatter_block, coll_reduce_scatter_block_init, in, out, n,
                  type, op);
    case Kind::scan: return form(coll_scan, coll_iscan, coll_scan_init, in, out, n, type, op);
    default: return form(coll_exscan, coll_iexscan, coll_exscan_init, in, out, n, type, op);
  }
}

template <typename T>
void check(Context& c, coll_comm* comm, Kind kind, Form how, size_t n, coll_datatype type) {
  const size_t p = size_t(c.ranks), rank = size_t(c.rank);
  const int root = c.ranks / 2;
  const bool blocks = kind == Kind::reduce_scatter || kind == Kind::reduce_scatter_block;
  std::vector<size_t> counts(p, n);
  if (kind == Kind::reduce_scatter)
    for (size_t r = 0; r < p; r++) counts[r] = r % 3 == 1 ? 0 : n + r;
  size_t all = n, first = 0;
  if (blocks) {
    all = std::accumulate(counts.begin(), counts.end(), size_t(0));
    first = std::accumulate(counts.begin(), counts.begin() + c.rank, size_t(0));
  }
  const bool in_place = how == Form::in_place && (kind != Kind::reduce || c.rank == root);
  const T untouched = number<T>(77);
  std::vector<T> in(std::max<size_t>(all, 1), untouched), out(in.size(), untouched);
  const auto fill = [&](std::vector<T>& to) {
    for (size_t i = 0; i < all; i++) to[i] = value<T>(c.rank, i);
  };
  if (how != Form::persistent) fill(in_place ? out : in);
  const T mine = factor<T>(c.rank);
  coll_op op = 0;
  RANK_CHECK(c, coll_op_create_scaled_sum(&mine, type, &op) == COLL_OK);
  // A persistent request multiplies what the buffer holds at each start.
  const auto complete = [&](coll_request* request) {
    if (how == Form::nonblocking) return coll_wait(&request);
    for (int start = 0; start < 2; start++) {
      if (start == 1) fill(in);
      if (coll_start(request) != COLL_OK || coll_wait(&request) != COLL_OK) return COLL_ERR_STATE;
    }
    return coll_request_free(request);
  };
  const void* const send = in_place ? COLL_IN_PLACE : in.data();
  RANK_CHECK(c, call(kind, how, send, out.data(), n, counts.data(), type, op, root, comm, complete) == COLL_OK);

  const int folded = kind == Kind::scan     ? c.rank + 1
                     : kind == Kind::exscan ? c.rank
                     : kind == Kind::reduce ? (c.rank == root ? c.ranks : 0)
                                            : c.ranks;
  const size_t got = folded == 0 ? 0 : blocks ? counts[rank] : n;
  const auto wrong = [&](size_t i) {
    c.fail("kind " + std::to_string(int(kind)) + ", form " + std::to_string(int(how)) + ", " +
           coll_datatype_name(type) + ": wrong at element " + std::to_string(i) + " of " + std::to_string(n));
  };
  std::vector<T> products(p);
  std::vector<const T*> sources;
  for (const T& one : products) sources.push_back(&one);
  for (size_t i = 0; i < got; i += n < 5000 ? 1 : 7) {
    for (int r = 0; r < folded; r++) products[size_t(r)] = product(value<T>(r, first + i), factor<T>(r));
    if (!reference::same(out[i], reference::fold(COLL_SUM, sources.data(), folded, 0))) return wrong(i);
  }
  for (size_t i = got; i < all; i++)
    if (!reference::same(out[i], in_place ? value<T>(c.rank, i) : untouched)) return wrong(i);
  for (size_t i = 0; i < all && !in_place; i++)
    if (!reference::same(in[i], value<T>(c.rank, i))) return wrong(i);
}

void check_types(Context& c, const std::vector<coll_datatype>& types, const std::vector<size_t>& sizes) {
  coll_comm* comm = c.comm();
  if (comm == nullptr) return;
  for (const coll_datatype type : types)
    reference::with_type(type, [&]<typename T>(T) {
      if constexpr (has_sum<T>)
        for (const Kind kind : kinds)
          for (const Form form : forms)
            for (const size_t n : sizes)
              if (!c.failed()) check<T>(c, comm, kind, form, n, type);
    });
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

// All datatypes that have a sum.
std::vector<coll_datatype> summed_types() {
  std::vector<coll_datatype> types;
  for (coll_datatype type = 1; coll_datatype_size(type) != 0; type++)
    if (coll_op_defined(COLL_SUM, type) != 0) types.push_back(type);
  return types;
}

TEST(ScaledSum, HasTheBitsOfASumOfProducts) {
  ASSERT_EQ(summed_types().size(), 16u);
  for (const char* transport : transports({"auto", "shm", "cma"})) {
    Environment of_transport("COLL_TRANSPORT", transport);
    for (int ranks : {1, 2, 5}) run_processes(ranks, [](Context& c) { check_types(c, summed_types(), {1, 40, 1501}); });
  }
}

TEST(ScaledSum, OfLongVectors) {
  run_processes(3, [](Context& c) { check_types(c, {COLL_FLOAT, COLL_BFLOAT16}, {200'003}); });
}

// Many more ranks than cores.
TEST(ScaledSum, Of64Ranks) {
  run_processes(64, [](Context& c) { check_types(c, {COLL_FLOAT, COLL_BFLOAT16}, {1, 700}); });
}

}  // namespace
