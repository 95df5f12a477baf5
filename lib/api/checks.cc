// SPDX-License-Identifier: BSD-3-Clause
#include "api/checks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

namespace coll::api {

coll_status check_comm(const coll_comm* comm) {
  return comm != nullptr ? COLL_OK : failure(COLL_ERR_ARG, "the communicator is NULL");
}

coll_status check_root(const coll_comm* comm, int root) {
  if (root >= 0 && root < comm->comm->ranks()) return COLL_OK;
  return failure(COLL_ERR_ROOT, "root " + std::to_string(root) + " is outside the ranks 0.." +
                                    std::to_string(comm->comm->ranks() - 1));
}

coll_status check_vector(size_t count, coll_datatype type, size_t& element_bytes, size_t vectors) {
  element_bytes = mem::datatype_size(type);
  if (element_bytes == 0) return failure(COLL_ERR_TYPE, "datatype " + std::to_string(type) + " is unknown");
  if (count > size_t(PTRDIFF_MAX) / element_bytes / vectors)
    return failure(COLL_ERR_COUNT, (vectors > 1 ? std::to_string(vectors) + " times " : "") + std::to_string(count) +
                                       " elements of " + std::to_string(element_bytes) +
                                       " bytes exceed the address space");
  return COLL_OK;
}

coll_status check_buffer(const char* which, const void* buffer, size_t count) {
  if (count == 0 || (buffer != nullptr && buffer != COLL_IN_PLACE)) return COLL_OK;
  return failure(COLL_ERR_BUFFER, std::string("the ") + which + " buffer is " +
                                      (buffer == nullptr ? "NULL" : "COLL_IN_PLACE, which is not allowed here"));
}

namespace {

coll_status overlap_failure() {
  return failure(COLL_ERR_BUFFER, "the send and receive buffers overlap; pass COLL_IN_PLACE for a call in place");
}

bool overlap(const AddressRange& a, const AddressRange& b) {
  return a.first < a.second && b.first < b.second && a.first < b.second && b.first < a.second;
}

AddressRange range_of(const Blocks& blocks, size_t block, size_t element_bytes) {
  const uintptr_t begin = uintptr_t(blocks.buffer) + blocks.offsets[block] * element_bytes;
  return {begin, begin + blocks.counts[block] * element_bytes};
}

// The range from the first to the last byte of all blocks.
AddressRange span_of(const Blocks& blocks, size_t element_bytes) {
  AddressRange span{std::numeric_limits<uintptr_t>::max(), 0};
  for (size_t b = 0; b < blocks.counts.size(); b++) {
    if (blocks.counts[b] == 0) continue;
    const auto [begin, end] = range_of(blocks, b, element_bytes);
    span = {std::min(span.first, begin), std::max(span.second, end)};
  }
  return span;
}

// Of the blocks that are not empty.
std::vector<AddressRange> ranges_of(const Blocks& blocks, size_t element_bytes) {
  std::vector<AddressRange> ranges;
  for (size_t b = 0; b < blocks.counts.size(); b++)
    if (blocks.counts[b] > 0) ranges.push_back(range_of(blocks, b, element_bytes));
  return ranges;
}

}  // namespace

bool any_overlap(const std::vector<AddressRange>& a, std::vector<AddressRange> b) {
  std::ranges::sort(b);
  // Let each range end where the ranges up to it end: the last one that begins before the end of another range then
  // answers for all of them.
  for (size_t i = 1; i < b.size(); i++) b[i].second = std::max(b[i].second, b[i - 1].second);
  return std::ranges::any_of(a, [&](const AddressRange& range) {
    const auto behind = std::ranges::lower_bound(b, AddressRange(range.second, 0));
    return behind != b.begin() && std::prev(behind)->second > range.first;
  });
}

coll_status check_apart(const void* send, size_t send_bytes, const void* recv, size_t recv_bytes) {
  const AddressRange a{uintptr_t(send), uintptr_t(send) + send_bytes};
  const AddressRange b{uintptr_t(recv), uintptr_t(recv) + recv_bytes};
  return overlap(a, b) ? overlap_failure() : COLL_OK;
}

coll_status check_blocks(const Blocks& blocks, size_t element_bytes) {
  const size_t most = size_t(PTRDIFF_MAX) / element_bytes;
  size_t sum = 0;
  for (size_t b = 0; b < blocks.counts.size(); b++) {
    const size_t count = blocks.counts[b];
    if (count > most || sum > most - count || (count != 0 && blocks.offsets[b] > most - count))
      return failure(COLL_ERR_COUNT, "block " + std::to_string(b) + " of the " + blocks.which + " buffer, " +
                                         std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                                         " bytes from element " + std::to_string(blocks.offsets[b]) +
                                         " on, exceeds the address space");
    sum += count;
  }
  return check_buffer(blocks.which, blocks.buffer, sum);
}

coll_status check_apart(const Blocks& a, const Blocks& b, size_t element_bytes) {
  if (!overlap(span_of(a, element_bytes), span_of(b, element_bytes))) return COLL_OK;
  return any_overlap(ranges_of(a, element_bytes), ranges_of(b, element_bytes)) ? overlap_failure() : COLL_OK;
}

}  // namespace coll::api
