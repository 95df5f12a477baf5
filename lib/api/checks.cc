// SPDX-License-Identifier: BSD-3-Clause
#include "api/checks.h"

#include <algorithm>
#include <cstdint>
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

coll_status overlap() {
  return failure(COLL_ERR_BUFFER,
                 "the send and receive buffers overlap; pass COLL_IN_PLACE to reduce or exchange in place");
}

struct Bytes {
  uintptr_t begin, end;
  bool meets(const Bytes& other) const {
    return begin < end && other.begin < other.end && begin < other.end && other.begin < end;
  }
};

Bytes bytes_of(const Blocks& blocks, size_t block, size_t element_bytes) {
  uintptr_t begin = uintptr_t(blocks.buffer) + blocks.offsets[block] * element_bytes;
  return {begin, begin + blocks.counts[block] * element_bytes};
}

// The range from the first to the last byte of all blocks.
Bytes span_of(const Blocks& blocks, size_t element_bytes) {
  Bytes span{std::numeric_limits<uintptr_t>::max(), 0};
  for (size_t b = 0; b < blocks.counts.size(); b++) {
    if (blocks.counts[b] == 0) continue;
    const Bytes block = bytes_of(blocks, b, element_bytes);
    span = {std::min(span.begin, block.begin), std::max(span.end, block.end)};
  }
  return span;
}

}  // namespace

coll_status check_apart(const void* send, size_t send_bytes, const void* recv, size_t recv_bytes) {
  const Bytes a{uintptr_t(send), uintptr_t(send) + send_bytes};
  const Bytes b{uintptr_t(recv), uintptr_t(recv) + recv_bytes};
  return a.meets(b) ? overlap() : COLL_OK;
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
  if (!span_of(a, element_bytes).meets(span_of(b, element_bytes))) return COLL_OK;
  for (size_t i = 0; i < a.counts.size(); i++)
    for (size_t j = 0; j < b.counts.size(); j++)
      if (bytes_of(a, i, element_bytes).meets(bytes_of(b, j, element_bytes))) return overlap();
  return COLL_OK;
}

}  // namespace coll::api
