// SPDX-License-Identifier: BSD-3-Clause
#include "exec/latency_reductions.h"

#include <algorithm>

#include "exec/latency_exchange.h"

namespace coll::exec {

namespace {

// The note in which the leader of an allreduce shows the result; it does not show its own input.
constexpr Which result = own;

// The operands of one call of the reducer, in rank order. The length of every operand that a peer shows is checked.
class Operands {
 public:
  explicit Operands(Exchange& exchange) : exchange_(exchange) {}
  void add(const void* data) { data_[number_++] = data; }
  // Adds the operand at this byte offset of a rank's data. REQUIRES: the rank has shown them.
  void add(int rank, Which which, size_t offset = 0) {
    fit_ &= exchange_.fits(rank, which);
    add(exchange_.data(rank, which) + offset);
  }
  bool empty() const { return number_ == 0; }
  // Returns false and stores nothing if an operand has another length.
  bool fold(void* to, size_t count, const Reducer& reducer) const {
    if (fit_) [[likely]]
      reducer(to, nullptr, data_, number_, count);
    return fit_;
  }

 private:
  Exchange& exchange_;
  const void* data_[most_reduced_ranks];
  int number_ = 0;
  bool fit_ = true;
};

void show_input(Exchange& exchange, int rank, const void* send, size_t bytes) {
  copy_block(exchange.data(rank, own), bytes_of(send), bytes);
  exchange.show(own);
}

// Reduces the inputs of a group at its leader and shows the result. Returns false if a rank has exited.
bool reduce_group(Exchange& exchange, const std::vector<int>& members, int rank, const void* send, size_t count,
                  const Reducer& reducer) {
  if (!exchange.await_each(members.size(), [&](size_t i) { return std::pair(members[i], own); })) return false;
  Operands inputs(exchange);
  for (int member : members)
    if (member == rank) inputs.add(send);
    else inputs.add(member, own);
  inputs.fold(exchange.data(rank, packed), count, reducer);
  exchange.show(packed);
  return true;
}

// Staging for partial results of `bytes` each.
size_t partials(const Groups& groups, size_t bytes) { return groups.largest > 1 ? bytes : 0; }

// The blocks of a reduce_scatter that each member of a group reduces: [first(i), first(i + 1)) by index i.
class Shares {
 public:
  Shares(size_t ranks, size_t members) : ranks_(ranks), members_(members) {}
  size_t first(size_t index) const { return (index * ranks_ + members_ - 1) / members_; }
  size_t most() const { return (ranks_ + members_ - 1) / members_; }
  size_t index_of(size_t block) const { return block * members_ / ranks_; }

 private:
  size_t ranks_, members_;
};

// The largest share, in blocks, of a rank whose group has several members.
size_t most_shared(const Groups& groups) {
  size_t most = 0;
  for (const std::vector<int>& group : groups.members)
    if (group.size() > 1) most = std::max(most, Shares(groups.group_of.size(), group.size()).most());
  return most;
}

}  // namespace

Groups aligned_groups(int ranks, int size) {
  std::vector<std::vector<int>> members(size_t((ranks + size - 1) / size));
  for (int rank = 0; rank < ranks; rank++) members[size_t(rank / size)].push_back(rank);
  return Groups(std::move(members));
}

coll_status grouped_reduce(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                           const Reducer& reducer, int root) {
  const int rank = channel.team->rank, group = groups.group_of[size_t(rank)];
  const size_t bytes = count * reducer.element_bytes;
  const std::vector<int>& members = groups.members[size_t(group)];
  const bool leads = group != groups.group_of[size_t(root)] && kind_of(members) == packed && rank == members.front();
  Exchange exchange(channel, bytes, bytes, partials(groups, bytes), rank != root);
  if (exchange.status() != COLL_OK) return exchange.status();
  if (leads) {
    if (!reduce_group(exchange, members, rank, send, count, reducer)) return exchange.status();
    return exchange.end(false, packed);
  }
  if (rank != root) {
    show_input(exchange, rank, send, bytes);
    return exchange.end(false, own);
  }

  const void* mine = send;
  bool fit = true;
  if (members.size() > 1) {
    if (!exchange.await_each(members.size(), [&](size_t i) { return std::pair(members[i], own); }))
      return exchange.status();
    Operands inputs(exchange);
    for (int member : members)
      if (member == root) inputs.add(send);
      else inputs.add(member, own);
    fit = inputs.fold(recv, count, reducer);
    mine = recv;
  }
  const auto shown = [&](size_t i) {
    const std::vector<int>& other = groups.members[i];
    return int(i) == group ? std::pair(root, own) : std::pair(other.front(), kind_of(other));
  };
  if (!exchange.await_each(groups.members.size(), shown)) return exchange.status();
  Operands sums(exchange);
  for (size_t i = 0; i < groups.members.size(); i++)
    if (const auto [from, which] = shown(i); from == root) sums.add(mine);
    else sums.add(from, which);
  if (fit) sums.fold(recv, count, reducer);
  return exchange.end(false);
}

coll_status grouped_allreduce(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                              const Reducer& reducer) {
  const int rank = channel.team->rank;
  const size_t bytes = count * reducer.element_bytes;
  const size_t group = size_t(groups.group_of[size_t(rank)]), number = groups.members.size();
  const std::vector<int>& members = groups.members[group];
  const bool alone = members.size() == 1;
  const int leader = members.front();
  Exchange exchange(channel, bytes, bytes, partials(groups, bytes), true);
  if (exchange.status() != COLL_OK) return exchange.status();
  if (rank != leader || alone) show_input(exchange, rank, send, bytes);
  else if (!reduce_group(exchange, members, rank, send, count, reducer)) return exchange.status();
  if (rank != leader) {
    if (!exchange.await(leader, result)) return exchange.status();
    if (exchange.fits(leader, result)) copy_block(static_cast<char*>(recv), exchange.data(leader, result), bytes);
    return exchange.end(true, own);
  }
  // Begins with the next group, so that the ranks do not all access one leader at the same time.
  if (!exchange.await_each(number, [&](size_t i) {
        const std::vector<int>& other = groups.members[(group + 1 + i) % number];
        return std::pair(other.front(), kind_of(other));
      }))
    return exchange.status();
  Operands sums(exchange);
  for (const std::vector<int>& other : groups.members) sums.add(other.front(), kind_of(other));
  if (alone) {
    sums.fold(recv, count, reducer);
    return exchange.end(true, own);
  }
  if (sums.fold(exchange.data(rank, result), count, reducer))
    copy_block(static_cast<char*>(recv), exchange.data(rank, result), bytes);
  exchange.show(result);
  return exchange.end(true, packed);
}

coll_status grouped_reduce_scatter(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                                   const Reducer& reducer) {
  const int rank = channel.team->rank;
  const size_t bytes = count * reducer.element_bytes, ranks = groups.group_of.size(), all = bytes * ranks;
  const size_t group = size_t(groups.group_of[size_t(rank)]), number = groups.members.size();
  const std::vector<int>& members = groups.members[group];
  Exchange exchange(channel, bytes, all, bytes * most_shared(groups), true);
  if (exchange.status() != COLL_OK) return exchange.status();
  show_input(exchange, rank, send, all);
  if (members.size() > 1) {
    if (!exchange.await_each(members.size(), [&](size_t i) { return std::pair(members[i], own); }))
      return exchange.status();
    const Shares shares(ranks, members.size());
    const size_t index = size_t(groups.index_of[size_t(rank)]), first = shares.first(index);
    Operands rows(exchange);
    for (int member : members) rows.add(member, own, first * bytes);
    rows.fold(exchange.data(rank, packed), (shares.first(index + 1) - first) * count, reducer);
    exchange.show(packed);
  }
  // The member of a group that has reduced this rank's block.
  const auto source = [&](size_t of) {
    const std::vector<int>& other = groups.members[of];
    return std::pair(other[Shares(ranks, other.size()).index_of(size_t(rank))], kind_of(other));
  };
  if (!exchange.await_each(number, [&](size_t i) { return source((group + i) % number); })) return exchange.status();
  Operands sums(exchange);
  for (size_t i = 0; i < number; i++) {
    const auto [from, which] = source(i);
    const Shares shares(ranks, groups.members[i].size());
    const size_t first = which == own ? 0 : shares.first(size_t(groups.index_of[size_t(from)]));
    sums.add(from, which, (size_t(rank) - first) * bytes);
  }
  sums.fold(recv, count, reducer);
  return exchange.end(true, own);
}

coll_status grouped_scan(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                         const Reducer& reducer, bool with_own) {
  const int rank = channel.team->rank, ranks = channel.team->ranks;
  const size_t bytes = count * reducer.element_bytes;
  const size_t group = size_t(groups.group_of[size_t(rank)]), index = size_t(groups.index_of[size_t(rank)]);
  const std::vector<int>& members = groups.members[group];
  const bool shows = rank + 1 < ranks;
  const bool leads = kind_of(members) == packed && rank == members.front() && group + 1 < groups.members.size();
  Exchange exchange(channel, bytes, bytes, partials(groups, bytes), shows);
  if (exchange.status() != COLL_OK) return exchange.status();
  if (shows) show_input(exchange, rank, send, bytes);
  if (leads && !reduce_group(exchange, members, rank, send, count, reducer)) return exchange.status();

  // The groups before this rank's, and the members before this rank in its group.
  const auto before = [&](size_t i) {
    if (i >= group) return std::pair(members[i - group], own);
    return std::pair(groups.members[i].front(), kind_of(groups.members[i]));
  };
  if (!exchange.await_each(group + index, before)) return exchange.status();
  Operands sums(exchange), inputs(exchange);
  for (size_t i = 0; i < group; i++) sums.add(before(i).first, before(i).second);
  for (size_t i = 0; i < index; i++) inputs.add(members[i], own);
  if (with_own) inputs.add(send);
  if (group == 0) {
    if (!inputs.empty()) inputs.fold(recv, count, reducer);
  } else if (inputs.empty()) {
    sums.fold(recv, count, reducer);
  } else if (members.size() == 1) {
    sums.add(send);
    sums.fold(recv, count, reducer);
  } else if (inputs.fold(recv, count, reducer)) {
    sums.add(recv);
    sums.fold(recv, count, reducer);
  }
  return shows ? exchange.end(false, own) : exchange.end(false);
}

}  // namespace coll::exec
