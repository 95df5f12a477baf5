// SPDX-License-Identifier: BSD-3-Clause
#include "exec/latency_blocks.h"

#include <algorithm>

#include "exec/latency_exchange.h"

namespace coll::exec {

namespace {

// Copies the blocks of a group, which are in order of index, to their places in order of rank.
void unpack(const std::vector<int>& members, char* recv, const char* blocks, size_t bytes) {
  const size_t size = members.size();
  if (size_t(members.back() - members.front()) + 1 == size) {
    mem::copy(recv + size_t(members.front()) * bytes, blocks, size * bytes);
    return;
  }
  for (size_t i = 0; i < size; i++) copy_block(recv + size_t(members[i]) * bytes, blocks + i * bytes, bytes);
}

// Collects the blocks of a group, in order of index, at its leader, and shows them. Returns false if a rank has exited.
bool pack(Exchange& exchange, const std::vector<int>& members, int rank, const char* send, size_t bytes) {
  if (!exchange.await_each(members.size(), [&](size_t i) { return std::pair(members[i], own); })) return false;
  char* to = exchange.data(rank, packed);
  for (size_t i = 0; i < members.size(); i++, to += bytes)
    if (members[i] == rank) copy_block(to, send, bytes);
    else if (exchange.fits(members[i], own)) copy_block(to, exchange.data(members[i], own), bytes);
  exchange.show(packed);
  return true;
}

}  // namespace

Groups::Groups(std::vector<std::vector<int>> groups) : members(std::move(groups)) {
  size_t ranks = 0;
  for (const std::vector<int>& group : members) ranks += group.size(), largest = std::max(largest, group.size());
  group_of.resize(ranks);
  index_of.resize(ranks);
  for (size_t group = 0; group < members.size(); group++)
    for (size_t index = 0; index < members[group].size(); index++) {
      group_of[size_t(members[group][index])] = int(group);
      index_of[size_t(members[group][index])] = int(index);
    }
}

Forwarding::Forwarding(const Groups& groups, int rank) {
  const auto targets = [&](size_t size, size_t forwarder, auto visit) {
    for (const std::vector<int>& group : groups.members)
      for (size_t index = forwarder; index < group.size(); index += size) visit(group[index]);
  };
  const auto number = [&](size_t size, size_t forwarder, size_t before) {
    size_t all = 0;
    for (size_t group = 0; group < before; group++)
      if (const size_t others = groups.members[group].size(); others > forwarder)
        all += (others - forwarder + size - 1) / size;
    return all;
  };
  const size_t group = size_t(groups.group_of[size_t(rank)]), index = size_t(groups.index_of[size_t(rank)]);
  const size_t size = groups.members[group].size();
  for (size_t forwarder = 0; forwarder < size; forwarder++) {
    if (forwarder == index) first = row.size();
    targets(size, forwarder, [&](int target) { row.push_back(target); });
    if (forwarder == index) count = row.size() - first;
  }
  std::vector<size_t> place_of(groups.largest + 1, SIZE_MAX);  // by size of the group that forwards
  for (const std::vector<int>& other : groups.members) {
    const size_t forwarder = index % other.size();
    size_t& place = place_of[other.size()];
    if (place == SIZE_MAX) {
      place = number(other.size(), forwarder, group) + index / other.size();
      for (size_t i = 0; i < other.size() && other.size() > 1; i++)
        most_forwarded = std::max(most_forwarded, other.size() * number(other.size(), i, groups.members.size()));
    }
    from.push_back({other[forwarder], place});
  }
}

coll_status blocks_gather(Channel& channel, const Groups& groups, const void* send, void* recv, size_t bytes,
                          int root) {
  const int rank = channel.team->rank, group = groups.group_of[size_t(rank)];
  const int group_of_root = groups.group_of[size_t(root)];
  const std::vector<int>& members = groups.members[size_t(group)];
  const bool leads = group != group_of_root && members.size() > 1 && rank == members.front();
  Exchange exchange(channel, bytes, bytes, groups.largest > 1 ? groups.largest * bytes : 0, rank != root);
  if (exchange.status() != COLL_OK) return exchange.status();
  if (leads) {
    if (!pack(exchange, members, rank, bytes_of(send), bytes)) return exchange.status();
    return exchange.end(false, packed);
  }
  if (rank != root) {
    copy_block(exchange.data(rank, own), bytes_of(send), bytes);
    exchange.show(own);
    return exchange.end(false, own);
  }

  char* const to = static_cast<char*>(recv);
  keep_own(to + size_t(root) * bytes, bytes_of(send), bytes);
  if (!exchange.await_each(members.size(), [&](size_t i) { return std::pair(members[i], own); }) ||
      !exchange.await_each(groups.members.size(), [&](size_t i) {
        const std::vector<int>& other = groups.members[i];
        return int(i) == group ? std::pair(root, own) : std::pair(other.front(), kind_of(other));
      }))
    return exchange.status();
  for (size_t i = 0; i < groups.members.size(); i++) {
    const std::vector<int>& other = groups.members[i];
    if (int(i) != group) {
      if (exchange.fits(other.front(), kind_of(other)))
        unpack(other, to, exchange.data(other.front(), kind_of(other)), bytes);
      continue;
    }
    for (int member : members)
      if (member != root && exchange.fits(member, own))
        copy_block(to + size_t(member) * bytes, exchange.data(member, own), bytes);
  }
  return exchange.end(false);
}

coll_status blocks_allgather(Channel& channel, const Groups& groups, const void* send, void* recv, size_t bytes) {
  const int rank = channel.team->rank;
  const size_t group = size_t(groups.group_of[size_t(rank)]), count = groups.members.size();
  const std::vector<int>& members = groups.members[group];
  Exchange exchange(channel, bytes, bytes, groups.largest > 1 ? groups.largest * bytes : 0, true);
  if (exchange.status() != COLL_OK) return exchange.status();
  const bool leads = members.size() > 1 && rank == members.front();
  if (leads) {
    if (!pack(exchange, members, rank, bytes_of(send), bytes)) return exchange.status();
  } else {
    copy_block(exchange.data(rank, own), bytes_of(send), bytes);
    exchange.show(own);
  }
  char* const to = static_cast<char*>(recv);
  keep_own(to + size_t(rank) * bytes, bytes_of(send), bytes);
  // Begins with the next group, so that the ranks do not all access one leader at the same time.
  const auto next = [&](size_t i) -> const std::vector<int>& { return groups.members[(group + 1 + i) % count]; };
  if (!exchange.await_each(count, [&](size_t i) { return std::pair(next(i).front(), kind_of(next(i))); }))
    return exchange.status();
  for (size_t i = 0; i < count; i++) {
    const std::vector<int>& other = next(i);
    const int leader = other.front();
    if (other.size() == 1 && leader == rank) continue;
    if (exchange.fits(leader, kind_of(other))) unpack(other, to, exchange.data(leader, kind_of(other)), bytes);
  }
  return exchange.end(true, leads ? packed : own);
}

coll_status blocks_alltoall(Channel& channel, const Groups& groups, const Forwarding& forwarding, const void* send,
                            void* recv, size_t bytes) {
  const int rank = channel.team->rank;
  const std::vector<int>& members = groups.members[size_t(groups.group_of[size_t(rank)])];
  const size_t size = members.size(), count = groups.members.size();
  Exchange exchange(channel, bytes, bytes * forwarding.row.size(), bytes * forwarding.most_forwarded, true);
  if (exchange.status() != COLL_OK) return exchange.status();
  char* row = exchange.data(rank, own);
  for (int target : forwarding.row) {
    copy_block(row, bytes_of(send) + size_t(target) * bytes, bytes);
    row += bytes;
  }
  exchange.show(own);
  if (size > 1) {
    if (!exchange.await_each(size, [&](size_t i) { return std::pair(members[i], own); })) return exchange.status();
    char* const sorted = exchange.data(rank, packed);
    for (size_t i = 0; i < size; i++) {
      if (members[i] != rank && !exchange.fits(members[i], own)) continue;
      const char* from = exchange.data(members[i], own) + forwarding.first * bytes;
      for (size_t target = 0; target < forwarding.count; target++, from += bytes)
        copy_block(sorted + (target * size + i) * bytes, from, bytes);
    }
    exchange.show(packed);
  }
  const size_t group = size_t(groups.group_of[size_t(rank)]);
  const auto next = [&](size_t i) { return (group + 1 + i) % count; };
  if (!exchange.await_each(
          count, [&](size_t i) { return std::pair(forwarding.from[next(i)].rank, kind_of(groups.members[next(i)])); }))
    return exchange.status();
  for (size_t i = 0; i < count; i++) {
    const std::vector<int>& other = groups.members[next(i)];
    const Forwarding::From& from = forwarding.from[next(i)];
    if (exchange.fits(from.rank, kind_of(other)))
      unpack(other, static_cast<char*>(recv),
             exchange.data(from.rank, kind_of(other)) + from.place * other.size() * bytes, bytes);
  }
  return exchange.end(true, own);
}

coll_status blocks_alltoall_to_readers(Channel& channel, const void* send, void* recv, size_t bytes) {
  const int rank = channel.team->rank, ranks = channel.team->ranks;
  Exchange exchange(channel, bytes, bytes * size_t(ranks), 0, true);
  if (exchange.status() != COLL_OK) return exchange.status();
  const auto next = [&](size_t i) { return (rank + 1 + int(i)) % ranks; };
  const size_t others = size_t(ranks) - 1, own_place = size_t(rank) * bytes;
  for (size_t i = 0; i < others; i++)
    copy_block(exchange.data(next(i), own) + own_place, bytes_of(send) + size_t(next(i)) * bytes, bytes);
  exchange.show(own);
  char* const to = static_cast<char*>(recv);
  keep_own(to + own_place, bytes_of(send) + own_place, bytes);
  if (!exchange.await_each(others, [&](size_t i) { return std::pair(next(i), own); })) return exchange.status();
  const char* const from = exchange.data(rank, own);
  for (int source = 0; source < ranks; source++)
    if (const size_t place = size_t(source) * bytes; source != rank && exchange.fits(source, own))
      copy_block(to + place, from + place, bytes);
  return exchange.end(true, own);
}

coll_status blocks_scatter(Channel& channel, const void* send, void* recv, size_t bytes, int root, int parent,
                           bool forwards) {
  const Team& team = *channel.team;
  const bool sends = team.rank == root;
  const size_t all = bytes * size_t(team.ranks);
  Exchange exchange(channel, bytes, all, 0, sends || forwards);
  if (exchange.status() != COLL_OK) return exchange.status();
  const size_t own_place = size_t(team.rank) * bytes;
  if (sends) {
    mem::copy(exchange.data(root, own), send, all);
    exchange.show(own);
    keep_own(static_cast<char*>(recv), bytes_of(send) + own_place, bytes);
    return exchange.end(false, own);
  }
  if (!exchange.await(parent, own)) return exchange.status();
  if (forwards) exchange.show(own);
  if (exchange.fits(root, own)) copy_block(static_cast<char*>(recv), exchange.data(root, own) + own_place, bytes);
  return forwards ? exchange.end(false, own) : exchange.end(false);
}

}  // namespace coll::exec
