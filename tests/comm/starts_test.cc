// SPDX-License-Identifier: BSD-3-Clause
// Starting a request is local: no start of any collective, in any form, waits for a peer that has not called.
#include <memory>
#include <tuple>

#include "comm/piece_calls.h"
#include "comm/requests.h"

using namespace ranks;

namespace {

// All collectives of one size, each as a non-blocking and as a persistent request.
class All {
 public:
  All(Context& c, size_t n, bool mappable) : c_(c) {
    uint32_t round = 0;
    for (auto kind : {Operation::barrier, Operation::bcast, Operation::reduce, Operation::allreduce})
      for (int form = 0; form < 2; form++) {
        operations_.push_back({kind, n, 1, false, ++round, {}, {}});
        operations_.back().fill(c);
      }
    for (Collective what : collectives_of_pieces())
      for (bool irregular : {false, true})
        for (Form form : {Form::nonblocking, Form::persistent}) {
          const PieceCall call{what, irregular, n, 1, form == Form::persistent, ++round};
          if (irregular && !call.has_v()) continue;
          pieces_.push_back({std::make_unique<PieceTrial>(c, call, mappable), form, nullptr});
          pieces_.back().trial->fill();
        }
  }
  void start(coll_comm* comm) {
    for (size_t i = 0; i < operations_.size(); i++) {
      Operation& o = operations_[i];
      c_.about = "kind " + std::to_string(o.kind) + ", " + std::to_string(o.n) + " elements";
      if (i % 2 == 0) RANK_CHECK(c_, o.start(c_, comm) == COLL_OK);
      else RANK_CHECK(c_, o.prepare(c_, comm) == COLL_OK && coll_start(o.request) == COLL_OK);
    }
    c_.about = "pieces";
    for (Piece& piece : pieces_) {
      RANK_CHECK(c_, piece.trial->run(comm, piece.form, &piece.request) == COLL_OK);
      if (piece.form == Form::persistent) RANK_CHECK(c_, coll_start(piece.request) == COLL_OK);
    }
  }
  void finish() {
    for (Operation& o : operations_) {
      RANK_CHECK(c_, coll_wait(&o.request) == COLL_OK && coll_request_free(o.request) == COLL_OK);
      RANK_CHECK(c_, o.right(c_));
    }
    for (Piece& piece : pieces_) {
      RANK_CHECK(c_, coll_wait(&piece.request) == COLL_OK && coll_request_free(piece.request) == COLL_OK);
      RANK_CHECK(c_, piece.trial->right());
    }
    c_.about.clear();
  }

 private:
  struct Piece {
    std::unique_ptr<PieceTrial> trial;
    Form form;
    coll_request* request;
  };
  Context& c_;
  std::vector<Operation> operations_;
  std::vector<Piece> pieces_;
};

class Starts : public testing::TestWithParam<std::tuple<const char*, int>> {};

// Each rank in turn comes only after all others have started.
TEST_P(Starts, DoNotWaitForAPeer) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  for (bool mappable : {false, true})
    run_processes(ranks, [=](Context& c) {
      coll_comm* comm = c.comm();
      for (size_t n : {size_t(2), size_t(3000), size_t(60'000)})
        for (int late = 0; late < c.ranks && !c.failed(); late++) {
          All all(c, n, mappable);
          if (c.rank == late) c.meet();
          all.start(comm);
          if (c.rank != late) c.meet();
          all.finish();
        }
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
}
INSTANTIATE_TEST_SUITE_P(All, Starts,
                         testing::Combine(testing::ValuesIn(transports({"auto", "shm", "cma", "mapped"})),
                                          testing::Values(2, 3)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

}  // namespace
