// SPDX-License-Identifier: BSD-3-Clause
// Checks the protocols of lib/sync/protocols.h under the C++ memory model with Relacy: it runs a few threads in many
// orders, lets every load return any value that the model allows, and reports races of plain data, lost signals and
// failed assertions. Each protocol is correct, and fails without its releases, its acquires, or other parts that it
// relies on.
#include "sync/protocols.h"

#include <gtest/gtest.h>

#include <ostream>
#include <streambuf>
#include <string>

#include <relacy/relacy.hpp>
// Of its macros only `$`, the place in the source, is used here.
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

namespace {

using namespace coll;

// The part of a protocol that is omitted.
enum class Fault { none, release, acquire, exchange, reuse, fences };
Fault fault;

rl::memory_order order(std::memory_order wanted) {
  const bool releases = fault != Fault::release, acquires = fault != Fault::acquire;
  switch (wanted) {
    case std::memory_order_release: return releases ? rl::mo_release : rl::mo_relaxed;
    case std::memory_order_acquire: return acquires ? rl::mo_acquire : rl::mo_relaxed;
    case std::memory_order_acq_rel:
      return releases && acquires ? rl::mo_acq_rel
             : releases           ? rl::mo_release
             : acquires           ? rl::mo_acquire
                                  : rl::mo_relaxed;
    case std::memory_order_seq_cst: return rl::mo_seq_cst;
    default: return rl::mo_relaxed;
  }
}

// The part of std::atomic that the protocols need.
template <typename T>
class Word {
 public:
  Word() { at_.store(T(), rl::mo_relaxed, $); }
  void store(T value, std::memory_order wanted) { at_.store(value, order(wanted), $); }
  T load(std::memory_order wanted) const { return at_.load(order(wanted), $); }
  T exchange(T value, std::memory_order wanted) {
    if (fault == Fault::exchange && wanted == std::memory_order_release) return store(value, wanted), T();
    return at_.exchange(value, order(wanted), $);
  }
  T fetch_add(T value, std::memory_order wanted) { return at_.fetch_add(value, order(wanted), $); }
  T fetch_sub(T value, std::memory_order wanted) { return at_.fetch_sub(value, order(wanted), $); }

 private:
  rl::atomic<T> at_;
};

// Plain data: an access that races with another one is a failure.
class Data {
 public:
  Data() { at_($) = 0; }
  void operator=(int value) { at_($) = value; }
  operator int() const { return at_($); }

 private:
  mutable rl::var<int> at_;
};

void pass() { rl::yield(1, $); }

// ---- the models --------------------------------------------------------------------------------------------------------

// A writer posts two values, each after its data; two readers.
struct Flag : rl::test_suite<Flag, 3> {
  Word<uint64_t> flag;
  Data data[2];
  void thread(unsigned rank) {
    for (uint64_t value = 1; value <= 2; value++) {
      if (rank == 0) {
        data[value - 1] = int(value);
        sync::post(flag, value);
      } else if (sync::is_posted(flag, value)) {
        RL_ASSERT(data[value - 1] == int(value));
      }
    }
  }
};

// A mailbox that a writer fills three times. It waits until both readers have read the previous contents.
struct Mailbox : rl::test_suite<Mailbox, 3> {
  static constexpr uint64_t operations = 3;
  Word<uint64_t> sequence, done[3];
  Data check, payload;
  void thread(unsigned rank) {
    for (uint64_t operation = 1; operation <= operations; operation++) {
      if (rank == 0) {
        for (unsigned reader = 1; reader < 3 && fault != Fault::reuse; reader++)
          while (!sync::is_posted(done[reader], operation - 1)) pass();
        payload = int(10 * operation);
        check = int(operation);
        sync::post(sequence, operation);
      } else {
        while (!sync::is_posted(sequence, operation)) pass();
        RL_ASSERT(check == int(operation) && payload == int(10 * operation));
        sync::post(done[rank], operation);
      }
    }
  }
};

struct Bell {
  Word<uint32_t> sleepers, word;
};

// A poster, and a rank that sleeps until it has posted. The library omits the fences and sleeps with a time-out.
template <bool timed>
struct Doorbell : rl::test_suite<Doorbell<timed>, 2> {
  Word<uint64_t> flag;
  Bell bell;
  Data data;
  void thread(unsigned rank) {
    if (rank == 0) {
      data = 1;
      sync::post(flag, uint64_t(1));
      fence();
      sync::ring_for_sleepers(bell, [](Bell& sleeper) { sync::ring(sleeper, [](Word<uint32_t>&) {}); });
      return;
    }
    const auto ready = [this] { return fence(), sync::is_posted(flag, uint64_t(1)); };
    while (!ready()) {
      sync::sleep_unless(bell, ready, [](const Word<uint32_t>& word, uint32_t value) {
        for (int looks = 0; word.load(std::memory_order_relaxed) == value && !(timed && looks > 1); looks++) pass();
      });
      pass();
    }
    RL_ASSERT(data == 1);
  }
  static void fence() {
    if (fault != Fault::fences) rl::atomic_thread_fence(rl::mo_seq_cst, $);
  }
  void after() { RL_ASSERT(bell.sleepers.load(std::memory_order_relaxed) == 0); }
};

// Two ranks request something from a third one, and use the result.
struct Request : rl::test_suite<Request, 3> {
  enum : uint32_t { none, asked, made };
  Word<uint32_t> requests[2], wanted;
  Data wish[2], result[2];
  void thread(unsigned rank) {
    if (rank < 2) {
      wish[rank] = int(rank) + 1;
      sync::ask(requests[rank], uint32_t(asked), wanted);
      while (sync::seen(requests[rank]) != made) pass();
      RL_ASSERT(result[rank] == 10 * (int(rank) + 1));
      return;
    }
    for (int answered = 0; answered < 2;) {
      while (!sync::is_wanted(wanted)) pass();
      sync::clear_wanted(wanted);
      for (int asker = 0; asker < 2; asker++) {
        if (sync::seen(requests[asker]) != asked) continue;
        result[asker] = 10 * wish[asker];
        sync::post(requests[asker], uint32_t(made));
        answered++;
      }
    }
  }
};

// A thread completes a non-blocking collective; the other one sees it and frees it.
struct Completion : rl::test_suite<Completion, 2> {
  enum : uint32_t { running, complete };
  Word<uint32_t> state;
  Data status, memory;
  void thread(unsigned rank) {
    if (rank == 0) {
      memory = 7;
      status = 1;
      sync::post(state, uint32_t(complete));
    } else {
      while (sync::seen(state) != complete) pass();
      RL_ASSERT(status == 1);
      memory = 0;
    }
  }
};

// ---- the checks --------------------------------------------------------------------------------------------------------

// Keeps the first 2 KiB of the output in a fixed buffer: Relacy replaces operator new while it runs, so nothing may
// allocate then.
class Output : public std::streambuf {
 public:
  Output() { setp(text_, text_ + sizeof text_); }
  std::string text() const { return {pbase(), pptr()}; }

 private:
  char text_[2048];
};

// Returns "", or the fault that Relacy found.
template <typename Model>
std::string run(Fault without, rl::scheduler_type_e by, int orders) {
  Output output;
  std::ostream found(&output);
  rl::test_params parameters;
  parameters.search_type = by;
  parameters.iteration_count = rl::iteration_t(orders);
  parameters.output_stream = parameters.progress_stream = &found;
  parameters.progress_output_period = 1u << 30;
  fault = without;
  const bool holds = rl::simulate<Model>(parameters);
  return holds ? "" : rl::test_result_str(parameters.test_result) + std::string("\n") + output.text();
}

constexpr int orders = 20'000;

template <typename Model>
std::string found_in(Fault without = Fault::none) {
  return run<Model>(without, rl::random_scheduler_type, orders);
}

TEST(Protocols, FlagPublishesData) {
  EXPECT_EQ(run<Flag>(Fault::none, rl::fair_full_search_scheduler_type, 0), "");
  EXPECT_NE(found_in<Flag>(Fault::release), "");
  EXPECT_NE(found_in<Flag>(Fault::acquire), "");
}

TEST(Protocols, MailboxIsFilledAgainOnceAllHaveReadIt) {
  EXPECT_EQ(found_in<Mailbox>(), "");
  EXPECT_NE(found_in<Mailbox>(Fault::release), "");
  EXPECT_NE(found_in<Mailbox>(Fault::acquire), "");
  EXPECT_NE(found_in<Mailbox>(Fault::reuse), "");
}

TEST(Protocols, DoorbellWithFencesIsNeverMissed) { EXPECT_EQ(found_in<Doorbell<false>>(), ""); }

// Invariant 1 of doorbell.h.
TEST(Protocols, DoorbellWithoutFencesNeedsItsTimeOut) {
  EXPECT_NE(found_in<Doorbell<false>>(Fault::fences), "");
  EXPECT_EQ(found_in<Doorbell<true>>(Fault::fences), "");
  EXPECT_NE(found_in<Doorbell<true>>(Fault::release), "");
}

TEST(Protocols, RequestsOfTwoRanksAreAnswered) {
  EXPECT_EQ(found_in<Request>(), "");
  EXPECT_NE(found_in<Request>(Fault::release), "");
  EXPECT_NE(found_in<Request>(Fault::acquire), "");
  // With a store instead of the exchange, the requested rank may miss the first of two requests.
  EXPECT_NE(found_in<Request>(Fault::exchange), "");
}

TEST(Protocols, CompletedRequestCanBeFreed) {
  EXPECT_EQ(found_in<Completion>(), "");
  EXPECT_NE(found_in<Completion>(Fault::release), "");
  EXPECT_NE(found_in<Completion>(Fault::acquire), "");
}

}  // namespace
