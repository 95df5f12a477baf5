// SPDX-License-Identifier: BSD-3-Clause
// What a communicator has for auto-tuning (tune/tuner.h): its cells, the lines in which ranks exchange times, and what an
// earlier run has learned.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/segment_layout.h"
#include "comm/settings.h"
#include "tune/tuner.h"
#include "tune/tuner_candidates.h"
#include "tune/tuner_file.h"

namespace coll::comm {

// The size from which calls are timed; SIZE_MAX: none is. With `long` these are calls of the built-in rules where staging is
// the fastest transport (`by_rules`), and where a table has times (`has_times`), with which calls are compared.
size_t tuned_min_bytes(Tune level, bool by_rules, bool has_times);

class Tuning {
 public:
  // `base`: of the segment. `oversubscribed`: ranks share cores.
  Tuning(int rank, int ranks, const SegmentLayout& layout, char* base, bool oversubscribed, Tune level,
         tune::PricedCandidates priced, std::shared_ptr<const tune::LearnedBook> learned);

  // Of all calls, with every candidate; else with those of one rule.
  bool is_on() const { return level_ == Tune::on; }

  tune::Tuner& tuner() { return tuner_; }
  const tune::Tuner& tuner() const { return tuner_; }
  tune::PricedCandidates& priced() { return priced_; }
  std::optional<tune::Choice> learned_earlier(const tune::Situation& situation) const {
    return learned_ == nullptr ? std::nullopt : learned_->find(situation);
  }

  // The exchange that a channel is at, which begins with the first of these.
  void publish(int channel, const tune::Notes& notes);
  bool is_published(int channel) const { return channels_[size_t(channel)].published; }
  uint64_t number(int channel) const { return channels_[size_t(channel)].number + 1; }
  const tune::TimesLine& line(int channel, int rank) const;
  // Whose line is missing; -1: none. REQUIRES: published.
  int missing(int channel);
  // The notes of all ranks, and the exchange is over. REQUIRES: none is missing.
  std::span<const tune::Notes> take(int channel);

 private:
  struct Channel {
    uint64_t number = 0;  // of the last exchange that is over
    bool published = false;
    int present = 0;  // ranks below it have published
  };
  int rank_;
  Tune level_;
  std::vector<tune::Notes> all_;
  std::array<Channel, channel_count> channels_{};
  std::array<tune::TimesLine*, channel_count> lines_;  // [tune::lines_in_turn][ranks] of each channel
  tune::Tuner tuner_;
  tune::PricedCandidates priced_;
  std::shared_ptr<const tune::LearnedBook> learned_;
};

// The text of COLL_TUNE_FILE, for rank 0; "" unless COLL_TUNE=on, and without a file. What is wrong becomes a remark.
std::string read_learned(Settings& settings);

// What rank 0 read from COLL_TUNE_FILE, for a machine with this processor; kept as long as the text is the same. Null if it
// is ignored; then the remarks get a line that says why. Thread-safe.
std::shared_ptr<const tune::LearnedBook> learned_of(std::string_view text, Settings& settings,
                                                    std::string_view processor);

}  // namespace coll::comm
