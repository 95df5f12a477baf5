// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/choose/contest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/lockstep/lockstep.h"
#include "coll/coll.h"
#include "tools/calibrate/memory.h"
#include "tools/common/collective_call.h"
#include "tools/common/look_through.h"
#include "tools/common/now.h"
#include "tools/common/text.h"
#include "tune/rules.h"

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
  Forced(plan::Collective collective, const tune::Choice& choice) {
    set("COLL_TRANSPORT", choice.kernel_copies ? "cma" : "shm");
    set("COLL_TABLE", "none");
    if (choice.algorithm == nullptr) return;
    std::string name = fmt::format("COLL_{}", plan::name(collective));
    for (char& c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
    set(name, tune::setting_text(choice));
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

Stage stage_of(const Contest& contest, Exchange& exchange, Rank& rank, const Heat& heat) {
  Stage stage;
  stage.name = fmt::format("{} {}, {} ranks", plan::name(contest.collective), bytes_text(contest.bytes), contest.ranks);
  stage.seconds = heat.seconds;
  stage.least = heat.least;
  stage.most = 400;
  stage.begin = [&contest, &exchange, &rank](int self) -> std::string {
    for (const Entrant& entrant : contest.entrants) {
      const Forced forced(contest.collective, entrant.choice);
      const coll_bootstrap bootstrap = exchange.bootstrap();
      coll_comm* comm = nullptr;
      if (coll_comm_create(&bootstrap, &comm) != COLL_OK) return coll_last_error();
      rank.comms.push_back(comm);
      // Slots lie side by side for a while: until all have been used once, their pages are new. They come many at once.
      const CollectiveCall call = call_of(contest, rank, self);
      for (size_t calls = 2 + std::min(slots_bytes / std::max<size_t>(contest.bytes, 1024), size_t(256)); calls > 0;
           --calls)
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
    probe.name = tune::text(contest.entrants[i].choice);
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

std::string text(const model::Chosen& chosen) {
  return tune::text(tune::Choice{chosen.algorithm, chosen.parameters, false, chosen.kernel_copies});
}

int Contest::winner(bool with_latency) const {
  int best = -1;
  for (size_t i = 0; i < entrants.size(); ++i)
    if (const Entrant& of = entrants[i];
        of.to_the_end && of.timing.good() && (with_latency || of.choice.algorithm != nullptr))
      if (best < 0 || of.timing.us < entrants[size_t(best)].timing.us) best = int(i);
  return best;
}

std::vector<double> over_heats(const std::vector<std::vector<double>>& times) {
  const size_t entrants = times.empty() ? 0 : times.front().size();
  std::vector<double> made(entrants, 0);
  const auto heats_of = [&](size_t entrant) {
    return std::ranges::count_if(times, [&](const std::vector<double>& heat) { return heat[entrant] > 0; });
  };
  size_t known = 0;  // whom the others are compared with
  for (size_t i = 1; i < entrants; ++i)
    if (heats_of(i) > heats_of(known)) known = i;
  for (size_t i = 0; i < entrants; ++i) {
    double own = 0, ratio = 0, all = 0;
    int heats = 0, common = 0;
    for (const std::vector<double>& heat : times) {
      if (heat[known] > 0) all += std::log(heat[known]) / double(heats_of(known));
      if (heat[i] <= 0) continue;
      own += std::log(heat[i]), ++heats;
      if (heat[known] > 0) ratio += std::log(heat[i] / heat[known]), ++common;
    }
    if (common > 0) made[i] = std::exp(all + ratio / common);
    else if (heats > 0) made[i] = std::exp(own / heats);
  }
  return made;
}

namespace {

// Those of a contest that are in the next heat, and what the heats before made of them.
struct Going {
  std::vector<std::vector<double>> times;  // [heats][entrants]
  std::vector<size_t> in;

  void add(const Heat& heat, const StageResult& result, bool first_stays, std::vector<Entrant>& entrants) {
    for (size_t i = 0; i < entrants.size(); ++i) entrants[i].to_the_end = std::ranges::count(in, i) > 0;
    std::vector<double>& now = times.emplace_back(entrants.size(), 0.0);
    for (size_t i = 0; i < in.size(); ++i) {
      Timing& all = entrants[in[i]].timing;
      const Timing& of = result.of[i];
      now[in[i]] = of.good() ? of.us : 0;
      all.switched += of.switched, all.stray += of.stray, all.kept += of.kept;
      all.low_us = of.good() ? of.low_us / of.us : all.low_us;  // of the last one, relative
      all.high_us = of.good() ? of.high_us / of.us : all.high_us;
      if (!of.good()) all.problem = of.problem;
    }
    const std::vector<double> so_far = over_heats(times);
    double best = 0;
    for (size_t i : in)
      if (so_far[i] > 0 && (best == 0 || so_far[i] < best)) best = so_far[i];
    std::erase_if(in, [&](size_t i) {
      if (i == 0 && first_stays) return false;
      return so_far[i] <= 0 || so_far[i] > heat.within * best;
    });
  }

  void tell(std::vector<Entrant>& entrants) const {
    const std::vector<double> us = over_heats(times);
    for (size_t i = 0; i < us.size(); ++i) {
      Timing& of = entrants[i].timing;
      of.us = us[i];
      of.low_us *= us[i], of.high_us *= us[i];
      if (us[i] > 0) of.problem.clear();
      else of.kept = 0;
    }
  }
};

// Buffers for the largest of all contests.
struct Buffers {
  size_t in = 64, out = 64;
  explicit Buffers(const std::vector<Contest>& contests) {
    for (const Contest& of : contests) {
      in = std::max(in, of.bytes * blocks(of.collective, plan::Buffer::send, of.ranks));
      out = std::max(out, of.bytes * blocks(of.collective, plan::Buffer::recv, of.ranks));
    }
  }
};

RoundsResult run_heat(const std::vector<Contest>& contests, const std::vector<int>& cpus, const Heat& heat,
                      double most_seconds, const std::function<void(double, const std::string&)>& show) {
  const Buffers buffers(contests);
  Exchange exchange(contests.front().ranks);
  Rank rank;
  RoundsTask task{.processes = contests.front().ranks, .cpus = cpus};
  task.most_seconds = most_seconds;
  task.begin = [&](int self) -> std::string {
    forget_wishes();
    exchange.begin(self);
    rank.in = static_cast<char*>(std::malloc(buffers.in));
    rank.out = static_cast<char*>(std::malloc(buffers.out));
    if (rank.in == nullptr || rank.out == nullptr) return "cannot allocate buffers; end other programs";
    rewrite(rank.in, buffers.in);
    rewrite(rank.out, buffers.out);
    return "";
  };
  for (const Contest& contest : contests) task.stages.push_back(stage_of(contest, exchange, rank, heat));
  return measure_rounds(task, show);
}

}  // namespace

void run_contests(std::vector<Contest>& contests, const std::vector<int>& cpus, const Rules& rules,
                  const std::function<void(double, const std::string&)>& show) {
  if (contests.empty()) return;
  std::vector<Going> going(contests.size());
  for (size_t at = 0; at < contests.size(); ++at)
    for (size_t i = 0; i < contests[at].entrants.size(); ++i) going[at].in.push_back(i);
  double all_seconds = 0, done_seconds = 0;
  for (const Heat& heat : rules.heats) all_seconds += heat.seconds;
  const double end = now() + rules.most_seconds;
  for (const Heat& heat : rules.heats) {
    std::vector<Contest> in_heat;
    for (size_t at = 0; at < contests.size(); ++at) {
      Contest& of = in_heat.emplace_back();
      of.collective = contests[at].collective;
      of.ranks = contests[at].ranks;
      of.bytes = contests[at].bytes;
      for (size_t i : going[at].in) of.entrants.push_back(contests[at].entrants[i]);
    }
    const RoundsResult result = run_heat(in_heat, cpus, heat, end - now(), [&](double share, const std::string& what) {
      show((done_seconds + share * heat.seconds) / all_seconds, what);
    });
    done_seconds += heat.seconds;
    for (size_t at = 0; at < contests.size(); ++at)
      going[at].add(heat, result.stages[at], rules.first_stays, contests[at].entrants);
  }
  for (size_t at = 0; at < contests.size(); ++at) going[at].tell(contests[at].entrants);
}

}  // namespace coll::tools
