// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/contention/access.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/cma.h"
#include "transport/kcoll_device.h"
#include "transport/kcoll_mapping.h"

namespace coll::tools {

using namespace transport;

Source::Source(char* shared, size_t bytes, const Token& key) : bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  data_ = static_cast<char*>(memory);
  // Use small pages, as malloc() does: the benchmark counts pages of 4 KiB.
  madvise(data_, bytes, MADV_NOHUGEPAGE);
  std::memset(data_, 1, bytes);
  place_.pid = getpid();
  place_.address = uint64_t(uintptr_t(data_));
  place_.shared = shared;

  KcollStatus status;
  auto device = KcollDevice::own(status);
  if (status == KcollStatus::ok) status = device->join(key);
  const auto enter = [&](KcollPinning pinning, uint64_t& cookie, uint32_t gate_limit) {
    if (status == KcollStatus::ok)
      status = device->register_region(data_, bytes, KcollDirection::both, pinning, cookie, gate_limit);
  };
  enter(KcollPinning::eager, place_.cookie, 0);
  enter(KcollPinning::lazy, place_.uncached, 0);
  enter(KcollPinning::lazy, place_.ungated, UINT32_MAX);
  kcoll_problem_ = kcoll_hint(status);
}

Source::~Source() {
  KcollStatus status;
  for (uint64_t cookie : {place_.cookie, place_.uncached, place_.ungated})
    if (cookie != 0)
      if (auto device = KcollDevice::own(status)) device->unregister_region(cookie);
  if (data_ != nullptr) munmap(data_, bytes_);
}

namespace {

class CmaAccess : public Access {
 public:
  explicit CmaAccess(const Place& place) : place_(place) {}
  bool read(size_t offset, char* to, size_t bytes) override {
    return (error_ = cma_read(place_.pid, to, place_.address + offset, bytes)) == 0;
  }
  bool write(size_t offset, const char* from, size_t bytes) override {
    return (error_ = cma_write(place_.pid, place_.address + offset, from, bytes)) == 0;
  }
  std::string problem() const override { return cma_hint(error_); }

 private:
  const Place place_;
  int error_ = 0;
};

class KcollCopyAccess : public Access {
 public:
  KcollCopyAccess(std::shared_ptr<KcollDevice> device, uint64_t cookie) : device_(std::move(device)), cookie_(cookie) {}
  bool read(size_t offset, char* to, size_t bytes) override {
    return (status_ = device_->read(cookie_, offset, to, bytes)) == KcollStatus::ok;
  }
  bool write(size_t offset, const char* from, size_t bytes) override {
    return (status_ = device_->write(cookie_, offset, from, bytes)) == KcollStatus::ok;
  }
  std::string problem() const override { return kcoll_hint(status_); }

 private:
  std::shared_ptr<KcollDevice> device_;
  const uint64_t cookie_;
  KcollStatus status_ = KcollStatus::ok;
};

// Checks the generation before and after each access, as every user of a mapping must.
class KcollMapAccess : public Access {
 public:
  explicit KcollMapAccess(std::unique_ptr<KcollMapping> mapping) : mapping_(std::move(mapping)) {}
  bool read(size_t offset, char* to, size_t bytes) override {
    if (!mapping_->current()) return false;
    std::memcpy(to, mapping_->data() + offset, bytes);
    return mapping_->current();
  }
  bool write(size_t offset, const char* from, size_t bytes) override {
    if (!mapping_->current()) return false;
    std::memcpy(mapping_->data() + offset, from, bytes);
    return mapping_->current();
  }
  std::string problem() const override { return kcoll_hint(mapping_->dead() ? KcollStatus::gone : KcollStatus::stale); }

 private:
  std::unique_ptr<KcollMapping> mapping_;
};

class ShmAccess : public Access {
 public:
  explicit ShmAccess(char* shared) : shared_(shared) {}
  bool read(size_t offset, char* to, size_t bytes) override { return std::memcpy(to, shared_ + offset, bytes), true; }
  bool write(size_t offset, const char* from, size_t bytes) override {
    return std::memcpy(shared_ + offset, from, bytes), true;
  }
  std::string problem() const override { return ""; }

 private:
  char* const shared_;
};

// Returns whether the module keeps pages pinned after a copy.
bool keeps_pins() {
  int mode = 0;
  std::ifstream("/sys/module/kcoll/parameters/pin_mode") >> mode;
  return mode != 2;
}

uint64_t cookie_of(CopyPath path, const Place& place) {
  if (path == CopyPath::kcoll_uncached) return place.uncached;
  return path == CopyPath::kcoll_ungated ? place.ungated : place.cookie;
}

}  // namespace

std::unique_ptr<Access> make_access(CopyPath path, const Place& place, std::string& problem) {
  problem.clear();
  if (path == CopyPath::cma) return std::make_unique<CmaAccess>(place);
  if (path == CopyPath::shm) return std::make_unique<ShmAccess>(place.shared);
  KcollStatus status;
  auto device = KcollDevice::own(status);
  std::unique_ptr<Access> access;
  const uint64_t cookie = cookie_of(path, place);
  if (device != nullptr && cookie == 0) {
    problem = "the other process could not register its memory with kcoll";
  } else if (device != nullptr && cookie != place.cookie && keeps_pins()) {
    problem =
        "the module keeps pages pinned after the first access; run as root: echo 2 > "
        "/sys/module/kcoll/parameters/pin_mode";
  } else if (device != nullptr && path != CopyPath::kcoll_map) {
    access = std::make_unique<KcollCopyAccess>(device, cookie);
  } else if (device != nullptr) {
    auto mapping = KcollMapping::attach(device, place.cookie, 0, 0, KcollDirection::both, status);
    if (mapping != nullptr) access = std::make_unique<KcollMapAccess>(std::move(mapping));
  }
  if (access == nullptr && problem.empty()) problem = kcoll_hint(status);
  return access;
}

}  // namespace coll::tools
