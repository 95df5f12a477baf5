// SPDX-License-Identifier: BSD-3-Clause
// Collectives of libcoll that are in progress, as requests of the MPI library.
//
// The program gets a generalized request of the library: all functions of the library accept it, from any caller and by
// any name. The shim completes it in the library's progress (hook.h), so neither waits nor tests have to be
// intercepted.
#pragma once

#include "mpi/blocks.h"
#include "mpi/edges.h"
#include "mpi/handles.h"
#include "mpi/host_copy.h"

#include <coll/coll.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace coll::shim {

// Where to store the request of a collective.
struct Target {
  Target(MPI_Request *request) : request(request) {}
  // The request is created inactive, for MPI_Start.
  static Target persistent(MPI_Request *request) {
    Target target(request);
    target.is_persistent = true;
    return target;
  }

  MPI_Request *request;
  bool is_persistent = false;
};

// Keeps a datatype valid while this object exists: a duplicate of one that the program may free meanwhile.
class KeptDatatype {
 public:
  KeptDatatype() = default;
  KeptDatatype(const KeptDatatype &) = delete;
  KeptDatatype &operator=(const KeptDatatype &) = delete;
  ~KeptDatatype();
  // Keeps the datatype of `side`, if the side packs. Must be called once. Returns false if there is no memory.
  bool keep(Side &side);

 private:
  MPI_Datatype handle_ = {};
  bool duplicated_ = false;
};

// What a collective on blocks needs until it is complete; a persistent one, until it is freed.
struct BlockBuffers {
  Side send;
  Side recv;
  int inputs = no_block;                   // blocks of the receive buffer that are also input
  std::unique_ptr<std::size_t[]> numbers;  // of v-variants: four per rank
  std::unique_ptr<char[]> packed;
  KeptDatatype sent, received;

  // Returns NULL if there is no memory.
  static std::unique_ptr<BlockBuffers> make(std::size_t packed_bytes);
  bool keep_sent() { return sent.keep(send); }
  bool keep_received() { return received.keep(recv); }
  // Pack what is sent, and unpack what was received. Return false if MPI reports an error.
  bool load() const;
  bool store() const { return recv.store(); }
};

// The same for a neighbourhood collective, also a blocking one.
struct EdgeBuffers {
  Edges out;
  Edges in;
  std::vector<coll_outgoing> sends;
  std::vector<coll_incoming> receives;
};

// What a started collective keeps until it is complete; a persistent one, until it is freed.
struct Kept {
  std::unique_ptr<BlockBuffers> buffers = nullptr;
  std::unique_ptr<EdgeBuffers> exchange = nullptr;
  std::shared_ptr<void> operation = nullptr;  // keeps a user-defined operation alive
  std::unique_ptr<ReductionCopies> copies = nullptr;

  // Collect what is sent, and distribute what was received. Return an error if MPI reports one, or a copy from or to a
  // device fails.
  coll_status load() const;
  coll_status store() const;
};

// A started collective: libcoll's request and the MPI library's.
struct Started {
  virtual ~Started() = default;
  // Called when the collective is complete, with `status`, and its data is unpacked. The list no longer refers to it.
  // May delete it.
  virtual void end();

  coll_request *collective = nullptr;
  MPI_Request handle;
  Kept kept;
  coll_status status;      // valid when it is complete
  int code = MPI_SUCCESS;  // likewise, as an MPI error code
  // What the generalized request has been: the MPI library no longer needs this object if it has been both.
  enum : unsigned { request_completed = 1, request_freed = 2 };
  std::atomic<unsigned> ends{0};
  Started *next;
};

// Adds it to the list of collectives that are tested until they are complete.
void advance(Started *started);

// Creates the MPI request of `started`, a started collective, and takes ownership of the latter. Returns an MPI error
// code.
int enter(std::unique_ptr<Started> started, MPI_Request *request);

// Completes the MPI requests of completed collectives where the library's progress must not do it. Called before the
// program reads the state of a request by a function that does not poll.
void complete_finished();

// Whether the library's progress may always call MPI, as persistent requests need.
bool progress_calls_mpi();

// Installs the hook that advances them. Returns false if this MPI library offers none. Local; must be called once,
// after MPI_Init.
bool start_requests();

// Ends the thread of COLL_PROGRESS=thread. In MPI_Finalize, where collectives that are still active progress in MPI's calls.
void end_requests();

}  // namespace coll::shim
