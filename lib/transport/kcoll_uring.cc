// SPDX-License-Identifier: BSD-3-Clause
#include "transport/kcoll_uring.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <liburing.h>

namespace coll::transport {

namespace {

constexpr unsigned entries = 64;
// Shorter copies are not worth the wake-up of a worker. Without IOSQE_ASYNC the kernel gives all copies that are too
// long to run at submission to one worker, one after the other.
constexpr size_t async_bytes = 128 << 10;
constexpr uint64_t longest_bytes = uint64_t(1) << 30;  // the module returns 32 bits

}  // namespace

struct KcollUring::Ring {
  io_uring ring{};
  Token process = own_token();  // a child after fork() must not use the ring
  ~Ring() {
    if (process == own_token()) io_uring_queue_exit(&ring);
  }
};

KcollUring::KcollUring(std::shared_ptr<KcollDevice> device, bool idle_cores)
    : KcollCopy(std::move(device)), idle_cores_(idle_cores) {}

KcollUring::~KcollUring() = default;

std::unique_ptr<KcollUring> KcollUring::make(std::shared_ptr<KcollDevice> device, bool idle_cores,
                                             KcollStatus& status) {
  if (!device->has(KCOLL_FEATURE_URING)) return status = KcollStatus::unsuitable, nullptr;
  std::unique_ptr<KcollUring> mechanism(new KcollUring(std::move(device), idle_cores));
  auto ring = std::make_unique<Ring>();
  const int error = -io_uring_queue_init(entries, &ring->ring, IORING_SETUP_SQE128);
  if (error != 0) {
    ring->process = {};  // there is no ring to exit
    status = error == ENOSYS || error == EPERM ? KcollStatus::no_permission : kcoll_status_of(error);
    return nullptr;
  }
  io_uring_ring_dontfork(&ring->ring);
  mechanism->ring_ = std::move(ring);
  status = KcollStatus::ok;
  return mechanism;
}

// Makes one submission and waits for all completions. Returns false if the ring itself failed: it is then discarded,
// and no copy is in progress.
bool KcollUring::submit(Transfer* transfers, size_t count) {
  io_uring* ring = &ring_->ring;
  for (size_t i = 0; i < count; i++) {
    const Transfer& t = transfers[i];
    kcoll_copy command{};
    command.size = sizeof command;
    command.flags = t.write ? KCOLL_WRITE : KCOLL_READ;
    command.cookie = t.at.region;
    command.offset = t.at.place + t.offset;
    command.addr = uint64_t(uintptr_t(t.local));
    command.len = t.bytes;
    io_uring_sqe* entry = io_uring_get_sqe(ring);
    if (entry == nullptr) return ring_ = nullptr, false;
    memset(entry, 0, 2 * sizeof *entry);
    entry->opcode = IORING_OP_URING_CMD;
    entry->fd = device()->descriptor();
    entry->cmd_op = KCOLL_COPY;
    // The last one runs in this thread in any case.
    entry->flags = idle_cores_ && t.bytes >= async_bytes && i + 1 < count ? IOSQE_ASYNC : 0;
    entry->user_data = i;
    memcpy(entry->cmd, &command, sizeof command);
  }
  size_t accepted = 0, answered = 0;
  bool works = true;
  while (answered < (works ? count : accepted)) {
    const int sent = works && accepted < count ? io_uring_submit(ring) : 0;
    if (sent > 0) accepted += size_t(sent);
    works &= sent >= 0 || sent == -EINTR || sent == -EAGAIN || sent == -EBUSY;
    io_uring_cqe* answer;
    if (answered == accepted || io_uring_wait_cqe(ring, &answer) != 0) continue;
    Transfer& t = transfers[answer->user_data];
    // The result is short if only a part could be copied.
    t.error = answer->res > 0 && uint64_t(answer->res) == t.bytes ? 0 : EAGAIN;
    io_uring_cqe_seen(ring, answer);
    answered++;
  }
  submissions_++;
  submitted_ += answered;
  // Entries that the ring has not taken would be part of the next submission.
  if (!works) ring_ = nullptr;
  return works;
}

int KcollUring::transfer(Transfer* transfers, size_t count) {
  const bool short_enough =
      std::all_of(transfers, transfers + count, [](const Transfer& t) { return t.bytes <= longest_bytes; });
  if (count < 2 || !short_enough || ring_ == nullptr) return KcollCopy::transfer(transfers, count);
  int first = 0;
  for (size_t begin = 0; begin < count; begin += entries) {
    const size_t some = std::min<size_t>(entries, count - begin);
    if (ring_ == nullptr || !submit(transfers + begin, some)) {
      const int error = KcollCopy::transfer(transfers + begin, some);
      if (first == 0) first = error;
      continue;
    }
    for (Transfer* t = transfers + begin; t != transfers + begin + some; t++) {
      // A copy that the ring did not make completely gets a command of its own, which returns an errno.
      if (t->error != 0) KcollCopy::transfer(t, 1);
      if (first == 0) first = t->error;
    }
  }
  return first;
}

}  // namespace coll::transport
