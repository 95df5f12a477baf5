// SPDX-License-Identifier: BSD-3-Clause
#include "launch/pmix_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>

namespace coll::launch {

namespace {

// The parts of the PMIx standard's C interface that are used here; all versions since 2 have them.
struct Proc {
  char name[256];
  uint32_t rank;
};
constexpr uint32_t rank_wildcard = UINT32_MAX - 1;
constexpr uint16_t type_uint32 = 14;
struct Value {
  uint16_t type;
  union {
    uint32_t uint32;
    uint64_t room[2];
  };
};
using Init = int(Proc* self, void* info, size_t infos);
using Get = int(const Proc* of, const char* key, const void* info, size_t infos, Value** value);
using Finalize = int(const void* info, size_t infos);
using ErrorText = const char*(int status);

struct Library {
  Init* init = nullptr;
  Get* get = nullptr;
  Finalize* finalize = nullptr;
  ErrorText* text = nullptr;
  std::string problem;

  Library() {
    // The library stays open, because its threads and exit handlers may still run after a dlclose().
    void* const library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = dlerror();
      problem = why != nullptr ? why : "libpmix.so.2 cannot be opened";
      return;
    }
    init = reinterpret_cast<Init*>(dlsym(library, "PMIx_Init"));
    get = reinterpret_cast<Get*>(dlsym(library, "PMIx_Get"));
    finalize = reinterpret_cast<Finalize*>(dlsym(library, "PMIx_Finalize"));
    text = reinterpret_cast<ErrorText*>(dlsym(library, "PMIx_Error_string"));
    if (init == nullptr || get == nullptr || finalize == nullptr || text == nullptr)
      problem = "libpmix.so.2 lacks PMIx_Init, PMIx_Get, PMIx_Finalize or PMIx_Error_string";
  }

  uint32_t number(const Proc& of, const char* key, std::string& why) const {
    Value* value = nullptr;
    const int status = get(&of, key, nullptr, 0, &value);
    uint32_t number = 0;
    if (status != 0 || value == nullptr) why = std::string(key) + ": " + text(status);
    else if (value->type != type_uint32) why = std::string(key) + " is no number";
    else number = value->uint32;
    free(value);
    return number;
  }
};

PmixJob ask(const std::string& name) {
  static const Library library;
  PmixJob job;
  job.problem = library.problem;
  Proc self{};
  if (!job.problem.empty()) return job;
  if (const int status = library.init(&self, nullptr, 0); status != 0) {
    job.problem = std::string("PMIx_Init: ") + library.text(status);
    return job;
  }
  if (name != self.name) {
    job.problem = "PMIx_Init gives the namespace " + std::string(self.name) + " instead of " + name;
  } else {
    self.rank = rank_wildcard;
    job.ranks = library.number(self, "pmix.job.size", job.problem);
    if (job.problem.empty()) job.ranks_here = library.number(self, "pmix.local.size", job.problem);
  }
  library.finalize(nullptr, 0);
  return job;
}

}  // namespace

const PmixJob& pmix_job(const std::string& name) {
  static auto* const known = new std::map<std::string, PmixJob>;
  const auto at = known->find(name);
  return at != known->end() ? at->second : known->emplace(name, ask(name)).first->second;
}

}  // namespace coll::launch
