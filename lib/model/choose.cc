// SPDX-License-Identifier: BSD-3-Clause
#include "model/choose.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "model/workset.h"
#include "plan/geometry.h"

namespace coll::model {

using plan::Collective;

namespace {

constexpr size_t kib = 1024;

// The whole vector in one slot: a ring would only spread it over more cache lines.
algo::Parameters one_slot(size_t bytes) {
  algo::Parameters parameters;
  parameters.chunk_bytes = uint32_t(std::bit_ceil(std::max<size_t>(bytes, 64)));
  parameters.depth = 1;
  return parameters;
}

algo::Parameters ring(size_t bytes, size_t chunk_bytes, uint16_t depth) {
  if (bytes <= chunk_bytes) return one_slot(bytes);
  algo::Parameters parameters;
  parameters.chunk_bytes = uint32_t(chunk_bytes);
  parameters.depth = depth;
  return parameters;
}

// A ring of so many bytes, but of no more slots than the vector has chunks: what an operation does not use it should not
// keep from the next ones.
algo::Parameters filled_ring(size_t bytes, size_t chunk_bytes, size_t ring_bytes) {
  const size_t chunks = bytes / chunk_bytes + (bytes % chunk_bytes != 0);
  return ring(bytes, chunk_bytes, uint16_t(std::min(ring_bytes / chunk_bytes, chunks)));
}

// Long vectors pass through a ring that is as long as the caches that a core has for itself: a line that still lies in the
// last reader's is slow to take back before it is written again, and one that has left the writer's is faster to fetch.
// Where nobody waits for such lines half as long: what is staged leaves room there for what it is staged from.
size_t long_ring_bytes(const Question& question) {
  const size_t own = std::bit_floor(question.core_cache_bytes);
  return std::clamp(question.overwrites ? own / 2 : own, 512 * kib, 1024 * kib);
}

// Chunks of a vector that both of two ranks stage and read at the same time: long ones where they need not go round often.
size_t chunk_both_ways(const Question& question, size_t bytes, size_t usual_bytes) {
  return question.overwrites && bytes >= 1024 * kib ? long_ring_bytes(question) / 2 : usual_bytes;
}

// Enough passes to overlap the two copies of a chunk, few enough that their flags do not count.
algo::Parameters pipeline(const Question& question) {
  constexpr size_t longest = 32 * kib;
  const size_t bytes = question.bytes, ring_bytes = long_ring_bytes(question);
  if (bytes <= longest) return filled_ring(bytes, std::max(std::bit_ceil(bytes / 4), 4 * kib), ring_bytes);
  return filled_ring(bytes, bytes <= 512 * kib ? longest : ring_bytes / (question.overwrites ? 8 : 16), ring_bytes);
}

// The same where the reader has nothing else to copy. Where cores overwrite lines without waiting for them, what comes from
// memory likes long runs, and what a string instruction fetches from another core in one long piece takes up to twice as
// long in some launches: short vectors would not make up for that, of longer ones of two ranks only the clock tells.
algo::Parameters fetching_pipeline(const Question& question) {
  const size_t bytes = question.bytes, ring_bytes = long_ring_bytes(question);
  if (!question.overwrites || bytes <= 32 * kib) return pipeline(question);
  if (bytes >= 8192 * kib) return filled_ring(bytes, ring_bytes / 2, ring_bytes);
  const bool short_pieces = bytes <= 128 * kib || (question.slow_pieces && question.ranks == 2);
  return short_pieces ? filled_ring(bytes, 16 * kib, ring_bytes) : pipeline(question);
}

// pipeline() where the reader adds, which takes it longer than the writer needs to stage. The end of a vector comes first: of
// a short one less than a chunk, so that the reader soon has work.
algo::Parameters adding_pipeline(const Question& question) {
  const size_t bytes = question.bytes, ring_bytes = long_ring_bytes(question);
  if (question.overwrites && bytes > 32 * kib && bytes <= 128 * kib) return filled_ring(bytes, 24 * kib, ring_bytes);
  if (question.overwrites && bytes >= 4096 * kib) return filled_ring(bytes, ring_bytes / 4, ring_bytes);
  return pipeline(question);
}

// Mapped vectors pass through no slots, so that nothing is overlapped by cutting them.
algo::Parameters in_one_piece(size_t bytes) { return ring(bytes, 1024 * kib, 1); }

// Where ranks share cores a rank that waits for a chunk waits until others have had their turns: few chunks, the fewer
// the more ranks there are, and all in the ring at once where a turn costs a sleep. Among few, whose turns come soon, one
// may read a first half while the other half is written. A ring that holds long vectors, too, lets each go on until its turn
// is over.
algo::Parameters few_turns(const Question& question) {
  constexpr int few = 4;
  const size_t least = std::clamp(std::bit_ceil(size_t(question.ranks)) * 16 * kib, 64 * kib, 512 * kib);
  const size_t half = std::bit_ceil(question.bytes / 2), quarter = std::bit_ceil(question.bytes / 4);
  if (question.groups_apart) return ring(question.bytes, std::clamp(quarter, least, 512 * kib), 4);
  if (question.ranks > few) return filled_ring(question.bytes, least, 1024 * kib);
  return filled_ring(question.bytes, std::clamp(half, 16 * kib, least), 2048 * kib);
}

// Two hops a pass, each with its flags: long passes, of a vector of `bytes`.
algo::Parameters two_hops(const Question& question, size_t bytes) {
  const size_t least = std::clamp(size_t(question.ranks) * 16 * kib, 128 * kib, 256 * kib);
  if (!question.crowded)
    return filled_ring(bytes, question.ranks == 2 ? chunk_both_ways(question, bytes, least) : least,
                       long_ring_bytes(question));
  const size_t half = std::bit_ceil(bytes / 2);
  return ring(bytes, question.groups_apart ? std::clamp(half, least, 1024 * kib) : least, 2);
}

// Reductions of `vector` bytes among ranks that share cores: through trees in which most ranks wait for no other and run
// ahead while there are slots. `from`: bytes of all vectors together. The more ranks, the longer it takes until all have work.
// Mapped vectors need no staging.
bool goes_up_a_tree(const Question& question, size_t vector, size_t from) {
  constexpr size_t for_a_hop = 4 * kib;
  const bool staged = !question.mapped && !question.kernel_copies && !question.irregular;
  const size_t ranks = size_t(question.ranks);
  return question.crowded && staged && ranks > 2 && !rounds_partials(question.element_bytes) &&
         vector * ranks >= from && vector >= ranks * for_a_hop;
}

// Few ranks share the work most evenly in the tree that moves least. Of many its slots are more than caches hold.
constexpr int few_in_order = 4;

const char* take_tree(const Question& question, algo::Parameters& parameters) {
  const size_t bytes = question.bytes;
  if (question.ranks <= few_in_order) {
    // A short vector in small chunks, so that the next rank on another core soon has work; a long one in fewer turns.
    parameters = bytes <= 512 * kib ? ring(bytes, 32 * kib, 32) : ring(bytes, 128 * kib, 8);
    return "in_order_tree";
  }
  parameters = question.collective == Collective::reduce ? ring(bytes, 64 * kib, 4) : ring(bytes, 128 * kib, 8);
  parameters.k = 3;
  return "rg";
}

constexpr size_t long_piece = 8192 * kib;
// Of alltoall, between two ranks: of more several read one's memory. A huge page is found and held once, small ones 512
// times. In allgather distant cores lose more by it than near ones gain.
size_t long_block(const Question& question) {
  return question.ranks == 2 && question.huge_pages ? 2048 * kib : long_piece;
}

// Kernel copies move pieces of `bytes` and more, of `slow_bytes` where they are slow. Where ranks share cores they may take
// so many times as long as copies of staged data.
struct KernelFrom {
  size_t bytes, slow_bytes = SIZE_MAX;
  double crowd_times = 4;
};

// Ranks on cores of their own, more than two, whose vectors are staged or copied by the kernel. Rules for them were measured
// with 4, 8 and 16 ranks on one last-level cache; how long many more wait for each other is not known.
bool many_apart(const Question& question) {
  return question.ranks > 2 && question.ranks <= 32 && !question.crowded && !question.mapped && !question.kernel_copies;
}
// Of scatter and gather: kernel copies let all ranks copy at once, where staging has the root copy for all.
KernelFrom rooted_from(const Question& question, KernelFrom otherwise) {
  const size_t bytes = std::max(1024 * kib / size_t(question.ranks), 64 * kib);
  return many_apart(question) ? KernelFrom{bytes, bytes} : otherwise;
}

// Pieces: of lengths that only some ranks know nothing may depend, and a short piece uses only a part of its slot. Long
// ones go by kernel copies where these are possible, since all ranks copy at once: staged data would be moved twice. Ranks
// that share cores feel that sooner: every copy keeps another rank waiting. Where all ranks move pieces that leave the
// caches even slow kernel copies pay.
void set_pieces(const Question& question, KernelFrom from, Choice& choice) {
  constexpr size_t unknown = 64 * kib;
  constexpr double slow = 6;
  const size_t bytes = question.irregular ? SIZE_MAX : question.bytes;
  const double quick = question.crowded ? from.crowd_times : 2;
  choice.kernel_copies = (question.kernel_copies || question.kernel_times < quick) && bytes >= from.bytes;
  choice.kernel_copies |= !question.irregular && question.kernel_times < slow && bytes >= from.slow_bytes;
  if (question.irregular) choice.parameters = ring(bytes, unknown, 4);
  else if (choice.kernel_copies || (question.kernel_copies && bytes > 8 * kib))
    choice.parameters = ring(bytes, 512 * kib, 2);
  else if (question.crowded && bytes <= 32 * kib) choice.parameters = one_slot(bytes);
  else choice.parameters = pipeline(question);
}

}  // namespace

size_t latency_path_bytes(const Question& question) {
  constexpr int most = 256;
  constexpr size_t short_bytes = 32 * kib, short_tree_bytes = 4 * kib, short_row_bytes = 16 * kib;
  if (question.ranks > most) return 0;
  if (question.collective == Collective::barrier) return 1;
  if (question.ranks > topo::small_group) {
    if (plan::has_blocks(question.collective, plan::Buffer::send)) return short_row_bytes;
    if (question.collective == Collective::allgather || plan::is_reduction(question.collective)) return tiny_bytes;
    if (question.collective == Collective::gather) return question.crowded ? 0 : tiny_bytes;
    // Along a tree each level copies the whole message before the next one does. In a crowd plans let ranks run farther
    // ahead than cells and notes do: with 32 ranks on two cores a stream of broadcasts takes a ninth of the time, one of
    // gathers four fifths.
    if (question.crowded || question.collective != Collective::bcast) return 0;
    return question.mapped ? tiny_bytes : short_tree_bytes;
  }
  // Memory that all map needs one copy where this path makes two, and distant ranks should not all read from one.
  if (question.mapped || question.levels > 1) return tiny_bytes;
  const bool reads_one = question.collective == Collective::bcast || question.collective == Collective::scatter;
  const bool shows_all = plan::has_blocks(question.collective, plan::Buffer::send);
  if (reads_one || shows_all) return short_bytes;
  // Where ranks share cores a second hop costs turns, which last as long as it takes to read much.
  if (question.crowded && question.collective != Collective::allreduce) return short_bytes;
  const size_t together = question.crowded ? 128 * kib : short_bytes;
  return std::min(short_bytes, together / size_t(std::max(question.ranks - 1, 1)));
}

Choice choose(const Question& question) {
  const size_t bytes = question.bytes;
  const size_t ranks = size_t(question.ranks);
  const size_t long_ring = long_ring_bytes(question);
  const bool two_mapped = ranks == 2 && question.mapped;
  const bool mapped_whole = two_mapped || (question.crowded && question.mapped);
  const char* name = "";
  Choice choice;
  switch (question.collective) {
    case Collective::barrier:
      name = question.levels > 1 ? "hierarchical" : question.ranks <= 8 ? "flat" : "dissemination";
      break;
    case Collective::bcast:
      name = question.levels > 1 && bytes > 4 * kib ? "hierarchical" : "flat_read";
      // Two ranks: the root would wait while the other copies, so each copies a half. Staged data takes as long either way;
      // shorter ones a reader that maps them has from the root's caches before the root could share the work.
      // Where the root overwrites lines without waiting for them, it is so far ahead that sharing pays later.
      if (const size_t staged_from = question.overwrites ? 1024 * kib : 512 * kib;
          ranks == 2 && !question.crowded && bytes >= (question.kernel_copies ? 256 * kib : staged_from)) {
        name = "push_pull";
        choice.parameters = question.kernel_copies
                                ? ring(bytes, 512 * kib, 2)
                                : filled_ring(bytes, chunk_both_ways(question, bytes, long_ring / 8), long_ring);
      } else if (question.kernel_copies && bytes > 8 * kib) {
        // Kernel copies have a price a call: long chunks (KNEM V).
        choice.parameters = ring(bytes, 512 * kib, 2);
      } else if (mapped_whole) {
        choice.parameters = in_one_piece(bytes);
      } else {
        choice.parameters = question.crowded ? few_turns(question) : fetching_pipeline(question);
      }
      break;
    case Collective::reduce:
      // Two ranks: the root adds while the other stages. Mapped vectors leave the other idle, so each adds a half.
      if (two_mapped && bytes >= 1024 * kib) {
        name = "fused";
        choice.parameters = in_one_piece(bytes);
      } else if (ranks == 2 || bytes * ranks <= 64 * kib) {
        name = "flat";
        choice.parameters = adding_pipeline(question);
      } else if (question.crowded && bytes * ranks <= 1024 * kib) {
        // One hop: where ranks share cores a second one waits until everybody has had a turn.
        name = "flat";
        choice.parameters =
            question.mapped || question.kernel_copies ? one_slot(bytes) : filled_ring(bytes, 32 * kib, 256 * kib);
      } else if (goes_up_a_tree(question, bytes, 0)) {
        name = take_tree(question, choice.parameters);
      } else {
        name = "fused";
        choice.parameters = two_hops(question, bytes);
      }
      break;
    case Collective::allreduce:
      // One hop and p reductions of the whole, against two hops and one: the longer the vector the dearer the former. What
      // is mapped it takes at one go, from caches, where the others would wait for a half. In place it stages the vector,
      // and is still faster.
      if (bytes * ranks <= 32 * kib || (two_mapped && bytes <= 512 * kib)) {
        name = "all_read";
        choice.parameters = one_slot(bytes);
      } else if (goes_up_a_tree(question, bytes, ranks <= 4 ? 512 * kib : 2048 * kib)) {
        name = take_tree(question, choice.parameters);
      } else {
        name = "fused";
        choice.parameters = mapped_whole ? in_one_piece(bytes) : two_hops(question, bytes);
      }
      break;
    case Collective::scatter:
      name = "parallel_read";
      set_pieces(question, rooted_from(question, {question.crowded && ranks > 4 ? 128 * kib : 512 * kib}), choice);
      break;
    case Collective::gather:
      // All would write into the root's memory at once, to which the kernel admits one after another.
      set_pieces(question, rooted_from(question, {.bytes = question.crowded ? 256 * kib : 512 * kib, .crowd_times = 2}),
                 choice);
      if (question.crowded && !choice.kernel_copies && !question.kernel_copies && !question.irregular)
        choice.parameters = ring(bytes, 128 * kib, 4);
      // Staged pieces need not wait until the root is there. Long ones of two ranks that map the result are written into it
      // while the root copies its own.
      name = question.irregular || choice.kernel_copies || question.kernel_copies || (two_mapped && bytes >= 256 * kib)
                 ? "parallel_write"
                 : "sequential_read";
      break;
    case Collective::allgather:
      // What many read is worth staging once; to copies from the owner the kernel admits one rank after the other.
      set_pieces(question, {ranks == 2 ? 12 * kib : question.crowded ? 2048 * kib : 64 * kib, long_piece}, choice);
      name = "ring_source_read";
      if (choice.kernel_copies && !question.irregular && bytes >= 1024 * kib) {
        // A kernel that writes into a distant core's memory takes every line from it first.
        if (question.crowded) name = "ring_source_write";
        choice.parameters = ring(bytes, 256 * kib, 2);
        break;
      }
      if (choice.kernel_copies || question.kernel_copies || question.irregular) break;
      if (ranks == 2) {
        choice.parameters = filled_ring(bytes, 256 * kib, long_ring);
      } else if (bytes <= 8 * kib && !question.crowded) {
        // Of many the last exchange alone copies half of all blocks.
        if (!many_apart(question) || ranks < 8 || bytes <= 2 * kib) name = "recursive_doubling";
        choice.parameters = one_slot(bytes);
      } else {
        choice.parameters = question.crowded ? ring(bytes, 128 * kib, 2) : ring(bytes, 64 * kib, 4);
      }
      break;
    case Collective::alltoall:
      set_pieces(question,
                 many_apart(question) ? KernelFrom{64 * kib, 64 * kib}
                                      : KernelFrom{question.crowded ? 256 * kib : 128 * kib, long_block(question)},
                 choice);
      // Where many ranks share cores each step of bruck takes as long as all ranks' turns on their cores.
      if (const size_t short_block = ranks == 2                                      ? 32 * kib
                                     : question.crowded && ranks > topo::small_group ? 0
                                                                                     : kib;
          question.irregular || choice.kernel_copies || bytes > short_block) {
        name = "rotated";
        // Two ranks do the same at the same time and need not run ahead; memory likes long runs.
        const bool in_long_runs = ranks == 2 && bytes >= 4096 * kib;
        if (!choice.kernel_copies && !question.irregular)
          choice.parameters = in_long_runs ? ring(bytes, 512 * kib, 1)
                              : ranks == 2 && !question.crowded
                                  ? filled_ring(bytes, chunk_both_ways(question, bytes, long_ring / 4), long_ring)
                                  : ring(bytes, 128 * kib, 2);
      } else {
        name = "bruck";
        // One plan for all of them. A rank has ranks * log2(ranks) / 2 slots, each as long as a chunk.
        choice.parameters = one_slot(short_block);
      }
      break;
    case Collective::reduce_scatter:
      // A chunk has a part of every block, each a step of its own, which short ones feel.
      if (question.ranks <= few_in_order && goes_up_a_tree(question, bytes * ranks, 4096 * kib)) {
        name = "in_order_tree";
        choice.parameters = ring(bytes, std::max(std::bit_floor(128 * kib / ranks), 4 * kib), 16);
        break;
      }
      name = "fused";
      if (question.irregular) choice.parameters = ring(SIZE_MAX, 64 * kib, 4);
      else if (many_apart(question) && ranks > 4 && bytes * ranks >= 512 * kib)
        choice.parameters = filled_ring(bytes * ranks, 64 * kib, long_ring);
      else choice.parameters = two_hops(question, bytes * ranks);
      break;
    case Collective::scan:
    case Collective::exscan:
      // 16-bit floats are rounded once in a fold: they are folded alike whatever the size, and as on the latency path.
      name = ranks == 2 || rounds_partials(question.element_bytes) || bytes * ranks <= 32 * kib ||
                     (question.crowded && bytes <= 64 * kib)
                 ? "all_read"
                 : "sklansky";
      // The last rank waits for all others: a vector that many pass on goes in more chunks.
      if (name == std::string_view("sklansky") && many_apart(question) && bytes > 32 * kib && bytes <= 128 * kib)
        choice.parameters = ring(bytes, 16 * kib, 4);
      else if (!question.crowded)
        choice.parameters =
            question.collective == Collective::scan ? adding_pipeline(question) : fetching_pipeline(question);
      // Where ranks share cores one moves on only when another yields: many slots let each get far ahead. Long vectors in
      // fewer turns. Many ranks have less room for slots.
      else if (name == std::string_view("sklansky") && question.ranks > topo::small_group)
        choice.parameters = ring(bytes, 32 * kib, 4);
      else if (name == std::string_view("sklansky"))
        choice.parameters = bytes >= 512 * kib ? ring(bytes, 128 * kib, 8) : ring(bytes, 32 * kib, 16);
      else choice.parameters = ring(bytes, 256 * kib, 2);
      break;
  }
  choice.algorithm = algo::find(question.collective, name);
  complete(question, choice);
  return choice;
}

void complete(const Question& question, Choice& choice) {
  algo::Parameters& parameters = choice.parameters;
  if (question.ranks > topo::small_group && !question.irregular) {
    const size_t enough = std::max(std::bit_ceil(question.bytes), plan::cache_line_bytes);
    // One pass needs one slot, where slots for a block of each rank surely have room.
    constexpr size_t sure_room = size_t(1) << 20;
    if (parameters.chunk_bytes >= enough && enough * size_t(question.ranks) <= sure_room) parameters.depth = 1;
    if (parameters.chunk_bytes > enough) parameters.chunk_bytes = uint32_t(enough);
    for (uint32_t& chunk : parameters.level_chunk_bytes) chunk = uint32_t(std::min<size_t>(chunk, enough));
  }
  parameters.chunk_bytes = std::max<uint32_t>(parameters.chunk_bytes, uint32_t(std::bit_ceil(question.element_bytes)));
  choice.stream = streams(work_set(question.collective, choice.algorithm->name, question.bytes, parameters.chunk_bytes,
                                   uint64_t(question.ranks)),
                          question.cache_bytes);
}

std::string parse_choice(Collective collective, const std::string& text, Choice& choice) {
  size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  choice.algorithm = algo::find(collective, name);
  if (choice.algorithm == nullptr) {
    std::string known;
    for (const algo::Algorithm& algorithm : algo::algorithms())
      if (algorithm.collective == collective) known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
    return std::string(plan::name(collective)) + " has no algorithm '" + name + "'; it has: " + known;
  }
  for (size_t begin = colon; begin != std::string::npos && begin < text.size();) {
    size_t end = text.find(',', begin + 1);
    std::string item = text.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    size_t equals = item.find('=');
    std::string key = item.substr(0, equals);
    unsigned long value = 0;
    if (equals != std::string::npos) {
      const char* first = item.c_str() + equals + 1;
      const char* last = item.c_str() + item.size();
      auto [rest, error] = std::from_chars(first, last, value);
      if (error == std::errc() && rest + 1 == last && (*rest == 'k' || *rest == 'K')) value *= 1024, rest++;
      if (error == std::errc() && rest + 1 == last && (*rest == 'm' || *rest == 'M')) value *= 1024 * 1024, rest++;
      if (error != std::errc() || rest != last) value = 0;
    }
    if (key == "chunk" && value >= 64 && value <= (1u << 30)) choice.parameters.chunk_bytes = uint32_t(value);
    else if (key == "depth" && value >= 1 && value <= 1024) choice.parameters.depth = uint16_t(value);
    else if (key == "k" && value >= 1 && value <= 1024) choice.parameters.k = uint16_t(value);
    else if (key == "j" && value >= 1 && value <= 4096) choice.parameters.j = uint16_t(value);
    else
      return "'" + item +
             "' is not a parameter; write chunk=BYTES (64 to 1G, K and M allowed), depth=1..1024, k=1..1024 or "
             "j=1..4096";
    begin = end;
  }
  return "";
}

}  // namespace coll::model
