// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/background.h"

#include "mpi/agreement.h"
#include "mpi/library.h"
#include "mpi/mpi_tasks.h"
#include "mpi/placement.h"
#include "mpi/progress.h"
#include "mpi/signal_free_thread.h"
#include "mpi/world_ranks.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

namespace coll::shim {

namespace {

constexpr long starts_before_vote = 4;  // starts that a program may make until the votes have arrived
constexpr int most_at_once = 32;        // agreements of this process at once, each with a thread
constexpr int tags = 1 << 15;           // the tags that every MPI library supports

std::mutex all_mutex;
std::vector<std::shared_ptr<Background>> &all() {
  static auto *list = new std::vector<std::shared_ptr<Background>>;  // never destroyed: threads may still run
  return *list;
}

int next_tag() {
  static std::atomic<unsigned> last{0};
  return static_cast<int>(last.fetch_add(1, std::memory_order_relaxed) % tags);
}

// Called while the program waits for other threads or other processes.
void let_others_run() {
  drive_mpi_progress(nullptr);
  std::this_thread::yield();
}

}  // namespace

class Background::FirstRound final : public MpiTask {
 public:
  explicit FirstRound(MPI_Request *request) : request_(request) {}
  bool step() override {
    int done = 0;
    good_ = mpi.Test(request_, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    return done != 0 || !good_;
  }
  bool good() const { return good_; }

 private:
  MPI_Request *request_;
  bool good_ = false;
};

// Bruck's allgather: before round k a rank has the blocks of 2^k ranks, from its own on, and receives as many from the
// rank after these. It takes log2(ranks) rounds of messages.
class Background::Messages final : public Exchange {
 public:
  explicit Messages(const Background &of) : of_(of) {}

  bool allgather(const void *mine, void *all, std::size_t bytes) override {
    if (bytes * static_cast<std::size_t>(of_.ranks_) > INT_MAX) return false;
    auto *blocks = static_cast<char *>(all);
    std::memcpy(blocks, mine, bytes);
    Rounds rounds(of_, blocks, bytes);
    run_mpi_task(rounds);
    // So far the rank's own block is the first.
    const auto before = static_cast<std::size_t>(of_.ranks_ - of_.rank_) * bytes;
    std::rotate(blocks, blocks + before, blocks + static_cast<std::size_t>(of_.ranks_) * bytes);
    return rounds.good();
  }

 private:
  class Rounds final : public MpiTask {
   public:
    Rounds(const Background &of, char *blocks, std::size_t bytes) : of_(of), blocks_(blocks), bytes_(bytes) {}

    bool step() override {
      while (has_ < of_.ranks_) {
        const int more = std::min(has_, of_.ranks_ - has_);
        if (!sent_ && !send(more)) return true;
        int done = 0;
        if (mpi.Testall(2, requests_, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return good_ = false, true;
        if (done == 0) return false;
        sent_ = false;
        has_ += more;
      }
      return true;
    }
    bool good() const { return good_; }

   private:
    bool send(int more) {
      const auto to = static_cast<std::size_t>((of_.rank_ - has_ + of_.ranks_) % of_.ranks_);
      const auto from = static_cast<std::size_t>((of_.rank_ + has_) % of_.ranks_);
      const int count = more * static_cast<int>(bytes_);
      const int own_tag = of_.openings_[static_cast<std::size_t>(of_.rank_)].tag;
      char *place = blocks_ + static_cast<std::size_t>(has_) * bytes_;
      good_ =
          mpi.Irecv(place, count, mpi.byte, of_.peers_[from], own_tag, private_world(), &requests_[0]) == MPI_SUCCESS &&
          mpi.Isend(blocks_, count, mpi.byte, of_.peers_[to], of_.openings_[to].tag, private_world(), &requests_[1]) ==
              MPI_SUCCESS;
      return sent_ = good_;
    }

    const Background &of_;
    char *blocks_;
    std::size_t bytes_;
    int has_ = 1;
    bool sent_ = false;
    bool good_ = true;
    MPI_Request requests_[2];
  };

  const Background &of_;
};

Background::Background(int rank, int ranks) : rank_(rank), ranks_(ranks), openings_(static_cast<std::size_t>(ranks)) {}

Background::~Background() {
  if (thread_.joinable()) thread_.join();
  if (made_ != nullptr) coll_comm_free(made_);
}

bool Background::find_peers(MPI_Comm comm) {
  if (private_world() == MPI_COMM_NULL) return false;
  peers_ = world_ranks(comm, ranks_);
  return !peers_.empty() && std::ranges::find(peers_, MPI_UNDEFINED) == peers_.end();
}

std::shared_ptr<Background> Background::begin(MPI_Comm comm, int rank, int ranks) {
  std::shared_ptr<Background> made(new Background(rank, ranks));
  if (!made->find_peers(comm)) return nullptr;
  bool may = false;
  {
    const std::lock_guard lock(all_mutex);
    std::erase_if(all(), [](const auto &one) { return one->is_finished(); });
    may = std::ranges::count_if(all(), [](const auto &one) { return one->thread_.joinable(); }) < most_at_once;
  }
  const std::lock_guard lock(made->mutex_);  // the thread waits for it
  if (may) made->thread_ = signal_free_thread([background = made.get()] { background->run(); });
  made->own_ = {made->thread_.joinable(), next_tag(), known_node(), running_kernel()};
  const int bytes = sizeof(Opening);
  const bool posted = mpi.Iallgather(&made->own_, bytes, mpi.byte, made->openings_.data(), bytes, mpi.byte, comm,
                                     &made->first_round_) == MPI_SUCCESS;
  if (!posted || !made->thread_.joinable()) made->announced_ = true;
  made->posted_ = posted;
  const std::lock_guard lock_of_all(all_mutex);
  all().push_back(made);
  return made;
}

Why Background::obstacle() const {
  const Opening &first = openings_.front();
  for (const Opening &of : openings_) {
    if (!of.good || of.node == unknown_node || of.node == invalid_node || !of.kernel.known()) return Why::refused;
    if (of.node != first.node) return Why::nodes;
    if (of.kernel != first.kernel) return Why::refused;
  }
  return Why::count_;
}

long Background::vote() {
  const std::lock_guard lock(mutex_);
  return vote_ = starts_ + (is_waiting_ ? 0 : starts_before_vote);
}

void Background::announce(coll_comm *made, Why why, long last_forwarded) {
  const std::lock_guard lock(mutex_);
  made_ = made;
  why_ = why;
  last_forwarded_ = last_forwarded;
  announced_.store(true, std::memory_order_release);
}

// The thread's function.
void Background::run() {
  { const std::lock_guard begun(mutex_); }
  FirstRound first_round(&first_round_);
  if (posted_) run_mpi_task(first_round);
  first_round_over_.store(true, std::memory_order_release);
  const Why why = first_round.good() ? obstacle() : Why::refused;
  if (why != Why::count_) {
    announce(nullptr, why, 0);
  } else {
    Messages messages(*this);
    coll_comm *made = agree_on_one(messages, rank_, ranks_);
    std::vector<long> votes(peers_.size());
    if (made != nullptr) {
      const long own = vote();
      if (!messages.allgather(&own, votes.data(), sizeof own)) coll_comm_free(std::exchange(made, nullptr));
    }
    announce(made, made != nullptr ? Why::count_ : Why::refused, made != nullptr ? std::ranges::max(votes) : 0);
  }
  finished_.store(true, std::memory_order_release);
}

bool Background::is_over_for_start() {
  std::unique_lock lock(mutex_);
  starts_++;
  while (!announced_.load(std::memory_order_relaxed) && vote_ >= 0 && starts_ > vote_) {
    lock.unlock();
    let_others_run();
    lock.lock();
  }
  return announced_.load(std::memory_order_relaxed) && starts_ > last_forwarded_;
}

void Background::wait() {
  {
    const std::lock_guard lock(mutex_);
    is_waiting_ = true;
  }
  while (!announced_.load(std::memory_order_acquire)) let_others_run();
}

coll_comm *Background::release_communicator() {
  const std::lock_guard lock(mutex_);
  return std::exchange(made_, nullptr);
}

void Background::end_all() {
  std::vector<std::shared_ptr<Background>> ending;
  {
    const std::lock_guard lock(all_mutex);
    ending.swap(all());
  }
  for (const std::shared_ptr<Background> &one : ending) {
    one->end_first_round();
    while (one->thread_.joinable() && !one->finished_.load(std::memory_order_acquire)) let_others_run();
  }
}

void Background::end_first_round() {
  for (;;) {
    if (thread_.joinable() && first_round_over_.load(std::memory_order_acquire)) return;
    if (const std::lock_guard lock(all_mutex); !thread_.joinable() && is_finished()) return;
    let_others_run();
  }
}

// Without a thread, the agreement is over when the first round is, which the next caller completes.
bool Background::is_finished() {
  if (thread_.joinable()) return finished_.load(std::memory_order_acquire);
  FirstRound first_round(&first_round_);
  if (posted_ && first_round.step()) posted_ = false;
  return !posted_;
}

}  // namespace coll::shim
