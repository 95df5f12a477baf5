// SPDX-License-Identifier: BSD-3-Clause
// Tables: the machines of the papers, writing and reading back, and everything that must be refused, with its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "machines.h"
#include "model/fingerprint.h"
#include "model/table_json.h"

namespace coll::model {
namespace {

Table machine(const std::string& name) {
  Table table;
  const topo::Status status = find_machine(name, table);
  EXPECT_TRUE(status.ok()) << status.text();
  return table;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

// Returns the message; "" if the table was accepted.
std::string refusal(const std::string& text) {
  Table table;
  table.name = "untouched";
  const topo::Status status = parse_table(text, "t.json", table);
  EXPECT_EQ(table.name == "untouched", !status.ok());
  return status.text();
}

TEST(Machines, AllOfThePapersExist) {
  EXPECT_EQ(machine_names(), (std::vector<std::string>{"arm-n1", "broadwell", "default", "epyc-1p", "epyc-2p", "knl",
                                                       "nodea", "nodeb", "power8"}));
  for (const std::string& name : machine_names()) {
    const Table table = machine(name);
    EXPECT_EQ(table.name, name);
    topo::Machine described;
    ASSERT_TRUE(topo::load_synthetic(table.topology, described).ok()) << name;
    // The description and the fingerprint are of the same machine.
    EXPECT_EQ(described.cores, table.fingerprint.cores) << name;
    EXPECT_EQ(described.packages, table.fingerprint.sockets) << name;
    EXPECT_EQ(described.numas, table.fingerprint.numas) << name;
    EXPECT_EQ(described.l3s, table.fingerprint.l3s) << name;
    EXPECT_FALSE(table.notes.empty()) << name;
  }
}

TEST(Machines, OfCmaTableIV) {
  struct Line {
    const char* name;
    double startup_us, gbs, page_us, page_bytes, quadratic, linear;
  };
  for (const Line& line :
       {Line{"knl", 1.43, 3.29, 0.25, 4096, 0.11, 1.6}, Line{"broadwell", 0.98, 13.2, 0.11, 4096, 0.18, 0.83},
        Line{"power8", 0.75, 3.17, 0.53, 65536, 0.04, 1.95}}) {
    const Access cma = machine(line.name).of(Mechanism::cma);
    EXPECT_EQ(cma.startup_us[topo::Distance::node], line.startup_us) << line.name;
    EXPECT_EQ(cma.bandwidth_gbs[topo::Distance::numa], line.gbs);
    EXPECT_EQ(cma.page_us, line.page_us);
    EXPECT_EQ(cma.page_bytes, line.page_bytes);
    EXPECT_EQ(cma.gamma(1), 1);
    // Beyond 1, the quadratic of the paper, shifted to pass through gamma(1) = 1.
    const auto text = [&](double c) { return line.quadratic * c * c + line.linear * c; };
    for (int c : {2, 8, 64}) EXPECT_NEAR(cma.gamma(c), text(c) - text(1) + 1, 1e-9) << line.name;
  }
}

TEST(Machines, CachesOfYhccl) {
  EXPECT_EQ(available_cache_bytes(machine("nodea"), 64), 294912u * 1024);
  EXPECT_EQ(available_cache_bytes(machine("nodeb"), 48), 116736u * 1024);
}

TEST(Machines, UnknownNamesAreRefusedWithTheKnownOnes) {
  Table table;
  const std::string text = find_machine("epic", table).text();
  EXPECT_NE(text.find("'epic'"), std::string::npos);
  EXPECT_NE(text.find("epyc-2p"), std::string::npos);
}

TEST(Json, WritesWhatItReads) {
  for (const std::string& name : machine_names()) {
    const Table table = machine(name);
    const std::string text = write_table(table);
    Table again;
    const topo::Status status = parse_table(text, name, again);
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(write_table(again), text) << name;
    EXPECT_EQ(again.fingerprint, table.fingerprint);
    EXPECT_EQ(again.of(Mechanism::mapped).available, table.of(Mechanism::mapped).available);
    EXPECT_EQ(again.flag_ns.at, table.flag_ns.at);
    EXPECT_FALSE(again.huge_pages);
  }
}

TEST(Json, HugePagesAreKept) {
  Table table = machine("knl"), again;
  table.huge_pages = true;
  ASSERT_TRUE(parse_table(write_table(table), "huge", again).ok());
  EXPECT_TRUE(again.huge_pages);
}

TEST(Json, SizesForRepMovsbAreKept) {
  Table table = machine("knl"), again;
  ASSERT_TRUE(parse_table(write_table(table), "none", again).ok());
  EXPECT_FALSE(again.rep_movsb.has_value());
  for (const RepMovsb& sizes : {RepMovsb{}, RepMovsb{.load_min_bytes = 4096}, RepMovsb{8192, 65536}}) {
    table.rep_movsb = sizes;
    ASSERT_TRUE(parse_table(write_table(table), "rep_movsb", again).ok());
    ASSERT_TRUE(again.rep_movsb.has_value());
    EXPECT_EQ(*again.rep_movsb, sizes);
  }
}

TEST(Json, MissingDistancesUseTheNextNearerOne) {
  const Table knl = machine("knl");  // has core, numa and node
  EXPECT_EQ(knl.flag_ns[topo::Distance::l3], knl.flag_ns[topo::Distance::core]);
  EXPECT_EQ(knl.flag_ns[topo::Distance::socket], knl.flag_ns[topo::Distance::numa]);
  EXPECT_EQ(knl.flag_ns[topo::Distance::self], knl.flag_ns[topo::Distance::core]);
}

TEST(Json, UnknownKeysAreRefusedWithTheirLine) {
  const std::string text = write_table(machine("knl"));
  // Line 1 is the brace, 2 the schema, 3 the version.
  EXPECT_NE(refusal(replaced(text, "\"version\": 1,", "\"version\": 1,\n  \"colour\": 3,")).find("t.json:4: 'colour'"),
            std::string::npos);
  const std::string nested = replaced(text, "\"page_us\"", "\"pages_us\"");
  size_t line = 1 + size_t(std::count(nested.begin(), nested.begin() + long(nested.find("pages_us")), '\n'));
  EXPECT_NE(refusal(nested).find("t.json:" + std::to_string(line) + ": 'mechanisms.cma.pages_us'"), std::string::npos)
      << refusal(nested);
}

TEST(Json, WrongThingsAreRefused) {
  const std::string text = write_table(machine("knl"));
  EXPECT_NE(refusal(replaced(text, "\"version\": 1,", "\"version\": 2,")).find("t.json:3: 'version'"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(text, "libcoll-machine", "other")).find("t.json:2:"), std::string::npos);
  EXPECT_NE(refusal(replaced(text, "\"line_ns\": 25.0", "\"line_ns\": \"25\"")).find("'line_ns' must be a number"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(text, "\"line_ns\": 25.0", "\"line_ns\": -1")).find("'line_ns' must be at least"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(text, "\"sockets\": 1", "\"sockets\": 1e300")).find("sockets' must be at most"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(text, "\"sockets\": 1", "\"sockets\": 0")).find("sockets' must be at least"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(text, "\"line_ns\": 25.0,", "")).find("has no 'line_ns'"), std::string::npos);
  EXPECT_NE(refusal(replaced(text, "\"version\": 1,", "\"version\": 1,\n\"version\": 1,"))
                .find("t.json:4: 'version' is given twice"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(text, "\"version\": 1,", "\"version\": 1,,")).find("t.json:3: is not JSON"),
            std::string::npos);
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("[]"), "");
  EXPECT_NE(refusal(std::string(1 << 20, '[')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(refusal(replaced(text, "\"alone_gbs\": ", "\"alone_gbs\": 0.0, \"was\": "))
                .find("copy.alone_gbs' must be at least 1e-09"),
            std::string::npos);
  // Finding an equal key takes time proportional to the number of keys.
  std::string keys;
  for (int i = 0; i < 600000; i++) keys += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
  EXPECT_NE(refusal("{" + keys + "}").find("too many keys"), std::string::npos);
  Table table;
  EXPECT_NE(read_table("/dev/zero", table).text().find("/dev/zero: cannot be read: it is a device"), std::string::npos);
}

TEST(OwnTable, ThatOfAnotherMachineIsRefusedWithTheDifference) {
  topo::Machine native;
  ASSERT_TRUE(topo::load_native(native).ok());
  const Fingerprint here = fingerprint_of(native);
  Table measured = machine("default");
  measured.fingerprint = here;
  const std::string path = ::testing::TempDir() + "coll_own_table.json";
  std::ofstream(path) << write_table(measured);
  Table table;
  EXPECT_TRUE(read_own_table(path, here, table).ok());
  EXPECT_EQ(table.fingerprint, here);

  measured.fingerprint.kernel += "-other";
  std::ofstream(path) << write_table(measured);
  const topo::Status refused = read_own_table(path, here, table);
  EXPECT_NE(refused.text().find("another machine (kernel:"), std::string::npos) << refused.text();
  EXPECT_TRUE(find_machine(path, table).ok());  // the user has named it
  std::remove(path.c_str());
}

TEST(Fingerprint, OfThisMachineIsComplete) {
  topo::Machine native;
  ASSERT_TRUE(topo::load_native(native).ok());
  const Fingerprint here = fingerprint_of(native);
  EXPECT_FALSE(here.kernel.empty());
  EXPECT_GE(here.cores, 1);
  EXPECT_EQ(difference(here, here), "");
  Fingerprint other = here;
  other.cores += 2;
  EXPECT_NE(difference(other, here).find("cores"), std::string::npos);
}

TEST(BuiltIn, TheFamilyOfTheProcessorDecides) {
  const auto chosen = [](const char* processor) { return builtin_table({.processor = processor}).name; };
  EXPECT_EQ(chosen("AMD EPYC 9654 96-Core Processor"), "nodea");
  EXPECT_EQ(chosen("Neoverse-N1"), "arm-n1");
  EXPECT_EQ(chosen("Intel(R) Xeon(R) Processor"), "default");
  EXPECT_EQ(chosen(""), "default");
}

TEST(BuiltIn, OfAFamilyTheNearestMachineDecides) {
  const auto chosen = [](const char* processor, int sockets, int numas, int l3s, int cores) {
    return builtin_table({.processor = processor, .sockets = sockets, .numas = numas, .l3s = l3s, .cores = cores}).name;
  };
  EXPECT_EQ(chosen("AMD EPYC 7601", 1, 4, 8, 32), "epyc-1p");
  EXPECT_EQ(chosen("AMD EPYC 7601", 2, 8, 16, 64), "epyc-2p");
  EXPECT_EQ(chosen("AMD EPYC 7742", 2, 2, 32, 128), "nodea");
  EXPECT_EQ(chosen("Intel(R) Xeon(R) Gold 6148", 2, 2, 2, 40), "nodeb");
  EXPECT_EQ(chosen("Intel(R) Xeon(R)", 1, 1, 1, 2), "default");
  for (const std::string& name : machine_names()) {
    const Fingerprint of = machine(name).fingerprint;
    EXPECT_EQ(distance(of, of), 0) << name;
    EXPECT_DOUBLE_EQ(distance(of, machine("nodea").fingerprint), distance(machine("nodea").fingerprint, of)) << name;
  }
}

// Values that prices need must exist, whatever a paper omits.
TEST(BuiltIn, TheNearestTableHasAllMechanisms) {
  for (const char* processor : {"AMD EPYC", "Neoverse-N1", "POWER8", "Intel(R) Xeon(R) Platinum 8163", ""})
    for (Mechanism mechanism : all_mechanisms)
      EXPECT_TRUE(nearest_table({.processor = processor})->of(mechanism).available) << processor << name(mechanism);
}

// Rates by size: between two sizes, times per byte are interpolated; beyond the ends, the nearest size counts.
TEST(Caches, AreWrittenReadAndInterpolated) {
  Table table = machine("default");
  EXPECT_TRUE(table.caches.empty());
  table.caches = {{1024, 80, 40, 8, 10, 60, 6}, {65536, 20, 10, 16, 12, 30, 15, 9}};
  table.overlap = 0.25;
  EXPECT_EQ(take_gbs(table, short_store_bytes - 1), take_gbs(table, short_store_bytes));
  table.short_take_gbs = 3;
  Table read;
  ASSERT_TRUE(parse_table(write_table(table), "t.json", read).ok());
  ASSERT_EQ(read.caches.size(), 2u);
  EXPECT_EQ(read.overlap, 0.25);
  EXPECT_EQ(read.caches[1].take_gbs, 12);
  EXPECT_EQ(read.caches[0].combine_fetch_gbs, 6);
  EXPECT_EQ(read.caches[0].kernel_gbs, 0);  // not measured
  EXPECT_EQ(read.caches[1].kernel_gbs, 9);
  EXPECT_EQ(take_gbs(read, short_store_bytes - 1), 3);
  EXPECT_EQ(take_gbs(read, short_store_bytes), 12);
  EXPECT_EQ(rates_at(read, 16).load_gbs, 80);
  EXPECT_EQ(rates_at(read, 1e9).load_gbs, 20);
  EXPECT_NEAR(rates_at(read, 8192).load_gbs, 1 / (0.5 / 80 + 0.5 / 20), 1e-9);  // halfway, as a logarithm
  EXPECT_NEAR(rates_at(read, 8192).fetch_gbs, 1 / (0.5 / 8 + 0.5 / 16), 1e-9);
  const std::string text = write_table(table);
  EXPECT_THAT(refusal(replaced(text, "\"bytes\": 65536", "\"bytes\": 512")), ::testing::HasSubstr("'caches"));
  EXPECT_THAT(refusal(replaced(text, "\"store_gbs\": 10", "\"store_gbs\": 0")), ::testing::HasSubstr("store_gbs"));
}

}  // namespace
}  // namespace coll::model
