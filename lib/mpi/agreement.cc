// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks may fail alone: one is out of descriptors, another runs on a second node. None may then be left waiting
// in an exchange that the others do not enter. Hence every exchange, the bootstrap's too, opens with a round of
// notes; a rank that has left coll_comm_create() goes on sending "I have left" until all have, and whoever reads
// that in the bootstrap gives up as well.
#include "mpi/agreement.h"

#include "mpi/below.h"
#include "mpi/log.h"

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

namespace coll::shim {
namespace {

struct Note {
  std::uint64_t bytes;  // of the payload that follows
  std::uint32_t left;   // out of coll_comm_create()
  std::uint32_t good;   // has had no trouble so far
  char node[64];        // identity of the running kernel
};

// Differs between machines and between boots; the same in all containers of a machine.
void read_node(char (&node)[64]) {
  std::memset(node, 0, sizeof node);
  if (std::FILE *file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    if (std::fgets(node, sizeof node, file) == nullptr) node[0] = '\0';
    std::fclose(file);
  }
}

class Meeting {
 public:
  Meeting(MPI_Comm comm, int rank, int ranks) : comm_(comm), notes_(static_cast<std::size_t>(ranks)) {
    std::memset(&mine_, 0, sizeof mine_);
    read_node(mine_.node);
    bootstrap_ = {sizeof bootstrap_, rank, ranks, allgather, this};
  }

  const coll_bootstrap *bootstrap() const { return &bootstrap_; }

  // Whether all can remember, and whether all run on one node. False when MPI fails.
  bool first_round(bool ready, bool *all_ready, bool *one_node) {
    mine_.good = ready;
    *all_ready = *one_node = false;
    if (!exchange()) return false;
    *all_ready = true;
    *one_node = notes_[0].node[0] != '\0';
    for (const Note &note : notes_) {
      *all_ready = *all_ready && note.good != 0;
      *one_node = *one_node && std::memcmp(note.node, notes_[0].node, sizeof note.node) == 0;
    }
    return true;
  }

  // Waits until every rank is out of coll_comm_create(); whether all have succeeded.
  bool all_succeeded(bool success) {
    mine_ = {0, 1, success, {}};
    for (;;) {
      if (!exchange()) return false;
      bool left = true;
      bool good = true;
      for (const Note &note : notes_) {
        left = left && note.left != 0;
        good = good && note.good != 0;
      }
      if (left) return good;
    }
  }

 private:
  bool exchange() {
    return found.Allgather(&mine_, sizeof mine_, MPI_BYTE, notes_.data(), sizeof mine_, MPI_BYTE, comm_) == MPI_SUCCESS;
  }

  static int allgather(const void *send, void *recv, size_t bytes, void *context) {
    auto *self = static_cast<Meeting *>(context);
    self->mine_ = {bytes, 0, 1, {}};
    if (!self->exchange()) return 1;
    for (const Note &note : self->notes_)
      if (note.left != 0 || note.bytes != bytes) return 1;
    if (bytes > INT_MAX) return 1;
    const int count = static_cast<int>(bytes);
    return found.Allgather(send, count, MPI_BYTE, recv, count, MPI_BYTE, self->comm_) != MPI_SUCCESS;
  }

  MPI_Comm comm_;
  Note mine_;
  std::vector<Note> notes_;
  coll_bootstrap bootstrap_;
};

}  // namespace

Agreement agree(MPI_Comm comm, int rank, int ranks, bool ready) {
  Meeting meeting(comm, rank, ranks);
  bool all_ready, one_node;
  if (!meeting.first_round(ready, &all_ready, &one_node) || !all_ready) return {nullptr, false, Why::refused};
  if (!one_node) {
    if (rank == 0) log_line("ranks are on several nodes: MPI keeps the communicator");
    return {nullptr, true, Why::nodes};
  }
  coll_comm *made = nullptr;
  const coll_status status = coll_comm_create(meeting.bootstrap(), &made);
  if (status != COLL_OK)
    log_line("rank %d: %s (%s): MPI keeps the communicator", rank, coll_strerror(status), coll_last_error());
  if (meeting.all_succeeded(status == COLL_OK)) return {made, true, Why::refused};
  if (status == COLL_OK) coll_comm_free(made);
  return {nullptr, true, Why::refused};
}

}  // namespace coll::shim
