// SPDX-License-Identifier: BSD-3-Clause
#include "tune/tuner_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <thread>

#include "config/text_file.h"
#include "tune/shipped.h"

namespace coll::tune {

namespace {

constexpr std::string_view first_words = "# libcoll auto-tuning 1: ";
constexpr size_t most_bytes = size_t(1) << 20;

std::string first_line(std::string_view processor) {
  return std::string(first_words) + std::string(processor.empty() ? "unknown processor" : processor);
}

// "bcast[p=2, levels=1, !oversubscribed, n>=65536, n<131072]".
std::string key_of(const Situation& of) {
  const size_t from = std::bit_floor(of.bytes);
  std::string key = std::string(plan::name(of.collective)) + "[p=" + std::to_string(of.ranks) +
                    ", levels=" + std::to_string(of.levels) + (of.oversubscribed ? ", " : ", !") + "oversubscribed";
  if (plan::is_reduction(of.collective)) key += of.rounds_partials() ? ", element=2" : ", element!=2";
  return key + ", n>=" + std::to_string(from) + ", n<" + std::to_string(2 * from) + "]";
}

std::string line_of(const Learned& learned) {
  Choice choice = learned.choice;
  // Explicit, because another way of copying may be the default when the file is read.
  if (choice.algorithm != nullptr && !choice.kernel_copies) {
    choice.staged |= !learned.situation.single_copy;
    choice.kernel_copies = !choice.staged;
  }
  char times[80];
  snprintf(times, sizeof times, " -- %.4g us, books %.4g us", learned.us, learned.usual_us);
  return ": " + rule_text(choice) + times;
}

// The rules of a text by their keys, without the first line.
std::map<std::string, std::string, std::less<>> rules_of(std::string_view text) {
  std::map<std::string, std::string, std::less<>> rules;
  for (bool first = true; !text.empty(); first = false) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t end = line.find(']');
    if (!first && end != std::string_view::npos) rules.emplace(line.substr(0, end + 1), line.substr(end + 1));
  }
  return rules;
}

// Opens and locks the file that will replace another one. The lock lasts until the descriptor is closed and makes
// processes and threads update that file one after the other. A file system without locks gives none. Returns -1 with
// errno; EBUSY: another process has had it for seconds.
int open_locked(const std::string& name) {
  constexpr int attempts = 300;
  for (int attempt = 0; attempt < attempts; attempt++) {
    // Not the writer of a pipe: that would wait for a reader.
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (file < 0) return -1;
    const bool locked = flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    // The process that had the lock may have renamed or removed the file meanwhile.
    struct stat opened = {}, named = {};
    if (locked && fstat(file, &opened) == 0 && stat(name.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
        opened.st_dev == named.st_dev)
      return file;
    close(file);
    if (!locked) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  errno = EBUSY;
  return -1;
}

}  // namespace

topo::Status LearnedBook::read(std::string_view text, const std::string& file, std::string_view processor) {
  book_ = Book();
  if (text.empty()) return {};
  const auto ignored = [&](const std::string& why) {
    book_ = Book();
    return topo::Status::error("the auto-tuning file " + file + " is ignored: " + why +
                               "; remove it, or name another one in COLL_TUNE_FILE");
  };
  const std::string_view first = text.substr(0, text.find('\n'));
  if (!first.starts_with(first_words)) return ignored("its first line is not '" + first_line(processor) + "'");
  if (first != first_line(processor))
    return ignored("it is of the processor " + std::string(first.substr(first_words.size())));
  if (text.back() != '\n') return ignored("its last line is not complete");
  topo::Status status = book_.add(text, file, false);
  if (status.ok()) status = book_.check();
  if (!status.ok()) return ignored(status.text());
  return {};
}

std::optional<Choice> LearnedBook::find(const Situation& situation) const {
  const Book::Found found = book_.find(situation);
  if (found.rule == nullptr) return std::nullopt;
  const Candidate& candidate = found.range->candidates.front();
  if (candidate.kind == Candidate::Kind::priced) return std::nullopt;
  return candidate.kind == Candidate::Kind::latency ? Choice() : made(candidate, situation, book_, true);
}

std::string learned_text(std::string_view before, std::string_view processor, const std::vector<Learned>& learned) {
  std::map<std::string, std::string, std::less<>> rules;
  // A file that LearnedBook ignores contributes no rules.
  if (LearnedBook book; book.read(before, "", processor).ok()) rules = rules_of(before);
  for (const Learned& one : learned) rules.insert_or_assign(key_of(one.situation), line_of(one));
  std::string text = first_line(processor) + "\n";
  for (const auto& [key, rest] : rules) text += key + rest + "\n";
  return text;
}

topo::Status read_learned_file(const std::string& path, std::string& text) {
  text.clear();
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0 && errno == ENOENT) return {};
  // All ranks would wait for the writer of a pipe.
  const std::string wrong =
      S_ISFIFO(about.st_mode) ? "it is a pipe, not a file" : config::read_text_file(path, most_bytes, text);
  if (wrong.empty()) return {};
  text.clear();
  return topo::Status::error("the auto-tuning file " + path + " is ignored: " + wrong +
                             "; name another one in COLL_TUNE_FILE");
}

namespace {

// Writes the updated text of `path` to the file `fresh`, which is open and locked as `file`, and renames it. Returns ""
// or an error.
std::string replace(const std::string& path, const std::string& fresh, int file, std::string_view processor,
                    const std::vector<Learned>& learned) {
  std::string before;
  if (const topo::Status status = read_learned_file(path, before); !status.ok()) return status.text();
  // Do not overwrite another file that the user has named by mistake.
  if (!before.empty() && !before.starts_with(first_line(processor) + "\n"))
    return path + " is not replaced: it is no auto-tuning file of this processor; name another one in COLL_TUNE_FILE";
  const std::string text = learned_text(before, processor, learned);
  const char* failed = ftruncate(file, 0) != 0 ? "write" : nullptr;
  for (size_t written = 0; failed == nullptr && written < text.size();) {
    const ssize_t more = write(file, text.data() + written, text.size() - written);
    if (more > 0) written += size_t(more);
    else if (more == 0 || errno != EINTR) failed = "write";
  }
  if (failed == nullptr && std::rename(fresh.c_str(), path.c_str()) != 0) failed = "replace";
  if (failed == nullptr) return "";
  return std::string("cannot ") + failed + " " + path + ": " + strerror(errno) +
         "; name a file in a writable directory";
}

}  // namespace

std::string update_learned_file(const std::string& path, std::string_view processor,
                                const std::vector<Learned>& learned) {
  if (learned.empty()) return "";
  const std::string fresh = path + ".new";
  const int file = open_locked(fresh);
  if (file < 0) return "cannot write " + fresh + ": " + strerror(errno) + "; name a file in a writable directory";
  std::string problem = replace(path, fresh, file, processor, learned);
  if (!problem.empty()) unlink(fresh.c_str());
  if (close(file) != 0 && problem.empty()) problem = "cannot write " + path + ": " + strerror(errno);
  return problem;
}

}  // namespace coll::tune
