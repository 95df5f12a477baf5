// SPDX-License-Identifier: BSD-3-Clause
// The C entry points of the sparse exchange.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "api/checks.h"
#include "exec/neighbor_exchange.h"

using coll::failure;
using namespace coll::api;
using coll::exec::NeighborExchange;

namespace {

constexpr size_t most_messages = size_t(1) << 31;

// Checks the list of sends or of receives, and extends `span` from the first to the last byte of all its messages.
struct Range {
  uintptr_t begin = UINTPTR_MAX, end = 0;
};
template <typename Message>
coll_status check_messages(const char* which, std::span<const Message> messages, int ranks, Range& span) {
  const auto message = [&](size_t i) { return std::string(which) + "[" + std::to_string(i) + "]"; };
  if (messages.data() == nullptr && !messages.empty())
    return failure(COLL_ERR_ARG, std::string("the list of ") + which + " is NULL, but its count is not 0");
  if (messages.size() > most_messages)
    return failure(COLL_ERR_COUNT, std::to_string(messages.size()) + " " + which + " are too many; at most " +
                                       std::to_string(most_messages) + " are supported");
  size_t sum = 0;
  for (size_t i = 0; i < messages.size(); i++) {
    const auto& [peer, data, bytes] = messages[i];
    if (peer < 0 || peer >= ranks)
      return failure(COLL_ERR_ARG, message(i) + ": peer " + std::to_string(peer) + " is outside the ranks 0.." +
                                       std::to_string(ranks - 1));
    if (bytes == 0) continue;
    if (data == nullptr || data == COLL_IN_PLACE)
      return failure(COLL_ERR_BUFFER, message(i) + ": data is " +
                                          (data == nullptr ? "NULL" : "COLL_IN_PLACE, which is not allowed here"));
    if (bytes > size_t(PTRDIFF_MAX) - sum || bytes > UINTPTR_MAX - uintptr_t(data))
      return failure(COLL_ERR_COUNT, message(i) + ": " + std::to_string(bytes) + " bytes exceed the address space");
    sum += bytes;
    span = {std::min(span.begin, uintptr_t(data)), std::max(span.end, uintptr_t(data) + bytes)};
  }
  return COLL_OK;
}

coll_status check_apart(std::span<const coll_outgoing> sends, std::span<const coll_incoming> receives) {
  const auto ranges = [](const auto& messages) {
    std::vector<AddressRange> made;
    for (const auto& [peer, data, bytes] : messages)
      if (bytes > 0) made.emplace_back(uintptr_t(data), uintptr_t(data) + bytes);
    return made;
  };
  if (!any_overlap(ranges(sends), ranges(receives))) return COLL_OK;
  return failure(COLL_ERR_BUFFER, "a message that is sent overlaps one that is received; use memory of its own");
}

// The exchange of the thread's last blocking call; the next call reuses its memory.
thread_local std::unique_ptr<NeighborExchange> spare;
constexpr size_t most_spare_messages = 4096;

coll_status make_exchange(const coll_outgoing* sends, size_t send_count, const coll_incoming* receives,
                          size_t receive_count, coll_comm* comm, Call& call,
                          std::shared_ptr<NeighborExchange> exchange) {
  coll_status status;
  if ((status = check_comm(comm)) != COLL_OK) return status;
  const int ranks = comm->comm->ranks();
  const std::span out(sends, send_count);
  const std::span in(receives, receive_count);
  Range sent, received;
  if ((status = check_messages("sends", out, ranks, sent)) != COLL_OK ||
      (status = check_messages("receives", in, ranks, received)) != COLL_OK)
    return status;
  if (sent.begin < received.end && received.begin < sent.end && (status = check_apart(out, in)) != COLL_OK)
    return status;
  exchange->describe(out, in, comm->comm->rank());
  call.exchange = std::move(exchange);
  if (call.exchange->peers() > NeighborExchange::most_peers)
    return failure(COLL_ERR_COUNT, "this rank has " + std::to_string(call.exchange->peers()) +
                                       " different peers on one side; at most " +
                                       std::to_string(NeighborExchange::most_peers) + " are supported");
  call.collective = Collective::alltoall;
  call.signature = signature(*comm, Collective::alltoall, SIZE_MAX - 1, 0, 0, 0);
  return COLL_OK;
}

}  // namespace

extern "C" {

coll_status coll_neighbor_exchange(const coll_outgoing* sends, size_t send_count, const coll_incoming* receives,
                                   size_t receive_count, coll_comm* comm) {
  // Moved out of `spare`, because a wait may call functions that call this function again.
  std::unique_ptr<NeighborExchange> own = std::move(spare);
  const coll_status status = perform(comm, [&](Call& call) {
    if (own == nullptr) own = std::make_unique<NeighborExchange>();
    // A shared_ptr that owns nothing: no reference outlives this call.
    return make_exchange(sends, send_count, receives, receive_count, comm, call, {std::shared_ptr<void>(), own.get()});
  });
  if (send_count <= most_spare_messages && receive_count <= most_spare_messages) spare = std::move(own);
  return status;
}
coll_status coll_ineighbor_exchange(const coll_outgoing* sends, size_t send_count, const coll_incoming* receives,
                                    size_t receive_count, coll_comm* comm, coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_exchange(sends, send_count, receives, receive_count, comm, call, std::make_shared<NeighborExchange>());
  });
}
coll_status coll_neighbor_exchange_init(const coll_outgoing* sends, size_t send_count, const coll_incoming* receives,
                                        size_t receive_count, coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_exchange(sends, send_count, receives, receive_count, comm, call, std::make_shared<NeighborExchange>());
  });
}

}  // extern "C"
