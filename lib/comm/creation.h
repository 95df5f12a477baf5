// SPDX-License-Identifier: BSD-3-Clause
// The creation of a communicator, as one rank sees it. In create.cc: the exchanges and what lies between them; in
// conclude.cc: what every rank decides alike when they are over.
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

// How this rank fares. One rank's failure is every rank's.
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
  // As run(), or a spare that all ranks have kept, after one exchange. If rank 0 has offered spares and none serves, that
  // exchange is made again.
  std::shared_ptr<Comm> run_or_reuse(const Exchange& exchange, coll_status& status);

 private:
  static std::array<uint64_t, Hello::most_spares> tokens_of(const std::vector<std::shared_ptr<Comm>>& spares);
  bool say_hello(const Exchange& exchange, coll_status& status);
  // All behind the exchange of hellos.
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

  // After the exchange all ranks know what each has written to the segment, its reason among that. False when some rank has
  // failed.
  bool agree(const Exchange& exchange, char* (*reason)(RankRecord&), coll_status& status);
  std::string reason_of(int r, char* (*reason)(RankRecord&)) const;
  void prepare();
  void read_settings();
  topo::Status read_sensitivity();
  // The topology is loaded once per node, by rank 0, and handed over in the segment; the table of this machine with it.
  // A rank 0 that has failed makes a segment as well: it tells the others why.
  void make_segment();
  void load_texts(std::shared_ptr<const LoadedMachine>& loaded, std::shared_ptr<const FoundTable>& found);
  bool one_process() const;

  char* at(size_t offset) const { return segment_->base() + offset; }
  RankRecord& record_of(int r) const { return *reinterpret_cast<RankRecord*>(at(layout_.record(r))); }
  char* machine_text() const { return at(layout_.texts()); }
  char* table_text(const Introduction& of_first) const { return machine_text() + of_first.machine_bytes; }
  char* learned_text(const Introduction& of_first) const { return table_text(of_first) + of_first.table_bytes; }

  // False: nothing of that rank's can be read.
  bool understands(int r);
  void meet();
  // Maps the segment and introduces this rank, also if it has failed: so the others learn why.
  void enter();
  void compare_settings();
  // Between the last two exchanges: what this rank finds out about the others, and what works from where it is.
  void look_around();

  // After the last exchange, in conclude.cc.
  void decide();
  // Without its pid, only its life mark shows that a rank has ended.
  void check_marks();
  std::unique_ptr<transport::Access> make_access(Transport transport);
  // `stages`: ordinary memory is staged, by default.
  void tune(bool stages);
  size_t walk_bytes() const;
  void set_up(exec::Channel& channel, int index);
  void describe();

  std::unique_ptr<Comm> comm_;
  const SegmentLayout layout_;
  std::shared_ptr<transport::Segment> segment_;  // the communicator's once that is complete
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
