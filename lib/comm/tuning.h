// SPDX-License-Identifier: BSD-3-Clause
// The state of a communicator for auto-tuning (tune/tuner.h): its cells, the lines by which ranks exchange times, and
// the results of earlier runs.
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

// The smallest size of calls that are timed; SIZE_MAX: none is timed. With COLL_TUNE=long, calls are timed if the
// built-in rules choose and staging is the fastest transport (`by_rules`), or if the table has times to compare with
// (`has_times`).
size_t tuned_min_bytes(Tune level, bool by_rules, bool has_times);

class Tuning {
 public:
  // `base`: address of the segment.
  Tuning(int rank, int ranks, const SegmentLayout& layout, char* base, bool oversubscribed, Tune level,
         tune::PricedCandidates priced, std::shared_ptr<const tune::LearnedBook> learned);

  // Whether all calls are tuned between all candidates; otherwise only long calls between the candidates of one rule.
  bool is_on() const { return level_ == Tune::on; }

  tune::Tuner& tuner() { return tuner_; }
  const tune::Tuner& tuner() const { return tuner_; }
  tune::PricedCandidates& priced() { return priced_; }
  std::optional<tune::Choice> learned_earlier(const tune::Situation& situation) const {
    return learned_ == nullptr ? std::nullopt : learned_->find(situation);
  }

  // The current exchange of a channel, which begins with publish(). Another one begins after take().
  void publish(int channel, const tune::Notes& notes);
  bool is_published(int channel) const { return channels_[size_t(channel)].published; }
  uint64_t number(int channel) const { return channels_[size_t(channel)].number + 1; }
  const tune::TimesLine& line(int channel, int rank) const;
  // Returns a rank that has not published its line; -1: all have. REQUIRES: is_published().
  int missing(int channel);
  // Ends the exchange and returns the notes of all ranks, valid until the next take(). REQUIRES: missing() < 0.
  std::span<const tune::Notes> collect(int channel);

 private:
  struct Channel {
    uint64_t number = 0;  // of the last completed exchange
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

// Called by rank 0: returns the text of COLL_TUNE_FILE; "" without a file or unless COLL_TUNE=on. An error becomes a
// line of `settings.remarks`.
std::string read_learned(Settings& settings);

// Parses the text that rank 0 read from COLL_TUNE_FILE, for a machine with this processor; cached while the text is the
// same. Returns null and adds the reason to `settings.remarks` if the text is ignored. Thread-safe.
std::shared_ptr<const tune::LearnedBook> learned_of(std::string_view text, Settings& settings,
                                                    std::string_view processor);

}  // namespace coll::comm
