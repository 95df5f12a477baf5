// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/choose/comparison.h"

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

// The bootstrap allgather of the communicators, over memory that the processes share.
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

// State of one rank while comparisons run. It is constructed before the fork and used after it.
struct Rank {
  std::vector<coll_comm*> comms;  // one for each candidate of the current comparison
  char *in = nullptr, *out = nullptr;
};

// While an object of this class exists, new communicators use the given algorithm and transport.
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

// Removes the user's COLL_ settings, which would change the algorithms that are timed.
void clear_user_settings() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::strncmp(*variable, "COLL_", 5) == 0) names.emplace_back(*variable, std::strcspn(*variable, "="));
  for (const std::string& name : names) unsetenv(name.c_str());
  setenv("COLL_CONFIG", "none", 1);
}

constexpr coll_datatype element = COLL_FLOAT;
constexpr size_t element_bytes = sizeof(float);

constexpr size_t slots_bytes = size_t(2) << 20;

CollectiveCall call_of(const Comparison& comparison, const Rank& rank, int self) {
  char* out = comparison.collective == plan::Collective::bcast && self == 0 ? rank.in : rank.out;
  return {comparison.collective, rank.in, out, comparison.bytes / element_bytes, element, COLL_SUM, 0};
}

Stage stage_of(const Comparison& comparison, Exchange& exchange, Rank& rank, const Phase& phase) {
  Stage stage;
  stage.name =
      fmt::format("{} {}, {} ranks", plan::name(comparison.collective), bytes_text(comparison.bytes), comparison.ranks);
  stage.seconds = phase.seconds;
  stage.least = phase.least;
  stage.most = 400;
  stage.begin = [&comparison, &exchange, &rank](int self) -> std::string {
    for (const Candidate& candidate : comparison.candidates) {
      const Forced forced(comparison.collective, candidate.choice);
      const coll_bootstrap bootstrap = exchange.bootstrap();
      coll_comm* comm = nullptr;
      if (coll_comm_create(&bootstrap, &comm) != COLL_OK) return coll_last_error();
      rank.comms.push_back(comm);
      // The first calls touch new pages of the staging slots. They run back to back before anything is timed.
      const CollectiveCall call = call_of(comparison, rank, self);
      for (size_t calls = 2 + std::min(slots_bytes / std::max<size_t>(comparison.bytes, 1024), size_t(256)); calls > 0;
           --calls)
        if (perform(call, comm) != COLL_OK) return coll_last_error();
    }
    return "";
  };
  stage.end = [&rank](int) {
    for (coll_comm* comm : rank.comms) coll_comm_free(comm);
    rank.comms.clear();
  };
  for (size_t i = 0; i < comparison.candidates.size(); ++i) {
    Probe probe;
    probe.name = tune::text(comparison.candidates[i].choice);
    const bool has_input = comparison.collective != plan::Collective::barrier;
    const size_t input = comparison.bytes * blocks(comparison.collective, plan::Buffer::send, comparison.ranks);
    const size_t output = comparison.bytes * blocks(comparison.collective, plan::Buffer::recv, comparison.ranks);
    probe.prepare = [=, &rank](int) {
      if (has_input) rewrite(rank.in, input);
      return std::string();
    };
    probe.timed = [=, &comparison, &rank](int self) {
      return perform(call_of(comparison, rank, self), rank.comms[i]) == COLL_OK ? std::string()
                                                                                : std::string(coll_last_error());
    };
    // An algorithm pays for the caches in which it leaves the result.
    probe.use = [=, collective = comparison.collective, &rank](int self) {
      if (has_result(collective, self, 0)) look_through(rank.out, output);
    };
    stage.probes.push_back(std::move(probe));
  }
  return stage;
}

}  // namespace

std::string text(const model::Chosen& chosen) {
  return tune::text(tune::Choice{chosen.algorithm, chosen.parameters, false, chosen.kernel_copies});
}

int Comparison::winner(bool with_latency) const {
  int best = -1;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& of = candidates[i];
    if (!of.timing.good() || (!with_latency && of.choice.algorithm == nullptr)) continue;
    const auto place = [](const Candidate& one) { return std::pair(!one.in_every_phase, one.timing.used_us); };
    if (best < 0 || place(of) < place(candidates[size_t(best)])) best = int(i);
  }
  return best;
}

const Candidate* Comparison::first(bool latency) const {
  const auto found = std::ranges::find_if(
      candidates, [=](const Candidate& of) { return (of.choice.algorithm == nullptr) == latency; });
  return found == candidates.end() ? nullptr : &*found;
}

std::vector<double> combine_phases(const std::vector<std::vector<double>>& times) {
  const size_t candidates = times.empty() ? 0 : times.front().size();
  std::vector<double> made(candidates, 0);
  const auto phases_of = [&](size_t candidate) {
    return std::ranges::count_if(times, [&](const std::vector<double>& phase) { return phase[candidate] > 0; });
  };
  size_t known = 0;  // the reference: the candidate with the most phases
  for (size_t i = 1; i < candidates; ++i)
    if (phases_of(i) > phases_of(known)) known = i;
  for (size_t i = 0; i < candidates; ++i) {
    double own = 0, ratio = 0, all = 0;
    int phases = 0, common = 0;
    for (const std::vector<double>& phase : times) {
      if (phase[known] > 0) all += std::log(phase[known]) / double(phases_of(known));
      if (phase[i] <= 0) continue;
      own += std::log(phase[i]), ++phases;
      if (phase[known] > 0) ratio += std::log(phase[i] / phase[known]), ++common;
    }
    if (common > 0) made[i] = std::exp(all + ratio / common);
    else if (phases > 0) made[i] = std::exp(own / phases);
  }
  return made;
}

namespace {

// The candidates that are left in a comparison, and their times, including the use of the results, in the phases so far.
struct Remaining {
  std::vector<std::vector<double>> times;  // [phases][candidates]
  std::vector<size_t> in;

  void add(const Phase& phase, const StageResult& result, bool first_stays, std::vector<Candidate>& candidates) {
    for (size_t i = 0; i < candidates.size(); ++i) candidates[i].in_every_phase = std::ranges::count(in, i) > 0;
    std::vector<double>& now = times.emplace_back(candidates.size(), 0.0);
    for (size_t i = 0; i < in.size(); ++i) {
      Timing& all = candidates[in[i]].timing;
      const Timing& of = result.of[i];
      now[in[i]] = of.good() ? of.used_us : 0;
      all.switched += of.switched, all.stray += of.stray, all.kept += of.kept;
      if (of.good()) {  // of the last phase, relative to its time with the use of the result
        all.us = of.us / of.used_us;
        all.low_us = of.low_us / of.used_us;
        all.high_us = of.high_us / of.used_us;
      } else {
        all.problem = of.problem;
      }
    }
    const std::vector<double> so_far = combine_phases(times);
    double best = 0;
    for (size_t i : in)
      if (so_far[i] > 0 && (best == 0 || so_far[i] < best)) best = so_far[i];
    std::erase_if(in, [&](size_t i) {
      if (i == 0 && first_stays) return false;
      return so_far[i] <= 0 || so_far[i] > phase.within * best;
    });
  }

  void store_times(std::vector<Candidate>& candidates) const {
    const std::vector<double> used_us = combine_phases(times);
    for (size_t i = 0; i < used_us.size(); ++i) {
      Timing& of = candidates[i].timing;
      of.used_us = used_us[i];
      of.us *= used_us[i], of.low_us *= used_us[i], of.high_us *= used_us[i];
      if (used_us[i] > 0) of.problem.clear();
      else of.kept = 0;
    }
  }
};

// Sizes of the buffers that serve all comparisons.
struct Buffers {
  size_t in = 64, out = 64;
  explicit Buffers(const std::vector<Comparison>& comparisons) {
    for (const Comparison& of : comparisons) {
      in = std::max(in, of.bytes * blocks(of.collective, plan::Buffer::send, of.ranks));
      out = std::max(out, of.bytes * blocks(of.collective, plan::Buffer::recv, of.ranks));
    }
  }
};

RoundsResult run_phase(const std::vector<Comparison>& comparisons, const std::vector<int>& cpus, const Phase& phase,
                       double most_seconds, const std::function<void(double, const std::string&)>& show) {
  const Buffers buffers(comparisons);
  Exchange exchange(comparisons.front().ranks);
  Rank rank;
  RoundsTask task{.processes = comparisons.front().ranks, .cpus = cpus};
  task.most_seconds = most_seconds;
  task.begin = [&](int self) -> std::string {
    clear_user_settings();
    exchange.begin(self);
    rank.in = static_cast<char*>(std::malloc(buffers.in));
    rank.out = static_cast<char*>(std::malloc(buffers.out));
    if (rank.in == nullptr || rank.out == nullptr) return "cannot allocate buffers; end other programs";
    rewrite(rank.in, buffers.in);
    rewrite(rank.out, buffers.out);
    return "";
  };
  for (const Comparison& comparison : comparisons) task.stages.push_back(stage_of(comparison, exchange, rank, phase));
  return measure_rounds(task, show);
}

}  // namespace

void run_comparisons(std::vector<Comparison>& comparisons, const std::vector<int>& cpus, const Rules& rules,
                     const std::function<void(double, const std::string&)>& show) {
  if (comparisons.empty()) return;
  std::vector<Remaining> remaining(comparisons.size());
  for (size_t at = 0; at < comparisons.size(); ++at)
    for (size_t i = 0; i < comparisons[at].candidates.size(); ++i) remaining[at].in.push_back(i);
  double all_seconds = 0, done_seconds = 0;
  for (const Phase& phase : rules.phases) all_seconds += phase.seconds;
  const double end = now() + rules.most_seconds;
  for (const Phase& phase : rules.phases) {
    std::vector<Comparison> in_phase;
    for (size_t at = 0; at < comparisons.size(); ++at) {
      Comparison& of = in_phase.emplace_back();
      of.collective = comparisons[at].collective;
      of.ranks = comparisons[at].ranks;
      of.bytes = comparisons[at].bytes;
      for (size_t i : remaining[at].in) of.candidates.push_back(comparisons[at].candidates[i]);
    }
    const RoundsResult result =
        run_phase(in_phase, cpus, phase, end - now(), [&](double share, const std::string& what) {
          show((done_seconds + share * phase.seconds) / all_seconds, what);
        });
    done_seconds += phase.seconds;
    for (size_t at = 0; at < comparisons.size(); ++at)
      remaining[at].add(phase, result.stages[at], rules.first_stays, comparisons[at].candidates);
  }
  for (size_t at = 0; at < comparisons.size(); ++at) remaining[at].store_times(comparisons[at].candidates);
}

}  // namespace coll::tools
