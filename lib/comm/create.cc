// SPDX-License-Identifier: BSD-3-Clause
// How a communicator comes to be: every rank finds the segment of rank 0, introduces itself there, looks what works, and
// decides the same from the same data. Exchanges lie between the steps.
#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstdio>
#include <cstring>
#include <optional>

#include "comm/comm.h"
#include "comm/introduction.h"
#include "comm/living.h"
#include "comm/machines.h"
#include "comm/probe.h"
#include "comm/rendezvous.h"
#include "comm/stats.h"
#include "comm/tables.h"
#include "comm/tuning.h"
#include "mem/huge_pages.h"
#include "model/fingerprint.h"
#include "sync/scheduling_group.h"
#include "topo/sensitivity.h"
#include "transport/cma.h"
#include "transport/kcoll_map.h"
#include "transport/kcoll_uring.h"
#include "transport/keeper.h"
#include "transport/segment.h"
#include "transport/shared_file.h"

namespace coll::comm {

namespace {

constexpr int most_ranks = 4096;
constexpr size_t most_huge = 16;  // communicators of a process whose staging may take a huge page each

// How this rank fares. One rank's failure is every rank's.
struct Fate {
  coll_status status = COLL_OK;
  std::string text;
  void fail(coll_status s, const std::string& why) {
    if (status == COLL_OK) status = s, text = why;
  }
};

// Ranks that must share a core: spinning would keep the one that is waited for from running.
bool crowded(const std::vector<Introduction>& ranks) {
  std::bitset<most_cpus> all, taken_alone;
  for (const Introduction& one : ranks) {
    if (one.cpus.count() == 1) {
      if ((taken_alone & one.cpus).any()) return true;
      taken_alone |= one.cpus;
    }
    all |= one.cpus;
  }
  return all.count() < ranks.size();
}

}  // namespace

class Creation {
 public:
  Creation(int rank, int ranks) : comm_(new Comm), layout_(ranks) {
    comm_->team_.rank = rank;
    comm_->team_.ranks = ranks;
  }

  std::unique_ptr<Comm> run(const Exchange& exchange, bool names, coll_status& status) {
    prepare();
    hello_.status = Status(fate_.status);
    hellos_.resize(ranks());
    if (!trade(exchange, hello_, hellos_, status)) return nullptr;
    meet();
    comm_->exchanges_names_ = names || rendezvous_->namespaces_differ();
    statuses_.assign(ranks(), COLL_OK);
    if (comm_->exchanges_names_ && !trade(exchange, Status(fate_.status), statuses_, status)) return nullptr;
    enter();
    if (!agree(exchange, introduction_reason, status)) return nullptr;
    if (rank() == 0) segment_->close();  // every rank has mapped it
    look_around();
    if (!agree(exchange, report_reason, status)) return nullptr;
    for (size_t r = 0; r < ranks(); r++) reports_.push_back(told(int(r)).report);
    decide();
    if (fate_.status != COLL_OK) {
      status = failure(fate_.status, fate_.text);
      return nullptr;
    }
    comm_->segment_ = std::move(segment_);
    comm_->registration_ = std::move(registration_);
    add_living(*comm_);
    status = COLL_OK;
    return std::move(comm_);
  }

 private:
  int rank() const { return comm_->team_.rank; }
  size_t ranks() const { return size_t(comm_->team_.ranks); }

  template <typename Message>
  bool trade(const Exchange& exchange, const Message& mine, std::vector<Message>& all, coll_status& status) {
    if (exchange(&mine, all.data(), sizeof mine)) return true;
    status = fate_.status != COLL_OK
                 ? failure(fate_.status, fate_.text)
                 : failure(COLL_ERR_BOOTSTRAP, "the allgather callback of the bootstrap returned an error");
    return false;
  }

  static char* introduction_reason(Told& told) { return told.introduction.reason; }
  static char* report_reason(Told& told) { return told.report.reason; }

  // After the exchange all ranks know what each has written to the segment, its reason among that. False when some rank has
  // failed.
  bool agree(const Exchange& exchange, char* (*reason)(Told&), coll_status& status) {
    if (entered_) snprintf(reason(told(rank())), reason_bytes, "%s", fate_.text.c_str());
    if (!trade(exchange, Status(fate_.status), statuses_, status)) return false;
    for (size_t r = 0; r < ranks(); r++) {
      if (statuses_[r] == COLL_OK) continue;
      // A rank that cannot read the first one's reason has one of its own.
      if (int(r) == rank() || (!entered_ && fate_.status != COLL_OK)) status = failure(fate_.status, fate_.text);
      else status = failure(coll_status(statuses_[r]), reason_of(int(r), reason));
      return false;
    }
    return true;
  }

  std::string reason_of(int r, char* (*reason)(Told&)) const {
    const std::string who = "rank " + std::to_string(r);
    // Of one that has not entered the segment, these are zeroes.
    const char* its = entered_ ? reason(told(r)) : "";
    if (its[0] != 0) return who + ": " + std::string(its, strnlen(its, reason_bytes));
    if (hellos_[0].descriptor < 0)
      return "rank 0 cannot make the shared memory of the communicator; raise its limit on open files (ulimit -n), "
             "address space (ulimit -v) or file size (ulimit -f): its own message says which";
    return who + " cannot create the communicator; its own message says why (coll_last_error())";
  }

  void prepare() {
    const transport::Address address = transport::own_address();
    hello_.introduce(address);
    own_.process = address.token;
    read_settings();
    if (rank() == 0) make_segment();
  }

  void read_settings() {
    coll_status settings = comm_->settings_.read();
    if (settings != COLL_OK) return fate_.fail(settings, last_error());
    topo::Status parsed = read_sensitivity();
    if (!parsed.ok()) return fate_.fail(COLL_ERR_TOPOLOGY, "COLL_SENSITIVITY: " + parsed.text());
    own_.transport = uint32_t(comm_->settings_.transport);
    own_.debug = comm_->settings_.debug;
    own_.choices = comm_->settings_.choices;
    own_.direct_min_bytes = comm_->settings_.direct_min_bytes;
    own_.shared_heap = comm_->settings_.shared_heap;
    own_.tune = uint8_t(comm_->settings_.tune);
    own_.huge_pages = comm_->settings_.huge_pages && mem::HugePages::are_to_be_had();
    for (int cpu : topo::current_cpus())
      if (cpu < most_cpus) own_.cpus.set(size_t(cpu));
    own_.probe = probe_.offer(comm_->settings_.transport);
  }

  topo::Status read_sensitivity() {
    sensitivity_ = topo::Sensitivity::standard();
    const std::string& wish = comm_->settings_.sensitivity;
    return wish.empty() ? topo::Status() : topo::Sensitivity::parse(wish, sensitivity_);
  }

  // The topology is loaded once per node, by rank 0, and handed over in the segment; the table of this machine with it.
  // A rank 0 that has failed makes a segment as well: it tells the others why.
  void make_segment() {
    std::shared_ptr<const LoadedMachine> loaded;
    std::shared_ptr<const FoundTable> found;
    if (fate_.status == COLL_OK) load_texts(loaded, found);
    const std::string learned = read_learned(comm_->settings_);
    own_.machine_bytes = loaded != nullptr ? loaded->text.size() : 0;
    own_.table_bytes = found != nullptr ? found->text.size() : 0;
    own_.learned_bytes = learned.size();
    std::string problem;
    segment_ =
        transport::Segment::make(layout_.texts() + own_.machine_bytes + own_.table_bytes + own_.learned_bytes, problem);
    if (segment_ == nullptr) return fate_.fail(COLL_ERR_NO_MEMORY, problem);
    hello_.offer(segment_->address());
    for (const SegmentLayout::Range& range : layout_.read_first())
      transport::touch_pages(at(range.offset), range.bytes);
    if (loaded != nullptr) memcpy(machine_text(), loaded->text.data(), loaded->text.size());
    if (found != nullptr) memcpy(table_text(own_), found->text.data(), found->text.size());
    memcpy(learned_text(own_), learned.data(), learned.size());
  }

  void load_texts(std::shared_ptr<const LoadedMachine>& loaded, std::shared_ptr<const FoundTable>& found) {
    loaded = load_machine(comm_->settings_.topology);
    if (!loaded->status.ok() && !comm_->settings_.topology.empty())
      return fate_.fail(COLL_ERR_TOPOLOGY, "COLL_TOPOLOGY: " + loaded->status.text());
    found = find_table(comm_->settings_.table, loaded->machine);
    if (found->table == nullptr && !comm_->settings_.table.empty() && comm_->settings_.table != "none")
      return fate_.fail(COLL_ERR_ARG, "COLL_TABLE: " + found->remark);
    if (!found->remark.empty()) comm_->settings_.remarks += "libcoll: " + found->remark + "\n";
  }

  bool one_process() const {
    return std::ranges::all_of(comm_->team_.members, [](const exec::Member& m) { return m.peer->same_process(); });
  }

  char* at(size_t offset) const { return segment_->base() + offset; }
  Told& told(int r) const { return *reinterpret_cast<Told*>(at(layout_.told(r))); }
  char* machine_text() const { return at(layout_.texts()); }
  char* table_text(const Introduction& of_first) const { return machine_text() + of_first.machine_bytes; }
  char* learned_text(const Introduction& of_first) const { return table_text(of_first) + of_first.table_bytes; }

  // False: nothing of that rank's can be read.
  bool understands(int r) {
    const Hello& hello = hellos_[size_t(r)];
    if (hello.version != Hello::protocol)
      fate_.fail(COLL_ERR_BOOTSTRAP,
                 "rank " + std::to_string(r) +
                     " runs another version of libcoll than this rank; use one version on all ranks");
    else if (hello.node != hello_.node)
      fate_.fail(COLL_ERR_BOOTSTRAP,
                 "rank " + std::to_string(r) + " is on another node; create one communicator per node");
    return hello.version == Hello::protocol && hello.node == hello_.node;
  }

  void meet() {
    std::vector<transport::Address> addresses;
    const transport::Address own = hello_.address();
    for (size_t r = 0; r < ranks(); r++) {
      understands(int(r));
      transport::Address address = hellos_[r].address();
      // The pid of a process in another pid namespace means nothing here; no process has 0.
      if (!transport::share_pids(address.namespaces, own.namespaces) && !(address.token == own.token)) address.pid = 0;
      addresses.push_back(address);
    }
    transport::SegmentAddress segment = hellos_[0].segment();
    segment.pid = addresses[0].pid;
    rendezvous_.emplace(rank(), addresses, segment, comm_->settings_.rendezvous_directory);
    addresses_ = std::move(addresses);
    if (hellos_[0].descriptor < 0) return;
    const std::string problem = rendezvous_->open_socket();
    if (!problem.empty()) fate_.fail(COLL_ERR_BOOTSTRAP, problem);
  }

  // Maps the segment and introduces this rank, also if it has failed: so the others learn why.
  void enter() {
    if (hellos_[0].descriptor < 0 || !understands(0)) return;
    std::string problem;
    if (rank() == 0) problem = rendezvous_->pass(*segment_, statuses_);
    else segment_ = rendezvous_->reach(problem);
    if (!problem.empty()) fate_.fail(COLL_ERR_BOOTSTRAP, problem);
    if (segment_ == nullptr) return;
    told(rank()).introduction = own_;
    entered_ = true;
  }

  void compare_settings() {
    for (size_t r = 0; r < ranks(); r++) {
      const Introduction& its = introductions_[r];
      if (its.transport != own_.transport || its.debug != own_.debug || its.direct_min_bytes != own_.direct_min_bytes)
        return fate_.fail(COLL_ERR_BOOTSTRAP, "rank " + std::to_string(r) +
                                                  " has a different value of COLL_TRANSPORT, COLL_DEBUG or "
                                                  "COLL_DIRECT_MIN; set the same value on all ranks");
      if (its.choices != own_.choices)
        return fate_.fail(COLL_ERR_BOOTSTRAP,
                          "rank " + std::to_string(r) +
                              " has a different value of COLL_SENSITIVITY, COLL_THROTTLE, COLL_CHUNK, COLL_CPU or of a "
                              "collective's variable such as COLL_BCAST; set the same value on all ranks");
    }
  }

  // Between the last two exchanges: what this rank finds out about the others, and what works from where it is.
  void look_around() {
    transport::map_pages(at(layout_.told(0)), ranks() * sizeof(Told));
    for (size_t r = 0; r < ranks(); r++) introductions_.push_back(told(int(r)).introduction);
    compare_settings();
    if (fate_.status != COLL_OK) return;
    exec::Team& team = comm_->team_;
    team.members.resize(ranks());
    for (size_t r = 0; r < ranks(); r++) {
      addresses_[r].token = introductions_[r].process;
      team.members[r] = {reinterpret_cast<exec::RankState*>(at(layout_.state(int(r)))),
                         at(layout_.refused_piece(int(r))), transport::Peer::reach(addresses_[r])};
    }
    // Before the last exchange: after it each peer can tell whether this rank has ended.
    if (!one_process())
      registration_ = std::make_unique<transport::LifeRegistration>(team.members[size_t(rank())].state->life);
    // Rank 0 has mapped them as it committed them.
    if (rank() != 0)
      for (const SegmentLayout::Range& range : layout_.read_first())
        transport::map_pages(at(range.offset), range.bytes);
    // A stream of small operations walks over the whole ring: one page fault instead of hundreds.
    if (living_communicators() < most_huge)
      transport::advise_huge(at(layout_.payloads(rank())), layout_.payloads_bytes() + 2 * half_bytes);
    topo::Status parsed;
    const Introduction& first = introductions_[0];
    const std::shared_ptr<const topo::Machine> machine = machine_of({machine_text(), first.machine_bytes}, parsed);
    if (machine == nullptr) return fate_.fail(COLL_ERR_TOPOLOGY, parsed.text());
    comm_->machine_ = machine;
    if (first.table_bytes != 0) {
      table_ = table_of({table_text(first), first.table_bytes});
      if (table_ == nullptr)
        return fate_.fail(COLL_ERR_BOOTSTRAP,
                          "rank 0 runs another version of libcoll than this rank; use one version on all ranks");
    }
    // On the machine itself a rank knows where it is bound; a described machine is filled core by core.
    Report& own = told(rank()).report;
    own.place = machine->source == "native" || machine->source == "flat"
                    ? topo::current_place(*machine)
                    : topo::map_ranks(*machine, int(ranks()), topo::Mapping::core)[size_t(rank())];
    team.crowded = crowded(introductions_);
    if (team.crowded) own.scheduling_group = sync::scheduling_group();
    if (ranks() == 1) return;
    const size_t other = (size_t(rank()) + 1) % ranks();
    own.found = probe_.look(introductions_[other].probe, addresses_[other], first.probe.domain);
    if (rank() == 1) probe_.take_times(first.probe, addresses_[0], own.found);
  }

  // Without its pid, only its life mark shows that a rank has ended.
  void check_marks() {
    for (size_t r = 0; r < ranks(); r++)
      if (comm_->team_.members[r].state->life.word.load(std::memory_order_relaxed) == 0)
        return fate_.fail(COLL_ERR_BOOTSTRAP,
                          "the end of rank " + std::to_string(r) +
                              " cannot be noticed in another pid namespace: it has no thread libcoll-life; raise the "
                              "limit on processes (ulimit -u), or use one pid namespace (unshare without --pid)");
  }

  void decide() {
    exec::Team& team = comm_->team_;
    const Settings& settings = comm_->settings_;
    if (rendezvous_->pids_differ()) check_marks();
    if (fate_.status != COLL_OK) return;
    std::vector<topo::Place> places;
    for (const Report& report : reports_) places.push_back(report.place);
    comm_->hierarchy_ = topo::Hierarchy::from_places(places, sensitivity_);
    comm_->cache_bytes_ = topo::available_cache_bytes(*comm_->machine_, places);

    for (const Report& report : reports_) agreed_.add(report.found);
    const std::string problem = agreed_.impossible(settings.transport);
    if (!problem.empty())
      return fate_.fail(COLL_ERR_UNAVAILABLE,
                        std::string("COLL_TRANSPORT=") + name(settings.transport) + " cannot be used here: " + problem);
    const Transport chosen = settings.transport == Transport::automatic ? agreed_.fastest() : settings.transport;
    using exec::Reach;
    team.reach = one_process()                                             ? Reach::direct
                 : chosen == Transport::shm || chosen == Transport::mapped ? Reach::staged
                                                                           : Reach::remote;
    if (settings.transport == Transport::shm) team.reach = Reach::staged;
    team.map_arenas = settings.transport != Transport::shm && !rendezvous_->namespaces_differ();
    const bool stages = ranks() > 1 && settings.transport == Transport::automatic && team.reach == Reach::staged;
    const bool copies_work = stages && agreed_.impossible(Transport::cma).empty();
    comm_->copies_work_ = copies_work;
    if (copies_work) comm_->cma_times_ = agreed_.cma_times();
    if (team.reach == Reach::remote) team.access = make_access(chosen);
    else if (copies_work) team.access = make_access(Transport::cma);
    if (team.access != nullptr) team.abilities = team.access->abilities();
    if (settings.log)
      team.on_refusal = [rank = rank()] {
        fprintf(
            stderr,
            "libcoll: rank %d: the kernel refuses to copy between its peers and a buffer of this rank (memfd_secret, "
            "device memory); in this communicator its buffers are staged from now on\n",
            rank);
      };
    team.direct_min_bytes = settings.direct_min_bytes;
    if (settings.streamed.has_value()) team.stores.settle(*settings.streamed);
    comm_->heaps_are_shared_ = team.map_arenas && std::ranges::all_of(introductions_, &Introduction::shared_heap);
    comm_->huge_pages_ = std::ranges::all_of(introductions_, &Introduction::huge_pages);
    if (!settings.trace.empty()) team.record = std::make_unique<exec::Record>();
    comm_->groups_apart_ = comm_->team_.crowded && !std::ranges::all_of(reports_, [this](const Report& report) {
                             return report.scheduling_group == reports_[0].scheduling_group;
                           });
    team.patience = comm_->team_.crowded ? sync::Patience::crowded(!comm_->groups_apart_) : sync::Patience::alone();
    for (int c = 0; c < channel_count; c++) set_up(comm_->channel(c), c);
    comm_->selector_ = {table_, comm_->hierarchy_, model::hardware_of(*comm_->machine_)};
    comm_->set_latency_paths();
    if (ranks() > 1 && team.reach != Reach::direct && settings.chunk_bytes == 0 && settings.throttle == 0) tune(stages);
    describe();
  }

  std::unique_ptr<transport::Access> make_access(Transport transport) {
    switch (transport) {
      case Transport::kcoll_copy: return std::make_unique<transport::KcollCopy>(probe_.device());
      case Transport::kcoll_map: return std::make_unique<transport::KcollMap>(probe_.device(), int(ranks()));
      case Transport::kcoll_uring: {
        transport::KcollStatus status;
        auto uring = transport::KcollUring::make(probe_.device(), !comm_->team_.crowded, status);
        if (uring != nullptr) return uring;
        return std::make_unique<transport::KcollCopy>(probe_.device());
      }
      case Transport::automatic:
      case Transport::shm:
      case Transport::mapped:
      case Transport::cma: break;
    }
    std::vector<int> pids;
    for (const transport::Address& address : addresses_) pids.push_back(address.pid);
    return transport::cma_access(std::move(pids));
  }

  void tune(bool stages) {
    const auto level = Tune(std::ranges::min(introductions_, {}, &Introduction::tune).tune);
    const bool has_times = comm_->selector_.knows_times(int(ranks()));
    comm_->tuned_min_bytes_ = tuned_min_bytes(level, stages && table_ == nullptr, has_times);
    if (comm_->tuned_min_bytes_ == SIZE_MAX) return;
    const Introduction& first = introductions_[0];
    comm_->tuning_ = std::make_unique<Tuning>(
        rank(), int(ranks()), layout_, segment_->base(), comm_->team_.crowded, level,
        tune::PricedCandidates(table_, comm_->machine_, comm_->hierarchy_),
        learned_of({learned_text(first), first.learned_bytes}, comm_->settings_, comm_->machine_->processor));
  }

  // Twice as far as a core's own caches reach, but all ranks' two halves leave room in the caches they share. The more
  // ranks, the shorter: a rank maps every page that any of them walks over, and until the first walk has ended each call
  // of an algorithm that reads from all peers takes a page fault for each of them.
  size_t walk_bytes() const {
    constexpr size_t of_two = size_t(1) << 20;
    const size_t own = 2 * comm_->machine_->l2.size_bytes, share = comm_->cache_bytes_ / (4 * ranks());
    const size_t walk = comm_->team_.crowded ? of_two : std::clamp(std::min(own, share), of_two, half_bytes);
    return std::max(2 * walk / std::max<size_t>(ranks(), 2), exec::least_walk_bytes);
  }

  void set_up(exec::Channel& channel, int index) {
    channel.team = &comm_->team_;
    layout_.place(channel, index, segment_->base());
    exec::StagingRing& longest = channel.rings.back();
    longest.walk_bytes = std::min(walk_bytes(), longest.half_bytes);
    channel.starts_over = comm_->team_.crowded;
    if (index != 0 || comm_->team_.crowded) return;
    channel.payloads = at(layout_.payloads(rank()));
    channel.payloads_bytes = layout_.payloads_bytes();
  }

  void describe() {
    const exec::Team& team = comm_->team_;
    std::string& text = comm_->description_;
    text = topo::describe(comm_->hierarchy_) + "; transport ";
    if (team.reach == exec::Reach::direct) text += "mapped (ranks are threads of one process)";
    else text += comm_->transport();
    if (comm_->settings_.transport != Transport::automatic) text += ", forced";
    else if (ranks() > 1 && team.reach != exec::Reach::direct) text += " (256 KiB: " + agreed_.times() + ")";
    if (team.reach != exec::Reach::direct && team.map_arenas) text += "; shared buffers (coll_mem_alloc): mapped";
    text += comm_->team_.crowded ? "; oversubscribed (more ranks than cores)" : "";
    if (table_ == nullptr) text += "; table: none, built-in defaults (collctl calibrate writes one)";
    else text += "; table: " + table_->name + (table_->date.empty() ? "" : " of " + table_->date);
  }

  std::unique_ptr<Comm> comm_;
  const SegmentLayout layout_;
  std::shared_ptr<transport::Segment> segment_;  // the communicator's once that is complete
  std::unique_ptr<transport::LifeRegistration> registration_;
  Fate fate_;
  Hello hello_;
  Introduction own_;
  bool entered_ = false;  // the segment is mapped, and this rank has introduced itself
  std::optional<Rendezvous> rendezvous_;
  std::vector<Hello> hellos_;
  std::vector<Status> statuses_;
  std::vector<transport::Address> addresses_;  // as this process may use them
  std::vector<Introduction> introductions_;
  std::vector<Report> reports_;
  Probe probe_;
  Agreement agreed_;
  std::shared_ptr<const model::Table> table_;
  topo::Sensitivity sensitivity_;
};

std::unique_ptr<Comm> Comm::create(int rank, int ranks, const Exchange& exchange, bool names, coll_status& status) {
  if (ranks > most_ranks) {
    status = failure(COLL_ERR_ARG, std::to_string(ranks) + " ranks exceed the limit of " + std::to_string(most_ranks) +
                                       " ranks per communicator");
    return nullptr;
  }
  std::unique_ptr<Comm> comm = Creation(rank, ranks).run(exchange, names, status);
  if (comm != nullptr) stats::begin(rank);
  if (comm != nullptr && comm->settings_.log && rank == 0)
    fprintf(stderr, "%slibcoll: communicator of %s\n", comm->settings_.remarks.c_str(), comm->description_.c_str());
  return comm;
}

Comm::~Comm() {
  if (segment_ == nullptr) return;
  remove_living(*this);
  if (disowned()) return;
  if (team_.record != nullptr) write_trace();
  leave();
  keep_learned();
}

}  // namespace coll::comm
