// SPDX-License-Identifier: BSD-3-Clause
// Stores to staging, which peers read next.
#pragma once

#include <cstddef>

#include "mem/copy.h"
#include "mem/fetch.h"
#include "mem/processor.h"
#include "mem/shared_stores.h"

namespace coll::exec {

// Uses non-temporal stores, rep movsb or vector stores, as suits the processor and the distance of the readers.
inline void store_staged(mem::SharedStores& stores, char* staged, const char* source, size_t bytes) {
  stores.count(bytes);
  if (stores.stream(bytes)) return mem::copy_shared(staged, source, bytes, true);
  if (bytes >= mem::processor().rep_movsb_store_min_bytes) return mem::copy_shared(staged, source, bytes, false);
  mem::write_in_steps(staged, bytes, [&](size_t at, size_t length) { mem::copy(staged + at, source + at, length); });
}

}  // namespace coll::exec
