// SPDX-License-Identifier: BSD-3-Clause
// The creation of a communicator: every rank opens the segment of rank 0, writes its introduction there, probes the
// transports, and makes the same decisions from the same data. The ranks exchange statuses between these steps.
#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "comm/creation.h"
#include "comm/living.h"
#include "comm/spares.h"
#include "comm/stats.h"
#include "comm/tuning.h"
#include "mem/huge_pages.h"
#include "mem/shared_stores.h"
#include "sync/scheduler_group.h"
#include "transport/process.h"
#include "transport/shared_file.h"

namespace coll::comm {

namespace {

// The model repeats them, because it must not include lib/mem.
static_assert(size_t(model::short_store_bytes) == mem::SharedStores::least_bytes &&
              model::RepMovsb::never == mem::Processor::never);
static_assert(size_t(model::long_buffer_bytes) == mem::HugePages::least_bytes &&
              size_t(model::huge_page_bytes) == mem::huge_page_bytes);
constexpr size_t most_huge = 16;  // communicators per process whose payloads and staging may use huge pages

// Whether ranks must share a core. Then a spinning rank would keep the rank that it waits for from running.
bool are_oversubscribed(const std::vector<Introduction>& ranks) {
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

// Whether the reason of a failed system call is a lack of memory, address space or descriptors.
bool is_exhausted(int reason) { return reason == ENOMEM || reason == EMFILE || reason == ENFILE; }

bool is_too_many(int ranks, coll_status& status) {
  if (ranks <= transport::most_ranks) return false;
  status = failure(COLL_ERR_ARG, std::to_string(ranks) + " ranks exceed the limit of " +
                                     std::to_string(transport::most_ranks) + " ranks per communicator");
  return true;
}

}  // namespace

std::unique_ptr<Comm> Creation::run(const Exchange& exchange, bool names, coll_status& status) {
  prepare();
  return say_hello(exchange, status) ? make(exchange, names, status) : nullptr;
}

std::shared_ptr<Comm> Creation::run_or_reuse(const Exchange& exchange, coll_status& status) {
  std::vector<std::shared_ptr<Comm>> spares = take_spares(rank(), int(ranks()));
  const bool offers = !spares.empty();
  if (offers) hello_.offer_spares(tokens_of(spares));
  else prepare();
  const bool met = say_hello(exchange, status);
  const uint64_t token = met ? common_spare(hellos_) : 0;
  std::shared_ptr<Comm> reused;
  if (token != 0) {
    const auto found = std::ranges::find_if(spares, [token](const auto& spare) { return spare->token() == token; });
    reused = std::move(*found);
    spares.erase(found);
  }
  put_back(std::move(spares));
  if (!met || reused != nullptr) return reused;
  if (offers) prepare();
  const bool again = hellos_[0].descriptor == Hello::offers_spares &&
                     std::ranges::all_of(hellos_, [](const Hello& h) { return h.version == Hello::protocol; });
  if (again && !say_hello(exchange, status)) return nullptr;
  return make(exchange, false, status);
}

std::array<uint64_t, Hello::most_spares> Creation::tokens_of(const std::vector<std::shared_ptr<Comm>>& spares) {
  std::array<uint64_t, Hello::most_spares> tokens{};
  for (size_t i = 0; i < spares.size(); i++) tokens[i] = spares[i]->token();
  return tokens;
}

bool Creation::say_hello(const Exchange& exchange, coll_status& status) {
  const transport::Address address = transport::own_address();
  hello_.introduce(address);
  own_.process = address.token;
  hello_.status = Status(fate_.status);
  hellos_.resize(ranks());
  return trade(exchange, hello_, hellos_, status);
}

std::unique_ptr<Comm> Creation::make(const Exchange& exchange, bool names, coll_status& status) {
  meet();
  comm_->exchanges_names_ = names || rendezvous_->namespaces_differ();
  statuses_.assign(ranks(), COLL_OK);
  if (comm_->exchanges_names_ && !trade(exchange, Status(fate_.status), statuses_, status)) return nullptr;
  enter();
  if (!agree(exchange, introduction_reason, status)) return nullptr;
  if (rank() == 0) segment_->close();  // every rank has mapped it
  look_around();
  if (!agree(exchange, report_reason, status)) return nullptr;
  for (size_t r = 0; r < ranks(); r++) reports_.push_back(record_of(int(r)).report);
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

bool Creation::agree(const Exchange& exchange, char* (*reason)(RankRecord&), coll_status& status) {
  if (entered_) snprintf(reason(record_of(rank())), reason_bytes, "%s", fate_.text.c_str());
  if (!trade(exchange, Status(fate_.status), statuses_, status)) return false;
  for (size_t r = 0; r < ranks(); r++) {
    if (statuses_[r] == COLL_OK) continue;
    // A rank that has not entered the segment cannot read the reason of rank r, and reports its own.
    if (int(r) == rank() || (!entered_ && fate_.status != COLL_OK)) status = failure(fate_.status, fate_.text);
    else status = failure(coll_status(statuses_[r]), reason_of(int(r), reason));
    return false;
  }
  return true;
}

std::string Creation::reason_of(int r, char* (*reason)(RankRecord&)) const {
  const std::string who = "rank " + std::to_string(r);
  // The reason of a rank that has not entered the segment is empty.
  const char* its = entered_ ? reason(record_of(r)) : "";
  if (its[0] != 0) return who + ": " + std::string(its, strnlen(its, reason_bytes));
  if (hellos_[0].descriptor < 0)
    return "rank 0 cannot make the shared memory of the communicator; raise its limit on open files (ulimit -n), "
           "address space (ulimit -v) or file size (ulimit -f): its own message says which";
  return who + " cannot create the communicator; its own message says why (coll_last_error())";
}

void Creation::prepare() {
  read_settings();
  if (rank() == 0) make_segment();
}

void Creation::read_settings() {
  coll_status settings = comm_->settings_.read();
  if (settings != COLL_OK) return fate_.fail(settings, last_error());
  topo::Status parsed = read_sensitivity();
  if (!parsed.ok()) return fate_.fail(COLL_ERR_TOPOLOGY, "COLL_SENSITIVITY: " + parsed.text());
  own_.transport = uint32_t(comm_->settings_.transport);
  own_.debug = comm_->settings_.debug;
  own_.choices = comm_->settings_.choices;
  own_.direct_min_bytes = comm_->settings_.direct_min_bytes;
  own_.shared_heap = comm_->settings_.shared_heap;
  own_.traces = !comm_->settings_.trace.empty();
  own_.tune = uint8_t(comm_->settings_.tune);
  own_.huge_pages = comm_->settings_.huge_pages && mem::HugePages::are_to_be_had();
  comm_->surroundings_ = Surroundings::of_process();
  own_.cpus = comm_->surroundings_.cpus;
  own_.probe = probe_.offer(comm_->settings_.transport);
}

topo::Status Creation::read_sensitivity() {
  sensitivity_ = topo::Sensitivity::standard();
  const std::string& wish = comm_->settings_.sensitivity;
  return wish.empty() ? topo::Status() : topo::Sensitivity::parse(wish, sensitivity_);
}

void Creation::make_segment() {
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
  for (const SegmentLayout::Range& range : layout_.read_first()) transport::touch_pages(at(range.offset), range.bytes);
  if (loaded != nullptr) memcpy(machine_text(), loaded->text.data(), loaded->text.size());
  if (found != nullptr) memcpy(table_text(own_), found->text.data(), found->text.size());
  memcpy(learned_text(own_), learned.data(), learned.size());
}

void Creation::load_texts(std::shared_ptr<const LoadedMachine>& loaded, std::shared_ptr<const FoundTable>& found) {
  loaded = load_machine(comm_->settings_.topology);
  if (!loaded->status.ok() && !comm_->settings_.topology.empty())
    return fate_.fail(COLL_ERR_TOPOLOGY, "COLL_TOPOLOGY: " + loaded->status.text());
  found = find_table(comm_->settings_.table, loaded->machine);
  if (found->table == nullptr && !comm_->settings_.table.empty() && comm_->settings_.table != "none")
    return fate_.fail(COLL_ERR_ARG, "COLL_TABLE: " + found->remark);
  if (!found->remark.empty()) comm_->settings_.remarks += "libcoll: " + found->remark + "\n";
}

bool Creation::one_process() const {
  return std::ranges::all_of(comm_->team_.members, [](const exec::Member& m) { return m.peer->same_process(); });
}

bool Creation::understands(int r) {
  const Hello& hello = hellos_[size_t(r)];
  if (hello.version != Hello::protocol)
    fate_.fail(COLL_ERR_BOOTSTRAP, "rank " + std::to_string(r) +
                                       " runs another version of libcoll than this rank; use one version on all ranks");
  else if (hello.is_on_other_node(hello_))
    fate_.fail(COLL_ERR_BOOTSTRAP,
               "rank " + std::to_string(r) + " is on another node; create one communicator per node");
  return hello.version == Hello::protocol && !hello.is_on_other_node(hello_);
}

void Creation::meet() {
  std::vector<transport::Address> addresses;
  const transport::Address own = hello_.address();
  for (size_t r = 0; r < ranks(); r++) {
    understands(int(r));
    transport::Address address = hellos_[r].address();
    // A pid of another pid namespace is meaningless here. 0 is no process.
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

void Creation::enter() {
  if (hellos_[0].descriptor < 0 || !understands(0)) return;
  std::string problem;
  coll_status status = COLL_ERR_BOOTSTRAP;
  if (rank() == 0) problem = rendezvous_->pass(*segment_, statuses_);
  else if (segment_ = rendezvous_->reach(statuses_, problem); segment_ == nullptr && is_exhausted(errno))
    status = COLL_ERR_NO_MEMORY;
  if (!problem.empty()) fate_.fail(status, problem);
  if (segment_ == nullptr) return;
  record_of(rank()).introduction = own_;
  entered_ = true;
}

void Creation::compare_settings() {
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

void Creation::look_around() {
  transport::map_pages(at(layout_.record(0)), ranks() * sizeof(RankRecord));
  for (size_t r = 0; r < ranks(); r++) introductions_.push_back(record_of(int(r)).introduction);
  compare_settings();
  if (fate_.status != COLL_OK) return;
  exec::Team& team = comm_->team_;
  team.members.resize(ranks());
  for (size_t r = 0; r < ranks(); r++) {
    addresses_[r].token = introductions_[r].process;
    team.members[r] = {reinterpret_cast<exec::RankState*>(at(layout_.state(int(r)))), at(layout_.refused_piece(int(r))),
                       transport::Peer::reach(addresses_[r])};
  }
  // Registered before the last exchange: after it, each peer can detect that this rank has exited.
  if (!one_process())
    registration_ = std::make_unique<transport::LifeRegistration>(team.members[size_t(rank())].state->life);
  // Rank 0 mapped these pages when it committed them.
  if (rank() != 0)
    for (const SegmentLayout::Range& range : layout_.read_first()) transport::map_pages(at(range.offset), range.bytes);
  // A sequence of small operations uses the whole ring: with huge pages that takes one page fault instead of hundreds.
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
  // On the running machine a rank reads its own affinity; on a described machine ranks are placed core by core.
  Report& own = record_of(rank()).report;
  own.place = machine->source == "native" || machine->source == "flat"
                  ? topo::current_place(*machine)
                  : topo::map_ranks(*machine, int(ranks()), topo::Mapping::core)[size_t(rank())];
  team.oversubscribed = are_oversubscribed(introductions_);
  if (team.oversubscribed) own.scheduler_group = sync::scheduler_group();
  if (ranks() == 1) return;
  const size_t other = (size_t(rank()) + 1) % ranks();
  own.found = probe_.look(introductions_[other].probe, addresses_[other], first.probe.domain);
  if (rank() == 1) probe_.take_times(first.probe, addresses_[0], own.found);
}

thread_local const char* next_name = nullptr;

std::unique_ptr<Comm> Comm::create(int rank, int ranks, const Exchange& exchange, bool names, coll_status& status) {
  const char* const name = std::exchange(next_name, nullptr);
  if (is_too_many(ranks, status)) return nullptr;
  std::unique_ptr<Comm> comm = Creation(rank, ranks).run(exchange, names, status);
  if (comm != nullptr) comm->announce(name);
  return comm;
}

void Comm::announce(const char* name) const {
  stats::begin(rank());
  if (!settings_.log || rank() != 0) return;
  fprintf(stderr, "%slibcoll: communicator%s%s of %s\n", settings_.remarks.c_str(), name != nullptr ? " " : "",
          name != nullptr ? name : "", description_.c_str());
}

std::shared_ptr<Comm> Comm::create_or_reuse(int rank, int ranks, const Exchange& exchange, coll_status& status) {
  const char* const name = std::exchange(next_name, nullptr);
  if (is_too_many(ranks, status)) return nullptr;
  std::shared_ptr<Comm> comm = Creation(rank, ranks).run_or_reuse(exchange, status);
  if (comm != nullptr) comm->announce(name);
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
