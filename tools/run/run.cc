// SPDX-License-Identifier: BSD-3-Clause
// collctl run: starts N ranks of a program on this node and waits until all have ended.
//
// Rules
//  1. No process outlives the job: collctl adopts orphans of its ranks (child subreaper) and ends them with the ranks;
//     if collctl itself is killed, the kernel kills the ranks (PR_SET_PDEATHSIG).
//  2. collctl signals only its own children that it has not reaped yet, so no process number can have been reused.
//  3. Signals arrive through a polled descriptor (signalfd), so no signal handler runs.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/launch.h"
#include "tools/run/mpi.h"

namespace coll::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double default_grace_s = 2;

struct RunOptions {
  int ranks = 0;
  std::string bind = "core", mpi;
  bool tag = false, json = false;
  double grace_s = default_grace_s;
  std::vector<std::string> program;
};

// Forwards the output of a rank in whole lines, each with the rank in front.
class Tagged {
 public:
  Tagged(int descriptor, int to, int rank) : descriptor_(descriptor), to_(to), tag_(fmt::format("[{}] ", rank)) {}
  int descriptor() const { return descriptor_; }
  // The errno of lost output; 0 if no line is missing.
  int error() const { return error_; }
  // Forwards what is readable. Returns false at the end of the output.
  bool forward() {
    std::array<char, 65536> block;
    ssize_t got = read(descriptor_, block.data(), block.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got > 0) line_.append(block.data(), size_t(got));
    size_t end;
    while ((end = line_.find('\n')) != std::string::npos) {
      put(line_.substr(0, end + 1));
      line_.erase(0, end + 1);
    }
    if (got > 0) return true;
    if (!line_.empty()) put(line_ + "\n");
    close(descriptor_);
    return false;
  }

 private:
  void put(const std::string& line) {
    std::string text = tag_ + line;
    for (size_t at = 0; at < text.size();) {
      ssize_t wrote = write(to_, text.data() + at, text.size() - at);
      if (wrote < 0 && errno != EINTR) {
        if (errno != EPIPE) error_ = errno;  // EPIPE: the reader has closed its end on purpose
        return;
      }
      at += size_t(std::max<ssize_t>(wrote, 0));
    }
  }
  int descriptor_, to_, error_ = 0;
  std::string tag_, line_;
};

class Job {
 public:
  explicit Job(const RunOptions& options) : options_(options), meeting_(options.ranks) {}

  int run() {
    listen();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int rank = 0; rank < options_.ranks && start(rank); ++rank) {}
    while (living_ > 0 || !leftover().empty() || !outputs_.empty()) watch();
    if (options_.json) report();
    if (output_error_ != 0 && status_ == 0)
      throw Failure(fmt::format("the output of the ranks cannot be written: {}", std::strerror(output_error_)));
    return status_;
  }

 private:
  struct Rank {
    pid_t pid = 0;
    bool ended = false;
    int wait_status = 0;
  };

  void listen() {
    sigset_t signals;
    sigemptyset(&signals);
    for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) sigaddset(&signals, signal);
    sigprocmask(SIG_BLOCK, &signals, &before_);
    signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) throw Failure(fmt::format("cannot watch signals: {}", std::strerror(errno)));
  }

  // Returns false if the program cannot be started.
  bool start(int rank) {
    int out[2] = {-1, -1}, err[2] = {-1, -1}, trouble[2] = {-1, -1};
    if (pipe2(trouble, O_CLOEXEC) != 0 || (options_.tag && (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)))
      throw Failure(fmt::format("cannot create pipes: {}; raise ulimit -n or use fewer ranks", std::strerror(errno)));
    pid_t child = fork_rank();
    if (child == 0) become(rank, out[1], err[1], trouble[1]);
    for (int end : {out[1], err[1], trouble[1]})
      if (end >= 0) close(end);
    ranks_.push_back({child});
    ++living_;
    if (options_.tag) {
      outputs_.emplace_back(out[0], STDOUT_FILENO, rank);
      outputs_.emplace_back(err[0], STDERR_FILENO, rank);
    }
    int error = 0;
    ssize_t got = read(trouble[0], &error, sizeof error);
    close(trouble[0]);
    if (got != sizeof error) return true;
    std::fprintf(stderr, "collctl run: cannot start %s: %s\n", options_.program[0].c_str(),
                 error == ENOENT ? "no such program; give its path, as in ./program" : std::strerror(error));
    status_ = error == ENOENT ? 127 : 126;
    finish();
    return false;
  }

  // Turns the child process into the program.
  [[noreturn]] void become(int rank, int out, int err, int trouble) {
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    std::vector<int> cpus = allowed_cpus();
    if (options_.bind == "core" && cpus.size() >= size_t(options_.ranks)) pin_to(cpus[size_t(rank)]);
    if (rank != 0) {  // only rank 0 reads standard input
      int nothing = open("/dev/null", O_RDONLY);
      if (nothing >= 0) dup2(nothing, STDIN_FILENO), close(nothing);
    }
    if (out >= 0) dup2(out, STDOUT_FILENO), dup2(err, STDERR_FILENO);
    meeting_.become(rank);
    std::vector<char*> arguments;
    for (const std::string& argument : options_.program) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    int error = errno;
    if (write(trouble, &error, sizeof error) < 0) {}
    _exit(127);
  }

  // Waits for output, a signal or the end of a process, and handles it.
  void watch() {
    std::vector<pollfd> polled = {{signals_, POLLIN, 0}};
    for (const Tagged& output : outputs_) polled.push_back({output.descriptor(), POLLIN, 0});
    poll(polled.data(), polled.size(), kill_at_ ? 20 : 500);
    for (size_t i = polled.size(); i-- > 1;)
      if (polled[i].revents != 0 && !outputs_[i - 1].forward()) {
        if (outputs_[i - 1].error() != 0) output_error_ = outputs_[i - 1].error();
        outputs_.erase(outputs_.begin() + long(i) - 1);
      }
    signalfd_siginfo signal;
    while (read(signals_, &signal, sizeof signal) == sizeof signal)
      if (signal.ssi_signo != SIGCHLD) forward(signal);
    reap();
    if (living_ == 0 && !ending_) finish();  // ends the orphans of the ranks
    if (ending_) end_leftover();
    abandon_meeting();
    if (kill_at_ && Clock::now() >= *kill_at_) {
      signal_all(SIGKILL);
      kill_at_ = Clock::now() + std::chrono::milliseconds(200);
    }
  }

  void reap() {
    int wait_status = 0;
    for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;)
      for (size_t rank = 0; rank < ranks_.size(); ++rank)
        if (ranks_[rank].pid == pid) ended(int(rank), wait_status);
  }

  // Ranks that create a communicator may wait for a rank that has ended. Once that rank has no process left, it cannot
  // come: make the others fail.
  void abandon_meeting() {
    if (!first_ended_ || is_abandoned_ || living_ == 0 || !leftover().empty()) return;
    is_abandoned_ = true;
    meeting_.abandon(*first_ended_);
  }

  void ended(int rank, int wait_status) {
    if (wait_status == 0 && !first_ended_) first_ended_ = rank;
    ranks_[size_t(rank)].ended = true;
    ranks_[size_t(rank)].wait_status = wait_status;
    --living_;
    if (wait_status == 0 || status_ != 0) return;
    status_ = ending_status(wait_status);
    if (!interrupted_) {
      std::fprintf(stderr, "collctl run: rank %d ended with %s%s\n", rank, ending_text(wait_status).c_str(),
                   living_ > 0 ? "; ending the others" : "");
    }
    finish();
  }

  // Forwards a signal for collctl to the job. Ctrl-C of a terminal has already reached the ranks (SI_KERNEL).
  void forward(const signalfd_siginfo& signal) {
    int number = int(signal.ssi_signo);
    if (signal.ssi_code != SI_KERNEL) signal_all(number);
    if (number == SIGUSR1 || number == SIGUSR2) return;
    interrupted_ = true;
    if (status_ == 0) status_ = 128 + number;
    kill_at_ = Clock::now() + std::chrono::milliseconds(int(options_.grace_s * 1000));
    ending_ = true;
  }

  void finish() {
    if (ending_) return;
    ending_ = true;
    signal_all(SIGTERM);
    kill_at_ = Clock::now() + std::chrono::milliseconds(int(options_.grace_s * 1000));
  }

  // Children that are not ranks: orphans of the ranks.
  std::vector<pid_t> leftover() const {
    std::vector<pid_t> pids;
    std::ifstream file(fmt::format("/proc/self/task/{}/children", getpid()));
    for (pid_t pid; file >> pid;) {
      bool rank = false;
      for (const Rank& r : ranks_) rank |= r.pid == pid && !r.ended;
      if (!rank) pids.push_back(pid);
    }
    return pids;
  }

  // Sends SIGTERM once to each orphan: it may have become our child after the others got their signal.
  void end_leftover() {
    for (pid_t pid : leftover())
      if (terminated_.insert(pid).second) kill(pid, SIGTERM);
  }

  void signal_all(int number) {
    for (const Rank& rank : ranks_)
      if (!rank.ended) kill(rank.pid, number);
    for (pid_t pid : leftover()) kill(pid, number);
  }

  void report() const {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const Rank& rank : ranks_) {
      nlohmann::ordered_json one = {{"rank", ranks.size()}, {"pid", rank.pid}};
      if (WIFSIGNALED(rank.wait_status)) one["signal"] = WTERMSIG(rank.wait_status);
      else one["status"] = WEXITSTATUS(rank.wait_status);
      ranks.push_back(one);
    }
    nlohmann::ordered_json all = {{"program", options_.program}, {"status", status_}, {"ranks", ranks}};
    std::fprintf(stderr, "%s\n", all.dump().c_str());
  }

  const RunOptions& options_;
  Meeting meeting_;
  std::vector<Rank> ranks_;
  std::vector<Tagged> outputs_;
  int output_error_ = 0;  // errno of an output that has ended
  sigset_t before_{};
  int signals_ = -1, living_ = 0, status_ = 0;
  bool ending_ = false, interrupted_ = false, is_abandoned_ = false;
  std::optional<int> first_ended_;
  std::set<pid_t> terminated_;  // orphans that got SIGTERM
  std::optional<Clock::time_point> kill_at_;
};

int run_command(const RunOptions& options) {
  if (options.program.empty()) throw usage("no program is named; write collctl run -n 4 ./program");
  if (options.bind != "core" && options.bind != "none")
    throw usage(fmt::format("--bind: unknown value '{}'; use core or none", options.bind));
  if (options.mpi.empty()) return Job(options).run();
  if (options.json || options.grace_s != default_grace_s)
    throw usage("--json and --grace are not for --mpi: there the MPI library's launcher watches the ranks");
  run_under_mpi({options.mpi, options.ranks, options.bind == "core", options.tag, options.program});
}

}  // namespace

std::vector<std::string> extract_program(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "run") return {};
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-n" || word == "--ranks" || word == "--bind" || word == "--grace" || word == "--mpi")
      ++i;  // skips the value of the option
    if (word.starts_with("-") && word != "--") continue;
    std::vector<std::string> program(arguments.begin() + long(i) + (word == "--" ? 1 : 0), arguments.end());
    arguments.resize(i);
    return program;
  }
  return {};
}

void add_run(Command& app, Action& action, const std::vector<std::string>& program) {
  auto options = std::make_shared<RunOptions>();
  options->program = program;
  Command* sub = app.add_subcommand("run", "Start a program as N ranks");
  sub->add_option("-n,--ranks", options->ranks, "number of ranks, 1 to 4096 (required)")
      ->required()
      ->range(1, 4096)
      ->option_text("N");
  sub->add_option(
         "--bind", options->bind,
         "core: bind each rank to a processor of its own if there are enough\n(default); none: do not bind ranks")
      ->option_text("core|none");
  sub->add_option("--mpi", options->mpi,
                  "start an MPI program by the launcher of this MPI library, with\nthe shim of libcoll preloaded")
      ->option_text("openmpi|mpich");
  sub->add_flag("--tag", options->tag, "begin each line of output with its rank, as in [3]");
  sub->add_option("--grace", options->grace_s, "seconds between SIGTERM and SIGKILL; default: 2")
      ->range(0.0, 3600.0)
      ->option_text("S");
  sub->add_flag("--json", options->json, "at the end, print on standard error how every rank ended");
  // Only for --help: extract_program() has removed the program from the command line.
  sub->add_option("PROGRAM", options->program, "the program and its arguments (required)")->option_text("  ");
  sub->footer(
      examples("  collctl run -n 4 ./allreduce\n"
               "  COLL_LOG=info collctl run -n 2 --tag ./program --its-own option\n"
               "  collctl run --mpi openmpi -n 4 ./mpi_program\n"
               "The program calls coll_comm_create_from_launcher(). If a rank fails, collctl ends the others and\n"
               "returns the status of that rank: its exit status, or 128 plus the signal's number."));
  sub->callback([&action, options] { action = [options] { return run_command(*options); }; });
}

}  // namespace coll::tools
