// SPDX-License-Identifier: BSD-3-Clause
#include "sim/simulate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>

#include "plan/check.h"
#include "plan/layout.h"
#include "plan/machine.h"
#include "plan/schedule.h"
#include "sim/flags.h"
#include "sim/network.h"
#include "sim/routes.h"

namespace coll::sim {

using plan::Extent;
using plan::Kind;
using plan::LaneState;
using plan::Step;
using plan::Stop;

namespace {

// Transfers shorter than this end before the shares of other flows change.
constexpr double short_bytes = 4096;

class World {
 public:
  World(const plan::Layout& layout, const topo::Hierarchy& hierarchy, const model::Table& table, const Options& options,
        Result& run)
      : options_(options),
        run_(run),
        layout_(layout),
        table_(table),
        step_us_(table.step_ns / 1000),
        machine_(layout),
        flags_(machine_, hierarchy, table),
        network_(gamma_of(table, options), layout.plan().ranks, ranks_per_socket(hierarchy)),
        routes_(layout, hierarchy, table, options, network_),
        processors_(size_t(layout.plan().ranks)),
        moving_(machine_.lanes().size()) {
    machine_.reset();
    plan::Random random(options.seed);
    for (size_t rank = 0; rank < processors_.size(); ++rank) {
      const double arrival = options.skew_us * double(random.next() >> 11) / double(uint64_t(1) << 53);
      run_.ranks.push_back({.arrival_us = arrival, .end_us = arrival});
      processors_[rank].clock = arrival;
      run_.first_lane.push_back(machine_.first_lane(int(rank)));
      for (uint32_t l = 0; l < machine_.lanes_of(int(rank)); ++l)
        at(arrival, Event::ready, machine_.first_lane(int(rank)) + l);
    }
    run_.first_lane.push_back(uint32_t(machine_.lanes().size()));
  }

  void go() {
    for (;;) {
      const double ends = network_.next_end();
      if (events_.empty() && std::isinf(ends)) break;
      if (std::min(ends, events_.empty() ? ends : events_.top().time) > options_.limit_us) {
        run_.end_us = std::numeric_limits<double>::infinity();
        return;
      }
      if (events_.empty() || ends < events_.top().time) {
        now_ = ends;
        for (uint32_t lane; network_.take_ended(now_, lane);) moved(lane);
        continue;
      }
      const Event event = events_.top();
      now_ = event.time;
      events_.pop();
      switch (event.what) {
        case Event::ready: ready(event.lane); break;
        case Event::start: start(event.lane); break;
        case Event::end_short:
          network_.end_short(moving_[event.lane].transfer.route);
          moved(event.lane);
          break;
      }
    }
    run_.steps = machine_.steps();
    run_.most_locking = network_.most_present();
    for (RankTime& rank : run_.ranks) {
      run_.end_us = std::max(run_.end_us, rank.end_us);
      rank.waiting_us = std::max(0.0, rank.end_us - rank.arrival_us - rank.copying_us - rank.reducing_us);
    }
    for (const LaneState& lane : machine_.lanes())
      if (!lane.ended()) run_.problem = "deadlock: rank " + std::to_string(lane.rank) + " does not end";
  }

  // ---- Observer of plan::Machine: the cost of the present step ----------------------------------------------------
  bool publish(const LaneState&, const Step&) { return acts_ = true; }
  bool owns(const LaneState& lane, const Step& step, bool& runs) {
    runs = routes_.direct(layout_.plan().views[step.view], lane.rank) == (step.when == plan::When::direct);
    return true;
  }
  bool post(const LaneState& lane, const Step&, uint32_t flag, int64_t value) {
    acts_ = true;
    const double now = processors_[lane.rank].clock;
    flags_.post(flag, value, now);
    if (options_.record) {
      box(lane, Kind::post, now, now, 0);
      posts_[{flag, value}] = lane.id;
    }
    return true;
  }
  bool met(const LaneState& lane, const Step&, uint32_t flag, int64_t value) {
    acts_ = true;
    const double clock = processors_[lane.rank].clock;
    const Flags::Seen seen = flags_.see(lane, flag, value, clock);
    wait_until_ = seen.at;
    if (options_.record && seen.at > clock) note_wait(lane, flag, value, seen);
    return true;
  }
  bool transfer(const LaneState& lane, const Step& step, const Extent& extent) {
    Moving& of = moving_[lane.id];
    of.transfer = routes_.transfer(lane, step, extent);
    of.kind = step.kind;
    of.step = lane.at;
    of.index = lane.index;
    acts_ = moves_ = of.transfer.bytes > 0;
    return true;
  }

 private:
  struct Event {
    enum What : uint8_t { ready, start, end_short };
    double time;
    uint64_t order;  // among events at the same time
    What what;
    uint32_t lane;
    bool operator>(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  struct Processor {
    double clock = 0;
    bool busy = false;
    std::deque<uint32_t> ready;
  };
  // The copy or reduction that a lane executes.
  struct Moving {
    Transfer transfer;
    Kind kind = Kind::copy;
    uint32_t step = 0, index = 0;
    double begun = 0;
    bool ended = false;               // ended, but held back: the lane that fetches the same bytes has not ended
    std::vector<uint32_t> followers;  // lanes on the same L3 that may not end before this one
    uint64_t behind = 0;              // the lane that this one follows, + 1; 0: none
  };
  struct Fetch {
    uint32_t lane = 0;
    bool done = false;
  };
  struct FetchedHash {
    size_t operator()(const Transfer::Fetched& of) const {
      uint64_t hash = of.cell * 0x9e3779b97f4a7c15u;
      hash = (hash ^ (hash >> 32) ^ (uint64_t(of.pass) << 16) ^ uint64_t(of.l3)) * 0xbf58476d1ce4e5b9u;
      return hash ^ (hash >> 29) ^ of.length;
    }
  };

  static model::Gamma gamma_of(const model::Table& table, const Options& options) {
    return table.of(options.kernel).gamma;
  }
  static int ranks_per_socket(const topo::Hierarchy& hierarchy) {
    std::unordered_map<int, int> ranks;
    int most = 1;
    for (const topo::Place& place : hierarchy.places()) most = std::max(most, ++ranks[place.package]);
    return most;
  }

  void at(double time, Event::What what, uint32_t lane) { events_.push({time, order_++, what, lane}); }

  void ready(uint32_t lane) {
    const uint16_t rank = machine_.lanes()[lane].rank;
    processors_[rank].ready.push_back(lane);
    if (!processors_[rank].busy) work(rank);
  }

  // Takes steps of the rank's lanes until all of them wait or one moves bytes.
  void work(uint16_t rank) {
    Processor& processor = processors_[rank];
    processor.clock = std::max(processor.clock, now_);
    while (!processor.ready.empty()) {
      LaneState& lane = machine_.lanes()[processor.ready.front()];
      processor.ready.pop_front();
      const bool moves = advance(lane, processor);
      wake();
      if (moves) return;
    }
  }

  // Returns true if the lane has begun to move bytes; the processor is then busy until the transfer ends.
  bool advance(LaneState& lane, Processor& processor) {
    for (;;) {
      acts_ = moves_ = false;
      wait_until_ = 0;
      const Stop stop = machine_.run_step(lane, *this);
      // Loops, skipped steps and waits without effect are too short to count.
      if (acts_) processor.clock += step_us_;
      if (stop == Stop::blocked) return false;
      if (moves_) {
        Moving& of = moving_[lane.id];
        of.begun = processor.clock;
        processor.busy = true;
        share_fetch(lane);
        at(processor.clock + of.transfer.startup_us, Event::start, lane.id);
        return true;
      }
      // Reading a flag that is already posted keeps the processor busy; no other lane could use that time.
      if (wait_until_ > processor.clock) {
        if (wait_until_ <= processor.clock + table_.look_ns / 1000) {
          processor.clock = wait_until_;
        } else {
          at(wait_until_, Event::ready, lane.id);
          return false;
        }
      }
      if (stop == Stop::ended) {
        run_.ranks[lane.rank].end_us = std::max(run_.ranks[lane.rank].end_us, processor.clock);
        return false;
      }
    }
  }

  // Queues the lanes that a post has woken.
  void wake() {
    while (!machine_.woken().empty()) {
      const std::vector<uint32_t> woken = std::move(machine_.woken());
      machine_.woken().clear();
      for (uint32_t lane : woken) at(now_, Event::ready, lane);
    }
  }

  // A lane that reads bytes which another rank on its L3 has read or is reading gets them from there, but not before
  // the other rank.
  void share_fetch(const LaneState& lane) {
    Moving& of = moving_[lane.id];
    of.behind = 0;
    if (of.transfer.fetched.l3 < 0) return;
    const auto [found, first] = fetches_.try_emplace(of.transfer.fetched, Fetch{lane.id, false});
    if (first) return;
    const Fetch& fetch = found->second;
    if (fetch.done && of.transfer.bytes > double(table_.fingerprint.l3_bytes)) return;
    routes_.fetch_below(of.transfer, lane.rank);
    if (fetch.done) return;
    of.behind = fetch.lane + 1;
    moving_[fetch.lane].followers.push_back(lane.id);
  }

  void start(uint32_t lane) {
    const Transfer& transfer = moving_[lane].transfer;
    if (transfer.bytes < short_bytes && !transfer.kernel)
      at(now_ + network_.start_short(transfer.bytes, transfer.route), Event::end_short, lane);
    else network_.start(now_, lane, transfer.bytes, transfer.route);
  }

  void moved(uint32_t id) {
    Moving& of = moving_[id];
    if (of.behind != 0) {  // the lane that fetches the bytes has not ended
      of.ended = true;
      return;
    }
    if (auto found = fetches_.find(of.transfer.fetched); found != fetches_.end() && found->second.lane == id)
      found->second.done = true;
    const std::vector<uint32_t> followers = std::exchange(of.followers, {});
    finish(id);  // this may begin the lane's next transfer
    for (uint32_t follower : followers) {
      moving_[follower].behind = 0;
      if (std::exchange(moving_[follower].ended, false)) finish(follower);
    }
  }

  void finish(uint32_t id) {
    LaneState& lane = machine_.lanes()[id];
    const Moving& of = moving_[id];
    Processor& processor = processors_[lane.rank];
    RankTime& time = run_.ranks[lane.rank];
    (of.kind == Kind::copy ? time.copying_us : time.reducing_us) += now_ - of.begun;
    if (options_.record) {
      LaneState was = lane;
      was.at = of.step;
      was.index = of.index;
      box(was, of.kind, of.begun, now_, of.transfer.bytes);
    }
    processor.busy = false;
    processor.clock = now_;
    if (lane.ended()) time.end_us = std::max(time.end_us, now_);
    else processor.ready.push_front(id);
    work(lane.rank);
  }

  void box(const LaneState& lane, Kind kind, double begin, double end, double bytes) {
    run_.boxes.push_back({lane.id, lane.at, lane.index, lane.rank, kind, begin, end, bytes});
  }
  void note_wait(const LaneState& lane, uint32_t flag, int64_t value, const Flags::Seen& seen) {
    box(lane, Kind::wait, std::max(seen.posted, processors_[lane.rank].clock), seen.at, 0);
    const auto post = posts_.lower_bound({flag, value});
    if (post != posts_.end() && post->first.first == flag)
      run_.arrows.push_back({post->second, lane.id, seen.posted, seen.at});
  }

  const Options& options_;
  Result& run_;
  const plan::Layout& layout_;
  const model::Table& table_;
  const double step_us_;
  plan::Machine machine_;
  Flags flags_;
  Network network_;
  Routes routes_;
  std::vector<Processor> processors_;
  std::vector<Moving> moving_;  // by lane
  std::unordered_map<Transfer::Fetched, Fetch, FetchedHash> fetches_;
  std::map<std::pair<uint32_t, int64_t>, uint32_t> posts_;  // (flag, value) -> lane, while recording
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t order_ = 0;
  double now_ = 0;
  // The properties of the last step, which the observer's functions set.
  bool acts_ = false, moves_ = false;
  double wait_until_ = 0;
};

std::string missing(const model::Table& table, const Options& options) {
  const model::Mechanism needed = options.access == plan::AccessMode::remote   ? options.kernel
                                  : options.access == plan::AccessMode::direct ? model::Mechanism::mapped
                                                                               : model::Mechanism::shared_memory;
  if (table.of(needed).available) return "";
  return "machine '" + table.name + "' has no transport '" + model::name(needed) + "'";
}

}  // namespace

Result simulate(const plan::Plan& plan, const plan::Shape& shape, size_t element_bytes,
                const topo::Hierarchy& hierarchy, const model::Table& table, const Options& options) {
  Result run;
  run.problem = element_bytes == 0                ? "elements of 0 bytes"
                : hierarchy.ranks() != plan.ranks ? "a hierarchy of other ranks than the plan's"
                                                  : plan::check_form(plan);
  if (run.problem.empty()) run.problem = missing(table, options);
  if (!run.problem.empty()) return run;
  const plan::Layout layout(plan, shape, element_bytes, options.in_place);
  World world(layout, hierarchy, table, options, run);
  world.go();
  return run;
}

}  // namespace coll::sim
