// SPDX-License-Identifier: BSD-3-Clause
#include "comm/probe.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>

#include "mem/copy.h"
#include "sync/clock.h"
#include "transport/cma.h"
#include "transport/kcoll_mapping.h"
#include "transport/kcoll_uring.h"
#include "transport/shared_file.h"

namespace coll::comm {

using transport::KcollDevice;
using transport::KcollDirection;
using transport::KcollMapping;
using transport::KcollPinning;
using transport::KcollStatus;
using transport::Token;

namespace {

constexpr size_t timed_bytes = 256 << 10, rep_movsb_page = 4096;
// The owner's token follows the timed bytes. The kernel module maps whole pages only, of the system's size.
size_t memory_bytes() { return transport::round_up(timed_bytes + sizeof(Token), transport::page_bytes()); }
constexpr int rounds = 4;

// The shortest time of `rounds` copies, or 1e9 if a copy fails.
template <class Copy>
double fastest_us(Copy copy) {
  double least = 1e9;
  for (int round = 0; round < rounds; round++) {
    const int64_t begin = sync::now_ns();
    if (!copy()) return 1e9;
    least = std::min(least, double(sync::now_ns() - begin) * 1e-3);
  }
  return least;
}

// The memory that peers copy from. All communicators share it, because it is written again only in a child after
// fork(), which puts its own token there.
char* offered_memory() {
  static std::mutex mutex;
  static char* memory = nullptr;
  static Token owner;
  const std::lock_guard lock(mutex);
  if (memory != nullptr && owner == transport::own_token()) return memory;
  if (memory == nullptr) {
    void* made = mmap(nullptr, memory_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return nullptr;
    memory = static_cast<char*>(made);
    memset(memory, 1, timed_bytes);
  }
  owner = transport::own_token();
  memcpy(memory + timed_bytes, &owner, sizeof owner);
  return memory;
}

// Times measured with one process hold for every communicator with it. The key: its token, and which mechanisms worked.
using TimesKey = std::pair<std::array<uint64_t, 2>, int>;
std::mutex times_mutex;
std::map<TimesKey, ProbeTimes>& known_times() {
  static auto* times = new std::map<TimesKey, ProbeTimes>;  // never destroyed: threads may still create communicators
  return *times;
}

std::string uring_hint(KcollStatus status) {
  if (status == KcollStatus::no_permission)
    return "io_uring is not allowed here; set sysctl kernel.io_uring_disabled=0, or allow it in the container's "
           "seccomp filter";
  return transport::kcoll_hint(status);
}

}  // namespace

bool may_use_kcoll(Transport wish) {
  return wish == Transport::automatic || wish == Transport::kcoll_copy || wish == Transport::kcoll_map ||
         wish == Transport::kcoll_uring;
}

std::string ProbeFindings::problem(Transport transport) const {
  switch (transport) {
    case Transport::cma: return cma_error == 0 ? "" : transport::cma_hint(cma_error);
    case Transport::kcoll_copy: return transport::kcoll_hint(kcoll_copy);
    case Transport::kcoll_map: return transport::kcoll_hint(kcoll_map);
    case Transport::kcoll_uring: return kcoll_uring == KcollStatus::ok ? "" : uring_hint(kcoll_uring);
    case Transport::automatic:
    case Transport::shm:
    case Transport::mapped: return "";
  }
  return "";
}

Probe::~Probe() {
  if (cookie_ != 0) common_->unregister_region(cookie_);
}

ProbeOffer Probe::offer(Transport wish) {
  wish_ = wish;
  char* memory = offered_memory();
  if (memory == nullptr) return {};
  if (may_use_kcoll(wish)) {
    common_ = KcollDevice::own(status_);
    // Its peers do not know the communicator's key yet: the introduction brings it together with the cookie.
    if (status_ == KcollStatus::ok) status_ = common_->join_user();
    if (status_ == KcollStatus::ok)
      status_ = common_->register_region(memory, memory_bytes(), KcollDirection::read, KcollPinning::lazy, cookie_);
  }
  return {uint64_t(uintptr_t(memory)), cookie_, transport::fresh_token()};
}

ProbeFindings Probe::look(const ProbeOffer& neighbour, const transport::Address& its, const Token& domain) {
  ProbeFindings found;
  Token seen;
  found.cma_error = transport::cma_read(its.pid, &seen, neighbour.address + timed_bytes, sizeof seen);
  if (found.cma_error == 0 && !(seen == its.token)) found.cma_error = ESRCH;
  found.kcoll_copy = found.kcoll_map = found.kcoll_uring = status_;
  if (status_ != KcollStatus::ok) return found;

  // Without a cookie, kcoll does not work on the neighbour, which reports the reason itself.
  if (neighbour.cookie == 0) return found.kcoll_copy = found.kcoll_map = found.kcoll_uring = KcollStatus::gone, found;
  device_ = KcollDevice::open(found.kcoll_copy);
  if (found.kcoll_copy == KcollStatus::ok) found.kcoll_copy = device_->join(domain);
  if (found.kcoll_copy == KcollStatus::ok)
    found.kcoll_copy = common_->read(neighbour.cookie, timed_bytes, &seen, sizeof seen);
  if (found.kcoll_copy == KcollStatus::ok && !(seen == its.token)) found.kcoll_copy = KcollStatus::failed;
  found.kcoll_map = found.kcoll_uring = found.kcoll_copy;
  if (found.kcoll_copy != KcollStatus::ok) return device_ = nullptr, found;

  if (wish_ == Transport::kcoll_uring) transport::KcollUring::make(device_, false, found.kcoll_uring);
  auto mapping =
      KcollMapping::attach(common_, neighbour.cookie, timed_bytes, sizeof seen, KcollDirection::read, found.kcoll_map);
  if (mapping == nullptr) return found;
  memcpy(&seen, mapping->data(), sizeof seen);
  if (!mapping->current()) found.kcoll_map = KcollStatus::no_allowance;
  else if (!(seen == its.token)) found.kcoll_map = KcollStatus::failed;
  return found;
}

void Probe::take_times(const ProbeOffer& source, const transport::Address& its, ProbeFindings& found) {
  const int works = (found.cma_error == 0 ? 1 : 0) + (found.kcoll_copy == KcollStatus::ok ? 2 : 0) +
                    (found.kcoll_map == KcollStatus::ok ? 4 : 0);
  const std::lock_guard lock(times_mutex);
  const auto [known, is_new] = known_times().try_emplace({its.token.words, works});
  if (is_new) known->second = measure(source, its.pid, found);
  static_cast<ProbeTimes&>(found) = known->second;
}

ProbeTimes Probe::measure(const ProbeOffer& source, int pid, const ProbeFindings& found) {
  ProbeTimes times;
  // Page-aligned like the offered memory: some processors copy slowly, in the kernel too, if the target is a little
  // beyond the source within a page; see mem::copy().
  std::vector<char> memory(timed_bytes + rep_movsb_page), own(timed_bytes);
  char* here = memory.data() + -reinterpret_cast<uintptr_t>(memory.data()) % rep_movsb_page;
  if (found.cma_error == 0)
    times.cma_us = fastest_us([&] { return transport::cma_read(pid, here, source.address, timed_bytes) == 0; });
  // Two copies that overlap take as long as the slower one; filling the pipeline adds about a quarter.
  times.staged_us = 1.25 * fastest_us([&] { return mem::copy(here, own.data(), timed_bytes), true; });
  if (found.kcoll_copy == KcollStatus::ok)
    times.kcoll_copy_us =
        fastest_us([&] { return common_->read(source.cookie, 0, here, timed_bytes) == KcollStatus::ok; });
  if (found.kcoll_map != KcollStatus::ok) return times;
  KcollStatus status;
  auto mapping = KcollMapping::attach(common_, source.cookie, 0, timed_bytes, KcollDirection::read, status);
  times.kcoll_map_us = fastest_us([&] {
    if (mapping == nullptr) return false;
    mem::copy(here, mapping->data(), timed_bytes);
    return mapping->current();
  });
  return times;
}

std::string Agreement::impossible(Transport transport) const {
  if (all_.size() == 1) return "";
  for (const ProbeFindings& found : all_) {
    std::string problem = found.problem(transport);
    if (!problem.empty()) return problem;
  }
  return "";
}

Transport Agreement::fastest() const {
  if (all_.size() == 1) return Transport::mapped;
  const ProbeFindings& took = all_[1];
  const std::pair<Transport, double> candidates[] = {{Transport::kcoll_map, took.kcoll_map_us},
                                                     {Transport::kcoll_copy, took.kcoll_copy_us},
                                                     {Transport::cma, took.cma_us}};
  std::pair<Transport, double> best{Transport::mapped, took.staged_us};
  for (const auto& candidate : candidates)
    if (candidate.second < best.second && impossible(candidate.first).empty()) best = candidate;
  return best.first;
}

std::string Agreement::times() const {
  const ProbeFindings& took = all_[1];
  const std::pair<Transport, double> all[] = {{Transport::kcoll_map, took.kcoll_map_us},
                                              {Transport::kcoll_copy, took.kcoll_copy_us},
                                              {Transport::cma, took.cma_us},
                                              {Transport::shm, took.staged_us}};
  std::string text;
  for (auto [transport, us] : all) {
    char one[48];
    snprintf(one, sizeof one, "%s%s %.0f us", text.empty() ? "" : ", ", name(transport), us);
    if (impossible(transport).empty()) text += one;
  }
  return text;
}

}  // namespace coll::comm
