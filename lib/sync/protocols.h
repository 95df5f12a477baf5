// SPDX-License-Identifier: BSD-3-Clause
// How ranks, and threads of a rank, signal each other by words of shared memory. Templates over the words: std::atomic
// in the library, a model checker's in tests/sync/protocols_test.cc, which also shows what fails without these memory
// orders.
//
// Flag. A word with one writer that only grows; mailboxes and the progress of a rank are such words, too. The writer
// stores data and then posts a value; a reader that sees this value or a later one sees the data. The writer may store
// to the data again once each reader has posted, in a word of its own, that it is done with them.
//
// Doorbell. A sleeper adds itself to `sleepers`, reads `word`, looks once more at the flag that it waits for, and
// sleeps until `word` changes. A poster looks at `sleepers` after each post. doorbell.h explains why there is no fence
// between the two.
//
// Request. A rank describes its request, sets the request's word to "asked", and then sets `wanted` of the rank that is
// to serve it; all requesting ranks share that word. The serving rank clears `wanted` before it looks at all requests,
// and answers in the request's word.
#pragma once

#include <atomic>
#include <cstdint>

namespace coll::sync {

// ---- flag -----------------------------------------------------------------------------------------------------------

template <typename Word, typename Value>
inline void post(Word& word, Value value) {
  word.store(value, std::memory_order_release);
}
template <typename Word>
inline auto seen(const Word& word) {
  return word.load(std::memory_order_acquire);
}
template <typename Word, typename Value>
inline bool is_posted(const Word& word, Value value) {
  return seen(word) >= value;
}

// ---- doorbell -------------------------------------------------------------------------------------------------------

// Call it after every post; it calls ring(bell) if a rank sleeps.
template <typename Bell, typename Ring>
inline void ring_for_sleepers(Bell& bell, Ring&& ring) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (bell.sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    ring(bell);
}
template <typename Bell, typename Wake>
inline void ring(Bell& bell, Wake&& wake) {
  bell.word.fetch_add(1, std::memory_order_release);
  wake(bell.word);
}
// `wait(word, value)` returns when the word has another value, and may return spuriously.
template <typename Bell, typename Ready, typename Wait>
inline void sleep_unless(Bell& bell, Ready&& ready, Wait&& wait) {
  bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t word = bell.word.load(std::memory_order_acquire);
  if (!ready()) wait(bell.word, word);
  bell.sleepers.fetch_sub(1, std::memory_order_release);
}

// ---- request --------------------------------------------------------------------------------------------------------

// An exchange and not a store: the serving rank reads the value of the last requesting rank, and must see the requests
// of earlier ones as well.
template <typename Word, typename Value>
inline void ask(Word& request, Value asked, Word& wanted) {
  post(request, asked);
  wanted.exchange(1, std::memory_order_release);
}
// Whether there may be requests. One that comes later sets the word again.
template <typename Word>
inline bool is_wanted(const Word& wanted) {
  return wanted.load(std::memory_order_relaxed) != 0;
}
template <typename Word>
inline void clear_wanted(Word& wanted) {
  wanted.exchange(0, std::memory_order_acq_rel);
}

}  // namespace coll::sync
