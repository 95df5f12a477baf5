// SPDX-License-Identifier: BSD-3-Clause
// Probes of kernel-assisted copies: CMA and kcoll.
#include <sys/uio.h>
#include <unistd.h>

#include "mem/huge_pages.h"
#include "tools/calibrate/probes/list.h"
#include "transport/kcoll_device.h"
#include "transport/shared_file.h"

namespace coll::tools {
namespace {

constexpr double kib = 1024, mib = 1024 * kib;

}  // namespace

std::vector<int> concurrency_levels(int processes) {
  std::vector<int> counts;
  for (int count = 1; count < processes; count += count < 8 ? 1 : count / 4) counts.push_back(count);
  counts.push_back(processes);
  return counts;
}

void Probes::add_cma(const std::vector<double>& footprints) {
  constexpr int calls = 20;
  add(
      {Quantity::call}, first(1), nullptr,
      [this](int) {
        for (int i = 0; i < calls; ++i)
          if (process_vm_readv(at_.place(at_.at_rest()).pid, nullptr, 0, nullptr, 0, 0) < 0)
            return std::string("process_vm_readv does not work here; see collctl doctor");
        return std::string();
      },
      calls);
  add(
      {Quantity::check}, first(1), nullptr,
      [one = cma(at_.at_rest(), 1)](int self) {
        std::string problem;
        for (int i = 0; i < calls && problem.empty(); ++i) problem = one(self);
        return problem;
      },
      calls);
  // Linux pins all pages that the remote side names, at most 1024 at once, before it copies into the local side: with a
  // local side of one byte it locks and pins the pages and copies almost nothing.
  const auto lock_pages = [](pid_t owner, uintptr_t address, size_t bytes) {
    char byte;
    const iovec local = {&byte, 1}, remote = {reinterpret_cast<void*>(address), bytes};
    return process_vm_readv(owner, &local, 1, &remote, 1, 0) == 1
               ? std::string()
               : std::string("process_vm_readv does not work here; see collctl doctor");
  };
  for (int readers : concurrency_levels(n_))
    for (size_t pages : {16, 256, 1000}) {
      const size_t bytes = pages * transport::page_bytes();
      add({Quantity::pages, double(bytes), readers}, first(readers), nullptr, [=, this](int) {
        const Place& owner = at_.place(at_.at_rest());
        return lock_pages(owner.pid, uintptr_t(owner.address), bytes);
      });
    }
  add({Quantity::huge_page, double(mem::huge_page_bytes)}, first(1), nullptr, [=, this](int) {
    if (!mem::HugePages::are_to_be_had()) return std::string("long buffers get no huge pages here");
    const char* memory = at_.long_buffer();
    return memory == nullptr ? std::string("cannot allocate memory; end other programs")
                             : lock_pages(getpid(), uintptr_t(memory), mem::huge_page_bytes);
  });
  // The source is the part of the neighbour's memory that it has just written, the target another part of the caller's.
  const auto written = [this](size_t bytes) { return plain([=, this](int) { rewrite(at_.own(), bytes); }); };
  std::vector<double> sizes;
  for (double size = 4 * kib; size <= (task_.quick ? 4 : 16) * mib; size *= 4) sizes.push_back(size);
  for (double size : sizes) {
    const size_t bytes = size_t(size);
    if (n_ >= 2) add({Quantity::cma_copy, size}, first(1), written(bytes), cma(1, bytes));
  }
  for (double touched : footprints) {
    const size_t half = size_t(touched) / 2 / transport::page_bytes() * transport::page_bytes();
    if (n_ >= 2 && half > 0) add({Quantity::cma_exchange, touched}, nullptr, written(half), cma(-1, half));
  }
}

void Probes::add_kcoll() {
  const auto read = [this](size_t bytes) {
    return [this, bytes](int) {
      std::string problem;
      Access* access = at_.access(CopyPath::kcoll_copy, at_.at_rest(), problem);
      if (access == nullptr || access->read(0, at_.own(), bytes)) return problem;
      return access->problem();
    };
  };
  for (int readers : concurrency_levels(n_)) {
    add({Quantity::pinned_check, 1, readers}, first(readers), nullptr, read(1));
    for (double size : {64 * kib, 256 * kib, 1 * mib, 4 * mib})
      add({Quantity::pinned_copy, size, readers}, first(readers), nullptr, read(size_t(size)));
  }
  // A newly registered region has no pinned pages: the first copy pins them.
  struct Fresh {
    uint64_t cookie;
  };
  for (int readers : concurrency_levels(n_ - 1))
    for (double size : {4 * kib, 64 * kib, 1 * mib}) {
      if (n_ < 2) break;
      const size_t bytes = size_t(size);
      const int owner = n_ - 1;
      Fresh* fresh = reinterpret_cast<Fresh*>(at_.lines(owner) + Workplace::flag_lines - 1);
      add(
          {Quantity::first_copy, size, readers}, first(readers),
          [=, this](int self) -> std::string {
            if (self != owner) return "";
            transport::KcollStatus status;
            auto device = transport::KcollDevice::own(status);
            if (device == nullptr) return transport::kcoll_hint(status);
            if (fresh->cookie != 0) device->unregister_region(fresh->cookie);
            status = device->register_region(at_.own(), bytes, transport::KcollDirection::read,
                                             transport::KcollPinning::lazy, fresh->cookie);
            return transport::kcoll_hint(status);
          },
          [=, this](int) -> std::string {
            transport::KcollStatus status;
            auto device = transport::KcollDevice::own(status);
            if (device != nullptr) status = device->read(fresh->cookie, 0, at_.own(), bytes);
            return transport::kcoll_hint(status);
          });
    }
}

}  // namespace coll::tools
