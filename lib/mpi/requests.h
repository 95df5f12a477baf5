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

// Where the request of a collective goes.
struct Target {
  Target(MPI_Request *request) : request(request) {}
  // It is made inactive, for MPI_Start.
  static Target persistent(MPI_Request *request) {
    Target target(request);
    target.is_persistent = true;
    return target;
  }

  MPI_Request *request;
  bool is_persistent = false;
};

// A datatype for as long as this lives; a duplicate of one that the program may free meanwhile.
class KeptType {
 public:
  KeptType() = default;
  KeptType(const KeptType &) = delete;
  KeptType &operator=(const KeptType &) = delete;
  ~KeptType();
  // The datatype of what `side` packs, if it packs. Once. False when there is no memory.
  bool keep(Side &side);

 private:
  MPI_Datatype handle_ = {};
  bool duplicated_ = false;
};

// What a collective on blocks needs until it is complete, or a persistent one until it is freed.
struct Moved {
  Side send;
  Side recv;
  int inputs = no_block;                   // the blocks of the receive buffer that are input, too
  std::unique_ptr<std::size_t[]> numbers;  // of v-forms: four a rank
  std::unique_ptr<char[]> packed;
  KeptType sent, received;

  // NULL when there is no memory.
  static std::unique_ptr<Moved> make(std::size_t packed_bytes);
  bool keep_sent() { return sent.keep(send); }
  bool keep_received() { return received.keep(recv); }
  // Pack what is sent, and unpack what has been received. False when MPI refuses.
  bool load() const;
  bool store() const { return recv.store(); }
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
  virtual ~Started() = default;
  // It is complete, with `status`, and unpacked. The list does not touch it any more.
  virtual void end();

  coll_request *collective = nullptr;
  MPI_Request handle;
  std::unique_ptr<Moved> moved;
  std::unique_ptr<Exchanged> exchange;
  std::shared_ptr<void> operation;  // keeps a user-defined one
  coll_status status;               // once it is complete
  int code = MPI_SUCCESS;           // likewise
  Started *next;
};

// Tests it from now on, until it is complete.
void advance(Started *started);

// Makes `*request` stand for `started`, which has been started, and takes it over. Returns an MPI error code.
int enter(std::unique_ptr<Started> started, MPI_Request *request);

// Completes the requests of collectives that are complete, where the library's progress cannot. Before the program asks for
// the state of a request in a way that leads no further.
void complete_those_over();

// Whether progress of the library may call MPI at all times, as persistent requests need.
bool progress_calls_mpi();

// Installs what drives them. False when this MPI library has no place for it. Local; once, while MPI runs.
bool start_requests();

// Ends the thread of COLL_PROGRESS=thread. In MPI_Finalize, where collectives that are still active progress in MPI's calls.
void end_requests();

}  // namespace coll::shim
