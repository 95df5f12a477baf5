// SPDX-License-Identifier: BSD-3-Clause
// Scans: rank r receives x0 op ... op xr, of an exclusive scan x0 op ... op x(r-1), rank 0 nothing. All combine from left
// to right. `what` is Collective::scan or Collective::exscan throughout.
//
//   all_read  everybody reduces the vectors of all ranks before it, staged but for the first rank's: one hop
//   chain     a rank adds its vector to what the rank before it has come to and passes that on, chunk by chunk
//   fused     every chunk is cut into slices, and a rank makes all prefixes of its own slice, straight into the others'
//             receive buffers: p-1 additions for every element, as in the chain, but all ranks work at once
#include <optional>

#include "algo/families.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

Plan all_read(const Request& request, Collective what) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(what, "all_read", request);
  Builder b = start(what, "all_read", request);
  const Ring ring = ring_of(request);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  // In place only the first rank's input stays as it is, so that it may be seen where it lies.
  const Window first(b, Buffer::send, ring);
  const Window later = ranks > 2 ? Window(b, Buffer::none, ring) : first;
  const auto shown = [&](int rank) -> const Window& { return rank == 0 ? first : later; };
  const uint16_t taken = b.flag(), chunks = b.range({.chunk_bytes = ring.chunk_bytes});
  for (int rank : b.ranks()) {
    std::vector<Operand> sources;
    for (int q = 0; q < rank; ++q) sources.push_back(shown(q).of(q));
    if (what == Collective::scan) sources.push_back(own_send());
    const Operand to[] = {own_recv()};
    std::vector<int> readers;
    for (int reader = rank + 1; reader < ranks; ++reader) readers.push_back(reader);
    const Window& mine = shown(rank);
    LaneBuilder lane = b.lane(rank);
    if (rank == 0) first.announce(lane, chunks);
    lane.loop(chunks);
    wait_each(lane, readers, taken, pass_before(ring.depth), mine.staged());
    if (!readers.empty())
      lane.copy(chunks, mine.of(rank), own_send(), mine.staged()).post(mine.flag, this_pass(), mine.staged());
    for (int q = 0; q < rank; ++q) lane.wait(q, shown(q).flag, this_pass());
    if (sources.size() == 1) lane.copy(chunks, own_recv(), sources[0]);
    else if (sources.size() > 1) lane.reduce(chunks, to, sources);
    if (rank > 0) lane.post(taken, this_pass());
    lane.end();
    if (rank == 0) wait_each(lane, readers, taken, all_passes(chunks), first.direct());
  }
  return b.finish();
}

// What a rank shows the next one is its result, of an exclusive scan what it and the ranks before it come to.
Plan chain(const Request& request, Collective what) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(what, "chain", request);
  const bool inclusive = what == Collective::scan;
  Builder b = start(what, "chain", request);
  const Ring ring = ring_of(request);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  const Window sum(b, inclusive ? Buffer::recv : Buffer::none, ring);
  const uint16_t taken = b.flag(), chunks = b.range({.chunk_bytes = ring.chunk_bytes});
  for (int rank : b.ranks()) {
    const bool first = rank == 0, last = rank + 1 == ranks;
    const Operand before = first ? own_send() : sum.of(rank - 1), sources[] = {before, own_send()};
    const Operand both[] = {own_recv(), sum.of(rank)};
    LaneBuilder lane = b.lane(rank);
    if (!last) sum.publish(lane);
    lane.loop(chunks);
    if (!last) lane.wait(rank + 1, taken, pass_before(ring.depth), sum.staged());
    if (!first) lane.wait(rank - 1, sum.flag, this_pass());
    if (first && inclusive) {
      lane.copy2(chunks, both[0], both[1], own_send(), sum.staged());
      lane.copy(chunks, own_recv(), own_send(), sum.direct());
    } else if (first) {
      lane.copy(chunks, sum.of(0), own_send());
    } else if (inclusive && !last) {
      lane.reduce(chunks, both, sources, sum.staged());
      lane.reduce(chunks, {both, 1}, sources, sum.direct());
    } else if (inclusive) {
      lane.reduce(chunks, {both, 1}, sources);
    } else {
      // First the sum: in place, the result takes the place of what is added.
      if (!last) lane.reduce(chunks, {both + 1, 1}, sources);
      lane.copy(chunks, own_recv(), before, {}, false);
    }
    if (!last) lane.post(sum.flag, this_pass());
    if (!first) lane.post(taken, this_pass());
    lane.end();
    if (!last && inclusive) lane.wait(rank + 1, taken, all_passes(chunks), sum.direct());
  }
  return b.finish();
}

class FusedScan {
 public:
  FusedScan(const Request& request, Collective what)
      : inclusive_(what == Collective::scan),
        ranks_(request.hierarchy->ranks()),
        b_(start(what, "fused", request)),
        shares_(b_, what, request, ranks_, 1),
        input_(shares_.window(b_, Buffer::send)),
        output_(shares_.window(b_, Buffer::recv)),
        sums_{shares_.box(b_), shares_.box(b_)},
        done_(b_.flag()) {}

  Plan make() {
    for (int rank : b_.ranks()) {
      peers_ = all_but(ranks_, rank);
      supply(rank);
      work(rank);
      drain(rank);
    }
    return b_.finish();
  }

 private:
  // The last rank's input is not part of any prefix but its own, rank 0 needs nobody for its result.
  bool shows_input(int rank) const { return inclusive_ || rank + 1 < ranks_; }

  void supply(int rank) {
    if (!shows_input(rank)) return;
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, shares_.all());
    lane.loop(shares_.all());
    wait_each(lane, peers_, done_, pass_before(shares_.depth()), input_.staged());
    shares_.stage_others(lane, rank, input_, input_.staged());
    lane.post(input_.flag, this_pass(), input_.staged()).end();
    // Others wait for the same flags in drain().
    if (rank == 0) wait_each(lane, peers_, done_, all_passes(shares_.all()), input_.direct());
  }

  Operand input(int q, int rank) const { return q == rank ? own_send() : input_.of(q); }
  Operand output(int q, int rank) const { return q == rank ? own_recv() : output_.of(q); }

  // My slice, for all ranks one after another.
  void work(int rank) {
    const uint16_t mine = shares_.of(rank);
    LaneBuilder lane = b_.lane(rank);
    for (int q : peers_)
      if (q > 0) lane.wait(q, output_.flag, constant(1));
    lane.loop(shares_.all());
    Operand sum = input(0, rank);
    if (rank != 0) lane.wait(0, input_.flag, this_pass());
    if (!inclusive_) lane.copy(mine, sums_[0].of(rank), sum), sum = sums_[0].of(rank);
    for (int q = 1; q < ranks_; ++q) {
      if (q != rank && shows_input(q)) lane.wait(q, input_.flag, this_pass());
      if (q != rank) lane.wait(q, output_.flag, this_pass(1 - shares_.depth()));
      const bool last = q + 1 == ranks_;
      const Operand next = sums_[q % 2].of(rank), add[] = {sum, input(q, rank)};
      if (inclusive_) {
        const Operand to[] = {last ? output(q, rank) : next, output(q, rank)};
        lane.reduce(mine, {to, last ? 1u : 2u}, add);
      } else {
        // First the next sum: in place, the result takes the place of what is added.
        if (!last) lane.reduce(mine, {&next, 1}, add);
        lane.copy(mine, output(q, rank), sum);
      }
      sum = next;
    }
    lane.post(done_, this_pass()).end();
  }

  // My result: slots that the others fill, except that rank 0 has it already.
  void drain(int rank) {
    if (rank == 0 && !inclusive_) return;
    LaneBuilder lane = b_.lane(rank);
    if (rank == 0) return void(lane.loop(shares_.all()).copy(shares_.all(), own_recv(), own_send()).end());
    // The value is one more than the passes whose slots are free again, so that 1 says "use the ring".
    output_.publish(lane);
    lane.post(output_.flag, constant(1), output_.staged());
    lane.post(output_.flag, all_passes(shares_.all(), 1), output_.direct());
    lane.loop(shares_.all());
    wait_each(lane, peers_, done_, this_pass());
    shares_.unstage_others(lane, rank, output_);
    lane.post(output_.flag, this_pass(1), output_.staged()).end();
  }

  const bool inclusive_;
  const int ranks_;
  Builder b_;
  const Shares shares_;
  const Window input_, output_;
  const Window sums_[2];
  const uint16_t done_;
  std::vector<int> peers_;
};

Plan fused_scan(const Request& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "fused", request);
  return FusedScan(request, what).make();
}

template <Plan (*generator)(const Request&, Collective), Collective what>
Plan make(const Request& request) {
  return generator(request, what);
}

template <Collective what>
void add_to(std::vector<Algorithm>& family) {
  family.insert(family.end(),
                {{.collective = what,
                  .name = "all_read",
                  .summary = "every rank reduces the data of all ranks before it: for short vectors",
                  .source = "this project",
                  .reads = {.chunk = true, .depth = true},
                  .described = plan::Access::shm,
                  .max_bytes = 16384,
                  .applies = always,
                  .make = make<all_read, what>},
                 {.collective = what,
                  .name = "chain",
                  .summary = "each rank reduces its data with the result of the rank before it, chunk by chunk",
                  .source = "this project",
                  .stores_partials = true,
                  .reads = {.chunk = true, .depth = true},
                  .applies = always,
                  .make = make<chain, what>},
                 {.collective = what,
                  .name = "fused",
                  .summary = "each rank computes all prefixes of one slice, directly into the others' buffers",
                  .source = "this project; SAS for the mapped buffers",
                  .stores_partials = true,
                  .reads = {.chunk = true, .depth = true},
                  .applies = always,
                  .make = make<fused_scan, what>}});
}

}  // namespace

std::span<const Algorithm> scan_family() {
  static const std::vector<Algorithm> family = [] {
    std::vector<Algorithm> made;
    add_to<Collective::scan>(made);
    add_to<Collective::exscan>(made);
    return made;
  }();
  return family;
}

}  // namespace coll::algo
