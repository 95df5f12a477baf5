// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/presence.h"

#include "mpi/handles.h"
#include "mpi/library.h"
#include "mpi/linux_namespace.h"
#include "mpi/switch.h"

#include <coll/coll.h>
#include <coll/shim.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace coll::shim {
namespace {

// A file descriptor that its destructor closes.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  bool good() const { return number_ >= 0; }

 private:
  int number_;
};

int number_of(const char *variable) {
  const char *text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : -1;
}

// The process of MPICH's launcher on this node, an ancestor of all ranks there; 0 if there is none.
pid_t hydra_proxy() {
  for (pid_t process = getppid(); process > 1;) {
    char path[64], name[64] = "";
    int parent = 0;
    std::snprintf(path, sizeof path, "/proc/%d/stat", process);
    std::FILE *file = std::fopen(path, "re");
    if (file == nullptr) return 0;
    const bool read = std::fscanf(file, "%*d (%63[^)]) %*c %d", name, &parent) == 2;
    std::fclose(file);
    if (!read) return 0;
    if (std::strcmp(name, "hydra_pmi_proxy") == 0) return process;
    process = parent;
  }
  return 0;
}

std::string text_of(const char *variable) {
  const char *text = std::getenv(variable);
  return text != nullptr ? text : "";
}

bool starts_with_pmix() {
  mpi_library();  // sets over_open_mpi for the standard ABI
  return over_open_mpi;
}

// Launchers number their jobs by process ids, which are the same in many containers, and containers with the host's
// network have the same abstract sockets. So the name contains the address of PMIx's server, or hydra's pid namespace, as
// well.
struct Job {
  std::string name;  // unique on this machine; empty: not known
  int local_rank, local_ranks;

  // The launcher of the library in use comes first: the variables of the other one may be those of an outer launcher.
  static Job of_process() {
    const bool pmix_first = starts_with_pmix();
    const Job first = pmix_first ? of_pmix() : of_hydra();
    return !first.name.empty() ? first : pmix_first ? of_hydra() : of_pmix();
  }
  static Job of_pmix() {
    const std::string name = text_of("PMIX_NAMESPACE");
    return {name.empty() ? "" : name + '/' + text_of("PMIX_SERVER_URI2") + text_of("PMIX_SERVER_URI21"),
            number_of("OMPI_COMM_WORLD_LOCAL_RANK"), number_of("OMPI_COMM_WORLD_LOCAL_SIZE")};
  }
  static Job of_hydra() {
    const int rank = number_of("MPI_LOCALRANKID"), ranks = number_of("MPI_LOCALNRANKS");
    const pid_t proxy = ranks > 1 ? hydra_proxy() : 0;
    const std::uint64_t space = namespace_number("/proc/self/ns/pid");
    return {proxy > 0 ? "hydra/" + std::to_string(space) + '/' + std::to_string(proxy) : "", rank, ranks};
  }
  bool shared() const { return !name.empty() && local_ranks > 1 && local_rank >= 0 && local_rank < local_ranks; }
};

const Job &job() {
  static const Job job = Job::of_process();
  return job;
}

// The address of a rank's socket: an abstract name, or a file in COLL_RENDEZVOUS_DIR, which ranks in several network
// namespaces need. It contains a digest of the job's name, which may be too long, or contain what a file name cannot.
struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
  bool is_file = false;

  explicit Address(int local_rank) {
    name.sun_family = AF_UNIX;
    const char *directory = coll_setting("COLL_RENDEZVOUS_DIR");
    is_file = directory != nullptr && directory[0] != '\0';
    const std::string text = std::string(is_file ? directory : "") + (is_file ? "/" : "") + "libcoll-mpi." +
                             coll_version() + '.' + std::to_string(getuid()) + '.' +
                             std::to_string(std::hash<std::string>()(job().name)) + '.' + std::to_string(local_rank);
    const std::size_t at = is_file ? 0 : 1;
    if (at + text.size() >= sizeof name.sun_path) return;
    std::memcpy(name.sun_path + at, text.data(), text.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + at + text.size() + (is_file ? 1 : 0));
  }
  bool good() const { return length > 0; }
  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&name); }
};

Descriptor new_socket() { return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

Descriptor &listener() {
  static auto *own = new Descriptor;
  return *own;
}

// Connects to the socket of a rank; the result is not good() if there is none.
Descriptor reach(int local_rank) {
  const Address address(local_rank);
  Descriptor made = new_socket();
  if (!made.good() || !address.good()) return Descriptor();
  while (connect(made.number(), address.get(), address.length) != 0)
    if (errno != EINTR) return Descriptor();
  return made;
}

// Called by the deciding rank: finds out which rank lacks the shim, and informs all ranks that have it.
int decide() {
  std::int32_t lacking = -1;
  int present = 0;
  for (int rank = 1; rank < job().local_ranks; rank++) {
    if (reach(rank).good()) present++;
    else if (lacking < 0) lacking = rank;
  }
  while (present > 0) {
    const Descriptor asking(accept4(listener().number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!asking.good() && errno == EINTR) continue;
    if (!asking.good()) break;
    present -= send(asking.number(), &lacking, sizeof lacking, MSG_NOSIGNAL) == sizeof lacking;
  }
  return lacking;
}

}  // namespace

void announce_presence() {
  if (listener().good() || !job().shared() || switched_off() != nullptr) return;
  const Address own(job().local_rank);
  Descriptor made = new_socket();
  if (!made.good() || !own.good()) return;
  if (own.is_file) unlink(own.name.sun_path);
  if (bind(made.number(), own.get(), own.length) == 0 && listen(made.number(), job().local_ranks) == 0)
    listener() = std::move(made);
}

int lacking_rank() {
  if (!job().shared()) return -1;
  if (!listener().good()) return job().local_rank;
  if (job().local_rank == 0) return decide();
  const Descriptor decider = reach(0);
  std::int32_t lacking = 0;
  if (!decider.good() || recv(decider.number(), &lacking, sizeof lacking, MSG_WAITALL) != sizeof lacking) return 0;
  return lacking;
}

bool looks_at_all(int ranks) { return job().shared() && job().local_ranks == ranks; }

int rank_in_job() {
  const char *const first = starts_with_pmix() ? "PMIX_RANK" : "PMI_RANK";
  for (const char *variable : {first, "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const int rank = number_of(variable); rank >= 0) return rank;
  return -1;
}

void end_presence() {
  if (!listener().good()) return;
  if (const Address own(job().local_rank); own.is_file) unlink(own.name.sun_path);
  listener() = Descriptor();
}

}  // namespace coll::shim
