// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/choice/machines.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "model/machines.h"
#include "plan/schedule.h"
#include "tools/command.h"
#include "topo/machine.h"

namespace coll::tools {

namespace {

struct Named {
  const char* name;
  int ranks;
};
constexpr Named papers[] = {{"epyc-1p", 32},   {"epyc-2p", 64}, {"arm-n1", 160}, {"knl", 64},
                            {"broadwell", 28}, {"nodea", 64},   {"nodeb", 48}};

void place(AuditedMachine& made, int ranks) {
  topo::Machine described;
  if (topo::Status status = topo::load_synthetic(made.table.topology, described); !status.ok())
    throw Failure("--machine: 'topology' of " + made.table.name + ": " + status.text());
  if (ranks == 0) ranks = described.cores;
  if (ranks > described.cores)
    throw usage(fmt::format("--ranks {}: machine '{}' has {} cores, and prices are for ranks on cores of their own",
                            ranks, made.table.name, described.cores));
  made.hierarchy = topo::Hierarchy::from_places(topo::map_ranks(described, ranks, topo::Mapping::core));
}

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int below(int n) { return int(random_.next() % uint64_t(n)); }
  // A factor between 0.5 and 2.
  double times() { return std::exp2(2 * unit() - 1); }
  double unit() { return double(random_.next() >> 11) / double(uint64_t(1) << 53); }

 private:
  plan::Random random_;
};

void scale(model::ByDistance& values, double times) {
  for (double& value : values.at) value *= times;
}

void draw_parameters(model::Table& table, Draw& draw) {
  for (model::Access& access : table.access) {
    if (!access.available) continue;
    scale(access.startup_us, draw.times());
    scale(access.bandwidth_gbs, draw.times());
    access.page_us *= draw.times();
    access.gamma.quadratic *= draw.times();
    access.gamma.linear *= draw.times();
  }
  scale(table.flag_ns, draw.times());
  for (double* value : {&table.line_ns, &table.look_ns, &table.step_ns, &table.links.l3_gbs, &table.links.memory_gbs,
                        &table.links.numa_gbs, &table.links.socket_gbs})
    *value *= draw.times();
  for (model::Bandwidth* of : {&table.copy, &table.copy_non_temporal, &table.reduce, &table.reduce_non_temporal}) {
    const double times = draw.times();
    of->alone_gbs *= times;
    of->all_gbs *= times;
  }
}

// 24 to 256 cores in sockets, NUMA nodes and, in most tables, L3 caches.
void draw_topology(model::Table& table, Draw& draw) {
  constexpr int packages[] = {1, 2, 2, 4}, numas[] = {1, 1, 2, 4}, l3s[] = {0, 1, 2, 4, 8};
  int package = 0, numa = 0, l3 = 0, cores = 0, all = 0;
  do {
    package = packages[draw.below(4)], numa = numas[draw.below(4)], l3 = l3s[draw.below(5)], cores = 2 + draw.below(31);
    all = package * numa * std::max(l3, 1) * cores;
  } while (all < 24 || all > 256);
  table.topology =
      fmt::format("package:{} numa:{}{} core:{}", package, numa, l3 > 0 ? fmt::format(" l3:{}", l3) : "", cores);
  model::Fingerprint& of = table.fingerprint;
  of.sockets = package, of.numas = package * numa, of.l3s = package * numa * l3, of.cores = all;
  of.l2_bytes = uint64_t(double(of.l2_bytes) * draw.times());
  of.l3_bytes = l3 > 0 ? uint64_t(double(std::max<uint64_t>(of.l3_bytes, 8 << 20)) * draw.times()) : 0;
}

std::vector<AuditedMachine> random_machines(uint64_t seed, int count, const std::vector<size_t>& sizes) {
  std::vector<AuditedMachine> made;
  Draw draw(seed);
  while (int(made.size()) < count) {
    AuditedMachine& machine = made.emplace_back();
    const Named& like = papers[draw.below(int(std::size(papers)))];
    if (topo::Status status = model::find_machine(like.name, machine.table); !status.ok()) throw Failure(status.text());
    model::complete_mechanisms(machine.table);
    draw_topology(machine.table, draw);
    draw_parameters(machine.table, draw);
    machine.table.name = fmt::format("random-{}-{}", seed, made.size());
    machine.table.description = fmt::format("drawn like {}", like.name);
    const int cores = machine.table.fingerprint.cores;
    place(machine, 24 + draw.below(cores - 23));
    for (size_t bytes : sizes)
      machine.sizes.push_back(std::max(size_t(double(bytes) * draw.times()) / 4 * 4, size_t(4)));
  }
  return made;
}

}  // namespace

std::string AuditedMachine::text() const {
  return fmt::format("{} ({}), {}", table.name, table.description, topo::describe(hierarchy));
}

std::vector<AuditedMachine> audited_machines(const std::string& name, int ranks, int random_tables,
                                             const std::vector<size_t>& sizes) {
  constexpr std::string_view random = "random:";
  if (name.starts_with(random)) {
    uint64_t seed = 0;
    const char* first = name.data() + random.size();
    const auto [last, error] = std::from_chars(first, name.data() + name.size(), seed);
    if (error != std::errc() || last != name.data() + name.size() || last == first)
      throw usage(fmt::format("--machine {}: write random:SEED with a number as seed", name));
    if (ranks != 0) throw usage("--ranks: tables drawn at random have ranks of their own; leave it out");
    return random_machines(seed, random_tables == 0 ? 20 : random_tables, sizes);
  }
  if (random_tables != 0) throw usage("--tables belongs to --machine random:SEED; leave it out");
  if (name == "all" && ranks != 0) throw usage("--ranks belongs to one machine; name one instead of all");
  std::vector<AuditedMachine> made;
  for (const Named& paper : papers) {
    if (name != "all" && name != paper.name) continue;
    AuditedMachine& machine = made.emplace_back();
    if (topo::Status status = model::find_machine(paper.name, machine.table); !status.ok())
      throw Failure(status.text());
    place(machine, ranks == 0 ? paper.ranks : ranks);
  }
  if (made.empty()) {
    AuditedMachine& machine = made.emplace_back();
    if (topo::Status status = model::find_machine(name, machine.table); !status.ok())
      throw Failure("--machine: " + status.text());
    place(machine, ranks);
  }
  for (AuditedMachine& machine : made) {
    model::complete_mechanisms(machine.table);
    machine.sizes = sizes;
  }
  return made;
}

}  // namespace coll::tools
