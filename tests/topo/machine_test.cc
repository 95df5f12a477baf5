// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "../environment.h"
#include "support.h"

namespace coll::topo {
namespace {

using testing::HasSubstr;

std::vector<std::string> split_golden(const std::string &line) {
  std::vector<std::string> parts{""};
  for (char c : line) {
    if (c == '|') parts.emplace_back();
    else parts.back() += c;
  }
  for (std::string &part : parts) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
  }
  return parts;
}

TEST(Machine, IsReadAsRecorded) {
  std::ifstream file(COLL_TEST_MACHINES "/golden.txt");
  int machines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto golden = split_golden(line);
    ASSERT_EQ(golden.size(), 3u) << line;

    const Machine machine = machine_of(golden[0]);

    EXPECT_EQ(describe(machine), golden[1]) << line;
    EXPECT_EQ(describe(hierarchy_of(golden[0], machine.cores, Mapping::numa, "l3,numa,socket")), golden[2]) << line;
    ++machines;
  }
  EXPECT_GE(machines, 12);
}

// hwloc's description of a machine of 256 PUs, as lstopo writes it.
TEST(Machine, Of256PusIsTheSameFromTextAndXml) {
  const std::string text = "package:2 numa:4 l3:2(size=33554432) core:8 pu:2";
  const std::string file = testing::TempDir() + "of_256_pus." + std::to_string(getpid()) + ".xml";
  hwloc_topology_t topology;
  ASSERT_EQ(hwloc_topology_init(&topology), 0);
  ASSERT_EQ(hwloc_topology_set_synthetic(topology, text.c_str()), 0);
  ASSERT_EQ(hwloc_topology_load(topology), 0);
  ASSERT_EQ(hwloc_topology_export_xml(topology, file.c_str(), 0), 0);
  hwloc_topology_destroy(topology);
  Machine from_xml;

  const Status status = load(file, from_xml);
  std::filesystem::remove(file);

  ASSERT_TRUE(status.ok()) << status.text();
  const Machine from_text = machine_of(text);
  EXPECT_EQ(from_xml.pus.size(), 256u);
  EXPECT_EQ(from_xml.pus, from_text.pus);
  EXPECT_EQ(describe(from_xml), describe(from_text));
  const auto groups = [](const Machine &machine) {
    return describe(Hierarchy::from_places(map_ranks(machine, 256, Mapping::core), sensitivity_of("l3,numa,socket")));
  };
  EXPECT_EQ(groups(from_xml), groups(from_text));
}

TEST(Machine, HasItsCaches) {
  const Machine machine = machine_of("epyc-2p.xml");

  EXPECT_EQ(machine.l3, (Cache{8u << 20, 64, 16, Inclusion::no}));
  EXPECT_EQ(machine.l2, (Cache{512u << 10, 64, 64, Inclusion::yes}));
  EXPECT_EQ(machine.l1d, Cache{});
  EXPECT_EQ(machine.processor, "AMD EPYC 7501 32-Core Processor");
  EXPECT_EQ(machine_of("package:2 core:2").l3, Cache{});
}

// Linux on arm64 has no name of the processor, so hwloc has none.
TEST(Machine, OfArmCoresHasTheirName) {
  const std::string file = testing::TempDir() + "of_arm." + std::to_string(getpid()) + ".xml";
  const auto processor_of = [&](const char *implementer, const char *part) {
    hwloc_topology_t topology;
    EXPECT_EQ(hwloc_topology_init(&topology), 0);
    EXPECT_EQ(hwloc_topology_set_synthetic(topology, "package:2 core:2 pu:1"), 0);
    EXPECT_EQ(hwloc_topology_load(topology), 0);
    const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    EXPECT_EQ(hwloc_obj_add_info(package, "CPUImplementer", implementer), 0);
    EXPECT_EQ(hwloc_obj_add_info(package, "CPUPart", part), 0);
    EXPECT_EQ(hwloc_topology_export_xml(topology, file.c_str(), 0), 0);
    hwloc_topology_destroy(topology);
    Machine machine;
    const Status status = load(file, machine);
    EXPECT_TRUE(status.ok()) << status.text();
    return machine.processor;
  };

  EXPECT_EQ(processor_of("0x41", "0xd0c"), "Neoverse-N1");
  EXPECT_EQ(processor_of("0x41", "0xd4f"), "Neoverse-V2");
  EXPECT_EQ(processor_of("0xc0", "0xac3"), "Ampere-1");
  EXPECT_EQ(processor_of("0x41", "0xfff"), "Arm implementer 0x41 part 0xfff");
  std::filesystem::remove(file);
}

TEST(Machine, CountsTheCacheThatRanksReach) {
  const Machine machine = machine_of("epyc-2p.xml");
  const auto reach = [&](int ranks, Mapping by) {
    return available_cache_bytes(machine, map_ranks(machine, ranks, by));
  };
  constexpr std::uint64_t l2 = 512u << 10, l3 = 8u << 20;

  EXPECT_EQ(reach(4, Mapping::core), l3 + 4 * l2) << "one L3 for four neighbours";
  EXPECT_EQ(reach(4, Mapping::numa), 4 * l3 + 4 * l2);
  EXPECT_EQ(reach(64, Mapping::core), 16 * l3 + 64 * l2);
  EXPECT_EQ(available_cache_bytes(machine, std::vector<Place>(2)), 2 * l3 + 2 * l2) << "not bound: one each";
  Machine inclusive = machine;
  inclusive.l3.inclusive = Inclusion::yes;
  EXPECT_EQ(available_cache_bytes(inclusive, map_ranks(machine, 4, Mapping::core)), l3) << "the L2s hold copies";
  EXPECT_EQ(available_cache_bytes(machine_of("core:2"), std::vector<Place>(2)), 0u);
}

TEST(Machine, KeepsOnlyWhatAContainerAllows) {
  const Machine machine = machine_of("epyc-2p-container.xml");
  std::vector<int> pus;
  for (const Place &pu : machine.pus) pus.push_back(pu.pu);

  EXPECT_THAT(pus, testing::ElementsAre(8, 9, 10, 11, 12, 13, 14, 15, 48, 49, 50, 51));
  EXPECT_EQ(distance(machine.pus[0], machine.pus[3]), Distance::l3);
  EXPECT_EQ(distance(machine.pus[0], machine.pus[4]), Distance::numa);
  EXPECT_EQ(distance(machine.pus[0], machine.pus[8]), Distance::node);
}

TEST(Machine, IsThisOne) {
  Machine machine;
  const Status status = load_native(machine);

  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(machine.source, "native");
  EXPECT_EQ(machine.note, "");
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  int known = 0;
  std::set<int> cores, numas;
  for (const Place &pu : machine.pus) {
    EXPECT_GE(pu.package, 0);
    EXPECT_LT(pu.package, machine.packages);
    cores.insert(pu.core);
    numas.insert(pu.numa);
    known += CPU_ISSET(static_cast<std::size_t>(pu.pu), &mine) ? 1 : 0;
  }
  EXPECT_EQ(known, CPU_COUNT(&mine)) << "every CPU that this process may use is in the machine";
  EXPECT_EQ(std::ssize(cores), machine.cores);
  EXPECT_EQ(std::ssize(numas), machine.numas);
}

TEST(Machine, IsFlatWhenHwlocCannotReadIt) {
  const test::Environment stopped("HWLOC_COMPONENTS", "stop");  // hwloc has no means of discovery left
  Machine machine;

  const Status status = load_native(machine);

  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.text(), HasSubstr("hwloc cannot read this machine"));
  EXPECT_THAT(status.text(), HasSubstr("describe it with"));
  EXPECT_EQ(machine.note, status.text());
  EXPECT_EQ(machine.pus.size(), current_cpus().size());
  EXPECT_EQ(describe(Hierarchy::from_places(map_ranks(machine, 5, Mapping::numa))), "5 ranks, flat");
}

TEST(Machine, IsLoadedFromNamesFilesAndTexts) {
  const std::string path = COLL_TEST_MACHINES "/epyc-2p.xml";
  Machine machine;

  EXPECT_TRUE(load("xml " + path, machine).ok());
  EXPECT_EQ(machine.source, "xml " + path);
  EXPECT_TRUE(load("synthetic package:2 core:3", machine).ok());
  EXPECT_EQ(machine.cores, 6);
  EXPECT_TRUE(load(" socket:3 core:2 ", machine).ok());
  EXPECT_EQ(machine.packages, 3);
  EXPECT_TRUE(load("", machine).ok());
  EXPECT_EQ(machine.source, "native");
  EXPECT_THAT(load("no/such:file", machine).text(), HasSubstr("topology file 'no/such:file': No such file"));
}

}  // namespace
}  // namespace coll::topo
