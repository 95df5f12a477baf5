// SPDX-License-Identifier: BSD-3-Clause
// Files of auto-tuning: a written file is read back; a damaged or foreign file is ignored and reported.
#include "tune/tuner_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace coll::tune {
namespace {

using plan::Collective;

constexpr const char* processor = "AMD EPYC 7763 64-Core Processor";

Learned learned(Collective collective, size_t bytes, const char* algorithm, uint32_t chunk = 16384) {
  Learned made{.situation = {.collective = collective, .bytes = bytes, .element_bytes = 4, .ranks = 2},
               .us = 9.5,
               .usual_us = 11};
  if (algorithm != nullptr) made.choice.algorithm = algo::find(collective, algorithm);
  made.choice.parameters.chunk_bytes = chunk;
  return made;
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class LearnedFile : public testing::Test {
 protected:
  ~LearnedFile() override { unlink(path.c_str()); }
  const std::string path = testing::TempDir() + "coll-learned-" + std::to_string(getpid());
};

TEST_F(LearnedFile, IsReadAsItWasWritten) {
  EXPECT_EQ(update_learned_file(
                path, processor,
                {learned(Collective::bcast, 70000, "flat_read"), learned(Collective::scatter, 4096, nullptr)}),
            "");
  std::string text;
  ASSERT_TRUE(read_learned_file(path, text).ok());
  LearnedBook book;
  const topo::Status status = book.read(text, path, processor);
  ASSERT_TRUE(status.ok()) << status.text();
  Situation situation = learned(Collective::bcast, 65536, nullptr).situation;
  const std::optional<Choice> found = book.find(situation);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->algorithm->name, "flat_read");
  EXPECT_EQ(found->parameters.chunk_bytes, 16384u);
  EXPECT_FALSE(found->kernel_copies);
  situation.bytes = 131072;
  EXPECT_FALSE(book.find(situation).has_value());
  situation.bytes = 65536, situation.ranks = 3;
  EXPECT_FALSE(book.find(situation).has_value());
  situation.ranks = 2, situation.oversubscribed = true;
  EXPECT_FALSE(book.find(situation).has_value());
  const std::optional<Choice> latency = book.find(learned(Collective::scatter, 5000, nullptr).situation);
  ASSERT_TRUE(latency.has_value());
  EXPECT_EQ(latency->algorithm, nullptr);
}

// Whatever the default is where the file is read.
TEST_F(LearnedFile, KeepsHowTheDataIsCopied) {
  Learned by_default = learned(Collective::bcast, 70000, "flat_read"), staged = by_default;
  by_default.situation.single_copy = true;
  staged.situation.single_copy = staged.choice.staged = true;
  staged.situation.collective = Collective::scatter;
  staged.choice.algorithm = algo::find(Collective::scatter, "parallel_read");
  ASSERT_NE(staged.choice.algorithm, nullptr);
  EXPECT_EQ(update_learned_file(path, processor, {by_default, staged}), "");
  const std::string text = read(path);
  LearnedBook book;
  ASSERT_TRUE(book.read(text, path, processor).ok()) << text;
  const std::optional<Choice> kernel = book.find(by_default.situation), shared = book.find(staged.situation);
  ASSERT_TRUE(kernel.has_value() && shared.has_value()) << text;
  EXPECT_TRUE(kernel->kernel_copies && !kernel->staged) << text;
  EXPECT_TRUE(!shared->kernel_copies && shared->staged) << text;
  staged.situation.single_copy = false;
  const std::optional<Choice> elsewhere = book.find(staged.situation);
  EXPECT_TRUE(elsewhere.has_value() && !elsewhere->kernel_copies && !elsewhere->staged) << text;
}

TEST_F(LearnedFile, KeepsRulesThatAreNotReplaced) {
  EXPECT_EQ(update_learned_file(path, processor,
                                {learned(Collective::bcast, 65536, "flat_read", 4096),
                                 learned(Collective::gather, 65536, "sequential_read")}),
            "");
  EXPECT_EQ(update_learned_file(path, processor, {learned(Collective::bcast, 100000, "flat_read", 8192)}), "");
  const std::string text = read(path);
  EXPECT_NE(text.find("flat_read:chunk=8192"), std::string::npos) << text;
  EXPECT_EQ(text.find("flat_read:chunk=4096"), std::string::npos) << text;
  EXPECT_NE(text.find("gather["), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

TEST_F(LearnedFile, SixteenBitReductionsHaveRulesOfTheirOwn) {
  Learned wide = learned(Collective::allreduce, 65536, "fused", 8192), narrow = wide;
  narrow.situation.element_bytes = 2;
  narrow.choice.parameters.chunk_bytes = 32768;
  LearnedBook book;
  ASSERT_TRUE(book.read(learned_text("", processor, {wide, narrow}), "f", processor).ok());
  EXPECT_EQ(book.find(wide.situation)->parameters.chunk_bytes, 8192u);
  EXPECT_EQ(book.find(narrow.situation)->parameters.chunk_bytes, 32768u);
}

// A file that is cut at any place is read whole or not at all.
TEST_F(LearnedFile, TruncatedIsIgnored) {
  const std::string whole = learned_text(
      "", processor, {learned(Collective::bcast, 65536, "flat_read"), learned(Collective::gather, 4096, nullptr)});
  for (size_t length = 1; length < whole.size(); length++) {
    LearnedBook book;
    const topo::Status status = book.read(whole.substr(0, length), "learned.tune", processor);
    if (status.ok()) {
      EXPECT_EQ(whole[length - 1], '\n') << whole.substr(0, length);
      continue;
    }
    EXPECT_NE(status.text().find("learned.tune is ignored: "), std::string::npos) << status.text();
    EXPECT_FALSE(book.find(learned(Collective::bcast, 65536, nullptr).situation).has_value());
  }
}

TEST_F(LearnedFile, ForeignIsIgnoredAndStays) {
  const std::string other = learned_text("", "POWER8", {learned(Collective::bcast, 65536, "flat_read")});
  const std::string first = learned_text("", processor, {});
  for (const std::string& text : {other, std::string("{\"name\": \"table\"}\n"),
                                  std::string("\x7f"
                                              "ELF\0\1",
                                              6)}) {
    std::ofstream(path) << text;
    LearnedBook book;
    std::string found;
    const topo::Status status = read_learned_file(path, found);
    EXPECT_TRUE(!status.ok() || !book.read(found, path, processor).ok());
    EXPECT_NE(update_learned_file(path, processor, {learned(Collective::bcast, 65536, "flat_read")}), "");
    EXPECT_EQ(read(path), text);
  }
  // Rules of the right processor with unknown names.
  for (const char* rule : {"bcast: no_such\n", "bcast[x=1]: flat_read\n", "bcast[p=2: flat_read\n", "bcast flat\n"}) {
    LearnedBook book;
    const topo::Status status = book.read(first + rule, "learned.tune", processor);
    EXPECT_FALSE(status.ok()) << rule;
    EXPECT_NE(status.text().find("learned.tune:2:"), std::string::npos) << status.text();
    EXPECT_FALSE(book.find(learned(Collective::bcast, 65536, nullptr).situation).has_value());
  }
}

TEST_F(LearnedFile, APipeIsIgnoredWithoutWaitingForItsWriter) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string text;
  const std::string why = read_learned_file(path, text).text();
  EXPECT_NE(why.find(path + " is ignored: it is a pipe, not a file; name another one in COLL_TUNE_FILE"),
            std::string::npos)
      << why;
  EXPECT_NE(update_learned_file(path, processor, {learned(Collective::bcast, 65536, "flat_read")}), "");
}

// Names that use each other could take any amount of time, or of stack.
TEST_F(LearnedFile, ThatDefinesNamesIsIgnoredAtOnce) {
  std::string doubling, deep;
  for (int i = 0; i < 60; i++)
    doubling += "a" + std::to_string(i) + " = a" + std::to_string(i + 1) + " + a" + std::to_string(i + 1) + "\n";
  for (int i = 0; i < 60000; i++) deep += "a" + std::to_string(i) + " = a" + std::to_string(i + 1) + "\n";
  for (const std::string& names : {doubling + "a60 = 1\n", deep + "a60000 = 1\n"}) {
    LearnedBook book;
    const topo::Status status =
        book.read(learned_text("", processor, {}) + names + "bcast[a0>1]: flat_read\n", "learned.tune", processor);
    EXPECT_NE(status.text().find("learned.tune:2:"), std::string::npos) << status.text();
    EXPECT_FALSE(book.find(learned(Collective::bcast, 65536, nullptr).situation).has_value());
  }
}

// Jobs of one user often end together.
TEST_F(LearnedFile, ProcessesThatUpdateItTogetherLoseNothing) {
  constexpr int processes = 8, updates = 5;
  for (int process = 0; process < processes; process++) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child != 0) continue;
    for (int update = 0; update < updates; update++) {
      Learned one = learned(Collective::bcast, 65536, "flat_read");
      one.situation.ranks = 2 + process * updates + update;
      if (!update_learned_file(path, processor, {one}).empty()) _exit(1);
    }
    _exit(0);
  }
  for (int process = 0; process < processes; process++) {
    int status = -1;
    ASSERT_GT(wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  const std::string text = read(path);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + processes * updates) << text;
  EXPECT_NE(access((path + ".new").c_str(), F_OK), 0);
}

// What a process that was killed has left is written over.
TEST_F(LearnedFile, AnIncompleteNewFileIsReplaced) {
  std::ofstream(path + ".new") << std::string(10000, 'x');
  EXPECT_EQ(update_learned_file(path, processor, {learned(Collective::bcast, 65536, "flat_read")}), "");
  EXPECT_EQ(read(path), learned_text("", processor, {learned(Collective::bcast, 65536, "flat_read")}));
  EXPECT_NE(access((path + ".new").c_str(), F_OK), 0);
}

TEST_F(LearnedFile, ThatCannotBeWrittenIsReported) {
  const std::string problem =
      update_learned_file("/nowhere/learned.tune", processor, {learned(Collective::bcast, 65536, "flat_read")});
  EXPECT_NE(problem.find("/nowhere/learned.tune"), std::string::npos);
  EXPECT_NE(problem.find("name a file in a writable directory"), std::string::npos) << problem;
}

}  // namespace
}  // namespace coll::tune
