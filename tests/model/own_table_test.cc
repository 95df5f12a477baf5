// SPDX-License-Identifier: BSD-3-Clause
// Tables that calibration writes and communicators read: the choices, the file name, the directories.
#include "model/own_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "machines.h"
#include "model/fingerprint.h"
#include "model/table_json.h"

namespace coll::model {
namespace {

using plan::Collective;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Chosen chosen(Collective collective, size_t up_to_bytes, const char* algorithm) {
  Chosen made{.collective = collective, .up_to_bytes = up_to_bytes, .algorithm = algo::find(collective, algorithm)};
  made.predicted_us = 1.5;
  made.measured_us = 2.25;
  return made;
}

Table measured() {
  Table table;
  EXPECT_TRUE(find_machine("default", table).ok());
  table.choices = {chosen(Collective::allreduce, 1 << 20, "fused"), chosen(Collective::allreduce, 4096, "all_read"),
                   chosen(Collective::bcast, 256, "latency"), chosen(Collective::bcast, 8192, "knomial")};
  table.choices[0].parameters.chunk_bytes = 65536;
  table.choices[3].parameters.k = 3;
  table.choices[3].kernel_copies = true;
  return table;
}

std::string refusal(const std::string& what, const std::string& by) {
  std::string text = write_table(measured());
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  text.replace(at, what.size(), by);
  Table table;
  return parse_table(text, "t.json", table).text();
}

// The line of the written table on which `what` first occurs.
std::string line_of(const std::string& what) {
  const std::string text = write_table(measured());
  return std::to_string(1 + std::count(text.begin(), text.begin() + long(text.find(what)), '\n'));
}

TEST(Choices, AreReadBackInOrder) {
  Table again;
  const topo::Status status = parse_table(write_table(measured()), "t.json", again);
  ASSERT_TRUE(status.ok()) << status.text();
  ASSERT_EQ(again.choices.size(), 4u);
  EXPECT_EQ(again.choices[0].algorithm, nullptr);  // the latency path
  EXPECT_EQ(again.choices[0].up_to_bytes, 256u);
  EXPECT_EQ(again.choices[1].algorithm->name, "knomial");
  EXPECT_EQ(again.choices[1].parameters.k, 3);
  EXPECT_TRUE(again.choices[1].kernel_copies);
  EXPECT_EQ(again.choices[2].algorithm->name, "all_read");
  EXPECT_EQ(again.choices[3].parameters.chunk_bytes, 65536u);
  EXPECT_EQ(again.choices[3].predicted_us, 1.5);
  EXPECT_EQ(again.choices[3].measured_us, 2.25);
}

TEST(Choices, WrongOnesAreRefusedWithTheirLine) {
  const std::string at = "t.json:" + line_of("\"knomial\"") + ": ";
  EXPECT_THAT(refusal("\"knomial\"", "\"tree\""), StartsWith(at + "'choices[3].algorithm' is 'tree'"));
  EXPECT_THAT(refusal("\"knomial\"", "\"knomial\", \"colour\": 1"),
              StartsWith(at + "'choices[3].colour' is not a key of a table"));
  EXPECT_THAT(refusal("\"k\": 3", "\"k\": 3000"), HasSubstr("'choices[3].parameters.k' must be at most"));
  EXPECT_THAT(refusal("\"k\": 3", "\"kk\": 3"), HasSubstr("'choices[3].parameters.kk' is not a key of a table"));
  EXPECT_THAT(refusal("\"up_to_bytes\": 8192", "\"up_to_bytes\": 256"),
              HasSubstr("'choices' choose twice for bcast of 2 ranks up to 256 bytes"));
  EXPECT_THAT(refusal("\"ranks\": 2", "\"ranks\": 1"), HasSubstr("'choices[0].ranks' must be at least 2"));
  EXPECT_THAT(refusal("\"collective\": \"bcast\"", "\"collective\": \"bcats\""), HasSubstr("which is none"));
  EXPECT_THAT(refusal("\"choices\": [", "\"choices\": [\n 3,"),
              StartsWith("t.json:" + std::to_string(1 + std::stoi(line_of("\"choices\""))) +
                         ": 'choices[0]' must be an object"));
}

TEST(FileName, FollowsFromTheHardwareAlone) {
  Fingerprint of{.processor = "Intel(R) Xeon(R) Processor @ 2.20GHz", .sockets = 2, .numas = 2, .l3s = 2, .cores = 48};
  const std::string name = table_file_name(of);
  EXPECT_THAT(name, StartsWith("intel-r-xeon-r-processor-2-20ghz-2s2n2l48c-"));
  EXPECT_THAT(name, EndsWith(".json"));
  Fingerprint other = of;
  other.kernel = "6.12", other.mitigations = "all";
  EXPECT_EQ(table_file_name(other), name);
  other.l3_bytes = 1 << 20;
  EXPECT_NE(table_file_name(other), name);
  EXPECT_THAT(table_file_name({.processor = "/../"}), StartsWith("unnamed-"));
}

class FindTable : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(topo::load_native(native).ok());
    here = fingerprint_of(native);
    for (const char* name : {"user", "system"}) {
      directories.push_back(::testing::TempDir() + "coll_tables/" + name);
      std::filesystem::create_directories(directories.back());
    }
  }
  void TearDown() override { std::filesystem::remove_all(::testing::TempDir() + "coll_tables"); }
  void write(const std::string& directory, const std::string& name, const Fingerprint& of) {
    Table table = measured();
    table.name = name;
    table.fingerprint = of;
    std::ofstream(directory + "/" + table_file_name(here)) << write_table(table);
  }

  topo::Machine native;
  Fingerprint here;
  std::vector<std::string> directories;
};

TEST_F(FindTable, TheFirstDirectoryThatHasOneDecides) {
  EXPECT_FALSE(find_table("", directories, native).found);
  EXPECT_EQ(find_table("", directories, native).remark, "");
  write(directories[1], "of-system", here);
  EXPECT_EQ(find_table("", directories, native).table.name, "of-system");
  write(directories[0], "of-user", here);
  const Found found = find_table("", directories, native);
  EXPECT_EQ(found.table.name, "of-user");
  EXPECT_EQ(found.path, directories[0] + "/" + table_file_name(here));
  EXPECT_EQ(found.remark, "");
  EXPECT_FALSE(find_table("none", directories, native).found);
}

TEST_F(FindTable, ThatOfAnotherMachineOnlyIfRequested) {
  Fingerprint older = here;
  older.kernel += "-older";
  write(directories[0], "of-older", older);
  const Found refused = find_table("", directories, native);
  EXPECT_FALSE(refused.found);
  EXPECT_THAT(refused.remark, HasSubstr("another machine (kernel:"));
  EXPECT_THAT(refused.remark, HasSubstr("collctl calibrate"));

  const Found asked = find_table(refused.path, directories, native);
  EXPECT_TRUE(asked.found);
  EXPECT_THAT(asked.remark, HasSubstr("COLL_TABLE names it"));
  EXPECT_EQ(find_table("knl", directories, native).table.name, "knl");
  EXPECT_FALSE(find_table("kln", directories, native).found);
}

TEST_F(FindTable, ADescribedMachineHasNone) {
  write(directories[0], "of-user", here);
  topo::Machine described;
  ASSERT_TRUE(topo::load_synthetic("package:2 core:4", described).ok());
  EXPECT_FALSE(find_table("", directories, described).found);
}

}  // namespace
}  // namespace coll::model
