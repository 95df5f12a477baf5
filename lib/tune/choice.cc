// SPDX-License-Identifier: BSD-3-Clause
#include "tune/choice.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "model/workset.h"
#include "plan/geometry.h"

namespace coll::tune {

void complete(const Situation& situation, Choice& choice) {
  algo::Parameters& parameters = choice.parameters;
  if (situation.ranks > topo::small_group && !situation.irregular) {
    const size_t enough = std::max(std::bit_ceil(situation.bytes), plan::cache_line_bytes);
    // One iteration needs one slot, if slots for a block of each rank certainly have room.
    constexpr size_t certain_room = size_t(1) << 20;
    if (parameters.chunk_bytes >= enough && enough * size_t(situation.ranks) <= certain_room) parameters.depth = 1;
    if (parameters.chunk_bytes > enough) parameters.chunk_bytes = uint32_t(enough);
    for (uint32_t& chunk : parameters.level_chunk_bytes) chunk = uint32_t(std::min<size_t>(chunk, enough));
  }
  parameters.chunk_bytes = std::max<uint32_t>(parameters.chunk_bytes, uint32_t(std::bit_ceil(situation.element_bytes)));
  choice.stream = model::streams(model::work_set(situation.collective, choice.algorithm->name, situation.bytes,
                                                 parameters.chunk_bytes, uint64_t(situation.ranks)),
                                 situation.cache_bytes);
}

bool same(const Choice& a, const Choice& b) {
  return a.algorithm == b.algorithm && a.kernel_copies == b.kernel_copies && a.staged == b.staged &&
         setting_text(a) == setting_text(b);
}

std::string setting_text(const Choice& choice) {
  if (choice.algorithm == nullptr) return "latency";
  const algo::Reads& reads = choice.algorithm->reads;
  const algo::Parameters& parameters = choice.parameters;
  std::string text(choice.algorithm->name);
  char separator = ':';
  const auto add = [&](bool is_read, const char* name, unsigned value) {
    if (is_read) text += std::exchange(separator, ',') + std::string(name) + '=' + std::to_string(value);
  };
  add(reads.chunk || reads.level_chunks, "chunk", parameters.chunk_bytes);
  add(reads.depth, "depth", parameters.depth);
  add(reads.k && parameters.k > 0, "k", parameters.k);
  add(reads.j, "j", parameters.j);
  return text;
}

std::string text(const Choice& choice) {
  return setting_text(choice) + (choice.kernel_copies ? " with kernel-assisted copies"
                                 : choice.staged      ? ", staged"
                                                      : "");
}

std::string rule_text(const Choice& choice) {
  const std::string text = setting_text(choice);
  if (!choice.kernel_copies && !choice.staged) return text;
  return text + (text.find(':') == std::string::npos ? ":" : ",") + (choice.kernel_copies ? "copy=cma" : "copy=staged");
}

std::string size_text(size_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " bytes";
}

}  // namespace coll::tune
