// SPDX-License-Identifier: BSD-3-Clause
// Auto-tuned calls: runs the candidate that tune/tuner.h has chosen, times it, exchanges the times, and reports the
// results. All decisions are made by tune/tuner.h.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "comm/comm.h"
#include "comm/long_buffers.h"
#include "comm/stats.h"
#include "comm/tuning.h"
#include "exec/latency_reductions.h"
#include "sync/clock.h"

namespace coll::comm {

using plan::Collective;
using tune::Cell;

namespace {

// Loads one byte of every cache line of the end of the result, up to the size of the L2. So the time includes fetching
// lines that are still modified in another core's cache; earlier parts of a longer result have been evicted from there.
void look_at_end(std::span<const char> result, size_t cache_bytes) {
  const std::span<const char> memory = result.last(std::min(result.size(), cache_bytes));
  const volatile char* line = memory.data();
  for (size_t at = 0; at < memory.size(); at += sync::line_bytes) (void)line[at];
}

// The number of involuntary context switches of this thread.
long switches() {
  rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

// The calls until the staging window has been used once, at most `most`, which limits the cost of a trial.
uint32_t warm_calls(const Call& call, int ranks, size_t most) {
  constexpr size_t window_bytes = size_t(2) << 20;
  const bool has_blocks =
      plan::has_blocks(call.collective, plan::Buffer::send) || plan::has_blocks(call.collective, plan::Buffer::recv);
  return uint32_t(std::min(1 + window_bytes / (call.bytes() * (has_blocks ? size_t(ranks) : 1)), most));
}

bool sixteen_bits(const Call& call) { return call.element_bytes == 2 && plan::is_reduction(call.collective); }

}  // namespace

Cell& Comm::cell_of(const Call& call, bool request) {
  return tuning_->tuner().cell(call.collective, call.bytes(), sixteen_bits(call), request);
}

// ---- blocking calls --------------------------------------------------------------------------------------------

coll_status Comm::perform_tuned(const Call& call) {
  Cell& cell = cell_of(call, false);
  if (!cell.rests()) [[unlikely]]
    return perform_in_trial(call, cell);
  const BoundEntry* entry;
  const coll_status status = entry_of(call, cell, cell.now(), entry);
  return status == COLL_OK ? perform_with(call, entry) : status;
}

coll_status Comm::entry_of(const Call& call, const Cell& cell, uint8_t candidate, const BoundEntry*& entry) {
  entry = nullptr;
  if (candidate != 0 && cell.candidates()[candidate].choice.algorithm == nullptr) {
    took_latency_path_ = may_take_latency_path(call);
    if (took_latency_path_) return COLL_OK;
    candidate = 0;
  }
  took_latency_path_ = candidate == 0 && takes_latency_path(call);
  if (took_latency_path_) return COLL_OK;
  const coll_status status = bound_for(call, 0, candidate, entry);
  if (status == COLL_OK && settings_.huge_pages) use_long_buffers(call, rank(), ranks());
  return status;
}

coll_status Comm::perform_with(const Call& call, const BoundEntry* entry) {
  return entry == nullptr ? report(perform_short(call)) : run(*entry, call);
}

// The latency path may be a candidate beyond the size up to which it is the default.
bool Comm::may_take_latency_path(const Call& call) const {
  const size_t usual = latency_bytes_[size_t(call.collective)];
  const bool farther = !are_many() && usual != 0 && !is_traced_ &&
                       (ranks() <= exec::most_reduced_ranks || !plan::is_reduction(call.collective));
  const size_t shown = call.bytes() * plan::pieces_shown(call.collective, ranks());
  return shown <= (farther ? exec::Mailbox::payload_bytes : usual);
}

coll_status Comm::perform_in_trial(const Call& call, Cell& cell) {
  if (cell.awaits_times()) {
    const coll_status status = exchange_times(cell);
    if (status != COLL_OK) return report(status);
    learn(call, cell, 0);
  }
  if (!cell.has_begun()) begin(call, cell, false);
  const BoundEntry* entry;
  coll_status status;
  if (cell.rests()) {
    status = entry_of(call, cell, cell.now(), entry);
    return status == COLL_OK ? perform_with(call, entry) : status;
  }
  const Cell::Assignment turn = cell.assign(call.bytes());
  status = entry_of(call, cell, turn.candidate, entry);
  if (status != COLL_OK || turn.sample < 0) return status == COLL_OK ? perform_with(call, entry) : status;
  const long before = switches();
  const int64_t begin_ns = sync::now_ns();
  status = perform_with(call, entry);
  look_at_end(result_of(call, rank(), ranks()), machine_->l2.size_bytes);
  const int64_t end_ns = sync::now_ns();
  // If each rank has its own core, a call during which another thread ran there is a worse sample. An even end time
  // marks it, see tuner.cc.
  const bool disturbed = !team_.oversubscribed && switches() != before;
  cell.record(turn, begin_ns, disturbed ? end_ns & ~int64_t(1) : end_ns | 1);
  return status;
}

coll_status Comm::exchange_times(const Cell& cell) {
  tuning_->publish(0, cell.notes());
  team_.posted();
  for (int missing; (missing = tuning_->missing(0)) >= 0;) {
    const coll_status status = team_.wait(tuning_->line(0, missing).number, tuning_->number(0), missing);
    if (status != COLL_OK) return status;
  }
  return COLL_OK;
}

// ---- both ------------------------------------------------------------------------------------------------------

void Comm::begin(const Call& call, Cell& cell, bool request) {
  const tune::Situation situation = this->situation(call);
  const tune::Forced forced = this->forced(call.collective);
  const bool watched = selector_.knows_times(ranks());  // for warn_of_drift()
  const uint32_t rest = warm_calls(call, ranks(), 64);
  if (!tuning_->is_on()) {
    std::vector<tune::Choice> choices = tune::rule_candidates(selector_, situation, forced, takes_latency_path(call));
    if (watched || call.bytes() < tune::long_tuned_min_bytes) choices.resize(1);
    return cell.begin(std::move(choices), {},
                      {.watched = watched, .rest = rest, .warm = warm_calls(call, ranks(), 16)});
  }
  std::vector<tune::Choice> choices =
      tune::candidates(selector_, situation, forced, !request && takes_latency_path(call),
                       !request && may_take_latency_path(call), &tuning_->priced());
  size_t first = 0;
  std::optional<tune::Choice> earlier = forced.ranges.empty() ? tuning_->learned_earlier(situation) : std::nullopt;
  if (earlier.has_value()) {
    if (earlier->algorithm != nullptr) tune::complete(situation, *earlier);
    // The file may have been edited by hand, or written where kernel-assisted copies worked.
    const bool works = tune::keeps_bits(*earlier, situation) &&
                       (earlier->algorithm == nullptr ? !request && may_take_latency_path(call)
                                                      : !earlier->kernel_copies || situation.has_kernel_copies());
    const auto repeats = [&](const tune::Choice& known) { return tune::same(known, *earlier); };
    const auto known = std::ranges::find_if(choices, repeats);
    if (known != choices.end()) first = size_t(known - choices.begin());
    else if (works) first = 1, choices.insert(choices.begin() + 1, *earlier);
  }
  // If the user forces algorithms, the tuner tries only these.
  Cell::Variants variants;
  if (forced.ranges.empty())
    variants = [situation](const tune::Choice& winner) { return tune::neighbours(winner, situation); };
  cell.begin(std::move(choices), std::move(variants),
             {.first = first,
              .learned = earlier.has_value(),
              .watched = watched,
              .rest = rest,
              .warm = warm_calls(call, ranks(), 4)});
}

// REQUIRES: all ranks have published their lines of the channel's exchange.
void Comm::learn(const Call& call, Cell& cell, int channel) {
  const bool over = cell.learn(tuning_->collect(channel));
  if (!over) return;
  const tune::Choice& now = cell.candidates()[cell.now()].choice;
  const double us = cell.candidates()[cell.now()].us;
  if (stats::wanted())
    stats::tuned(plan::name(call.collective), cell.bytes(), ranks(), channel != 0, tune::rule_text(now), us,
                 tune::rule_text(cell.candidates()[0].choice), cell.usual_us());
  if (rank() != 0) return;
  if (settings_.log_decisions)
    fprintf(stderr, "libcoll: %s of %zu bytes on %d ranks: auto-tuned, %s, %.4g us; default %s, %.4g us\n",
            plan::name(call.collective), cell.bytes(), ranks(), tune::text(now).c_str(), us,
            tune::text(cell.candidates()[0].choice).c_str(), cell.usual_us());
  if (settings_.log && settings_.warns_of_drift) warn_of_drift(call, cell.bytes(), cell.usual_us());
}

// Warns once per collective if the measured times contradict the table in `enough` consecutive trials. One trial is not
// enough, because other load may disturb it.
void Comm::warn_of_drift(const Call& call, size_t bytes, double us) {
  constexpr double factor = 3;
  constexpr uint8_t enough = 3;
  uint8_t& trials = stale_trials_[size_t(call.collective)];
  if (trials == enough || us <= 0 || !selector_.knows_times(ranks())) return;
  tune::Situation situation = this->situation(call);
  situation.bytes = bytes;
  const double expected_us = selector_.select(situation, forced(call.collective)).expected_us;
  if (expected_us <= 0) return;
  const bool fits = us < factor * expected_us && expected_us < factor * us;
  trials = fits ? 0 : uint8_t(trials + 1);
  if (trials < enough) return;
  fprintf(stderr,
          "libcoll: %s of about %zu bytes takes %.3g times as long as the model table predicts (%.3g us); run `collctl "
          "calibrate` again, or set COLL_TUNE=off to silence this warning\n",
          plan::name(call.collective), bytes, us / expected_us, expected_us);
}

// Rank 0 saves the results of auto-tuning when the communicator is destroyed.
void Comm::keep_learned() const {
  if (rank() != 0 || tuning_ == nullptr || !tuning_->is_on() || settings_.tune_file.empty()) return;
  std::vector<tune::Learned> learned;
  for (const bool request : {true, false})  // blocking calls last: they replace the results of requests
    tuning_->tuner().visit([&](Collective collective, bool sixteen, bool of_request, const Cell& cell) {
      if (of_request != request || cell.trials() == 0 || cell.candidates().size() < 2) return;
      tune::Situation situation = this->situation({.collective = collective, .count = cell.bytes()});
      situation.element_bytes = sixteen ? 2 : 1;
      const tune::TimedChoice& now = cell.candidates()[cell.now()];
      learned.push_back({situation, now.choice, now.us, cell.usual_us()});
    });
  const std::string problem = tune::update_learned_file(settings_.tune_file, machine_->processor, learned);
  if (!problem.empty()) fprintf(stderr, "libcoll: COLL_TUNE_FILE: %s\n", problem.c_str());
}

// ---- non-blocking and persistent collectives -------------------------------------------------------------------

// The requests of a cell may be on several channels. The tuner serves them in the order in which they were started. A
// request before which the ranks must exchange times does so once it is at the head of its channel, and later requests
// of the cell wait for it.
Comm::Readiness Comm::prepare_tuned(Request& request, bool at_head) {
  Cell& cell = *request.cell_;
  const int channel = int(request.queue_) + 1;
  if (request.number_ != cell.taken) return Readiness::later;
  if (cell.awaits_times()) {
    if (!at_head) return Readiness::later;
    if (!tuning_->is_published(channel)) {
      tuning_->publish(channel, cell.notes());
      team_.posted();
    }
    if (tuning_->missing(channel) >= 0) return Readiness::later;
    learn(request.call_, cell, channel);
  }
  cell.taken++;
  bool rests = cell.rests();
  if (!rests && !cell.has_begun()) {
    begin(request.call_, cell, true);
    rests = cell.rests();
  }
  request.turn_ = rests ? Cell::Assignment{.candidate = cell.now()} : cell.assign(request.call_.bytes());
  const BoundEntry* entry;
  request.status_ = bound_for(request.call_, channel, request.turn_.candidate, entry);
  if (request.status_ != COLL_OK) return Readiness::failed;
  equip(request, request.bound_ = entry->bound);
  return Readiness::ready;
}

// Returns the rank whose times the request waits for; -1: it waits for another request of this rank.
int Comm::rank_of_awaited_times(const Request& request) {
  const int channel = int(request.queue_) + 1;
  return request.cell_ != nullptr && tuning_->is_published(channel) ? tuning_->missing(channel) : -1;
}

}  // namespace coll::comm
