// SPDX-License-Identifier: BSD-3-Clause
#include "comm/scratch.h"

#include <new>
#include <string>

#include "mem/copy.h"
#include "transport/arena.h"

namespace coll::comm {

using plan::Collective;

char* Scratch::take(size_t bytes) {
  if (bytes <= bytes_) return memory_;
  give_back();
  std::string problem;
  arena_ = transport::Arena::own(problem);
  memory_ = arena_ != nullptr ? static_cast<char*>(arena_->allocate(bytes)) : nullptr;
  if (memory_ == nullptr) arena_ = nullptr, memory_ = static_cast<char*>(operator new(bytes));
  bytes_ = bytes;
  return memory_;
}

void Scratch::give_back() {
  if (memory_ == nullptr) return;
  if (arena_ == nullptr) operator delete(memory_);
  // A child after fork() does not have its parent's arena, and may have one of its own at the same addresses.
  else if (arena_ == transport::Arena::existing()) arena_->free(memory_);
  memory_ = nullptr;
  bytes_ = 0;
}

bool needs_scratch(const Call& call) {
  return call.in_place && (call.collective == Collective::alltoall || call.collective == Collective::reduce_scatter);
}

namespace {

size_t result_bytes(const Call& call, int rank) {
  return (call.pieces != nullptr ? call.pieces->counts[size_t(rank)] : call.count) * call.element_bytes;
}

}  // namespace

exec::Arguments apart(const Call& call, int rank, int ranks, Scratch& scratch) {
  exec::Arguments arguments = call.arguments();
  if (call.collective == Collective::reduce_scatter) {
    arguments.recv = scratch.take(result_bytes(call, rank));
    return arguments;
  }
  if (call.pieces == nullptr) {
    const size_t bytes = call.bytes() * size_t(ranks);
    char* input = scratch.take(bytes);
    mem::copy(input, call.recv, bytes);
    arguments.send = input;
    return arguments;
  }
  const Pieces& pieces = *call.pieces;
  char* input = scratch.take((pieces.send_offsets.back() + pieces.counts.back()) * call.element_bytes);
  for (size_t block = 0; block < pieces.counts.size(); block++)
    mem::copy(input + pieces.send_offsets[block] * call.element_bytes,
              static_cast<char*>(call.recv) + pieces.recv_offsets[block] * call.element_bytes,
              pieces.counts[block] * call.element_bytes);
  arguments.send = input;
  return arguments;
}

void put_back(const Call& call, int rank, const Scratch& scratch) {
  if (call.collective == Collective::reduce_scatter) mem::copy(call.recv, scratch.memory(), result_bytes(call, rank));
}

}  // namespace coll::comm
