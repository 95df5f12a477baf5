// SPDX-License-Identifier: BSD-3-Clause
// Damaged descriptions give a status with cause and hint, and a flat machine as fallback; without a signal, a message
// on stderr, or a change of the environment or of the thread's binding.
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "../environment.h"
#include "../seed.h"
#include "support.h"

namespace coll::topo {
namespace {

using testing::HasSubstr;

std::string read_machine(const std::string &name) {
  std::ifstream file(std::string(COLL_TEST_MACHINES "/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file without a name, which disappears with the process.
class TextFile {
 public:
  explicit TextFile(std::string_view text) : descriptor_(memfd_create("machine", 0)) {
    EXPECT_EQ(write(descriptor_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  ~TextFile() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

Status load_text(std::string_view text, Machine &machine) { return load_xml(TextFile(text).path(), machine); }

void expect_usable(const Machine &machine, const Status &status) {
  EXPECT_EQ(machine.note, status.text());
  EXPECT_EQ(map_ranks(machine, 3, Mapping::core).size(), 3u);
  EXPECT_TRUE(Hierarchy::from_places(map_ranks(machine, 3, Mapping::core)).is_flat());
}

// Captures stderr until the end of the test.
class BadInput : public testing::Test {
 protected:
  void SetUp() override { testing::internal::CaptureStderr(); }
  void TearDown() override { EXPECT_EQ(testing::internal::GetCapturedStderr(), ""); }
};

TEST_F(BadInput, TruncatedXmlIsRefusedAtEveryLength) {
  const std::string whole = read_machine("two-memories.xml");
  const std::size_t end = whole.rfind('>') + 1;
  ASSERT_GT(end, 1000u);
  for (std::size_t size = 0; size < end; size += size < 400 || size > end - 400 ? 1 : 17) {
    Machine machine;
    const Status status = load_text(std::string_view(whole).substr(0, size), machine);
    ASSERT_FALSE(status.ok()) << "cut to " << size << " bytes";
    ASSERT_THAT(status.text(), HasSubstr("lstopo --of xml FILE")) << size;
    expect_usable(machine, status);
  }
  Machine machine;
  EXPECT_TRUE(load_text(std::string_view(whole).substr(0, end), machine).ok()) << "the end itself is no loss";
}

TEST_F(BadInput, DamagedXmlIsRefusedWithLineAndCause) {
  const std::string whole = read_machine("two-memories.xml");
  const auto damage = [&](const std::string &from, const std::string &to) {
    std::string text = whole;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    Machine machine;
    const Status status = load_text(text, machine);
    EXPECT_FALSE(status.ok()) << from << " -> " << to;
    return status.text();
  };

  EXPECT_THAT(damage("<topology version=\"2.0\">", "<root>"), HasSubstr("line 5: <root> instead of <topology>"));
  EXPECT_THAT(damage("version=\"2.0\"", "version=\"1.0\""), HasSubstr("hwloc version 1.0, but 2 or 3 is needed"));
  EXPECT_THAT(damage("version=\"2.0\"", "version=\"4.0\""), HasSubstr("hwloc version 4.0, but 2 or 3 is needed"));
  EXPECT_THAT(damage(" version=\"2.0\"", ""), HasSubstr("hwloc version 1, but 2 or 3 is needed"));
  EXPECT_THAT(damage("</object>", "</objekt>"), HasSubstr("</objekt> closes <object>"));
  EXPECT_THAT(damage("type=\"Core\"", "type=\"Cora\""), HasSubstr("unknown type 'Cora'"));
  EXPECT_THAT(damage("type=\"Core\"", "type=\"PU\""), HasSubstr("the PU object contradicts the others"));
  EXPECT_THAT(damage("type=\"Package\"", "type=\"Machine\""), HasSubstr("must be the root"));
  EXPECT_THAT(damage(" complete_nodeset=", " complete_nodesat="), HasSubstr("complete_nodeset is missing"));
  EXPECT_THAT(damage("cpuset=\"0x000000ff\"", "cpuset=\"0x000000fg\""), HasSubstr("cpuset is damaged"));
  EXPECT_THAT(damage("cpuset=\"0x000000ff\"", "cpuset=\"0x00000fff\""), HasSubstr("larger than its complete set"));
  EXPECT_THAT(damage("allowed_cpuset=\"0x000000ff\"", "allowed_cpuset=\"0x0\""),
              HasSubstr("no processing unit is allowed"));
  EXPECT_THAT(damage("cache_size=\"1000000\"", "cache_size=\"big\""), HasSubstr("cache_size is no number"));
  EXPECT_THAT(damage("<object", "<object type=\"a\" type=\"b\""), HasSubstr("'type' is given twice"));
  EXPECT_THAT(damage("<object", "<object a=\"&bomb;\""), HasSubstr("an unknown '&' reference"));
  EXPECT_THAT(damage("hwloc2.dtd\">", "hwloc2.dtd\" [<!ENTITY bomb \"x\">]>"), HasSubstr("definitions of its own"));
  EXPECT_THAT(damage("Backend", std::string("Back\x01nd")), HasSubstr("a character that hwloc never writes"));
  EXPECT_THAT(damage("</topology>", "</topology><topology version=\"2.0\"/>"), HasSubstr("something follows the end"));
}

// hwloc 3 writes another version and document type, and facts about the machine after the objects. Sets of allowed
// processors may be missing if all are allowed.
TEST_F(BadInput, XmlOfHwloc3IsReadAsThatOfHwloc2) {
  std::string text = read_machine("two-memories.xml");
  Machine as_2, as_3;
  ASSERT_TRUE(load_text(text, as_2).ok());
  const auto change = [&](const std::string &from, const std::string &to) {
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  change("hwloc2.dtd", "hwloc3.dtd");
  change("<topology version=\"2.0\">", "<topology version=\"3.0\">");
  change(" allowed_cpuset=\"0x000000ff\"", "");
  change(" allowed_nodeset=\"0x0000000f\"", "");
  change("</topology>", "<info name=\"Backend\" value=\"Linux\"/></topology>");

  const Status status = load_text(text, as_3);

  EXPECT_TRUE(status.ok()) << status.text();
  as_3.source = as_2.source;  // file names
  EXPECT_EQ(as_3, as_2);
}

TEST_F(BadInput, AnyMutationIsReadOrRefused) {
  std::mt19937_64 random(coll::test::seed());
  int read = 0, refused = 0;
  for (const char *name : {"two-memories.xml", "machine-memory.xml", "epyc-2p-container.xml"}) {
    const std::string whole = read_machine(name);
    for (int round = 0; round < 250; ++round) {
      std::string text = whole;
      for (unsigned change = 0; change < 1 + random() % 3; ++change) {
        const std::size_t at = random() % text.size();
        switch (random() % 4) {
          case 0: text[at] = static_cast<char>(text[at] ^ (1u << random() % 7)); break;
          case 1: text[at] = "0123456789abcdef\"<> "[random() % 20]; break;
          case 2: text.erase(at, 1 + random() % 40); break;
          case 3: text.insert(at, text.substr(random() % text.size(), random() % 60)); break;
        }
      }
      Machine machine;
      const Status status = load_text(text, machine);
      if (!status.ok()) expect_usable(machine, status);
      else EXPECT_FALSE(machine.pus.empty());
      ++(status.ok() ? read : refused);
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 300);
}

TEST_F(BadInput, PathsThatAreNoFilesAreRefused) {
  Machine machine;
  EXPECT_THAT(load_xml("/no/such/file.xml", machine).text(),
              HasSubstr("'/no/such/file.xml': No such file or directory; give"));
  EXPECT_THAT(load_xml("/", machine).text(), HasSubstr("it is a directory; give"));
  EXPECT_THAT(load_xml("/dev/null", machine).text(), HasSubstr("it is a device, not a file; give"));
  EXPECT_THAT(load_xml("/proc/self/exe", machine).text(), HasSubstr("line 1: "));
  EXPECT_THAT(load_text("package:2 core:4", machine).text(), HasSubstr("text outside the elements"));
}

TEST_F(BadInput, SyntheticTextsAreRefusedWithCauseAndHint) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "the description is empty"},
      {"package:2 numa:0 core:8", "the count of 'numa:0' is zero"},
      {"package:2 nuna:4", "unknown type 'nuna'"},
      {"package:2 core", "'core' has no count"},
      {"core:", "no count in 'core:'"},
      {"core:-4", "no count in 'core:-4'"},
      {"core:4x", "unexpected 'x'"},
      {"core:4(size=1", "unexpected '(size=1'"},
      {"core:4 package:2", "'package:2' comes after a level that is not larger"},
      {"core:4 core:2", "'core:2' comes after"},
      {"core:2 numa:2", "'numa:2' is inside a core"},
      {"numa:2 numa:2 core:2", "numa is given twice"},
      {"package:100 numa:100 core:100", "more than 4096 processing units"},
      {"core:18446744073709551617", "more than 4096 processing units"},
      {"package:6539", "more than 4096 processing units"},
      {"l3:2(nonsense=3) core:2", "unknown attribute 'nonsense=3' in 'l3:2(nonsense=3)'"},
      {"l3:2(size=1MB nonsense) core:2", "unknown attribute 'nonsense' in"},
      {"2 4 8", "'2' has no count"},
  };
  for (const auto &[text, cause] : cases) {
    Machine machine;
    const Status status = load_synthetic(text, machine);
    EXPECT_THAT(status.text(), HasSubstr(cause)) << text;
    EXPECT_THAT(status.text(), HasSubstr("as in \"")) << text;
    expect_usable(machine, status);
  }
}

std::vector<std::string> environment() {
  std::vector<std::string> lines;
  for (char **line = environ; *line != nullptr; ++line) lines.emplace_back(*line);
  return lines;
}

TEST_F(BadInput, LeavesEnvironmentAndBindingAlone) {
  char **const table = environ;
  const auto variables = environment();
  const auto cpus = current_cpus();
  Machine machine;

  EXPECT_TRUE(load_native(machine).ok());
  EXPECT_FALSE(load_text("<topology version=\"2.0\"></topology>", machine).ok());
  EXPECT_TRUE(load_synthetic("package:2 core:2", machine).ok());

  EXPECT_EQ(environ, table);
  EXPECT_EQ(environment(), variables);
  EXPECT_EQ(current_cpus(), cpus);
}

// hwloc prints an error on stderr unless HWLOC_HIDE_ERRORS is set (with HWLOC_HIDE_ERRORS=0 this test fails).
TEST_F(BadInput, KeepsHwlocFromPrinting) {
  const test::Environment unknown("HWLOC_COMPONENTS", "no_such_component");
  Machine machine;

  const Status status = load_native(machine);

  EXPECT_TRUE(status.ok()) << status.text();
}

TEST_F(BadInput, LoadsFromSeveralThreads) {
  const std::string whole = read_machine("epyc-2p.xml");
  const TextFile good(whole), bad(std::string_view(whole).substr(0, 5000));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        Machine machine;
        wrong += load_xml(good.path(), machine).ok() && machine.cores == 64 ? 0 : 1;
        wrong += load_xml(bad.path(), machine).ok() ? 1 : 0;
        wrong += load_native(machine).ok() ? 0 : 1;
        wrong += load_synthetic("package:2 numa:2 core:2", machine).ok() && machine.numas == 4 ? 0 : 1;
        wrong += std::getenv("PATH") != nullptr ? 0 : 1;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace coll::topo
