// SPDX-License-Identifier: BSD-3-Clause
#include "transport/kcoll_device.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace coll::transport {

namespace {

// Returns 0 or errno. A signal that does not kill may interrupt a command that waits; it can be repeated from the
// start.
template <class Arguments>
int command(int descriptor, unsigned long number, Arguments& arguments) {
  arguments.size = sizeof arguments;
  int failed;
  do failed = ioctl(descriptor, number, &arguments);
  while (failed != 0 && errno == EINTR);
  return failed != 0 ? errno : 0;
}

KcollStatus opening_status(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO: return KcollStatus::absent;
    case EACCES:
    case EPERM: return KcollStatus::no_permission;
    default: return kcoll_status_of(error);
  }
}

// Features that every plan of this library needs; the others are checked where they are used.
constexpr uint64_t needed_features = KCOLL_FEATURE_DOMAIN | KCOLL_FEATURE_MAP | KCOLL_FEATURE_QUIET;

}  // namespace

KcollStatus KcollDevice::check(const kcoll_info& info) {
  const bool fits = info.version == KCOLL_VERSION && (info.features & needed_features) == needed_features;
  return fits ? KcollStatus::ok : KcollStatus::mismatch;
}

std::shared_ptr<KcollDevice> KcollDevice::open(KcollStatus& status, const char* path) {
  const int descriptor = ::open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    status = opening_status(errno);
    return nullptr;
  }
  kcoll_info info{};
  const int error = command(descriptor, KCOLL_INFO, info);
  // A device that lacks this command, or refuses its arguments, is not one that this library knows.
  status = error == ENOTTY || error == EINVAL ? KcollStatus::mismatch : kcoll_status_of(error);
  if (status == KcollStatus::ok) status = check(info);
  if (status != KcollStatus::ok) {
    close(descriptor);
    return nullptr;
  }
  return std::shared_ptr<KcollDevice>(new KcollDevice(descriptor, info));
}

std::shared_ptr<KcollDevice> KcollDevice::own(KcollStatus& status) {
  static std::mutex opening;
  static std::shared_ptr<KcollDevice> device;
  static Token owner;
  std::lock_guard lock(opening);
  if (device == nullptr || !(owner == own_token())) {
    device = open(status);
    owner = own_token();
  } else {
    status = KcollStatus::ok;
  }
  return device;
}

KcollDevice::~KcollDevice() { close(descriptor_); }

KcollStatus KcollDevice::join(const Token& key) { return enter(key); }

KcollStatus KcollDevice::join_user() { return enter(std::nullopt); }

KcollStatus KcollDevice::enter(const std::optional<Token>& key) {
  std::lock_guard lock(joining_);
  if (joined_) return key_ == key ? KcollStatus::ok : KcollStatus::taken;
  kcoll_join arguments{};
  if (key.has_value()) {
    static_assert(sizeof arguments.key == sizeof key->words);
    memcpy(arguments.key, key->words.data(), sizeof arguments.key);
  } else {
    arguments.flags = KCOLL_JOIN_USER;
  }
  const KcollStatus status = kcoll_status_of(command(descriptor_, KCOLL_JOIN, arguments));
  if (status == KcollStatus::ok) joined_ = true, key_ = key;
  return status;
}

KcollStatus KcollDevice::register_region(const void* address, size_t bytes, KcollDirection direction,
                                         KcollPinning pinning, uint64_t& cookie, uint32_t throttle) {
  kcoll_register arguments{};
  arguments.flags = uint32_t(direction) | (pinning == KcollPinning::eager ? KCOLL_EAGER : 0);
  arguments.addr = uint64_t(uintptr_t(address));
  arguments.len = bytes;
  arguments.gate_limit = throttle;
  const KcollStatus status = kcoll_status_of(command(descriptor_, KCOLL_REGISTER, arguments));
  cookie = status == KcollStatus::ok ? arguments.cookie : 0;
  return status;
}

KcollStatus KcollDevice::unregister_region(uint64_t cookie) {
  kcoll_unregister arguments{};
  arguments.cookie = cookie;
  return kcoll_status_of(command(descriptor_, KCOLL_UNREGISTER, arguments));
}

KcollStatus KcollDevice::copy(uint32_t direction, uint64_t cookie, uint64_t offset, uint64_t address, size_t bytes,
                              uint64_t generation, uint64_t* done) {
  kcoll_copy arguments{};
  arguments.flags = direction;
  arguments.cookie = cookie;
  arguments.offset = offset;
  arguments.addr = address;
  arguments.len = bytes;
  arguments.gen = generation;
  const int error = command(descriptor_, KCOLL_COPY, arguments);
  if (done != nullptr) *done = arguments.done;
  return kcoll_status_of(error);
}

KcollStatus KcollDevice::read(uint64_t cookie, uint64_t offset, void* to, size_t bytes, uint64_t generation,
                              uint64_t* done) {
  return copy(KCOLL_READ, cookie, offset, uint64_t(uintptr_t(to)), bytes, generation, done);
}

KcollStatus KcollDevice::write(uint64_t cookie, uint64_t offset, const void* from, size_t bytes, uint64_t generation,
                               uint64_t* done) {
  return copy(KCOLL_WRITE, cookie, offset, uint64_t(uintptr_t(from)), bytes, generation, done);
}

KcollStatus KcollDevice::stats(kcoll_stats& stats, bool all) {
  stats = {};
  stats.flags = all ? KCOLL_STATS_ALL : 0;
  return kcoll_status_of(command(descriptor_, KCOLL_STATS, stats));
}

KcollStatus KcollDevice::measure_times(bool on) {
  kcoll_stats stats{};
  stats.flags = on ? KCOLL_STATS_TIME : KCOLL_STATS_NOTIME;
  return kcoll_status_of(command(descriptor_, KCOLL_STATS, stats));
}

}  // namespace coll::transport
