// SPDX-License-Identifier: BSD-3-Clause
// Collectives of libcoll that are in progress, as requests of the MPI library.
//
// The program gets a generalized request of the library: all its functions take that, from any caller and by any
// name. The shim completes it in the library's progress (hook.h), so that neither waits nor tests are intercepted.
#pragma once

#include "mpi/blocks.h"
#include "mpi/edges.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace coll::shim {

// What a collective on blocks needs until it is complete.
struct Moved {
  Side send;
  Side recv;
  std::unique_ptr<std::size_t[]> numbers;  // of v-forms: four a rank
  std::unique_ptr<char[]> packed;
  MPI_Datatype kept;  // of what is received; a duplicate of one that the program may free meanwhile
  bool duplicated = false;

  Moved() = default;
  Moved(const Moved &) = delete;
  Moved &operator=(const Moved &) = delete;
  ~Moved();
  // NULL when there is no memory.
  static std::unique_ptr<Moved> make(std::size_t packed_bytes);
  // Sets `kept`. NULL when there is no memory.
  const Datatype *keep(MPI_Datatype datatype);
};

// The same of one among neighbours; and a blocking one has it, too.
struct Exchanged {
  Edges out;
  Edges in;
  std::vector<coll_outgoing> sends;
  std::vector<coll_incoming> receives;
};

// A started collective: of libcoll, and of the MPI library.
struct Started {
  coll_request *collective = nullptr;
  MPI_Request handle;
  std::unique_ptr<Moved> moved;
  std::unique_ptr<Exchanged> exchange;
  std::shared_ptr<void> operation;  // keeps a user-defined one
  coll_status status;               // once it is complete
  int code = MPI_SUCCESS;           // likewise
  Started *next;
};

// Makes `*request` stand for `started`, which has been started, and takes it over. Returns an MPI error code.
int enter(std::unique_ptr<Started> started, MPI_Request *request);

// Completes the requests of collectives that are complete, where the library's progress cannot. Before the program asks for
// the state of a request in a way that leads no further.
void complete_those_over();

// Installs what drives them. False when this MPI library has no place for it. Local; once, while MPI runs.
bool start_requests();

}  // namespace coll::shim
