// SPDX-License-Identifier: BSD-3-Clause
#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>

#include "../environment.h"
#include "config/programs.h"
#include "config/text_file.h"
#include "config/variables.h"
#include "plan/plan.h"

namespace coll::config {
namespace {

using test::Environment;
using testing::HasSubstr;

std::string complaint(std::string_view text) {
  std::vector<Line> lines;
  return parse(text, "file", lines);
}

TEST(ConfigFile, LinesCommentsAndBlanks) {
  std::vector<Line> lines;
  ASSERT_EQ(
      parse("# first\n\n  COLL_LOG = info\t# why\nCOLL_TOPOLOGY=package:2 core:4#\r\nCOLL_DEBUG =", "file", lines), "");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].name + '|' + lines[0].value + '|' + lines[0].source, "COLL_LOG|info|file:3");
  EXPECT_EQ(lines[1].value, "package:2 core:4#");
  EXPECT_EQ(lines[2].value, "");
}

TEST(ConfigFile, TheFirstFileThatHasAVariableCounts) {
  std::vector<Line> lines;
  ASSERT_EQ(parse("COLL_LOG = info\n", "user", lines), "");
  ASSERT_EQ(parse("COLL_LOG = debug\nCOLL_DEBUG = 1\n", "system", lines), "");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].source, "user:1");
  EXPECT_EQ(lines[1].source, "system:2");
}

TEST(ConfigFile, WrongLinesAreRefusedWithTheirNumber) {
  EXPECT_THAT(complaint("\nCOLL_LOG info\n"), HasSubstr("file:2: 'COLL_LOG info' is not of the form NAME = value"));
  EXPECT_THAT(complaint("COLL_TRANSPROT = shm"),
              HasSubstr("file:1: 'COLL_TRANSPROT' is not a variable of libcoll; did you mean COLL_TRANSPORT?"));
  EXPECT_THAT(complaint("tea = 1"), HasSubstr("collctl info --env"));
  EXPECT_THAT(complaint("COLL_LAUNCH = 0/1/2"), HasSubstr("environment only"));
  EXPECT_THAT(complaint("COLL_LOG = info\nCOLL_LOG = off\n"), HasSubstr("file:2: COLL_LOG was set before, at file:1"));
}

TEST(Programs, TheFirstPatternThatMatchesDecides) {
  const Program vasp{"/opt/old/bin/vasp_std", {"vasp_std", "vasp"}};
  for (const char* list : {"", " ,", "vasp", "vasp_*", "lmp, vasp_st?", "!lmp", "!lmp,!xhpl", "/opt/*",
                           "!vasp_gam,!/opt/new/*", "vasp_std,!*", "!vasp_gam\tvasp_*", "[u-w]asp"})
    EXPECT_TRUE(serves(list, vasp)) << list;
  for (const char* list : {"lmp", "!vasp", "!vasp_std", "!*,vasp", "!/opt/old/*", "!*/vasp_std", "!lmp,xhpl",
                           "lmp !vasp_gam", "/vasp_std", "vasp_", "VASP_STD"})
    EXPECT_FALSE(serves(list, vasp)) << list;
}

TEST(Programs, ThisProcessHasAPathAndNames) {
  const Program own = Program::of_process();
  EXPECT_TRUE(own.path.ends_with("/config_config")) << own.path;
  EXPECT_THAT(own.names, testing::Each("config_config"));
  EXPECT_TRUE(serves("*/config_config", own) && !serves("!config_*", own));
}

TEST(TextFile, IsReadWholeOrRefused) {
  const std::string file = testing::TempDir() + "text_file." + std::to_string(getpid());
  std::ofstream(file) << "line\n" << std::string(3 << 20, 'x');
  std::string text;
  EXPECT_EQ(read_text_file(file, size_t(4) << 20, text), "");
  EXPECT_EQ(text.size(), (size_t(3) << 20) + 5);
  EXPECT_EQ(read_text_file(file, size_t(2) << 20, text), "it is longer than 2 MiB");
  std::remove(file.c_str());
  EXPECT_EQ(read_text_file(file, 1, text), "No such file or directory");
  EXPECT_EQ(read_text_file("/etc", 1, text), "it is a directory");
  EXPECT_EQ(read_text_file("/dev/zero", size_t(1) << 40, text), "it is a device, not a file");
}

TEST(Environment, IsAsBeforeAfterTheScope) {
  const auto value = [] {
    return std::string(std::getenv("COLL_LOG") == nullptr ? "not set" : std::getenv("COLL_LOG"));
  };
  const Environment none("COLL_LOG", nullptr);
  {
    const Environment set("COLL_LOG", "info");
    {
      const Environment again("COLL_LOG", "debug"), other("COLL_LOG", nullptr);
      EXPECT_EQ(value(), "not set");
    }
    EXPECT_EQ(value(), "info");
  }
  EXPECT_EQ(value(), "not set");
}

TEST(Tables, AreLookedForInTheUsersDirectoryFirst) {
  {
    const Environment config("XDG_CONFIG_HOME", "/config");
    EXPECT_EQ(table_directories(), (std::vector<std::string>{"/config/libcoll/tables", "/etc/libcoll/tables"}));
  }
  const Environment no_config("XDG_CONFIG_HOME", nullptr), home("HOME", "/home/me");
  EXPECT_EQ(table_directories().front(), "/home/me/.config/libcoll/tables");
  const Environment no_home("HOME", nullptr);
  EXPECT_EQ(table_directories(), (std::vector<std::string>{"/etc/libcoll/tables"}));
}

TEST(Variables, TheNearestName) {
  EXPECT_EQ(nearest("COLL_TRANSPROT"), "COLL_TRANSPORT");
  EXPECT_EQ(nearest("COLL_ALREDUCE"), "COLL_ALLREDUCE");
  EXPECT_EQ(nearest("COLL_BCATS"), "COLL_BCAST");
  EXPECT_EQ(nearest("COLL_SENSITIVTY"), "COLL_SENSITIVITY");
  EXPECT_EQ(nearest("COLL_TEST_SEED"), "");
  EXPECT_EQ(nearest("PATH"), "");
  for (const Variable& variable : variables()) EXPECT_EQ(nearest(variable.name), variable.name);
}

TEST(Variables, EveryCollectiveHasOne) {
  for (int c = 0; c < plan::collectives; c++) {
    std::string name = std::string("COLL_") + plan::name(plan::Collective(c));
    std::ranges::transform(name, name.begin(), [](unsigned char letter) { return char(std::toupper(letter)); });
    EXPECT_NE(find(name), nullptr) << name;
  }
}

TEST(Variables, UnknownOnesOfTheEnvironment) {
  const Environment unknown("COLL_DIRECT_MAX", "1");
  bool seen = false;
  for (const Misspelt& wrong : misspelt()) {
    EXPECT_EQ(find(wrong.name), nullptr);
    if (wrong.name == "COLL_DIRECT_MAX") seen = wrong.nearest == "COLL_DIRECT_MIN";
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace coll::config
