// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/choice.h"

#include "mpi/log.h"
#include "mpi/presence.h"

#include <coll/shim.h>

#include <string>

namespace coll::shim {

int choice_of(const char *variable, std::initializer_list<const char *> words, const char *consequence) {
  const char *value = coll_setting(variable);
  if (value == nullptr || value[0] == '\0') return 0;
  int place = 0;
  std::string all;
  for (const char *word : words) {
    if (value == std::string(word)) return place;
    all += (place++ > 0 ? ", " : "") + std::string(word);
  }
  if (rank_in_job() <= 0) warn_once("%s='%s' is none of %s: %s", variable, value, all.c_str(), consequence);
  return -1;
}

}  // namespace coll::shim
