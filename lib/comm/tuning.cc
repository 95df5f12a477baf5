// SPDX-License-Identifier: BSD-3-Clause
#include "comm/tuning.h"

#include <mutex>

namespace coll::comm {

size_t tuned_min_bytes(Tune level, bool by_rules, bool has_times) {
  if (level == Tune::on || (level == Tune::long_calls && has_times)) return tune::tuned_min_bytes;
  return level == Tune::long_calls && by_rules ? tune::long_tuned_min_bytes : SIZE_MAX;
}

// In an exchange a rank reads one line of each peer. Oversubscribed ranks must all be scheduled once, so that an
// exchange costs as much as a call (-1).
Tuning::Tuning(int rank, int ranks, const SegmentLayout& layout, char* base, bool oversubscribed, Tune level,
               tune::PricedCandidates priced, std::shared_ptr<const tune::LearnedBook> learned)
    : rank_(rank),
      level_(level),
      all_(size_t(ranks)),
      tuner_(oversubscribed ? -1 : 0.5 + 0.1 * ranks),
      priced_(std::move(priced)),
      learned_(std::move(learned)) {
  for (int c = 0; c < channel_count; c++)
    lines_[size_t(c)] = reinterpret_cast<tune::TimesLine*>(base + layout.times(c));
}

const tune::TimesLine& Tuning::line(int channel, int rank) const {
  return lines_[size_t(channel)][number(channel) % tune::lines_in_turn * all_.size() + size_t(rank)];
}

void Tuning::publish(int channel, const tune::Notes& notes) {
  auto& own = const_cast<tune::TimesLine&>(line(channel, rank_));
  own.notes = notes;
  own.number.store(number(channel), std::memory_order_release);
  channels_[size_t(channel)].published = true;
}

int Tuning::missing(int channel) {
  Channel& at = channels_[size_t(channel)];
  const int ranks = int(all_.size());
  while (at.present < ranks && line(channel, at.present).number.load(std::memory_order_acquire) >= number(channel))
    at.present++;
  return at.present < ranks ? at.present : -1;
}

std::span<const tune::Notes> Tuning::collect(int channel) {
  for (size_t r = 0; r < all_.size(); r++) all_[r] = line(channel, int(r)).notes;
  Channel& at = channels_[size_t(channel)];
  at = {.number = at.number + 1};
  return all_;
}

std::string read_learned(Settings& settings) {
  std::string text;
  if (settings.tune_file.empty() || settings.tune != Tune::on) return text;
  if (const topo::Status status = tune::read_learned_file(settings.tune_file, text); !status.ok())
    settings.remarks += "libcoll: " + status.text() + "\n";
  return text;
}

std::shared_ptr<const tune::LearnedBook> learned_of(std::string_view text, Settings& settings,
                                                    std::string_view processor) {
  static std::mutex mutex;
  static std::string known, why;
  static std::shared_ptr<const tune::LearnedBook> kept;
  const std::string now = std::string(processor) + '\n' + std::string(text);
  const std::lock_guard lock(mutex);
  if (known != now) {
    auto read = std::make_shared<tune::LearnedBook>();
    const topo::Status status = read->read(text, settings.tune_file, processor);
    kept = status.ok() ? std::move(read) : nullptr;
    why = status.text();
    known = now;
  }
  if (!why.empty()) settings.remarks += "libcoll: " + why + "\n";
  return kept;
}

}  // namespace coll::comm
