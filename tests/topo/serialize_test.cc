// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "support.h"

namespace coll::topo {
namespace {

using testing::HasSubstr;

TEST(Serialize, RoundTripsEveryMachine) {
  std::vector<Machine> machines;
  for (const char *source :
       {"epyc-2p.xml", "epyc-2p-container.xml", "two-memories.xml", "package:2 numa:4 core:20", "pu:1"})
    machines.push_back(machine_of(source));
  machines.push_back(flat_machine(std::vector<int>{3, 1, 4096}, "hwloc failed"));
  Machine native;
  ASSERT_TRUE(load_native(native).ok());
  machines.push_back(native);

  for (const Machine &machine : machines) {
    Machine copy;
    const Status status = parse(serialize(machine), copy);
    EXPECT_TRUE(status.ok()) << machine.source << ": " << status.text();
    EXPECT_EQ(copy, machine) << machine.source;
  }
}

TEST(Serialize, IsCompact) { EXPECT_LT(serialize(machine_of("epyc-2p.xml")).size(), 1024u) << "64 cores"; }

TEST(Serialize, RefusesEveryTruncation) {
  const std::string bytes = serialize(machine_of("two-memories.xml"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Machine untouched;
    EXPECT_FALSE(parse(std::string_view(bytes).substr(0, size), untouched).ok()) << size;
    EXPECT_EQ(untouched, Machine{});
  }
  Machine machine;
  EXPECT_FALSE(parse(bytes + '\0', machine).ok());
}

TEST(Serialize, RefusesEveryAlteredByte) {
  const std::string bytes = serialize(machine_of("two-memories.xml"));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string altered = bytes;
      altered[at] = static_cast<char>(altered[at] ^ flip);
      Machine untouched;
      const Status status = parse(altered, untouched);
      EXPECT_FALSE(status.ok()) << "byte " << at;
      EXPECT_THAT(status.text(), HasSubstr("all ranks must run the same version"));
    }
  }
}

// Faults that the checksum does not detect: intact bytes that never came from a valid machine.
TEST(Serialize, RefusesInconsistentMachines) {
  const Machine sound = machine_of("package:2 core:2");
  Machine no_pus = sound, few_cores = sound, few_packages = sound, below = sound;
  no_pus.pus.clear();
  few_cores.cores = 1;
  few_packages.packages = 1;
  below.pus[1].numa = -5;

  for (const Machine *machine : {&no_pus, &few_cores, &few_packages, &below}) {
    Machine untouched;
    EXPECT_FALSE(parse(serialize(*machine), untouched).ok());
    EXPECT_EQ(untouched, Machine{});
  }
}

}  // namespace
}  // namespace coll::topo
