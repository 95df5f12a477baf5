// SPDX-License-Identifier: BSD-3-Clause
#include "tools/plan/priced.h"

namespace coll::tools {

const char* transport_of(const model::Priced& priced) {
  return priced.mechanism == model::Mechanism::shared_memory ? "shm" : model::name(priced.mechanism);
}

nlohmann::ordered_json knobs_of(const model::Priced& priced) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  if (priced.row->reads.k) out["k"] = priced.knobs.k;
  if (priced.row->reads.j) out["j"] = priced.knobs.k;
  if (priced.row->reads.chunk && priced.knobs.chunk_bytes > 0) out["chunk"] = size_t(priced.knobs.chunk_bytes);
  return out;
}

}  // namespace coll::tools
