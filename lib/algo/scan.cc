// SPDX-License-Identifier: BSD-3-Clause
// Scans: rank r receives fold(0, r + 1) (Plan::balanced); in an exclusive scan fold(0, r), and rank 0 receives nothing.
// `what` is Collective::scan or Collective::exscan throughout.
//
//   all_read  a rank reduces the vectors of all ranks before it, staged except for the first rank's: one hop
//   sklansky  log2 p steps, chunk by chunk: in step k the upper half of each block of 2^(k+1) ranks adds the total of
//             the lower half
//   fused     every chunk is cut into slices, and a rank makes all prefixes of its own slice, directly in the others'
//             receive buffers: as many additions per element, but all ranks work at the same time
#include <array>

#include "algo/families.h"
#include "algo/fold.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

Plan all_read(const PlanRequest& request, Collective what) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(what, "all_read", request);
  Builder b = start(what, "all_read", request);
  const Ring ring = ring_of(request);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  // In place, only the first rank's input stays unchanged, so only its view may be direct.
  const StagedView first(b, Buffer::send, ring);
  const StagedView later = ranks > 2 ? StagedView(b, Buffer::none, ring) : first;
  const auto shown = [&](int rank) -> const StagedView& { return rank == 0 ? first : later; };
  const uint16_t consumed = b.flag(), chunks = b.range({.chunk_bytes = ring.chunk_bytes});
  for (int rank : b.ranks()) {
    std::vector<Operand> sources;
    for (int q = 0; q < rank; ++q) sources.push_back(shown(q).of(q));
    if (what == Collective::scan) sources.push_back(own_send());
    std::vector<int> readers;
    for (int reader = rank + 1; reader < ranks; ++reader) readers.push_back(reader);
    const StagedView& mine = shown(rank);
    LaneBuilder lane = b.lane(rank);
    if (rank == 0) first.announce(lane, chunks);
    lane.loop(chunks);
    wait_each(lane, readers, consumed, iteration_before(ring.depth), mine.staged());
    if (!readers.empty())
      lane.copy(chunks, mine.of(rank), own_send(), mine.staged()).post(mine.flag, this_iteration(), mine.staged());
    for (int q = 0; q < rank; ++q) lane.wait(q, shown(q).flag, this_iteration());
    if (!sources.empty()) fold(lane, chunks, own_recv(), sources);
    if (rank > 0) lane.post(consumed, this_iteration());
    lane.end();
    if (rank == 0) wait_each(lane, readers, consumed, all_iterations(chunks), first.direct());
  }
  return b.finish();
}

// For every set bit k of its number, from the lowest on, a rank adds the total of the 2^k ranks before its own aligned
// block of 2^k, which the last one of them shows: nodes of the balanced order join from the right. A rank is the last
// one of a lower half only once and shows one value: an even rank its input, an odd one the total of the largest block
// that ends with it. An exclusive scan makes these totals in addition to its result.
class Sklansky {
 public:
  Sklansky(const PlanRequest& request, Collective what)
      : inclusive_(what == Collective::scan),
        ranks_(request.hierarchy->ranks()),
        b_(start(what, "sklansky", request)),
        ring_(ring_of(request)),
        input_(b_, Buffer::send, ring_),
        total_(b_, Buffer::none, ring_),
        input_consumed_(b_.flag()),
        consumed_(b_.flag()),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      const bool shows_input = rank % 2 == 0 && shows(rank);
      LaneBuilder lane = b_.lane(rank);
      if (shows_input) input_.announce(lane, chunks_);
      lane.loop(chunks_);
      if (shows_input) show_input(lane, rank);
      else if (shows(rank)) wait_each(lane, readers(rank), consumed_, iteration_before(ring_.depth));
      if (inclusive_) scan(lane, rank);
      else exscan(lane, rank);
      if (rank > 1) lane.post(consumed_, this_iteration());
      lane.end();
      if (rank == 0) lane.wait(1, input_consumed_, all_iterations(chunks_), input_.direct());
    }
    return b_.finish();
  }

 private:
  bool shows(int rank) const { return rank + 1 < ranks_; }
  // The readers of the total that an odd rank shows: as many ranks as the total covers.
  std::vector<int> readers(int rank) const {
    std::vector<int> after;
    const int end = std::min(ranks_, rank + 1 + (1 << std::countr_one(unsigned(rank))));
    for (int reader = rank + 1; reader < end; ++reader) after.push_back(reader);
    return after;
  }

  void show_input(LaneBuilder& lane, int rank) const {
    const Only staged = input_.staged();
    lane.wait(rank + 1, input_consumed_, iteration_before(ring_.depth), staged);
    if (rank == 0 && inclusive_) {
      lane.copy2(chunks_, own_recv(), input_.of(0), own_send(), staged);
      lane.copy(chunks_, own_recv(), own_send(), input_.direct());
    } else {
      lane.copy(chunks_, input_.of(rank), own_send(), staged);
    }
    lane.post(input_.flag, this_iteration(), staged);
    // In place, the result replaces the input.
    if (rank > 0) lane.wait(rank + 1, input_consumed_, this_iteration(), input_.direct());
  }

  // Waits for the total of the ranks before the rank's block of 2^bit, and returns it.
  Operand total_before(LaneBuilder& lane, int rank, int bit) const {
    const StagedView& window = bit == 0 ? input_ : total_;
    const int source = (rank >> bit << bit) - 1;
    lane.wait(source, window.flag, this_iteration());
    return window.of(source);
  }
  // Whether the rank's total is the one that it shows once it covers bits 0 .. bit.
  bool completes(int rank, int bit) const { return shows(rank) && bit + 1 == std::countr_one(unsigned(rank)); }

  void scan(LaneBuilder& lane, int rank) const {
    Operand sum = own_send();
    for (unsigned bits = unsigned(rank); bits != 0; bits &= bits - 1) {
      const int bit = std::countr_zero(bits);
      const bool last = std::has_single_bit(bits), shown = completes(rank, bit);
      const Operand sources[] = {total_before(lane, rank, bit), sum};
      const Operand to[] = {shown ? total_.of(rank) : own_recv(), own_recv()};
      lane.reduce(chunks_, {to, shown && last ? 2u : 1u}, sources);
      if (shown) lane.post(total_.flag, this_iteration());
      if (bit == 0) lane.post(input_consumed_, this_iteration());
      sum = to[0];
    }
  }

  // Makes the sum of the ranks before this one, and, as long as the rank has to show it, the sum with its own input.
  void exscan(LaneBuilder& lane, int rank) const {
    const int ones = shows(rank) ? std::countr_one(unsigned(rank)) : 0;
    const Operand shown = total_.of(rank), result = own_recv();
    Operand sum = own_recv(), with_me = own_send();
    for (unsigned bits = unsigned(rank); bits != 0; bits &= bits - 1) {
      const int bit = std::countr_zero(bits);
      const bool first = int(bits) == rank, last = std::has_single_bit(bits);
      const Operand before = total_before(lane, rank, bit);
      if (bit < ones) {
        const Operand sources[] = {before, with_me};
        lane.reduce(chunks_, {&shown, 1}, sources);
        with_me = shown;
      }
      if (completes(rank, bit)) lane.post(total_.flag, this_iteration());
      const Operand sources[] = {before, sum};
      if (!first) lane.reduce(chunks_, {&result, 1}, sources);
      else if (last) lane.copy_result(chunks_, result, before);
      sum = first ? before : result;
      // The input of the previous rank is in use until it has been added.
      if (rank % 2 == 1 && int(bits) == std::max(rank - 1, 1)) lane.post(input_consumed_, this_iteration());
    }
  }

  const bool inclusive_;
  const int ranks_;
  Builder b_;
  const Ring ring_;
  const StagedView input_;         // shown by even ranks
  const StagedView total_;         // shown by odd ranks
  const uint16_t input_consumed_;  // the next rank has read the input
  const uint16_t consumed_;        // the ranks that add a total have read it
  const uint16_t chunks_;
};

Plan sklansky(const PlanRequest& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "sklansky", request);
  return Sklansky(request, what).make();
}

// A slice is folded in blocks of 4^place ranks; those of place 0 are the inputs. The digits of a length in base 4 are
// the numbers of blocks of each place that its prefix consists of, and one step folds all blocks of one place with the
// result of the lower places. That takes fewer steps than halves would, for as many bytes. Of each place only the first
// three totals in a block of the next place are kept.
class FusedScan {
 public:
  FusedScan(const PlanRequest& request, Collective what)
      : inclusive_(what == Collective::scan),
        ranks_(request.hierarchy->ranks()),
        longest_(inclusive_ ? ranks_ : ranks_ - 1),
        b_(start(what, "fused", request)),
        shares_(b_, what, request, ranks_, 1),
        input_(shares_.window(b_, Buffer::send)),
        output_(shares_.window(b_, Buffer::recv)),
        sums_(b_, Buffer::none, {shares_.ring().chunk_bytes, 1}, sums(longest_)),
        done_(b_.flag()) {}

  Plan make() {
    for (int rank : b_.ranks()) {
      peers_ = all_but(ranks_, rank);
      // All ranks wait for the first flag of drain(). After work(), the last of them would do all its work before it.
      if (rank > 0) drain(rank);
      supply(rank);
      work(rank);
      if (rank == 0) drain(rank);
    }
    return b_.finish();
  }

 private:
  static constexpr int base = 4;
  // The number of blocks: one for partial results, then the totals of every place except the first.
  static int sums(int longest) {
    int count = 2;
    for (; longest >= base; longest /= base) count += base - 1;
    return count;
  }

  // The last rank's input is part of no prefix except its own; rank 0 needs no other rank for its result.
  bool shows_input(int rank) const { return inclusive_ || rank + 1 < ranks_; }

  void supply(int rank) {
    if (!shows_input(rank)) return;
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, shares_.all());
    lane.loop(shares_.all());
    wait_each(lane, peers_, done_, iteration_before(shares_.depth()), input_.staged());
    shares_.stage_others(lane, rank, input_, input_.staged());
    lane.post(input_.flag, this_iteration(), input_.staged()).end();
    // In drain() other ranks wait for the same flags.
    if (rank == 0) wait_each(lane, peers_, done_, all_iterations(shares_.all()), input_.direct());
  }

  Operand input(int q, int rank) const { return q == rank ? own_send() : input_.of(q); }
  Operand output(int q, int rank) const { return q == rank ? own_recv() : output_.of(q); }

  Operand partial(int rank) const { return sums_.of(rank, 0); }
  Operand total(int rank, int place, int index) const {
    return place == 0 ? input(index, rank) : sums_.of(rank, 1 + (place - 1) * (base - 1) + index % base);
  }
  // The totals of one place up to `end`, in their block of the next place.
  std::vector<Operand> totals(int rank, int place, int end) const {
    std::vector<Operand> all;
    for (int index = end / base * base; index < end; ++index) all.push_back(total(rank, place, index));
    return all;
  }

  // Whether the total of this length is a result as well.
  bool is_result(int length) const {
    const unsigned ranks = unsigned(length);
    return inclusive_ && length >= base && std::has_single_bit(ranks) && std::countr_zero(ranks) % 2 == 0;
  }

  // Makes the total of the largest block that ends with the input before `end`, a multiple of the base: like a carry in
  // a counter, from place to place.
  void add_block(LaneBuilder& lane, int rank, int end) const {
    int place = 1, last = end / base - 1;
    std::vector<Operand> sources = totals(rank, 0, end - 1);
    sources.push_back(total(rank, 0, end - 1));
    for (; last % base == base - 1; ++place, last /= base) {
      const Operand sum = partial(rank);
      lane.reduce(shares_.of(rank), {&sum, 1}, sources);
      sources = totals(rank, place, last);
      sources.push_back(sum);
    }
    std::array<Operand, 2> to;
    size_t targets = 0;
    if (!is_result(end) || end < longest_) to[targets++] = total(rank, place, last);
    if (is_result(end)) to[targets++] = output(end - 1, rank);
    lane.reduce(shares_.of(rank), {to.data(), targets}, sources);
  }

  // Makes fold(0, length); places join from the right.
  void prefix(LaneBuilder& lane, int rank, int length, Operand result) const {
    std::vector<Operand> right;  // the result of the lower places: none or one operand
    for (int place = 0, end = length; end > 0; ++place, end /= base) {
      std::vector<Operand> sources = totals(rank, place, end);
      sources.insert(sources.end(), right.begin(), right.end());
      const Operand to = end < base ? result : partial(rank);
      if (sources.size() > 1) {
        lane.reduce(shares_.of(rank), {&to, 1}, sources);
        sources = {to};
      } else if (end < base) {
        // One kernel-assisted copy cannot go from rank 0's input to rank 1's result, both of other ranks.
        if (length == 1 && rank > 1) {
          lane.copy(shares_.of(rank), partial(rank), sources[0]);
          sources = {partial(rank)};
        }
        lane.copy(shares_.of(rank), to, sources[0]);
      }
      right = std::move(sources);
    }
  }

  // Makes the rank's slice of all results.
  void work(int rank) {
    LaneBuilder lane = b_.lane(rank);
    for (int q : peers_)
      if (q > 0) lane.wait(q, output_.flag, constant(1));
    lane.loop(shares_.all());
    for (int first = 0; first < ranks_; first += base) {
      const int end = std::min(first + base, ranks_);
      for (int q = first; q < end; ++q) {
        if (q != rank && shows_input(q)) lane.wait(q, input_.flag, this_iteration());
        if (q != rank && q > 0) lane.wait(q, output_.flag, this_iteration(1 - shares_.depth()));
      }
      if (end % base == 0 && end <= longest_) add_block(lane, rank, end);
      // The last result first: in place, a result replaces an input, and later results are made of that input.
      for (int q = end - 1; q >= std::max(first, 1); --q) {
        const int length = inclusive_ ? q + 1 : q;
        if (!is_result(length)) prefix(lane, rank, length, output(q, rank));
      }
    }
    lane.post(done_, this_iteration()).end();
  }

  // Completes the rank's result from the slots that other ranks fill. Rank 0's result is its own input.
  void drain(int rank) {
    if (rank == 0 && !inclusive_) return;
    LaneBuilder lane = b_.lane(rank);
    if (rank == 0) return void(lane.loop(shares_.all()).copy(shares_.all(), own_recv(), own_send()).end());
    // Value n+1 of the flag: the slots of the first n iterations are free again; value 1 says that the rank uses its
    // ring.
    output_.publish(lane);
    lane.post(output_.flag, constant(1), output_.staged());
    lane.post(output_.flag, all_iterations(shares_.all(), 1), output_.direct());
    lane.loop(shares_.all());
    wait_each(lane, peers_, done_, this_iteration());
    shares_.unstage_others(lane, rank, output_);
    lane.post(output_.flag, this_iteration(1), output_.staged()).end();
  }

  const bool inclusive_;
  const int ranks_, longest_;  // ranks in the longest prefix
  Builder b_;
  const Shares shares_;
  const StagedView input_, output_;
  const StagedView sums_;
  const uint16_t done_;
  std::vector<int> peers_;
};

Plan fused_scan(const PlanRequest& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "fused", request);
  return FusedScan(request, what).make();
}

template <Plan (*generator)(const PlanRequest&, Collective), Collective what>
Plan make(const PlanRequest& request) {
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
                  .described = plan::AccessMode::staged,
                  .max_bytes = 16384,
                  .applies = always,
                  .make = make<all_read, what>},
                 {.collective = what,
                  .name = "sklansky",
                  .summary = "log2 p steps: the ranks of a block add the result of the neighbouring block before it",
                  .source = "Sklansky 1960",
                  .stores_partials = true,
                  .reads = {.chunk = true, .depth = true},
                  .applies = always,
                  .make = make<sklansky, what>},
                 {.collective = what,
                  .name = "fused",
                  .summary = "each rank computes all prefixes of one slice, directly into the others' buffers",
                  .source = "this project; SAS for the mapped buffers",
                  .stores_partials = true,
                  .reads = {.chunk = true, .depth = true},
                  .applies = always,
                  .make = make<fused_scan, what>},
                 {.collective = what,
                  .name = "grouped",
                  .summary = "ranks reduce results of groups of 16 ranks and inputs of their own group: short vectors",
                  .source = "this project",
                  .stores_partials = true,
                  .reads = {.chunk = true, .depth = true},
                  .described = plan::AccessMode::staged,
                  .max_bytes = 16384,
                  .applies = exceeds_a_group,
                  .make = make<grouped_reduction, what>}});
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
