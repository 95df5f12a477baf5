// SPDX-License-Identifier: BSD-3-Clause
// A stream of operations that run one after the other: blocking collectives have one channel, non-blocking ones
// several, so that some can be in progress at the same time. Every rank runs the same operations in the same order on a
// channel.
//
// Shared memory of one rank on one channel: its Progress, flag lines for plans, mailboxes for the latency paths, and
// its part of the staging rings. The Progress of all ranks is one array, because a rank often reads that of all others.
//
// Invariants
//  1. Operations are numbered from 1. `done` holds the last operation that the rank has ended: the rank no longer reads
//     or writes shared memory of operations up to that one.
//  2. Flag values continue across operations: operation N uses values in (base, base + last_value], and the next base
//     is base + last_value. All ranks compute the same bases because last_value() depends on plan and count alone.
//  3. The staging that an operation takes selects its ring. Each ring is allocated in operation order, identically on
//     every rank: within a half until an operation does not fit, then in the other half. No rank touches a half again
//     before all ranks have ended the operations that used it last. Operations share only the first `staging_window_bytes` of a
//     half, so that a stream of them stays in the last-level cache; an operation that takes at least half of
//     `staging_window_bytes` begins a new half (unless `starts_over`), because it rotates through enough memory by itself. A rank
//     touches many pages with one system call, `touch_bytes` ahead or a slot at a time.
//  4. Mailbox N mod mailboxes belongs to operation N once every rank has ended operation N - mailboxes. Only a rank
//     that writes its mailbox has to wait for that. A payload that its writer keeps in `payloads` instead is
//     overwritten only after more than `mailboxes` other payloads.
//  5. `begun` and `arrived` hold the number of a barrier. begun >= N: the rank has begun barrier N. arrived >= N: so
//     have all ranks below it in a tree. done >= N of any rank: all ranks have begun it.
//  6. Note N mod notes of either kind belongs to operation N once every rank has ended operation N - notes. Only a rank
//     that writes a note has to wait for that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/staging.h"
#include "exec/team.h"

namespace coll::exec {

inline constexpr int max_flags = 128;  // flag lines a plan may use
inline constexpr int max_views = 8;    // views a plan may use
inline constexpr int mailboxes = 8;
inline constexpr int notes = 16, kinds_of_notes = 2;
inline constexpr size_t touch_bytes = size_t(128) << 10;

// How many bytes a rank prefetches for write at the end of an operation, of the lines that its next operation stores to
// first. A rank that ends before its peers have read its data has time to prefetch many; more than this would delay an
// operation that follows at once. If all ranks end together, the prefetch delays all of them.
constexpr size_t prefetched_bytes(bool synchronizing) { return synchronizing ? size_t(2) << 10 : size_t(16) << 10; }

// A mailbox of the latency paths: the number of the operation whose payload it holds, the payload's length in bytes (or
// a signature, see latency_agree()), and the payload, or where it is: in memory that does not change until every rank
// has ended the operation.
// The gap between mailboxes is longer than a hardware prefetcher runs ahead: a reader that streams through one mailbox
// must not pull the next one, which its owner is about to write, into its cache.
struct alignas(sync::line_bytes) Mailbox {
  static constexpr size_t payload_bytes = (size_t(32) << 10) + 48;
  std::atomic<uint64_t> sequence;
  uint64_t check;
  char payload[payload_bytes];
  char gap[24 * sync::line_bytes];
};

// A mailbox for many ranks: it is short, and those of all ranks for one operation are contiguous, so that a rank that
// looks at all of them touches few pages. A payload that does not fit is in the rank's slot of the operation's staging.
struct alignas(2 * sync::line_bytes) Note {
  static constexpr size_t payload_bytes = 2 * sync::line_bytes - 16;
  std::atomic<uint64_t> sequence;
  uint64_t bytes;  // of one block
  char payload[payload_bytes];
};
static_assert(sizeof(Note) == 2 * sync::line_bytes);

inline constexpr size_t payload_gap_bytes = 4096;  // gap between payloads, for the same reason as between mailboxes
inline constexpr size_t least_payloads_bytes = 2 * least_staging_window_bytes;
static_assert(least_payloads_bytes >= (mailboxes + 2) * (Mailbox::payload_bytes + payload_gap_bytes));

// How far a rank has come. The rank is the only writer; every word only grows. Each kind of reader has a line of its
// own: ranks that wait for `done` would slow down the store to `arrived`.
struct alignas(2 * sync::line_bytes) Progress {
  std::atomic<uint64_t> done;
  std::atomic<uint64_t> begun;
  alignas(sync::line_bytes) std::atomic<uint64_t> arrived;
};
static_assert(sizeof(Progress) == 2 * sync::line_bytes);

// Where a peer's view of an operation is accessible, as its flag announced it.
struct Seen {
  uint64_t operation = 0;  // valid for this operation only; otherwise the view is staged
  char* local = nullptr;   // in this process or an arena; otherwise see RemoteView
};

// The same for a view that only the team's mechanism reaches, or only its owner.
struct RemoteView {
  transport::Announced at;
  transport::Window window;
  uint64_t address = 0;   // in the owner's address space
  bool by_owner = false;  // in an arena that this rank cannot map: the owner makes all copies
};

class Channel {
 public:
  Team* team = nullptr;
  Parts progress_parts;                         // Progress
  Parts flag_parts;                             // the first flag line
  size_t flag_stride = sizeof(sync::FlagLine);  // from a rank's flag line to its next
  Parts mailbox_parts;                          // [mailboxes] Mailbox; of channels with latency paths
  Parts note_parts;                             // of channels with latency paths of many ranks: the first Note
  size_t note_stride = 0;                       // from a rank's note to its next; notes of one kind are contiguous
  std::vector<StagingRing> rings;               // in ascending order of the longest operation that they take
  // This rank's memory through which long payloads of the latency paths rotate, as operations rotate through staging;
  // at least least_payloads_bytes. Null: payloads stay in their mailboxes.
  char* payloads = nullptr;
  size_t payloads_bytes = 0;
  // Switch to the other half as soon as that is known to be free: oversubscribed ranks share the caches of their core.
  bool starts_over = false;
  std::vector<Seen> seen;                // [view][rank], for the views of all plans bound so far
  std::vector<RemoteView> remote_views;  // the same; shorter until a view first needs it
  uint64_t operation = 0;                // the one that runs, or ran last
  uint64_t base = 0;                     // of its flag values

  Progress& progress(int rank) const { return *reinterpret_cast<Progress*>(progress_parts.of(rank)); }
  Progress& own_progress() const { return progress(team->rank); }
  sync::FlagLine& flag(int rank, int flag) const {
    return *reinterpret_cast<sync::FlagLine*>(flag_parts.of(rank) + size_t(flag) * flag_stride);
  }
  // Index of a rank's view in `seen` and `remote_views`.
  uint32_t place_of(int rank, int view) const { return uint32_t(view * team->ranks + rank); }
  // Makes room for a plan with this many views. Throws std::bad_alloc.
  void make_room(size_t views) {
    if (seen.size() < views * size_t(team->ranks)) seen.resize(views * size_t(team->ranks));
  }
  // The ring of operations that take this much staging.
  StagingRing& ring_of(size_t staging_bytes) {
    size_t i = 0;
    while (i + 1 < rings.size() && staging_bytes > rings[i].most_bytes()) i++;
    return rings[i];
  }
  // The most bytes of staging that an operation may take.
  size_t room() const { return rings.back().most_bytes(); }
  // The rank's mailbox of the current operation.
  Mailbox& mailbox(int rank) const { return mailbox_array(rank)[operation % mailboxes]; }
  // This rank's mailbox of the next operation.
  Mailbox& next_mailbox() const { return mailbox_array(team->rank)[(operation + 1) % mailboxes]; }
  // The rank's note of that kind for the current operation; this rank's note for the next one.
  Note& note(int rank, int kind) const { return note_of(rank, kind, operation); }
  Note& next_note(int kind) const { return note_of(team->rank, kind, operation + 1); }
  // Publishes this rank's mailbox of the current operation. REQUIRES: its payload is written.
  void show(Mailbox& mailbox, uint64_t check) {
    mailbox.check = check;
    sync::post(mailbox.sequence, operation);
    team->posted();
  }

  // Begins the next operation and waits until its staging is free. Stores the operation's byte offset in every rank's
  // part of the ring to *offset. Returns OK or PEER_DIED.
  coll_status begin(size_t staging_bytes, size_t* offset);
  // The same for an operation without staging or flags; returns when this rank may write its mailbox.
  coll_status begin_cell();
  // Begins an operation that uses notes, and staging as in begin(). `writes`: this rank writes a note.
  coll_status begin_with_notes(size_t staging_bytes, bool writes, size_t* offset) {
    const coll_status status = begin(staging_bytes, offset);
    if (status != COLL_OK || !writes || operation <= notes) return status;
    return all_done(operation - notes);
  }
  // begin_cell() for a rank that does not write its mailbox.
  void begin_without_cell() { operation++; }
  // Ends the operation. `synchronizing`: this rank's end proves that every rank has begun the operation.
  void end(bool synchronizing, uint64_t last_value) {
    base += last_value;
    if (synchronizing) synchronized_ = operation - 1;
    sync::post(own_progress().done, operation);
    team->posted();
  }
  // Waits until every rank has ended the last operation. Returns OK or PEER_DIED.
  coll_status await_all() { return all_done(operation); }
  // Address of this rank's staging of the next operation, if that takes `staging_bytes`; null while a rank may still
  // use that memory.
  const char* next_staging(size_t staging_bytes) {
    const StagingRing& ring = ring_of(staging_bytes);
    const StagingPosition place = next(ring, staging_bytes);
    if (place.half != ring.half && !known_done(ring.last_use[place.half])) return nullptr;
    return ring.parts.of(team->rank) + ring.offset(place.half, place.position);
  }
  // Touches pages ahead of use. Call it after begin() if this rank's staging will be stored to.
  void touch_staging(size_t staging_bytes) {
    StagingRing& ring = ring_of(staging_bytes);
    if (ring.position > ring.touched[ring.half]) [[unlikely]]
      touch_more(ring);
  }
  // Address in `payloads` of the next payload of this many bytes.
  char* next_payload(size_t bytes) const {
    return payloads +
           (payload_at_ + bytes <= std::min(payloads_bytes, 2 * rings.back().staging_window_bytes) ? payload_at_ : 0);
  }
  // Allocates the next payload of this many bytes.
  char* allocate_payload(size_t bytes);
  // How many bytes of `payloads` have pages.
  size_t payloads_touched() const { return payloads_touched_; }
  // Whether begin() would not wait; false while peers may still use the staging.
  bool may_begin(size_t staging_bytes);
  // Call it periodically while may_begin() is false. Returns false if an awaited rank has exited; otherwise stores the
  // first post that begin() waits for to `awaited`.
  bool look_after_peers(size_t staging_bytes, AwaitedPost& awaited);

 private:
  coll_status all_done(uint64_t number);
  bool is_all_done(uint64_t number);
  // Without reading the progress of peers.
  bool known_done(uint64_t number) const { return number <= std::max(synchronized_, all_done_); }
  Note& note_of(int rank, int kind, uint64_t number) const {
    return *reinterpret_cast<Note*>(note_parts.of(rank) + (size_t(kind) * notes + number % notes) * note_stride);
  }
  Mailbox* mailbox_array(int rank) const { return reinterpret_cast<Mailbox*>(mailbox_parts.of(rank)); }
  bool fits_here(const StagingRing& ring, size_t staging_bytes) const;
  struct StagingPosition {
    size_t half, position;
  };
  StagingPosition next(const StagingRing& ring, size_t staging_bytes) const;
  void touch_more(StagingRing& ring);

  uint64_t synchronized_ = 0;  // every rank has ended this operation; the same value on all ranks
  uint64_t all_done_ = 0;      // the same, as far as this rank has read its peers' progress
  size_t payload_at_ = 0, payloads_touched_ = 0;
};

}  // namespace coll::exec
