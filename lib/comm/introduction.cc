// SPDX-License-Identifier: BSD-3-Clause
#include "comm/introduction.h"

#include "config/digest.h"
#include "topo/machine.h"
#include "transport/shared_file.h"

namespace coll::comm {

static_assert(std::is_trivially_copyable_v<Hello> && std::is_trivially_copyable_v<RankRecord>);
static_assert(sizeof(Hello) + 3 * sizeof(Status) <= 64);

std::bitset<most_cpus> own_cpus() {
  std::bitset<most_cpus> cpus;
  for (const int cpu : topo::current_cpus())
    if (cpu < most_cpus) cpus.set(size_t(cpu));
  return cpus;
}

void Hello::introduce(const transport::Address& own) {
  const std::string identity = transport::node_identity();
  node = identity.empty() ? unknown_node : config::digest(identity);
  process = uint32_t(own.token.words[0] ^ own.token.words[0] >> 32);
  pid = own.pid;
  user = own.namespaces.user, pids = own.namespaces.pid, net = own.namespaces.net;
  proc_is_own = own.namespaces.proc_is_own;
}

bool Hello::is_on_other_node(const Hello& other) const {
  return node != unknown_node && other.node != unknown_node && node != other.node;
}

void Hello::offer(const transport::SegmentAddress& segment) {
  descriptor = segment.descriptor;
  device = uint32_t(segment.device);
  inode = segment.inode;
  token = segment.token.words[0];
  segment_pages = uint32_t(segment.bytes / transport::page_bytes());
}

void Hello::offer_spares(const std::array<uint64_t, most_spares>& tokens) {
  descriptor = offers_spares;
  token = tokens[0], inode = tokens[1];
}

std::array<uint64_t, Hello::most_spares> Hello::spares() const {
  if (descriptor != offers_spares) return {};
  return {token, inode};
}

transport::Address Hello::address() const {
  return {{{process, uint32_t(pid)}}, pid, {.user = user, .pid = pids, .net = net, .proc_is_own = proc_is_own}};
}

transport::SegmentAddress Hello::segment() const {
  return {.token = {{token, 0}},
          .pid = pid,
          .descriptor = descriptor,
          .device = device,
          .inode = inode,
          .bytes = size_t(segment_pages) * transport::page_bytes()};
}

std::vector<size_t> exchanged_bytes(bool names) {
  std::vector<size_t> lengths(names ? 4 : 3, sizeof(Status));
  lengths[0] = sizeof(Hello);
  return lengths;
}

}  // namespace coll::comm
