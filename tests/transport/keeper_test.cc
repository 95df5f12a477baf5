// SPDX-License-Identifier: BSD-3-Clause
// The lists of life marks as the kernel would read them, while threads register and remove marks.
#include "transport/keeper.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "../seed.h"

using namespace coll::transport;

namespace {

constexpr size_t kernel_limit = 2048;  // ROBUST_LIST_LIMIT

using Marks = std::vector<LifeMark>;
using Registrations = std::vector<std::unique_ptr<LifeRegistration>>;

// Follows the list of a thread as the kernel does. Returns no marks if it does not lead back to its head.
std::vector<const LifeMark*> walk(uint32_t thread) {
  robust_list_head* head = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(syscall(SYS_get_robust_list, thread, &head, &bytes), 0);
  EXPECT_EQ(bytes, sizeof *head);
  std::vector<const LifeMark*> found;
  const auto next_of = [](robust_list& entry) {
    return std::atomic_ref<robust_list*>(entry.next).load(std::memory_order_acquire);
  };
  for (robust_list* entry = next_of(head->list); entry != &head->list; entry = next_of(*entry)) {
    if (found.size() == kernel_limit) return {};
    const char* const word = reinterpret_cast<const char*>(entry) + head->futex_offset;
    found.push_back(reinterpret_cast<const LifeMark*>(entry));
    EXPECT_EQ(word, reinterpret_cast<const char*>(&found.back()->word));
  }
  EXPECT_EQ(head->list_op_pending, nullptr);
  return found;
}

std::set<const LifeMark*> walk_all(const Marks& marks) {
  std::set<uint32_t> threads;
  for (const LifeMark& mark : marks)
    if (mark.word != 0) threads.insert(mark.word);
  std::set<const LifeMark*> found;
  for (uint32_t thread : threads)
    for (const LifeMark* mark : walk(thread)) EXPECT_TRUE(found.insert(mark).second) << "in two lists";
  return found;
}

TEST(Keeper, ListsEveryRegisteredMarkOnce) {
  std::mt19937 random(coll::test::seed());
  Marks marks(3 * marks_per_keeper + 100);
  Registrations registered;
  std::set<const LifeMark*> expected;
  for (LifeMark& mark : marks) {
    registered.push_back(std::make_unique<LifeRegistration>(mark));
    expected.insert(&mark);
  }
  EXPECT_EQ(walk_all(marks), expected);
  std::shuffle(registered.begin(), registered.end(), random);
  EXPECT_EQ(walk_all(marks), expected);
  std::map<uint32_t, size_t> entries;
  for (const LifeMark& mark : marks) entries[mark.word]++;
  EXPECT_EQ(entries.size(), 4u);
  registered.clear();
  EXPECT_TRUE(walk_all(marks).empty());
}

TEST(Keeper, RemovesMarksInAnyOrder) {
  std::mt19937 random(coll::test::seed());
  Marks marks(40);
  std::map<const LifeMark*, std::unique_ptr<LifeRegistration>> registered;
  for (LifeMark& mark : marks) registered[&mark] = std::make_unique<LifeRegistration>(mark);
  while (!registered.empty()) {
    registered.erase(std::next(registered.begin(), long(random() % registered.size())));
    std::set<const LifeMark*> expected;
    for (const auto& [mark, registration] : registered) expected.insert(mark);
    ASSERT_EQ(walk_all(marks), expected);
  }
}

// Threads that register their first marks concurrently start only one keeper; freed entries are used again.
TEST(Keeper, IsSharedByAllThreads) {
  Marks marks(8);
  std::vector<std::thread> threads;
  std::atomic<int> ready = 0;
  for (LifeMark& mark : marks)
    threads.emplace_back([&] {
      for (ready++; ready < 8;) {}
      for (int round = 0; round < 50; round++) {
        LifeMark other{};
        LifeRegistration one(other);
        EXPECT_NE(other.word, 0u);
        mark.word = other.word.load();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const LifeMark& mark : marks) EXPECT_EQ(mark.word, marks[0].word);
}

// The kernel may read a list at any moment: it always contains the remaining marks and leads back to the head.
TEST(Keeper, ListIsWholeAtEveryMoment) {
  Marks staying(5), passing(600);
  Registrations registered;
  for (LifeMark& mark : staying) registered.push_back(std::make_unique<LifeRegistration>(mark));
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&] {
      // Each mark is registered once: a mark registered again would redirect a walk that is at it.
      for (size_t i; (i = next.fetch_add(3)) + 2 < passing.size();) {
        auto first = std::make_unique<LifeRegistration>(passing[i]);
        LifeRegistration second(passing[i + 1]);
        first.reset();
        LifeRegistration third(passing[i + 2]);
      }
    });
  size_t walks = 0;
  do {
    const auto found = walk(staying[0].word);
    for (const LifeMark& mark : staying) ASSERT_EQ(std::count(found.begin(), found.end(), &mark), 1);
    walks++;
  } while (next < passing.size() || walks < 10);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
