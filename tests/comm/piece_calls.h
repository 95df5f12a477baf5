// SPDX-License-Identifier: BSD-3-Clause
// Calls a collective of blocks, or a scan, in any of its forms and compares the result with the definition. Blocks of
// v-forms are in reversed order with gaps; some are empty; bytes outside of them must not change.
#pragma once

#include <algorithm>
#include <optional>

#include "comm/collectives.h"
#include "plan/plan.h"

namespace ranks {

using coll::plan::Collective;

inline const std::vector<Collective>& collectives_of_pieces() {
  static const std::vector<Collective> all{Collective::scatter,  Collective::gather,         Collective::allgather,
                                           Collective::alltoall, Collective::reduce_scatter, Collective::scan,
                                           Collective::exscan};
  return all;
}

enum class Form { blocking, nonblocking, persistent };

struct PieceCall {
  Collective what;
  bool irregular;  // the v-form
  size_t n;        // elements of a block; approximate for v-forms
  int root;
  bool in_place;
  uint32_t round;

  bool has_v() const { return what != Collective::scan && what != Collective::exscan; }
  std::string text() const {
    return std::string(coll::plan::name(what)) + (irregular ? "v" : "") + (in_place ? " in place" : "") + ", " +
           std::to_string(n) + " elements, root " + std::to_string(root);
  }
};

class PieceTrial {
 public:
  static constexpr uint32_t untouched = 0xeeeeeeee;

  PieceTrial(Context& c, const PieceCall& call, bool mappable = false) : c_(c), call_(call), p_(size_t(c.ranks)) {
    const bool root = c.rank == call.root;
    sends_ = call.what != Collective::scatter || root;
    receives_ = call.what != Collective::gather || root;
    in_place_ = call.in_place && sends_ && receives_;
    send_ = layout(coll::plan::Buffer::send);
    recv_ = layout(coll::plan::Buffer::recv);
    // In place: input and result share the buffer of the result, of a scatter that of the input, of a reduce-scatter
    // one of the size of the input.
    send_memory_.emplace(std::max<size_t>(send_.end, 1) * 4, mappable);
    recv_memory_.emplace(std::max<size_t>(in_place_ ? std::max(send_.end, recv_.end) : recv_.end, 1) * 4, mappable);
  }

  void fill() {
    std::fill_n(send_memory_->data(), send_.end, untouched);
    std::fill_n(recv_memory_->data(), in_place_ ? std::max(send_.end, recv_.end) : recv_.end, untouched);
    if (!sends_) return;
    if (in_place_ && call_.what != Collective::scatter) {
      if (call_.what == Collective::gather || call_.what == Collective::allgather)
        write(recv_memory_->data() + recv_.at[size_t(c_.rank)], 0);
      else
        for (size_t r = 0; r < send_.n.size(); r++)
          write(recv_memory_->data() + (call_.what == Collective::alltoall ? recv_ : send_).at[r], r);
    } else {
      for (size_t r = 0; r < send_.n.size(); r++) write(send_memory_->data() + send_.at[r], r);
    }
  }

  coll_status run(coll_comm* comm, Form how = Form::blocking, coll_request** request = nullptr) {
    const bool scatters = call_.what == Collective::scatter;
    const void* in = in_place_ && !scatters ? COLL_IN_PLACE : sends_ ? send_memory_->data() : nullptr;
    void* out = in_place_ && scatters ? COLL_RECV_IN_PLACE : receives_ ? recv_memory_->data() : nullptr;
    const size_t n = call_.n, own = own_count();
    const coll_datatype type = COLL_UINT32;
    const auto form = [&](auto blocking, auto nonblocking, auto persistent, auto... arguments) {
      switch (how) {
        case Form::blocking: return blocking(arguments..., comm);
        case Form::nonblocking: return nonblocking(arguments..., comm, request);
        default: return persistent(arguments..., comm, request);
      }
    };
    // Ranks that do not need the counts pass none.
    const size_t *from_n = sends_ ? send_.n.data() : nullptr, *from_at = sends_ ? send_.at.data() : nullptr;
    const size_t *to_n = receives_ ? recv_.n.data() : nullptr, *to_at = receives_ ? recv_.at.data() : nullptr;
    if (in_place_ && call_.what == Collective::alltoall) from_n = from_at = nullptr;
    if (!call_.irregular) {
      switch (call_.what) {
        case Collective::scatter:
          return form(coll_scatter, coll_iscatter, coll_scatter_init, in, out, n, type, call_.root);
        case Collective::gather: return form(coll_gather, coll_igather, coll_gather_init, in, out, n, type, call_.root);
        case Collective::allgather: return form(coll_allgather, coll_iallgather, coll_allgather_init, in, out, n, type);
        case Collective::alltoall: return form(coll_alltoall, coll_ialltoall, coll_alltoall_init, in, out, n, type);
        case Collective::reduce_scatter:
          return form(coll_reduce_scatter_block, coll_ireduce_scatter_block, coll_reduce_scatter_block_init, in, out, n,
                      type, COLL_SUM);
        case Collective::scan: return form(coll_scan, coll_iscan, coll_scan_init, in, out, n, type, COLL_SUM);
        default:
          if (c_.rank == 0 && !in_place_) out = nullptr;
          return form(coll_exscan, coll_iexscan, coll_exscan_init, in, out, n, type, COLL_SUM);
      }
    }
    switch (call_.what) {
      case Collective::scatter:
        return form(coll_scatterv, coll_iscatterv, coll_scatterv_init, in, from_n, from_at, out, own, type, call_.root);
      case Collective::gather:
        return form(coll_gatherv, coll_igatherv, coll_gatherv_init, in, own, out, to_n, to_at, type, call_.root);
      case Collective::allgather:
        return form(coll_allgatherv, coll_iallgatherv, coll_allgatherv_init, in, own, out, to_n, to_at, type);
      case Collective::alltoall:
        return form(coll_alltoallv, coll_ialltoallv, coll_alltoallv_init, in, from_n, from_at, out, to_n, to_at, type);
      default:
        return form(coll_reduce_scatter, coll_ireduce_scatter, coll_reduce_scatter_init, in, out, send_.n.data(), type,
                    COLL_SUM);
    }
  }

  // Also marks the rank as failed.
  bool right() {
    if (!receives_) return true;
    const bool scattered_in_place = in_place_ && call_.what == Collective::scatter;
    const uint32_t* result =
        scattered_in_place ? send_memory_->data() + send_.at[size_t(c_.rank)] : recv_memory_->data();
    std::vector<bool> expected(recv_.end);
    for (size_t s = 0; s < recv_.n.size(); s++)
      for (size_t i = 0; i < recv_.n[s]; i++) {
        const size_t at = recv_.at[s] + i;
        expected[at] = true;
        if (result[at] != value(s, i)) return wrong(at, value(s, i), result[at]);
      }
    for (size_t at = 0; at < recv_.end && !scattered_in_place; at++)
      if (!expected[at] && result[at] != untouched) return wrong(at, untouched, result[at]);
    return true;
  }

  void renew(uint32_t round) { call_.round = round; }

 private:
  struct Layout {
    std::vector<size_t> n, at;  // one entry per block
    size_t end = 0;
  };

  size_t length(size_t s, size_t r) const {
    if (!call_.irregular) return call_.n;
    size_t x = 0;
    if (call_.what == Collective::alltoall) x = 5 * s + 3 * r;
    else x = call_.what == Collective::gather || call_.what == Collective::allgather ? s : r;
    return (x + call_.root) % 3 == 1 ? 0 : call_.n * (x % 3 + 1) / 2 + x;
  }

  Layout layout(coll::plan::Buffer buffer) const {
    const bool sends = buffer == coll::plan::Buffer::send, blocks = coll::plan::has_blocks(call_.what, buffer);
    const size_t own = size_t(c_.rank), root = size_t(call_.root);
    Layout made;
    if (!(sends ? sends_ : receives_)) return made;
    if (!blocks) {
      made.n = {sends ? length(own, root) : length(root, own)};
      made.at = {0};
      made.end = made.n[0];
      return made;
    }
    made.n.resize(p_);
    made.at.resize(p_);
    // The blocks of a reduce-scatter are parts of one vector.
    const bool apart = call_.irregular && call_.what != Collective::reduce_scatter;
    for (size_t i = 0; i < p_; i++) {
      const size_t block = apart ? p_ - 1 - i : i;
      made.n[block] = sends ? length(own, block) : length(block, own);
      if (in_place_ && call_.what == Collective::alltoall)
        made.n[block] = length(std::min(own, block), std::max(own, block));
      if (apart) made.end += 3;
      made.at[block] = made.end;
      made.end += made.n[block];
    }
    return made;
  }

  size_t own_count() const {
    const size_t own = size_t(c_.rank), root = size_t(call_.root);
    return call_.what == Collective::scatter ? length(root, own) : length(own, root);
  }

  // Value of the block of this rank for rank r.
  void write(uint32_t* to, size_t r) const {
    for (size_t i = 0; i < send_.n[send_.n.size() == 1 ? 0 : r]; i++) to[i] = input(c_.rank, i + 1000 * r, call_.round);
  }

  // Expected value of the block from rank s, or of the result.
  uint32_t value(size_t s, size_t i) const {
    const size_t own = size_t(c_.rank);
    uint32_t sum = 0;
    switch (call_.what) {
      case Collective::scatter: return input(call_.root, i + 1000 * own, call_.round);
      case Collective::gather:
      case Collective::allgather: return input(int(s), i, call_.round);
      case Collective::alltoall: return input(int(s), i + 1000 * own, call_.round);
      case Collective::reduce_scatter: return expected_sum(c_.ranks, i + 1000 * own, call_.round);
      default: {
        const int last = call_.what == Collective::scan ? c_.rank + 1 : c_.rank;
        for (int r = 0; r < last; r++) sum += input(r, i, call_.round);
        // Rank 0 of an exscan keeps its buffer.
        return last > 0 ? sum : in_place_ ? input(0, i, call_.round) : untouched;
      }
    }
  }

  bool wrong(size_t at, uint32_t expected, uint32_t got) {
    c_.fail(call_.text() + ": element " + std::to_string(at) + " is " + std::to_string(got) + " instead of " +
            std::to_string(expected));
    return false;
  }

  Context& c_;
  PieceCall call_;
  const size_t p_;
  bool sends_, receives_, in_place_;
  Layout send_, recv_;
  std::optional<Buffer> send_memory_, recv_memory_;
};

inline void try_pieces(Context& c, coll_comm* comm, const PieceCall& call, bool mappable) {
  PieceTrial trial(c, call, mappable);
  trial.fill();
  const coll_status status = trial.run(comm);
  if (status != COLL_OK) return c.fail(call.text() + ": " + coll_last_error());
  trial.right();
}

// Calls every collective, root and form, blocking.
inline void all_forms(Context& c, coll_comm* comm, const std::vector<size_t>& sizes, bool mappable) {
  uint32_t round = 0;
  for (size_t n : thinned(sizes, c.ranks))
    for (Collective what : collectives_of_pieces())
      for (int root = 0; root < (coll::plan::is_rooted(what) ? c.ranks : 1); root = next_root(root, c.ranks))
        for (bool irregular : {false, true})
          for (bool in_place : {false, true}) {
            PieceCall call{what, irregular, n, root, in_place, ++round};
            if (irregular && !call.has_v()) continue;
            if (n > 10000 && root > 1) continue;
            try_pieces(c, comm, call, mappable);
            if (c.failed()) return;
          }
}

// reduce_scatter, scan and exscan with an operation that does not commute.
inline coll_status try_order(Context& c, coll_comm* comm, Collective what, size_t n) {
  coll_op op;
  if (coll_op_create(compose, 0, nullptr, &op) != COLL_OK) return COLL_ERR_OP;
  const coll_datatype type = COLL_TYPE_BYTES(sizeof(Affine));
  const bool blocks = what == Collective::reduce_scatter;
  const size_t p = size_t(c.ranks), first = blocks ? n * size_t(c.rank) : 0;
  auto value = [](int rank, size_t i) { return Affine{uint32_t(2 * rank + 3 + i % 5), uint32_t(rank * 7 + int(i))}; };
  std::vector<Affine> send(blocks ? n * p : n), recv(n);
  for (size_t i = 0; i < send.size(); i++) send[i] = value(c.rank, i);
  coll_status status = COLL_OK;
  if (blocks) status = coll_reduce_scatter_block(send.data(), recv.data(), n, type, op, comm);
  else
    status = what == Collective::scan ? coll_scan(send.data(), recv.data(), n, type, op, comm)
                                      : coll_exscan(send.data(), recv.data(), n, type, op, comm);
  const int last = blocks ? c.ranks : what == Collective::scan ? c.rank + 1 : c.rank;
  for (size_t i = 0; i < n && status == COLL_OK && last > 0; i++) {
    Affine expected = value(0, first + i);
    for (int r = 1; r < last; r++) {
      Affine next = value(r, first + i);
      compose(&expected, &next, 1, 0, nullptr);
      expected = next;
    }
    if (recv[i].a != expected.a || recv[i].b != expected.b) {
      c.fail(std::string(coll::plan::name(what)) + ": operands out of order at " + std::to_string(i));
      break;
    }
  }
  RANK_CHECK(c, coll_op_free(op) == COLL_OK);
  return status;
}

}  // namespace ranks
