// SPDX-License-Identifier: BSD-3-Clause
// Comm::split(): the parent's allgather is the bootstrap of the parts.
#include <algorithm>
#include <climits>
#include <cstring>

#include "comm/comm.h"
#include "comm/introduction.h"

namespace coll::comm {

coll_status Comm::split(int colour, int key, std::unique_ptr<Comm>& out) {
  struct Wish {
    int colour, key, rank;
  };
  coll_status failed = COLL_OK;
  // An allgather over all ranks of the parent.
  auto gather = [&](const void* send, void* recv, size_t bytes) {
    char* all = static_cast<char*>(recv);
    memcpy(all + size_t(rank()) * bytes, send, bytes);
    failed = perform({.collective = plan::Collective::allgather,
                      .send = all + size_t(rank()) * bytes,
                      .recv = all,
                      .count = bytes,
                      .signature = bytes});
    return failed == COLL_OK;
  };

  std::vector<Wish> wishes(static_cast<size_t>(ranks()));
  Wish mine{colour < 0 ? -1 : colour, key, rank()};
  if (!gather(&mine, wishes.data(), sizeof mine)) return failed;
  std::vector<int> part;
  std::stable_sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) { return a.key < b.key; });
  for (const Wish& wish : wishes)
    if (wish.colour == mine.colour) part.push_back(wish.rank);

  // The ranks of all parts take part in the same exchanges, and each rank reads the data of its own part only. A rank
  // with a negative colour takes part as a part of one rank, which is then destroyed.
  if (mine.colour < 0) part = {rank()};
  std::vector<char> all;
  Exchange exchange = [&](const void* send, void* recv, size_t bytes) {
    all.resize(size_t(ranks()) * bytes);
    if (!gather(send, all.data(), bytes)) return false;
    for (size_t i = 0; i < part.size(); i++)
      memcpy(static_cast<char*>(recv) + i * bytes, all.data() + size_t(part[i]) * bytes, bytes);
    return true;
  };
  int place = int(std::find(part.begin(), part.end(), rank()) - part.begin());
  coll_status status = COLL_OK;
  // A part that fails in one exchange must still take part in the later ones, for the other parts. If no ranks of this
  // communicator need a socket, none of a part do.
  size_t exchanges = 0;
  Exchange counted = [&](const void* send, void* recv, size_t bytes) {
    return exchanges++, exchange(send, recv, bytes);
  };
  std::unique_ptr<Comm> comm = create(place, int(part.size()), counted, exchanges_names_, status);
  if (failed != COLL_OK) return report(failed);  // create() has set another message
  for (const std::vector<size_t> lengths = exchanged_bytes(exchanges_names_); exchanges < lengths.size();) {
    std::vector<char> blank(lengths[exchanges]), ignored(blank.size() * part.size());
    counted(blank.data(), ignored.data(), blank.size());
  }
  if (status == COLL_OK && mine.colour >= 0) out = std::move(comm);
  return status;
}

}  // namespace coll::comm
