// SPDX-License-Identifier: BSD-3-Clause
//
// A single rank may fail: it is out of descriptors, or runs on another node. It must not leave the others waiting in an
// exchange that it does not enter. So every exchange, the bootstrap's too, begins with a round of notes, which contain
// short payloads. A rank that has left coll_comm_create_or_reuse() keeps sending "I have left" until all have left, and
// a rank that reads this during the bootstrap fails, too.
#include "mpi/agreement.h"

#include "mpi/library.h"
#include "mpi/log.h"
#include "mpi/placement.h"

#include <coll/shim.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coll::shim {
namespace {

struct Opening {
  std::uint32_t good;  // no error so far on this rank
  NodeName node;       // node of the rank
  KernelName kernel;
};

struct Note {
  std::uint64_t bytes;  // size of the payload, which is a second exchange if it is too long for a note
  std::uint32_t left;   // has left coll_comm_create_or_reuse()
  std::uint32_t good;
  char payload[1008];
};

// Exchanges by collectives of the MPI library.
class BlockingExchange final : public Exchange {
 public:
  explicit BlockingExchange(MPI_Comm comm) : comm_(comm) {}
  bool allgather(const void *mine, void *all, std::size_t bytes) override {
    if (bytes > INT_MAX) return false;
    const int count = static_cast<int>(bytes);
    return mpi.Allgather(mine, count, mpi.byte, all, count, mpi.byte, comm_) == MPI_SUCCESS;
  }

 private:
  MPI_Comm comm_;
};

class AgreementRounds {
 public:
  AgreementRounds(Exchange &exchange, int rank, int ranks)
      : exchange_(exchange), openings_(static_cast<std::size_t>(ranks)), notes_(openings_.size()) {
    bootstrap_ = {sizeof bootstrap_, rank, ranks, allgather, this};
  }

  const coll_bootstrap *bootstrap() const { return &bootstrap_; }

  // Finds out whether all ranks can store the outcome, and whether all know their node. Returns false if MPI fails.
  bool first_round(bool ready, NodeName node, bool *all_ready, bool *all_placed) {
    const Opening mine{ready, node, running_kernel()};
    if (!exchange(mine, openings_)) return false;
    *all_ready = *all_placed = true;
    for (const Opening &opening : openings_) {
      *all_ready = *all_ready && opening.good != 0;
      *all_placed = *all_placed && opening.node != unknown_node;
    }
    return true;
  }

  // After a first round: whether no rank's node is `invalid_node`.
  bool placeable() const {
    return std::none_of(openings_.begin(), openings_.end(), [](const Opening &of) { return of.node == invalid_node; });
  }

  // After a first round in which all ranks know their node: for each rank, the lowest rank of its node. Empty if ranks
  // of one node run under different kernels, or a kernel is not known.
  std::vector<int> first_on_node() const {
    std::vector<int> first;
    std::unordered_map<NodeName, int> lowest;
    for (const Opening &of : openings_) {
      first.push_back(lowest.try_emplace(of.node, static_cast<int>(first.size())).first->second);
      const Opening &neighbour = openings_[static_cast<std::size_t>(first.back())];
      if (!of.kernel.known() || of.kernel != neighbour.kernel) return {};
    }
    return first;
  }

  // Waits until every rank has left coll_comm_create_or_reuse(); returns whether all have succeeded.
  bool all_succeeded(bool success) {
    const Note mine{0, 1, success, {}};
    for (;;) {
      if (!exchange(mine, notes_)) return false;
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
  template <typename Message>
  bool exchange(const Message &mine, std::vector<Message> &all) {
    return exchange_.allgather(&mine, all.data(), sizeof mine);
  }

  static int allgather(const void *send, void *recv, size_t bytes, void *context) {
    auto *self = static_cast<AgreementRounds *>(context);
    Note mine{bytes, 0, 1, {}};
    const bool fits = bytes <= sizeof mine.payload;
    if (fits) std::memcpy(mine.payload, send, bytes);
    if (!self->exchange(mine, self->notes_)) return 1;
    for (const Note &note : self->notes_)
      if (note.left != 0 || note.bytes != bytes) return 1;
    if (fits) {
      auto *to = static_cast<char *>(recv);
      for (const Note &note : self->notes_) std::memcpy(std::exchange(to, to + bytes), note.payload, bytes);
      return 0;
    }
    return !self->exchange_.allgather(send, recv, bytes);
  }

  Exchange &exchange_;
  std::vector<Opening> openings_;
  std::vector<Note> notes_;
  coll_bootstrap bootstrap_;
};

// Creates libcoll's communicator on this rank; AgreementRounds::all_succeeded() says whether all ranks have.
coll_status create(const AgreementRounds &rounds, int rank, coll_comm **made) {
  const coll_status status = coll_comm_create_or_reuse(rounds.bootstrap(), made);
  if (status == COLL_OK) return status;
  // All ranks have the error text of the first rank that failed, so rank 0 alone prints it.
  // COLL_ERR_BOOTSTRAP: ranks have other values of variables, or other versions.
  const bool is_setting = status == COLL_ERR_ARG || status == COLL_ERR_UNAVAILABLE || status == COLL_ERR_TOPOLOGY ||
                          status == COLL_ERR_BOOTSTRAP;
  const auto report = is_setting && rank == 0 ? warn_once : log_line;
  report("rank %d: %s (%s): all collectives of this communicator are forwarded to MPI", rank, coll_strerror(status),
         coll_last_error());
  return status;
}

coll_comm *agree_on_one(AgreementRounds &rounds, int rank) {
  coll_comm *made = nullptr;
  const coll_status status = create(rounds, rank, &made);
  if (rounds.all_succeeded(status == COLL_OK)) return made;
  if (status == COLL_OK) coll_comm_free(made);
  return nullptr;
}

// `rounds` is that of all ranks; the ranks of each node have another one.
std::unique_ptr<Nodes> agree_on_several(AgreementRounds &rounds, MPI_Comm comm, const std::vector<int> &first_on_node,
                                        int rank) {
  auto nodes = std::make_unique<Nodes>(first_on_node, rank);
  MPI_Comm node;
  const bool split = mpi.Comm_split(comm, nodes->node(), rank, &node) == MPI_SUCCESS;
  bool good = nodes->join(comm) && split;
  if (split) {
    if (const int locals = static_cast<int>(nodes->locals().size()); locals > 1) {
      BlockingExchange exchange(node);
      AgreementRounds of_node(exchange, nodes->local(), locals);
      coll_comm *made = agree_on_one(of_node, rank);
      nodes->own(made);
      good = good && made != nullptr;
    }
    mpi.Comm_free(&node);
  }
  if (!rounds.all_succeeded(good)) return nullptr;
  if (rank == 0)
    log_line("%d ranks on %d nodes: two levels, %d leader%s per node", nodes->ranks(), nodes->nodes(), nodes->rails(),
             nodes->rails() == 1 ? "" : "s");
  return nodes;
}

}  // namespace

coll_comm *agree_on_one(Exchange &exchange, int rank, int ranks) {
  AgreementRounds rounds(exchange, rank, ranks);
  return agree_on_one(rounds, rank);
}

Agreement agree(MPI_Comm comm, int rank, int ranks, bool ready) {
  BlockingExchange exchange(comm);
  AgreementRounds rounds(exchange, rank, ranks);
  bool all_ready, all_placed;
  bool met = rounds.first_round(ready, known_node(), &all_ready, &all_placed);
  if (met && all_ready && !all_placed && rounds.placeable()) {
    int processes = 0;
    mpi.Comm_size(mpi.world, &processes);
    const NodeName node = find_node(comm, ranks == processes);
    met = rounds.first_round(true, node, &all_ready, &all_placed);
  }
  if (!met || !all_ready) return {nullptr, nullptr, false, Why::refused};
  const std::vector<int> first = all_placed && rounds.placeable() ? rounds.first_on_node() : std::vector<int>();
  if (first.empty()) {
    if (rank == 0)
      log_line("cannot determine which ranks share a node: all collectives of this communicator are forwarded to MPI");
    return {nullptr, nullptr, true, Why::refused};
  }
  int nodes = 0;
  for (int i = 0; i < ranks; i++) nodes += first[static_cast<std::size_t>(i)] == i;
  if (nodes == 1) return {agree_on_one(rounds, rank), nullptr, true, Why::refused};
  if (nodes < ranks) return {nullptr, agree_on_several(rounds, comm, first, rank), true, Why::refused};
  if (rank == 0) log_line("no two ranks share a node: all collectives of this communicator are forwarded to MPI");
  return {nullptr, nullptr, true, Why::nodes};
}

}  // namespace coll::shim
