// SPDX-License-Identifier: BSD-3-Clause
// Compares the sparse exchange with its definition: random graphs with several messages between two ranks and messages
// to the own rank, in all forms, memory and transports; lengths that differ; ranks that die; many ranks with few
// neighbours.
#include <algorithm>
#include <random>

#include "../resident_memory.h"
#include "../seed.h"
#include "comm/collectives.h"

using namespace ranks;
using coll::test::resident_shared_bytes;

namespace {

#ifdef RANKS_ARE_THREADS
void run(int ranks, const Function& function) { run_threads(ranks, function); }
#else
void run(int ranks, const Function& function) { run_processes(ranks, function, -1, 120); }
#endif

struct Edge {
  int from, to;
  size_t bytes;
};
using Graph = std::vector<Edge>;

Graph random_graph(int ranks, int edges, const std::vector<size_t>& lengths, std::mt19937_64& random) {
  Graph graph;
  for (int i = 0; i < edges; i++)
    graph.push_back(
        {int(random() % uint64_t(ranks)), int(random() % uint64_t(ranks)), lengths[random() % lengths.size()]});
  return graph;
}

// One rank of a graph, with its buffers: messages follow each other with a byte in between.
class Part {
 public:
  Part(const Context& c, const Graph& graph, uint64_t order, bool mappable = false)
      : graph_(graph), rank_(c.rank), out_(size(graph, true) + 4, mappable), in_(size(graph, false) + 4, mappable) {
    // Receives come in any order, except those from one rank.
    std::mt19937_64 random(order + uint64_t(c.rank));
    std::vector<uint64_t> of_rank;
    for (int r = 0; r < c.ranks; r++) of_rank.push_back(random());
    for (size_t i = 0; i < graph.size(); i++) {
      if (graph[i].from == rank_) sent_.push_back(i);
      if (graph[i].to == rank_) received_.push_back(i);
    }
    std::stable_sort(received_.begin(), received_.end(), [&](size_t a, size_t b) {
      return of_rank[size_t(graph[a].from)] < of_rank[size_t(graph[b].from)];
    });
    char* at = bytes(out_);
    for (size_t i : sent_) sends.push_back({graph[i].to, at, graph[i].bytes}), at += graph[i].bytes + 1;
    at = bytes(in_);
    for (size_t i : received_) receives.push_back({graph[i].from, at, graph[i].bytes}), at += graph[i].bytes + 1;
  }

  void fill(uint32_t round) {
    for (size_t m = 0; m < sends.size(); m++)
      for (size_t i = 0; i < sends[m].bytes; i++)
        static_cast<char*>(const_cast<void*>(sends[m].data))[i] = value(sent_[m], i, round);
    memset(bytes(in_), 0x5a, size(graph_, false));
  }
  void check(Context& c, uint32_t round) {
    for (size_t m = 0; m < receives.size(); m++) {
      const char* data = static_cast<const char*>(receives[m].data);
      for (size_t i = 0; i < receives[m].bytes; i++)
        if (data[i] != value(received_[m], i, round))
          return c.fail("message " + std::to_string(received_[m]) + " from rank " + std::to_string(receives[m].peer) +
                        " is wrong at byte " + std::to_string(i) + " of " + std::to_string(receives[m].bytes));
      if (data[receives[m].bytes] != 0x5a) return c.fail("wrote beyond the end of a message");
    }
  }
  coll_status exchange(coll_comm* comm) const {
    return coll_neighbor_exchange(sends.data(), sends.size(), receives.data(), receives.size(), comm);
  }
  coll_status start(coll_comm* comm, coll_request** request) const {
    return coll_ineighbor_exchange(sends.data(), sends.size(), receives.data(), receives.size(), comm, request);
  }
  coll_status prepare(coll_comm* comm, coll_request** request) const {
    return coll_neighbor_exchange_init(sends.data(), sends.size(), receives.data(), receives.size(), comm, request);
  }

  std::vector<coll_outgoing> sends;
  std::vector<coll_incoming> receives;

 private:
  static char value(size_t edge, size_t i, uint32_t round) { return char(input(int(edge), i, round) >> 8); }
  static char* bytes(Buffer& buffer) { return reinterpret_cast<char*>(buffer.data()); }
  size_t size(const Graph& graph, bool sent) const {
    size_t all = 0;
    for (const Edge& edge : graph)
      if ((sent ? edge.from : edge.to) == rank_) all += edge.bytes + 1;
    return all;
  }
  Graph graph_;
  int rank_;
  Buffer out_, in_;
  std::vector<size_t> sent_, received_;
};

// Lengths around the limits between staging at once, staging in parts, and in place.
const std::vector<size_t> some_lengths{0, 1, 7, 64, 1000, 8191, 8192, 9000, 40000, 70001, 300000, 1 << 20};

class Neighbors : public testing::TestWithParam<int> {};

void check_graphs(Context& c, const char* transport, int rounds) {
  c.set("COLL_TRANSPORT", transport);
  coll_comm* comm = c.comm();
  c.set("COLL_TRANSPORT", nullptr);
  if (comm == nullptr) return;
  std::mt19937_64 random(coll::test::seed());
  for (uint32_t round = 0; round < uint32_t(rounds) && !c.failed(); round++) {
    c.about = std::string(transport) + ", round " + std::to_string(round);
    const int edges = int(random() % uint64_t(4 * c.ranks + 1));
    const std::vector<size_t> lengths = round % 3 == 0 ? std::vector<size_t>{0, 1, 8, 100} : some_lengths;
    Part part(c, random_graph(c.ranks, edges, lengths, random), random(), random() % 4 == 0);
    part.fill(round);
    const uint64_t form = random() % 3;
    if (form == 0) {
      RANK_CHECK(c, part.exchange(comm) == COLL_OK);
    } else {
      coll_request* request = nullptr;
      RANK_CHECK(c, (form == 1 ? part.start(comm, &request) : part.prepare(comm, &request)) == COLL_OK);
      if (form == 2) RANK_CHECK(c, coll_start(request) == COLL_OK);
      RANK_CHECK(c, coll_wait(&request) == COLL_OK);
      if (form == 2) RANK_CHECK(c, coll_request_free(request) == COLL_OK);
    }
    part.check(c, round);
    if (round % 5 == 0) RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
  }
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

TEST_P(Neighbors, ReceiveTheMessagesOfTheirPeers) {
  for (const char* transport : transports({"shm", "cma"}))
    run(GetParam(), [&](Context& c) { check_graphs(c, transport, 30 / slowness); });
}

// More requests than channels, with other collectives in between; each rank waits in an order of its own.
TEST_P(Neighbors, HaveManyRequestsAtOnce) {
  run(GetParam(), [&](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    std::mt19937_64 random(coll::test::seed()), own(coll::test::seed() + uint64_t(c.rank) + 1);
    for (uint32_t batch = 0; batch < uint32_t(10 / slowness + 1) && !c.failed(); batch++) {
      std::vector<std::unique_ptr<Part>> parts;
      std::vector<coll_request*> requests(9);
      for (size_t i = 0; i < requests.size(); i++) {
        parts.push_back(std::make_unique<Part>(c, random_graph(c.ranks, 3 * c.ranks, some_lengths, random), random()));
        parts[i]->fill(batch * 9 + uint32_t(i));
        RANK_CHECK(c, parts[i]->start(comm, &requests[i]) == COLL_OK);
        uint32_t one = 1, sum = 0;
        if (i == 4) RANK_CHECK(c, coll_allreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
        if (i == 4) RANK_CHECK(c, sum == uint32_t(c.ranks));
      }
      std::vector<size_t> order{0, 1, 2, 3, 4, 5, 6, 7, 8};
      std::shuffle(order.begin(), order.end(), own);
      for (size_t i : order) {
        RANK_CHECK(c, coll_wait(&requests[i]) == COLL_OK);
        parts[i]->check(c, batch * 9 + uint32_t(i));
      }
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST_P(Neighbors, StartAPersistentExchangeAgainAndAgain) {
  run(GetParam(), [&](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    std::mt19937_64 random(coll::test::seed());
    Part part(c, random_graph(c.ranks, 4 * c.ranks, some_lengths, random), random());
    coll_request* request = nullptr;
    RANK_CHECK(c, part.prepare(comm, &request) == COLL_OK);
    for (uint32_t round = 0; round < 12 && !c.failed(); round++) {
      part.fill(round);
      RANK_CHECK(c, coll_start(request) == COLL_OK);
      RANK_CHECK(c, coll_wait(&request) == COLL_OK);
      part.check(c, round);
    }
    RANK_CHECK(c, coll_request_free(request) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// One message of these lengths from the last rank to rank 0, among others whose lengths agree; then all ranks continue.
TEST_P(Neighbors, ReportLengthsThatDiffer) {
  run(GetParam(), [&](Context& c) {
    struct Case {
      std::vector<size_t> sent, received;
      coll_status status;
      size_t delivered;
    };
    const std::vector<Case> cases{{{100}, {60}, COLL_ERR_TRUNCATE, 60},
                                  {{60}, {100}, COLL_ERR_COUNT, 60},
                                  {{400000}, {100}, COLL_ERR_TRUNCATE, 100},
                                  {{100}, {400000}, COLL_ERR_COUNT, 100},
                                  {{400000}, {300000}, COLL_ERR_TRUNCATE, 300000},
                                  {{0}, {5}, COLL_ERR_COUNT, 0},
                                  {{5}, {0}, COLL_ERR_TRUNCATE, 0},
                                  {{}, {5}, COLL_ERR_COUNT, 0},
                                  {{400000}, {}, COLL_OK, 0},
                                  {{5, 5}, {10}, COLL_ERR_TRUNCATE, 0},
                                  {{10}, {5, 5}, COLL_ERR_COUNT, 0},
                                  {{3, 7}, {7, 3}, COLL_ERR_COUNT, 0},
                                  {{200000, 200000}, {200000, 1}, COLL_ERR_TRUNCATE, 0}};
    for (const char* transport : transports({"shm", "cma"})) {
      c.set("COLL_TRANSPORT", transport);
      coll_comm* comm = c.comm();
      if (comm == nullptr) return;
      uint32_t round = 0;
      for (const Case& each : cases)
        for (bool blocking : {true, false}) {
          c.about = std::string(transport) + ", case " + std::to_string(&each - cases.data());
          round++;
          Graph others;
          for (int r = 0; r < c.ranks; r++)
            for (int to = 0; to < c.ranks; to++)
              if (to != 0 || r != c.ranks - 1) others.push_back({r, to, size_t(1000 * (r + to))});
          Part part(c, others, round);
          part.fill(round);
          std::vector<char> out(400000, char(round)), in(400000, 'x');
          if (c.rank == c.ranks - 1)
            for (size_t bytes : each.sent) part.sends.push_back({0, out.data(), bytes});
          char* at = in.data();
          if (c.rank == 0)
            for (size_t bytes : each.received) part.receives.push_back({c.ranks - 1, at, bytes}), at += bytes;
          coll_request* request = nullptr;
          coll_status status = blocking ? part.exchange(comm) : part.start(comm, &request);
          if (!blocking) {
            RANK_CHECK(c, status == COLL_OK);
            status = coll_wait(&request);
          }
          RANK_CHECK(c, status == (c.rank == 0 ? each.status : COLL_OK));
          if (c.rank == 0) {
            part.receives.resize(part.receives.size() - each.received.size());
            RANK_CHECK(c, size_t(std::count(in.begin(), in.end(), char(round))) == each.delivered);
          }
          part.check(c, round);
        }
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    }
    c.set("COLL_TRANSPORT", nullptr);
  });
}

TEST_P(Neighbors, RefuseWrongArguments) {
  run(GetParam(), [&](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    char bytes[16] = {};
    const auto refused = [&](coll_outgoing send, coll_incoming receive, coll_status status) {
      coll_request* request = nullptr;
      RANK_CHECK(c, coll_neighbor_exchange(&send, 1, &receive, 1, comm) == status);
      RANK_CHECK(c, coll_ineighbor_exchange(&send, 1, &receive, 1, comm, &request) == status && request == nullptr);
      RANK_CHECK(c, coll_neighbor_exchange_init(&send, 1, &receive, 1, comm, &request) == status);
    };
    const coll_outgoing send{c.rank, bytes, 8};
    const coll_incoming receive{c.rank, bytes + 8, 8};
    refused({-1, bytes, 8}, receive, COLL_ERR_ARG);
    refused({c.ranks, bytes, 8}, receive, COLL_ERR_ARG);
    refused(send, {-2, bytes + 8, 8}, COLL_ERR_ARG);
    refused({c.rank, nullptr, 8}, receive, COLL_ERR_BUFFER);
    refused({c.rank, COLL_IN_PLACE, 8}, receive, COLL_ERR_BUFFER);
    refused(send, {c.rank, nullptr, 8}, COLL_ERR_BUFFER);
    refused(send, {c.rank, bytes + 7, 8}, COLL_ERR_BUFFER);
    refused(send, {c.rank, bytes, 8}, COLL_ERR_BUFFER);
    refused({c.rank, bytes, SIZE_MAX}, receive, COLL_ERR_COUNT);
    refused(send, {c.rank, bytes + 8, SIZE_MAX / 2 + 1}, COLL_ERR_COUNT);
    RANK_CHECK(c, coll_neighbor_exchange(&send, SIZE_MAX, nullptr, 0, comm) == COLL_ERR_COUNT);
    RANK_CHECK(c, coll_neighbor_exchange(nullptr, 1, nullptr, 0, comm) == COLL_ERR_ARG);
    RANK_CHECK(c, coll_neighbor_exchange(nullptr, 0, nullptr, 1, comm) == COLL_ERR_ARG);
    RANK_CHECK(c, coll_neighbor_exchange(&send, 1, &receive, 1, nullptr) == COLL_ERR_ARG);
    RANK_CHECK(c, coll_ineighbor_exchange(&send, 1, &receive, 1, comm, nullptr) == COLL_ERR_ARG);
    // Valid graphs: without messages, and with messages to the own rank.
    RANK_CHECK(c, coll_neighbor_exchange(nullptr, 0, nullptr, 0, comm) == COLL_OK);
    memcpy(bytes, "12345678", 8);
    RANK_CHECK(c, coll_neighbor_exchange(&send, 1, &receive, 1, comm) == COLL_OK);
    RANK_CHECK(c, memcmp(bytes + 8, "12345678", 8) == 0);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST_P(Neighbors, CompareCallsInDebugMode) {
  if (GetParam() == 1) GTEST_SKIP() << "one rank has no other call to compare with";
  run(GetParam(), [&](Context& c) {
    c.set("COLL_DEBUG", "1");
    coll_comm* comm = c.comm();
    c.set("COLL_DEBUG", nullptr);
    if (comm == nullptr) return;
    const coll_status status = c.rank == 0 ? coll_barrier(comm) : coll_neighbor_exchange(nullptr, 0, nullptr, 0, comm);
    RANK_CHECK(c, status == COLL_ERR_MISMATCH);
    RANK_CHECK(c, coll_neighbor_exchange(nullptr, 0, nullptr, 0, comm) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Neighbors, testing::Values(1, 2, 3, 5, 18),
                         [](const auto& info) { return std::to_string(info.param); });

#ifndef RANKS_ARE_THREADS

// A torus of 8 by 16 with messages of 1 KiB: a rank does not map memory of ranks that are not its neighbours.
TEST(ManyNeighbors, CostNothingUnlessTheyExchange) {
  run_processes(
      128,
      [](Context& c) {
        coll_comm* comm = c.comm();
        if (comm == nullptr) return;
        constexpr int wide = 16, high = 8;
        const auto at = [](int x, int y) { return (y + high) % high * wide + (x + wide) % wide; };
        Graph graph;
        for (int r = 0; r < c.ranks; r++) {
          const int x = r % wide, y = r / wide;
          for (int to : {at(x - 1, y), at(x + 1, y), at(x, y - 1), at(x, y + 1)}) graph.push_back({r, to, 1024});
        }
        Part part(c, graph, coll::test::seed());
        RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
        const size_t before = resident_shared_bytes();
        for (uint32_t round = 0; round < 30 && !c.failed(); round++) {
          part.fill(round);
          RANK_CHECK(c, part.exchange(comm) == COLL_OK);
          part.check(c, round);
        }
        // Two pages of this rank and of each neighbour, for each of eight places; with all ranks it would be 8 MiB.
        const size_t mapped = resident_shared_bytes() - before;
        if (mapped > 600'000) c.fail("maps " + std::to_string(mapped) + " bytes");
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      },
      -1, 120);
}

// The neighbours of a dead rank get a status in every state: in place and staged, blocking and not.
TEST(DeadNeighbor, IsNoticed) {
  for (const char* transport : transports({"shm", "cma"}))
    for (size_t bytes : {size_t(16), size_t(400000)})
      for (bool blocking : {true, false}) {
        run_processes(
            4,
            [&](Context& c) {
              c.set("COLL_TRANSPORT", transport);
              coll_comm* comm = c.comm();
              if (comm == nullptr) return;
              Graph ring;
              for (int r = 0; r < c.ranks; r++)
                for (int step : {1, 3}) ring.push_back({r, (r + step) % c.ranks, bytes});
              Part part(c, ring, 1);
              part.fill(0);
              RANK_CHECK(c, part.exchange(comm) == COLL_OK);
              part.check(c, 0);
              if (c.rank == 2) {
                usleep(20000);
                kill(getpid(), SIGKILL);
              }
              coll_status status = COLL_OK;
              // Rank 0 has no message from rank 2, and notices the death when its own neighbours have.
              for (int round = 0; round < 10 && status == COLL_OK; round++) {
                coll_request* request = nullptr;
                if (blocking) status = part.exchange(comm);
                else if ((status = part.start(comm, &request)) == COLL_OK) status = coll_wait(&request);
              }
              RANK_CHECK(c, status == COLL_ERR_PEER_DIED);
              RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
            },
            2);
      }
}

#endif

}  // namespace
