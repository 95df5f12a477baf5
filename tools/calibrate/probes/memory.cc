// SPDX-License-Identifier: BSD-3-Clause
// Probes of memory: a core's own, its neighbour's, and one owner's memory with several readers.
#include <atomic>

#include "mem/copy.h"
#include "mem/fetch.h"
#include "mem/reduce.h"
#include "model/table.h"
#include "tools/calibrate/probes/list.h"
#include "tools/common/look_through.h"

namespace coll::tools {
namespace {

constexpr double kib = 1024, mib = 1024 * kib;

mem::ReduceKernel sum() { return mem::reduce_kernel(COLL_SUM, COLL_FLOAT); }

}  // namespace

// As ranks write to staging: how they store to lines that the neighbour has read is measured periodically.
void Probes::add_take(Quantity quantity, size_t bytes) {
  add({quantity, double(bytes)}, nullptr,
      plain([=, this](int self) { look_through(at_.shared(neighbour(self)), bytes); }), plain([=, this](int self) {
        char* to = at_.shared(self);
        if (stores_.is_due()) stores_.measure(*reinterpret_cast<std::atomic<uint64_t>*>(to));
        in_pieces(bytes, [&](size_t at, size_t length) { stores_.write(to + at, at_.few(), length); });
      }));
}

void Probes::add_memory(const std::vector<double>& sizes) {
  if (n_ > 1) add_take(Quantity::short_take, size_t(model::short_store_bytes) / 2);
  for (double size : sizes) {
    const size_t bytes = size_t(size), half = bytes / 2 / 64 * 64, third = bytes / 3 / 64 * 64;
    char* few = at_.few();
    add({Quantity::load, size}, nullptr, plain([=, this](int) { rewrite(at_.own(), bytes); }), plain([=, this](int) {
          in_pieces(bytes, [&](size_t at, size_t length) { mem::copy(few, at_.own() + at, length); });
        }));
    add({Quantity::store, size}, nullptr, plain([=, this](int) { look_through(at_.own(), bytes); }),
        plain([=, this](int) {
          in_pieces(bytes, [&](size_t at, size_t length) { mem::copy(at_.own() + at, few, length); });
        }));
    add({Quantity::combine, size}, nullptr, plain([=, this](int) { rewrite(at_.own(), bytes); }), plain([=, this](int) {
          in_pieces(half, [&](size_t at, size_t length) {
            const void* sources[] = {at_.own() + at, at_.own() + half + at};
            sum()(few, nullptr, sources, 2, length / sizeof(float));
          });
        }));
    if (n_ > 1) {
      add({Quantity::fetch, size}, nullptr, plain([=, this](int self) { rewrite(at_.shared(self), bytes); }),
          plain([=, this](int self) {
            const char* from = at_.shared(neighbour(self));
            in_pieces(bytes, [&](size_t at, size_t length) { mem::copy(few, from + at, length); });
          }));
      add({Quantity::combine_fetch, size}, nullptr, plain([=, this](int self) { rewrite(at_.shared(self), bytes); }),
          plain([=, this](int self) {
            const char* from = at_.shared(neighbour(self));
            in_pieces(bytes, [&](size_t at, size_t length) {
              const void* sources[] = {few, from + at};
              sum()(few, nullptr, sources, 2, length / sizeof(float));
            });
          }));
      add_take(Quantity::take, bytes);
    }
    const Act dirty_source = [=, this](int) {
      rewrite(at_.own(), half);
      look_through(at_.own() + half, half);
    };
    const Act copy = [=, this](int) { mem::copy(at_.own() + half, at_.own(), half); };
    const Act stream = [=, this](int) { mem::copy_nt(at_.own() + half, at_.own(), half); };
    const Act dirty_sources = [=, this](int) {
      rewrite(at_.own(), 2 * third);
      look_through(at_.own() + 2 * third, third);
    };
    const Act reduce = [=, this](int) {
      const void* sources[] = {at_.own(), at_.own() + third};
      sum()(at_.own() + 2 * third, nullptr, sources, 2, third / sizeof(float));
    };
    // Reduction kernels have no non-temporal form: the result goes to the L1 cache and is then copied with non-temporal
    // stores.
    const Act reduce_stream = [=, this](int) {
      in_pieces(third, [&](size_t at, size_t length) {
        const void* sources[] = {at_.own() + at, at_.own() + third + at};
        sum()(few, nullptr, sources, 2, length / sizeof(float));
        mem::copy_nt(at_.own() + 2 * third + at, few, length);
      });
    };
    add({Quantity::copy_alone, size}, first(1), plain(dirty_source), plain(copy));
    add({Quantity::copy, size}, nullptr, plain(dirty_source), plain(copy));
    add({Quantity::stream_alone, size}, first(1), plain(dirty_source), plain(stream));
    add({Quantity::stream, size}, nullptr, plain(dirty_source), plain(stream));
    add({Quantity::reduce_alone, size}, first(1), plain(dirty_sources), plain(reduce));
    add({Quantity::reduce, size}, nullptr, plain(dirty_sources), plain(reduce));
    add({Quantity::reduce_stream_alone, size}, first(1), plain(dirty_sources), plain(reduce_stream));
    add({Quantity::reduce_stream, size}, nullptr, plain(dirty_sources), plain(reduce_stream));
  }
}

void Probes::add_near_copies() {
  // All processes copy from partners at this distance concurrently: measures the bandwidth of the link.
  const std::vector<topo::Place> places = topo::map_ranks(task_.machine, n_, task_.cpus);
  for (const Pair& pair : pairs_of(task_)) {
    if (pair.distance < topo::Distance::numa) continue;
    constexpr size_t bytes = size_t(256) << 10;
    std::vector<int> partner(size_t(n_), -1);
    for (int self = 0; self < n_; ++self)
      for (int step = 1; step < n_ && partner[size_t(self)] < 0; ++step)
        if (const int other = (self + step) % n_;
            topo::distance(places[size_t(self)], places[size_t(other)]) == pair.distance)
          partner[size_t(self)] = other;
    add(
        {.quantity = Quantity::far_fetch, .bytes = double(bytes), .distance = pair.distance},
        [partner](int self) { return partner[size_t(self)] >= 0; },
        plain([=, this](int self) { rewrite(at_.shared(self), bytes); }),
        plain([=, this](int self) { mem::copy(at_.own(), at_.shared(partner[size_t(self)]), bytes); }));
  }
  for (const Pair& pair : pairs_of(task_))
    for (double size : {1 * kib, 4 * kib, 16 * kib, 64 * kib, 256 * kib, 1 * mib}) {
      const size_t bytes = size_t(size);
      const int other = pair.other;
      add(
          {.quantity = Quantity::near_copy, .bytes = size, .distance = pair.distance},
          [other](int process) { return process == other; },
          plain([=, this](int self) { self == 0 ? rewrite(at_.shared(0), bytes) : look_through(at_.own(), bytes); }),
          plain([=, this](int) { mem::copy(at_.own(), at_.shared(0), bytes); }));
    }
}

void Probes::add_rep_movsb() {
  if (n_ < 2) return;
  const auto write_in_steps = [](void* to, const void* from, size_t bytes) {
    mem::write_in_steps(to, bytes, [&](size_t at, size_t length) {
      mem::copy_vectors(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, length);
    });
  };
  for (double size = 4 * kib; size <= 512 * kib; size *= 2) {
    const size_t bytes = size_t(size);
    const auto look_at_own = [=, this] { look_through(at_.own(), bytes); };
    const auto fetch = [=, this](Quantity quantity, void (*copy)(void*, const void*, size_t)) {
      add({quantity, size}, nullptr, plain([=, this](int self) { look_at_own(), rewrite(at_.shared(self), bytes); }),
          plain([=, this](int self) { copy(at_.own(), at_.shared(neighbour(self)), bytes); }));
    };
    const auto take = [=, this](Quantity quantity, void (*copy)(void*, const void*, size_t)) {
      add({quantity, size}, nullptr,
          plain([=, this](int self) { look_at_own(), look_through(at_.shared(neighbour(self)), bytes); }),
          plain([=, this](int self) { copy(at_.shared(self), at_.own(), bytes); }));
    };
    fetch(Quantity::fetch_vectors, mem::copy_vectors);
    fetch(Quantity::fetch_rep_movsb, mem::copy_rep_movsb);
    take(Quantity::take_vectors, write_in_steps);
    take(Quantity::take_rep_movsb, mem::copy_rep_movsb);
  }
}

void Probes::add_shared_readers() {
  constexpr size_t bytes = size_t(256) << 10;
  for (int readers : concurrency_levels(n_)) {
    add({Quantity::shared_copy, double(bytes), readers}, first(readers), nullptr,
        plain([=, this](int) { mem::copy(at_.own(), at_.shared(at_.at_rest()), bytes); }));
    add({Quantity::mapped_copy, double(bytes), readers}, first(readers), nullptr, [=, this](int) {
      std::string problem;
      Access* access = at_.access(CopyPath::kcoll_map, at_.at_rest(), problem);
      if (access == nullptr || access->read(0, at_.own(), bytes)) return problem;
      return access->problem();
    });
  }
}

}  // namespace coll::tools
