// SPDX-License-Identifier: BSD-3-Clause
#include "comm/long_buffers.h"

#include <algorithm>
#include <cstdint>

namespace coll::comm {

using plan::Buffer;

namespace {

struct Elements {
  size_t first = 0, end = 0;
};

// The elements of this rank's buffer that the call uses. For the blocks of a v-variant that is the range from the first
// block to the end of the last; gaps between the blocks most likely belong to the same buffer.
Elements elements_of(const Call& call, Buffer buffer, int rank, int ranks) {
  const bool has_blocks = plan::has_blocks(call.collective, buffer), receives = buffer == Buffer::recv;
  if (call.pieces == nullptr) return {0, call.count * (has_blocks ? size_t(ranks) : 1)};
  const Pieces& pieces = *call.pieces;
  if (!has_blocks) return {0, pieces.counts[size_t(rank)]};
  const std::vector<size_t>& counts = receives && !pieces.received.empty() ? pieces.received : pieces.counts;
  const std::vector<size_t>& offsets = receives ? pieces.recv_offsets : pieces.send_offsets;
  Elements all{SIZE_MAX, 0};
  for (size_t block = 0; block < offsets.size(); block++)
    if (counts[block] > 0)
      all = {std::min(all.first, offsets[block]), std::max(all.end, offsets[block] + counts[block])};
  return all.end == 0 ? Elements() : all;
}

}  // namespace

std::span<const char> result_of(const Call& call, int rank, int ranks) {
  const bool to_root = call.collective == plan::Collective::gather || call.collective == plan::Collective::reduce;
  const bool gets = to_root ? call.root == rank : call.collective != plan::Collective::exscan || rank > 0;
  if (!gets) return {};
  const Elements elements = elements_of(call, Buffer::recv, rank, ranks);
  return {static_cast<const char*>(call.recv) + elements.first * call.element_bytes,
          (elements.end - elements.first) * call.element_bytes};
}

void count_long_buffers(const Call& call, int rank, int ranks) {
  const auto use = [&](Buffer buffer, const void* memory) {
    const Elements elements = elements_of(call, buffer, rank, ranks);
    mem::HugePages::use(static_cast<const char*>(memory) + elements.first * call.element_bytes,
                        (elements.end - elements.first) * call.element_bytes);
  };
  if (call.send != call.recv) use(Buffer::send, call.send);
  use(Buffer::recv, call.recv);
}

}  // namespace coll::comm
