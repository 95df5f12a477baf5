// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate_contest.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "calibrate_memory.h"
#include "coll/coll.h"
#include "collective_call.h"
#include "lockstep.h"
#include "look_through.h"
#include "model/forced.h"
#include "text.h"

namespace coll::tools {
namespace {

// The allgather that communicators are made with, over shared memory.
class Exchange {
 public:
  explicit Exchange(int ranks)
      : ranks_(ranks), segment_(lockstep_segment_bytes()), parts_(part_bytes * size_t(ranks)) {}
  void begin(int rank) {
    rank_ = rank;
    step_ = lockstep_attach(segment_.data(), rank, ranks_, 1);
  }
  coll_bootstrap bootstrap() { return {sizeof(coll_bootstrap), rank_, ranks_, &Exchange::allgather, this}; }

 private:
  static constexpr size_t part_bytes = size_t(1) << 20;
  static int allgather(const void* send, void* recv, size_t bytes, void* context) {
    auto* self = static_cast<Exchange*>(context);
    if (bytes > part_bytes) return 1;
    std::memcpy(self->parts_.data() + part_bytes * size_t(self->rank_), send, bytes);
    lockstep_start(self->step_);
    for (int rank = 0; rank < self->ranks_; ++rank)
      std::memcpy(static_cast<char*>(recv) + bytes * size_t(rank), self->parts_.data() + part_bytes * size_t(rank),
                  bytes);
    lockstep_start(self->step_);
    return 0;
  }

  const int ranks_;
  SharedMemory segment_, parts_;
  int rank_ = 0;
  lockstep* step_ = nullptr;
};

// What a rank has while contests run. Made before the fork, used after it.
struct Rank {
  std::vector<coll_comm*> comms;  // of the entrants of the contest that runs
  char *in = nullptr, *out = nullptr;
};

// Makes communicators that are told how to go.
class Forced {
 public:
  Forced(plan::Collective collective, const model::Choice& choice) {
    set("COLL_TRANSPORT", choice.kernel_copies ? "cma" : "shm");
    set("COLL_TABLE", "none");
    if (choice.algorithm == nullptr) return;
    std::string name = fmt::format("COLL_{}", plan::name(collective));
    for (char& c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
    set(name, model::setting_text(choice));
  }
  ~Forced() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }

 private:
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  std::vector<std::string> names_;
};

// What the user's environment asks of the library is not what is timed.
void forget_wishes() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::strncmp(*variable, "COLL_", 5) == 0) names.emplace_back(*variable, std::strcspn(*variable, "="));
  for (const std::string& name : names) unsetenv(name.c_str());
  setenv("COLL_CONFIG", "none", 1);
}

constexpr coll_datatype element = COLL_FLOAT;
constexpr size_t element_bytes = sizeof(float);

constexpr size_t slots_bytes = size_t(2) << 20;

CollectiveCall call_of(const Contest& contest, const Rank& rank, int self) {
  char* out = contest.collective == plan::Collective::bcast && self == 0 ? rank.in : rank.out;
  return {contest.collective, rank.in, out, contest.bytes / element_bytes, element, COLL_SUM, 0};
}

Stage stage_of(const Contest& contest, Exchange& exchange, Rank& rank, double seconds) {
  Stage stage;
  stage.name = fmt::format("{} {}, {} ranks", plan::name(contest.collective), bytes_text(contest.bytes), contest.ranks);
  stage.seconds = seconds;
  stage.least = 5;
  stage.most = 120;
  stage.begin = [&contest, &exchange, &rank](int self) -> std::string {
    for (const Entrant& entrant : contest.entrants) {
      const Forced forced(contest.collective, entrant.choice);
      const coll_bootstrap bootstrap = exchange.bootstrap();
      coll_comm* comm = nullptr;
      if (coll_comm_create(&bootstrap, &comm) != COLL_OK) return coll_last_error();
      rank.comms.push_back(comm);
      // Slots lie side by side for a while: until all have been used once, their pages are new.
      const CollectiveCall call = call_of(contest, rank, self);
      for (size_t calls = 2 + slots_bytes / std::max<size_t>(contest.bytes, 1024); calls > 0; --calls)
        if (perform(call, comm) != COLL_OK) return coll_last_error();
    }
    return "";
  };
  stage.end = [&rank](int) {
    for (coll_comm* comm : rank.comms) coll_comm_free(comm);
    rank.comms.clear();
  };
  for (size_t i = 0; i < contest.entrants.size(); ++i) {
    Probe probe;
    probe.name = text(contest.entrants[i].choice);
    const bool has_input = contest.collective != plan::Collective::barrier;
    const size_t input = contest.bytes * blocks(contest.collective, plan::Buffer::send, contest.ranks);
    const size_t output = contest.bytes * blocks(contest.collective, plan::Buffer::recv, contest.ranks);
    probe.prepare = [=, &rank](int) {
      // As a program does: it reads the last result and writes the next input.
      if (has_input) look_through(rank.out, output), rewrite(rank.in, input);
      return std::string();
    };
    probe.timed = [=, &contest, &rank](int self) {
      return perform(call_of(contest, rank, self), rank.comms[i]) == COLL_OK ? std::string()
                                                                             : std::string(coll_last_error());
    };
    stage.probes.push_back(std::move(probe));
  }
  return stage;
}

}  // namespace

std::string text(const model::Choice& choice) {
  return model::setting_text(choice) + (choice.kernel_copies ? " by kernel copies" : "");
}

std::string text(const model::Chosen& chosen) {
  return text(model::Choice{chosen.algorithm, chosen.parameters, false, chosen.kernel_copies});
}

int Contest::winner() const {
  int best = -1;
  for (size_t i = 0; i < entrants.size(); ++i)
    if (entrants[i].timing.good() && (best < 0 || entrants[i].timing.us < entrants[size_t(best)].timing.us))
      best = int(i);
  return best;
}

void run_contests(std::vector<Contest>& contests, const std::vector<int>& cpus, double seconds,
                  const std::function<void(double, const std::string&)>& show) {
  if (contests.empty()) return;
  const int ranks = contests.front().ranks;
  size_t largest_in = 64, largest_out = 64;
  for (const Contest& contest : contests) {
    largest_in = std::max(largest_in, contest.bytes * blocks(contest.collective, plan::Buffer::send, ranks));
    largest_out = std::max(largest_out, contest.bytes * blocks(contest.collective, plan::Buffer::recv, ranks));
  }
  Exchange exchange(ranks);
  Rank rank;
  RoundsTask task;
  task.processes = ranks;
  task.cpus = cpus;
  task.begin = [&](int self) -> std::string {
    forget_wishes();
    exchange.begin(self);
    rank.in = static_cast<char*>(std::malloc(largest_in));
    rank.out = static_cast<char*>(std::malloc(largest_out));
    if (rank.in == nullptr || rank.out == nullptr) return "no memory for buffers; give this session more";
    rewrite(rank.in, largest_in);
    rewrite(rank.out, largest_out);
    return "";
  };
  for (const Contest& contest : contests) task.stages.push_back(stage_of(contest, exchange, rank, seconds));
  const RoundsResult result = measure_rounds(task, show);
  for (size_t at = 0; at < contests.size(); ++at)
    for (size_t i = 0; i < contests[at].entrants.size(); ++i) contests[at].entrants[i].timing = result.stages[at].of[i];
}

}  // namespace coll::tools
