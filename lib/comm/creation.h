// SPDX-License-Identifier: BSD-3-Clause
// The creation of a communicator on one rank. create.cc has the exchanges and the steps between them, conclude.cc the
// decisions after the last exchange.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "comm/introduction.h"
#include "comm/machines.h"
#include "comm/probe.h"
#include "comm/rendezvous.h"
#include "comm/tables.h"
#include "topo/sensitivity.h"
#include "transport/keeper.h"
#include "transport/segment.h"

namespace coll::comm {

// The first failure of this rank. If one rank fails, the creation fails on all.
struct Fate {
  coll_status status = COLL_OK;
  std::string text;
  void fail(coll_status s, const std::string& why) {
    if (status == COLL_OK) status = s, text = why;
  }
};

class Creation {
 public:
  Creation(int rank, int ranks) : comm_(new Comm), layout_(ranks) {
    comm_->team_.rank = rank;
    comm_->team_.ranks = ranks;
  }

  std::unique_ptr<Comm> run(const Exchange& exchange, bool names, coll_status& status);
  // As run(), but after one exchange returns a spare that all ranks have kept, if there is one. If rank 0 has offered
  // spares and none is common to all ranks, the ranks repeat that exchange.
  std::shared_ptr<Comm> run_or_reuse(const Exchange& exchange, coll_status& status);

 private:
  static std::array<uint64_t, Hello::most_spares> tokens_of(const std::vector<std::shared_ptr<Comm>>& spares);
  bool say_hello(const Exchange& exchange, coll_status& status);
  // Does everything after the exchange of hellos.
  std::unique_ptr<Comm> make(const Exchange& exchange, bool names, coll_status& status);

  int rank() const { return comm_->team_.rank; }
  size_t ranks() const { return size_t(comm_->team_.ranks); }

  template <typename Message>
  bool trade(const Exchange& exchange, const Message& mine, std::vector<Message>& all, coll_status& status) {
    if (exchange(&mine, all.data(), sizeof mine)) return true;
    status = fate_.status != COLL_OK
                 ? failure(fate_.status, fate_.text)
                 : failure(COLL_ERR_BOOTSTRAP, "the allgather callback of the bootstrap returned an error");
    return false;
  }

  static char* introduction_reason(RankRecord& record) { return record.introduction.reason; }
  static char* report_reason(RankRecord& record) { return record.report.reason; }

  // Exchanges statuses. Afterwards each rank can read what the others wrote to the segment before, including the reason
  // of a failure. Returns false if a rank has failed.
  bool agree(const Exchange& exchange, char* (*reason)(RankRecord&), coll_status& status);
  std::string reason_of(int r, char* (*reason)(RankRecord&)) const;
  void prepare();
  void read_settings();
  topo::Status read_sensitivity();
  // Rank 0 loads the topology and the table of this machine, and passes both to the other ranks in the segment. It
  // makes the segment even if it has failed, because the others read the reason there.
  void make_segment();
  void load_texts(std::shared_ptr<const LoadedMachine>& loaded, std::shared_ptr<const FoundTable>& found);
  bool one_process() const;

  char* at(size_t offset) const { return segment_->base() + offset; }
  RankRecord& record_of(int r) const { return *reinterpret_cast<RankRecord*>(at(layout_.record(r))); }
  char* machine_text() const { return at(layout_.texts()); }
  char* table_text(const Introduction& of_first) const { return machine_text() + of_first.machine_bytes; }
  char* learned_text(const Introduction& of_first) const { return table_text(of_first) + of_first.table_bytes; }

  // Fails this rank and returns false if rank r is on another node or runs another version, so that its data is
  // unusable.
  bool understands(int r);
  void meet();
  // Maps the segment and writes the introduction of this rank, even if it has failed, so that the others can read why.
  void enter();
  void compare_settings();
  // Runs between the last two exchanges: reads the introductions of all ranks and probes which transports work here.
  void look_around();

  // After the last exchange, in conclude.cc.
  void decide();
  // Fails if a rank has no life mark: across pid namespaces only the mark shows that it has exited.
  void check_marks();
  std::unique_ptr<transport::Mechanism> make_mechanism(Transport transport);
  // `stages`: ordinary (unmapped) memory is staged by default.
  void tune(bool stages);
  size_t staging_window_bytes() const;
  void set_up(exec::Channel& channel, int index);
  void describe();

  std::unique_ptr<Comm> comm_;
  const SegmentLayout layout_;
  std::shared_ptr<transport::Segment> segment_;  // moved into the communicator once that is complete
  std::unique_ptr<transport::LifeRegistration> registration_;
  Fate fate_;
  Hello hello_;
  Introduction own_;
  bool entered_ = false;  // the segment is mapped, and this rank has introduced itself
  std::optional<Rendezvous> rendezvous_;
  std::vector<Hello> hellos_;
  std::vector<Status> statuses_;
  std::vector<transport::Address> addresses_;  // as this process may use them
  std::vector<Introduction> introductions_;
  std::vector<Report> reports_;
  Probe probe_;
  Agreement agreed_;
  std::shared_ptr<const model::Table> table_;
  topo::Sensitivity sensitivity_;
};

}  // namespace coll::comm
