// SPDX-License-Identifier: BSD-3-Clause
// Runs ranks with a coll::Communicator. An exception of a rank is a failure of that rank.
#pragma once

#include "coll/coll.hpp"
#include "comm/ranks.h"

namespace ranks {

inline coll::Communicator communicator(Context& context) {
  return coll::Communicator(context.rank, context.ranks,
                            [&](std::span<const std::byte> send, std::span<std::byte> recv) {
                              if (Context::allgather(send.data(), recv.data(), send.size(), &context) != 0)
                                throw std::length_error("allgather");
                            });
}

inline void run(int ranks, const std::function<void(Context&, coll::Communicator&)>& function) {
  run_processes(ranks, [&](Context& context) {
    try {
      coll::Communicator comm = communicator(context);
      function(context, comm);
    } catch (const std::exception& error) { context.fail(error.what()); }
  });
}

}  // namespace ranks
