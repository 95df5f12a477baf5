// SPDX-License-Identifier: BSD-3-Clause
#include "comm/scratch.h"

#include <new>
#include <string>

#include "comm/scaling.h"
#include "mem/copy.h"
#include "transport/arena.h"

namespace coll::comm {

using plan::Collective;

char* Scratch::reserve(size_t bytes) {
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
  // A child after fork() does not have its parent's arena, and may have its own arena at the same addresses.
  else if (arena_ == transport::Arena::existing()) arena_->free(memory_);
  memory_ = nullptr;
  bytes_ = 0;
}

bool needs_scratch(const Call& call, size_t element_bytes) {
  return element_bytes != call.element_bytes ||
         (call.in_place && (call.collective == Collective::alltoall || call.collective == Collective::reduce_scatter));
}

namespace {

// Lengths of a reduction's input and result on this rank, in elements.
size_t input_count(const Call& call, int ranks) {
  if (call.collective != Collective::reduce_scatter) return call.count;
  return call.pieces != nullptr ? call.pieces->total() : call.count * size_t(ranks);
}
size_t result_count(const Call& call, int rank) {
  if (call.collective == Collective::reduce && rank != call.root) return 0;
  if (call.collective == Collective::exscan && rank == 0) return 0;
  return call.pieces != nullptr ? call.pieces->counts[size_t(rank)] : call.count;
}

// Fills the scratch memory with the input in float, followed by room for the result.
exec::Arguments widen(const Call& call, int rank, int ranks, Scratch& scratch) {
  const size_t inputs = input_count(call, ranks);
  auto* memory = reinterpret_cast<float*>(scratch.reserve((inputs + result_count(call, rank)) * sizeof(float)));
  call.reducer.kernel.begin(memory, nullptr, &call.send, 1, inputs);
  const mem::ReduceFunction join = call.reducer.kernel.join;
  scratch.reducer = {.kernel = {.whole = join, .begin = join, .join = join, .finish = join},
                     .type = COLL_FLOAT,
                     .element_bytes = sizeof(float)};
  exec::Arguments arguments = call.arguments();
  arguments.send = memory;
  arguments.recv = memory + inputs;
  arguments.reducer = &scratch.reducer;
  return arguments;
}

}  // namespace

const void* scaled_input(const Call& call, int ranks, Scratch& scratch) {
  const size_t count = input_count(call, ranks);
  char* const memory = scratch.reserve(count * call.element_bytes);
  call.scaling->multiply(memory, call.input, count);
  return memory;
}

exec::Arguments separate_buffers(const Call& call, size_t element_bytes, int rank, int ranks, Scratch& scratch) {
  if (element_bytes != call.element_bytes) return widen(call, rank, ranks, scratch);
  exec::Arguments arguments = call.arguments();
  if (call.collective == Collective::reduce_scatter) {
    arguments.recv = scratch.reserve(result_count(call, rank) * call.element_bytes);
    return arguments;
  }
  if (call.pieces == nullptr) {
    const size_t bytes = call.bytes() * size_t(ranks);
    char* input = scratch.reserve(bytes);
    mem::copy(input, call.recv, bytes);
    arguments.send = input;
    return arguments;
  }
  const Pieces& pieces = *call.pieces;
  char* input = scratch.reserve((pieces.send_offsets.back() + pieces.counts.back()) * call.element_bytes);
  for (size_t block = 0; block < pieces.counts.size(); block++)
    mem::copy(input + pieces.send_offsets[block] * call.element_bytes,
              static_cast<char*>(call.recv) + pieces.recv_offsets[block] * call.element_bytes,
              pieces.counts[block] * call.element_bytes);
  arguments.send = input;
  return arguments;
}

void put_back(const Call& call, size_t element_bytes, int rank, int ranks, const Scratch& scratch) {
  if (element_bytes != call.element_bytes) {
    const void* result = reinterpret_cast<const float*>(scratch.memory()) + input_count(call, ranks);
    if (const size_t count = result_count(call, rank); count > 0)
      call.reducer.kernel.finish(call.recv, nullptr, &result, 1, count);
  } else if (call.collective == Collective::reduce_scatter) {
    mem::copy(call.recv, scratch.memory(), result_count(call, rank) * call.element_bytes);
  }
}

}  // namespace coll::comm
