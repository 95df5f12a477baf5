// SPDX-License-Identifier: BSD-3-Clause
#include "comm/long_buffers.h"

#include <algorithm>
#include <cstdint>

namespace coll::comm {

using plan::Buffer;
using plan::Collective;

namespace {

// Whether this rank passes the buffer at all: elsewhere it may point anywhere.
bool takes_part(const Call& call, Buffer buffer, int rank) {
  switch (call.collective) {
    case Collective::barrier: return false;
    case Collective::bcast: return buffer == Buffer::recv;
    case Collective::scatter: return buffer == Buffer::recv || rank == call.root;
    case Collective::reduce:
    case Collective::gather: return buffer == Buffer::send || rank == call.root;
    default: return true;
  }
}

struct Elements {
  size_t first = 0, end = 0;
};

// Of a v-form, from the first block to the end of the last one; what lies between blocks is most likely theirs, too.
Elements elements_of(const Pieces& pieces, bool has_blocks, const std::vector<size_t>& counts,
                     const std::vector<size_t>& offsets, int rank) {
  if (!has_blocks) return {0, pieces.counts[size_t(rank)]};
  if (offsets.empty()) return {0, pieces.total()};
  Elements all{SIZE_MAX, 0};
  for (size_t block = 0; block < offsets.size(); block++)
    if (counts[block] > 0)
      all = {std::min(all.first, offsets[block]), std::max(all.end, offsets[block] + counts[block])};
  return all.end == 0 ? Elements() : all;
}

Elements elements_of(const Call& call, Buffer buffer, int rank, int ranks) {
  const bool has_blocks = plan::has_blocks(call.collective, buffer);
  if (call.pieces == nullptr) return {0, call.count * (has_blocks ? size_t(ranks) : 1)};
  const Pieces& pieces = *call.pieces;
  const bool got = buffer == Buffer::recv && !pieces.received.empty();
  return elements_of(pieces, has_blocks, got ? pieces.received : pieces.counts,
                     buffer == Buffer::send ? pieces.send_offsets : pieces.recv_offsets, rank);
}

}  // namespace

void count_long_buffers(const Call& call, int rank, int ranks) {
  const auto use = [&](Buffer buffer, const void* memory) {
    if (memory == nullptr || !takes_part(call, buffer, rank)) return;
    const Elements elements = elements_of(call, buffer, rank, ranks);
    mem::HugePages::use(static_cast<const char*>(memory) + elements.first * call.element_bytes,
                        (elements.end - elements.first) * call.element_bytes);
  };
  use(Buffer::send, call.send);
  use(Buffer::recv, call.recv);
}

}  // namespace coll::comm
