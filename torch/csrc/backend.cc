// SPDX-License-Identifier: BSD-3-Clause
#include "backend.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "checks.h"
#include "tensors.h"
#include "together.h"
#include "types.h"
#include "worker.h"

namespace torch_coll {

using c10d::OpType;

// A collective before launch().
struct Backend::Call {
  OpType type;
  const char* title;
  Milliseconds timeout;
  c10::optional<Tensors> inputs;  // for the profiler
  c10::IValue outputs;
  Plan plan = {};
};

namespace {

// Inputs and staging may be inference tensors or views of tensors that need gradients: nothing here is differentiated.
using Undifferentiated = c10::InferenceMode;

using After = std::vector<std::function<void()>>;

void divide(at::Tensor tensor, int ranks) {
  if (at::isIntegralType(tensor.scalar_type(), false)) tensor.div_(ranks, "trunc");
  else tensor.div_(ranks);
}

size_t count_of(const at::Tensor& tensor) { return size_t(tensor.numel()); }

// Adds an allreduce of one tensor, in place, to a plan.
void add_allreduce(Plan& plan, const at::Tensor& tensor, const Reduction& reduction, int ranks) {
  at::Tensor memory = for_writing(tensor, plan.after);
  if (!memory.is_same(tensor)) memory.copy_(tensor);
  // Before the copy to the tensor, which for_writing() has added.
  if (reduction.average) plan.after.insert(plan.after.begin(), [memory, ranks] { divide(memory, ranks); });
  plan.held.push_back(memory);
  plan.starts.push_back([memory, reduction](coll_comm* comm, coll_request** request) {
    return coll_iallreduce(COLL_IN_PLACE, address(memory), count_of(memory), reduction.type, reduction.op, comm,
                           request);
  });
}

// Adds an allgather of `input` to one memory of [ranks] blocks. An input inside the output is copied: other ranks may
// have theirs elsewhere, and all or no ranks must be in place.
void add_allgather(Plan& plan, at::Tensor input, const at::Tensor& output) {
  input = for_reading(input);
  const at::Tensor memory = for_writing(output, plan.after);
  if (overlap(input, memory)) input = input.clone();
  plan.held.insert(plan.held.end(), {input, memory});
  plan.starts.push_back([input, memory](coll_comm* comm, coll_request** request) {
    return coll_iallgather(address(input), address(memory), bytes_of(input), COLL_BYTE, comm, request);
  });
}

// Adds a reduce_scatter of [ranks] equal blocks. An output inside the input gets its result at the end, because peers
// read the input until then.
void add_reduce_scatter(Plan& plan, at::Tensor input, const at::Tensor& output, const Reduction& reduction, int ranks) {
  input = for_reading(input);
  After copies;
  at::Tensor memory = for_writing(output, copies);
  if (overlap(input, memory)) {
    memory = at::empty(output.sizes(), output.options());
    copies.push_back([output, memory] { at::Tensor(output).copy_(memory); });
  }
  if (reduction.average) plan.after.push_back([memory, ranks] { divide(memory, ranks); });
  plan.after.insert(plan.after.end(), copies.begin(), copies.end());
  plan.held.insert(plan.held.end(), {input, memory});
  plan.starts.push_back([input, memory, reduction](coll_comm* comm, coll_request** request) {
    return coll_ireduce_scatter_block(address(input), address(memory), count_of(memory), reduction.type, reduction.op,
                                      comm, request);
  });
}

template <typename Opts>
Milliseconds timeout_of(const Opts& opts, const std::atomic<int64_t>& of_group) {
  return opts.timeout.count() > 0 ? Milliseconds(opts.timeout) : Milliseconds(of_group.load());
}

}  // namespace

Backend::Backend(c10d::Store& store, int rank, int size, Milliseconds timeout, c10::intrusive_ptr<Base> gloo)
    : Base(rank, size),
      group_(std::make_shared<Group>(store, rank, size)),
      gloo_(std::move(gloo)),
      timeout_ms_(timeout.count()) {}

WorkPointer Backend::launch(Call call) {
  const uint64_t number = ++sequence_;
  auto work = c10::make_intrusive<Work>(group_, call.type, call.title, call.inputs, std::move(call.plan),
                                        std::move(call.outputs), number, call.timeout);
  if (!work->done()) Worker::get().add(work);
  if (coalescing_) coalesced_.push_back(work);
  return work;
}

WorkPointer Backend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) {
  const at::Tensor& tensor = only(tensors, "broadcast");
  const Undifferentiated mode;
  Call call{OpType::BROADCAST, "coll:broadcast", timeout_of(opts, timeout_ms_), tensors, tensors};
  const int root = int(opts.rootRank);
  const at::Tensor memory = getRank() == root ? for_reading(tensor) : for_writing(tensor, call.plan.after);
  call.plan.held = {memory};
  call.plan.starts.push_back([memory, root](coll_comm* comm, coll_request** request) {
    return coll_ibcast(address(memory), bytes_of(memory), COLL_BYTE, root, comm, request);
  });
  return launch(std::move(call));
}

template <typename Opts>
WorkPointer Backend::all_reduce(Tensors& tensors, const Opts& opts, OpType type, const char* title) {
  check_all(tensors, title);
  const Undifferentiated mode;
  Call call{type, title, timeout_of(opts, timeout_ms_), tensors, tensors};
  for (const at::Tensor& tensor : tensors)
    add_allreduce(call.plan, tensor, reduction_of(opts.reduceOp, tensor.scalar_type()), getSize());
  return launch(std::move(call));
}

WorkPointer Backend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  if (tensors.size() == 1 && tensors[0].defined() && tensors[0].is_sparse()) return gloo_->allreduce(tensors, opts);
  only(tensors, "all_reduce");
  return all_reduce(tensors, opts, OpType::ALLREDUCE, "coll:all_reduce");
}

WorkPointer Backend::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  return all_reduce(tensors, opts, OpType::ALLREDUCE_COALESCED, "coll:all_reduce_coalesced");
}

WorkPointer Backend::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
  const at::Tensor& tensor = only(tensors, "reduce");
  const Undifferentiated mode;
  Call call{OpType::REDUCE, "coll:reduce", timeout_of(opts, timeout_ms_), tensors, tensors};
  const Reduction reduction = reduction_of(opts.reduceOp, tensor.scalar_type());
  const int root = int(opts.rootRank), ranks = getSize();
  at::Tensor memory;
  if (getRank() == root) {
    memory = for_writing(tensor, call.plan.after);
    if (!memory.is_same(tensor)) memory.copy_(tensor);
    if (reduction.average) call.plan.after.insert(call.plan.after.begin(), [memory, ranks] { divide(memory, ranks); });
  } else {
    memory = for_reading(tensor);
  }
  call.plan.held = {memory};
  const bool at_root = getRank() == root;
  call.plan.starts.push_back([memory, reduction, root, at_root](coll_comm* comm, coll_request** request) {
    return coll_ireduce(at_root ? COLL_IN_PLACE : address(memory), at_root ? address(memory) : nullptr,
                        count_of(memory), reduction.type, reduction.op, root, comm, request);
  });
  return launch(std::move(call));
}

WorkPointer Backend::allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  const at::Tensor& input = only(inputs, "all_gather");
  const Tensors& blocks = only(outputs, "all_gather");
  check_ranks(blocks.size(), getSize(), "all_gather");
  const Blocks lengths(sizes_of(blocks));
  for (const at::Tensor& block : blocks) check_same_type(input, block, "all_gather");
  TORCH_CHECK_VALUE(bytes_of(input) == lengths.counts[size_t(getRank())],
                    "coll: all_gather: the output for this rank has another size than its input");
  const Undifferentiated mode;
  Call call{OpType::ALLGATHER, "coll:all_gather", timeout_of(opts, timeout_ms_), inputs, blocks};
  const at::Tensor memory = joined_for_writing(blocks, call.plan.after);
  if (all_equal(lengths.counts)) {
    add_allgather(call.plan, input, memory);
  } else {
    at::Tensor mine = for_reading(input);
    if (overlap(mine, memory)) mine = mine.clone();
    call.plan.held = {mine, memory};
    call.plan.starts.push_back([mine, memory, lengths](coll_comm* comm, coll_request** request) {
      return coll_iallgatherv(address(mine), bytes_of(mine), address(memory), lengths.counts.data(),
                              lengths.displs.data(), COLL_BYTE, comm, request);
    });
  }
  return launch(std::move(call));
}

WorkPointer Backend::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) {
  check_all({input, output}, "all_gather_into_tensor");
  check_blocks(output, input, getSize(), "all_gather_into_tensor");
  const Undifferentiated mode;
  Call call{OpType::_ALLGATHER_BASE, "coll:all_gather_into_tensor", timeout_of(opts, timeout_ms_), Tensors{input},
            Tensors{output}};
  add_allgather(call.plan, input, output);
  return launch(std::move(call));
}

WorkPointer Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::AllgatherOptions& opts) {
  constexpr const char* what = "coll:all_gather_into_tensor_coalesced";
  check_ranks(outputs.size(), int(inputs.size()), what);
  const Undifferentiated mode;
  Call call{coalesced_type, what, timeout_of(opts, timeout_ms_), inputs, outputs};
  for (size_t i = 0; i < inputs.size(); i++) {
    check_all({inputs[i], outputs[i]}, what);
    check_blocks(outputs[i], inputs[i], getSize(), what);
    add_allgather(call.plan, inputs[i], outputs[i]);
  }
  return launch(std::move(call));
}

WorkPointer Backend::allgather_coalesced(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  constexpr const char* what = "coll:all_gather_coalesced";
  check_ranks(outputs.size(), getSize(), what);
  const Undifferentiated mode;
  Call call{OpType::ALLGATHER_COALESCED, what, timeout_of(opts, timeout_ms_), inputs, outputs};
  for (size_t i = 0; i < inputs.size(); i++) {
    Tensors blocks;
    for (const Tensors& of_rank : outputs) {
      TORCH_CHECK(of_rank.size() == inputs.size(), what, ": the lists have different lengths");
      blocks.push_back(of_rank[i]);
      check_all({inputs[i], of_rank[i]}, what);
      check_blocks(inputs[i], of_rank[i], 1, what);
    }
    add_allgather(call.plan, inputs[i], joined_for_writing(blocks, call.plan.after));
  }
  return launch(std::move(call));
}

WorkPointer Backend::gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& opts) {
  const at::Tensor& input = only(inputs, "gather");
  const Undifferentiated mode;
  const int root = int(opts.rootRank);
  Call call{OpType::GATHER, "coll:gather", timeout_of(opts, timeout_ms_), inputs, Tensors{}};
  at::Tensor memory;
  if (getRank() == root) {
    const Tensors& blocks = only(outputs, "gather");
    check_ranks(blocks.size(), getSize(), "gather");
    for (const at::Tensor& block : blocks) check_blocks(input, block, 1, "gather");
    memory = joined_for_writing(blocks, call.plan.after);
    call.outputs = blocks;
  } else {
    TORCH_CHECK(outputs.empty(), "coll: gather: only the root has outputs");
  }
  at::Tensor mine = for_reading(input);
  if (memory.defined() && overlap(mine, memory)) mine = mine.clone();
  call.plan.held = {mine, memory};
  call.plan.starts.push_back([mine, memory, root](coll_comm* comm, coll_request** request) {
    return coll_igather(address(mine), memory.defined() ? address(memory) : nullptr, bytes_of(mine), COLL_BYTE, root,
                        comm, request);
  });
  return launch(std::move(call));
}

WorkPointer Backend::scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& opts) {
  const at::Tensor& output = only(outputs, "scatter");
  const Undifferentiated mode;
  const int root = int(opts.rootRank);
  Call call{OpType::SCATTER, "coll:scatter", timeout_of(opts, timeout_ms_), c10::nullopt, outputs};
  at::Tensor memory;
  if (getRank() == root) {
    const Tensors& blocks = only(inputs, "scatter");
    check_ranks(blocks.size(), getSize(), "scatter");
    for (const at::Tensor& block : blocks) check_blocks(output, block, 1, "scatter");
    memory = joined_for_reading(blocks);
    call.inputs = blocks;
  } else {
    TORCH_CHECK(inputs.empty(), "coll: scatter: only the root has inputs");
  }
  const at::Tensor mine = for_writing(output, call.plan.after);
  if (memory.defined() && overlap(mine, memory)) memory = memory.clone();
  call.plan.held = {mine, memory};
  call.plan.starts.push_back([mine, memory, root](coll_comm* comm, coll_request** request) {
    return coll_iscatter(memory.defined() ? address(memory) : nullptr, address(mine), bytes_of(mine), COLL_BYTE, root,
                         comm, request);
  });
  return launch(std::move(call));
}

WorkPointer Backend::reduce_scatter(Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& opts) {
  const at::Tensor& output = only(outputs, "reduce_scatter");
  const Tensors& blocks = only(inputs, "reduce_scatter");
  check_ranks(blocks.size(), getSize(), "reduce_scatter");
  for (const at::Tensor& block : blocks) check_same_type(output, block, "reduce_scatter");
  check_blocks(blocks[size_t(getRank())], output, 1, "reduce_scatter");
  const Undifferentiated mode;
  Call call{OpType::REDUCE_SCATTER, "coll:reduce_scatter", timeout_of(opts, timeout_ms_), blocks, outputs};
  const Reduction reduction = reduction_of(opts.reduceOp, output.scalar_type());
  at::Tensor whole = joined_for_reading(blocks);
  whole = at::from_blob(
      address(whole), {int64_t(bytes_of(whole) / output.element_size())}, [whole](void*) {}, output.options());
  std::vector<size_t> counts;
  for (const at::Tensor& block : blocks) counts.push_back(count_of(block));
  if (all_equal(counts)) {
    add_reduce_scatter(call.plan, whole, output, reduction, getSize());
    return launch(std::move(call));
  }
  const int ranks = getSize();
  const at::Tensor memory = at::empty(output.sizes(), output.options());
  call.plan.after.push_back([output, memory, average = reduction.average, ranks] {
    if (average) divide(memory, ranks);
    at::Tensor(output).copy_(memory);
  });
  call.plan.held = {whole, memory};
  call.plan.starts.push_back([whole, memory, counts, reduction](coll_comm* comm, coll_request** request) {
    return coll_ireduce_scatter(address(whole), address(memory), counts.data(), reduction.type, reduction.op, comm,
                                request);
  });
  return launch(std::move(call));
}

WorkPointer Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::ReduceScatterOptions& opts) {
  check_all({input, output}, "reduce_scatter_tensor");
  check_blocks(input, output, getSize(), "reduce_scatter_tensor");
  const Undifferentiated mode;
  Call call{OpType::_REDUCE_SCATTER_BASE, "coll:reduce_scatter_tensor", timeout_of(opts, timeout_ms_), Tensors{input},
            Tensors{output}};
  add_reduce_scatter(call.plan, input, output, reduction_of(opts.reduceOp, input.scalar_type()), getSize());
  return launch(std::move(call));
}

WorkPointer Backend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::ReduceScatterOptions& opts) {
  constexpr const char* what = "coll:reduce_scatter_tensor_coalesced";
  check_ranks(outputs.size(), int(inputs.size()), what);
  const Undifferentiated mode;
  Call call{coalesced_type, what, timeout_of(opts, timeout_ms_), inputs, outputs};
  for (size_t i = 0; i < inputs.size(); i++) {
    check_all({inputs[i], outputs[i]}, what);
    check_blocks(inputs[i], outputs[i], getSize(), what);
    add_reduce_scatter(call.plan, inputs[i], outputs[i], reduction_of(opts.reduceOp, inputs[i].scalar_type()),
                       getSize());
  }
  return launch(std::move(call));
}

WorkPointer Backend::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                                   std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& opts) {
  constexpr const char* what = "all_to_all_single";
  check_all({input, output}, what);
  check_same_type(input, output, what);
  const Undifferentiated mode;
  Call call{OpType::ALLTOALL_BASE, "coll:all_to_all_single", timeout_of(opts, timeout_ms_), Tensors{input},
            Tensors{output}};
  const Blocks sent = blocks_of(input, input_splits, getSize(), what);
  const Blocks received = blocks_of(output, output_splits, getSize(), what);
  at::Tensor from = for_reading(input);
  const at::Tensor to = for_writing(output, call.plan.after);
  if (overlap(from, to)) from = from.clone();
  call.plan.held = {from, to};
  if (input_splits.empty() && output_splits.empty()) {
    TORCH_CHECK_VALUE(bytes_of(from) == bytes_of(to), "coll: ", what, ": input and output have different sizes");
    call.plan.starts.push_back([from, to, bytes = sent.counts[0]](coll_comm* comm, coll_request** request) {
      return coll_ialltoall(address(from), address(to), bytes, COLL_BYTE, comm, request);
    });
  } else {
    call.plan.starts.push_back([from, to, sent, received](coll_comm* comm, coll_request** request) {
      return coll_ialltoallv(address(from), sent.counts.data(), sent.displs.data(), address(to), received.counts.data(),
                             received.displs.data(), COLL_BYTE, comm, request);
    });
  }
  return launch(std::move(call));
}

WorkPointer Backend::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) {
  check_ranks(inputs.size(), getSize(), "all_to_all");
  check_ranks(outputs.size(), getSize(), "all_to_all");
  check_all(inputs, "all_to_all");
  check_all(outputs, "all_to_all");
  const Undifferentiated mode;
  Call call{OpType::ALLTOALL, "coll:all_to_all", timeout_of(opts, timeout_ms_), inputs, outputs};
  const Blocks sent(sizes_of(inputs)), received(sizes_of(outputs));
  at::Tensor from = joined_for_reading(inputs);
  const at::Tensor to = joined_for_writing(outputs, call.plan.after);
  if (overlap(from, to)) from = from.clone();
  call.plan.held = {from, to};
  call.plan.starts.push_back([from, to, sent, received](coll_comm* comm, coll_request** request) {
    return coll_ialltoallv(address(from), sent.counts.data(), sent.displs.data(), address(to), received.counts.data(),
                           received.displs.data(), COLL_BYTE, comm, request);
  });
  return launch(std::move(call));
}

WorkPointer Backend::barrier(const c10d::BarrierOptions& opts) {
  Call call{OpType::BARRIER, "coll:barrier", timeout_of(opts, timeout_ms_), c10::nullopt, Tensors{}};
  call.plan.starts.push_back([](coll_comm* comm, coll_request** request) { return coll_ibarrier(comm, request); });
  return launch(std::move(call));
}

#if TORCH_COLL_VERSION >= 214
WorkPointer Backend::gather_into_tensor(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& opts) {
  TensorLists outputs;
  Tensors inputs{input};
  if (getRank() == opts.rootRank) {
    check_blocks(output, input, getSize(), "gather_into_tensor");
    outputs.emplace_back();
    for (const at::Tensor& row : output.view({getSize(), -1}).unbind(0)) outputs[0].push_back(row.view(input.sizes()));
  }
  return gather(outputs, inputs, opts);
}

c10d::ErrorType Backend::getError() {
  switch (group_->failure()) {
    case Failure::none: return c10d::ErrorType::SUCCESS;
    case Failure::timeout: return c10d::ErrorType::TIMEOUT;
    case Failure::here: return c10d::ErrorType::COMM_ERROR;
    case Failure::peer: return c10d::ErrorType::REMOTE_ERROR;
  }
  return c10d::ErrorType::COMM_ERROR;
}

c10::intrusive_ptr<c10d::Backend::Options> Backend::getBackendOptions() {
  return c10::make_intrusive<Options>(getBackendName(), Milliseconds(timeout_ms_.load()));
}

c10::intrusive_ptr<c10d::Backend> Backend::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                 const std::vector<int>& ranks,
                                                 const c10::intrusive_ptr<Options>& opts) {
  const auto place = std::find(ranks.begin(), ranks.end(), getRank());
  if (place == ranks.end()) return nullptr;
  const auto options = gloo_->getBackendOptions()->clone();
  options->timeout = opts ? opts->timeout : Milliseconds(timeout_ms_.load());
  if (opts) options->group_name = opts->group_name;
  auto gloo = gloo_->split(c10::make_intrusive<c10d::PrefixStore>("coll/gloo", store), ranks, options);
  return c10::make_intrusive<Backend>(*store, int(place - ranks.begin()), int(ranks.size()), options->timeout,
                                      std::move(gloo));
}
#endif

#if TORCH_COLL_VERSION >= 200
WorkPointer Backend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  return gloo_->allreduce(tensors, opts);
}

void Backend::startCoalescing() {
  coalescing_ = true;
  coalesced_.clear();
}

WorkPointer Backend::endCoalescing() {
  coalescing_ = false;
  return c10::make_intrusive<Together>(getRank(), std::exchange(coalesced_, {}));
}
#endif

WorkPointer Backend::send(Tensors& tensors, int to, int tag) {
  WorkPointer work = gloo_->send(tensors, to, tag);
  if (coalescing_) coalesced_.push_back(work);
  return work;
}

WorkPointer Backend::recv(Tensors& tensors, int from, int tag) {
  WorkPointer work = gloo_->recv(tensors, from, tag);
  if (coalescing_) coalesced_.push_back(work);
  return work;
}

WorkPointer Backend::recvAnysource(Tensors& tensors, int tag) { return gloo_->recvAnysource(tensors, tag); }

void Backend::monitoredBarrier(const c10d::BarrierOptions& opts, bool all_ranks) {
  gloo_->monitoredBarrier(opts, all_ranks);
}

void Backend::setTimeout(Milliseconds timeout) { timeout_ms_ = timeout.count(); }

void Backend::abort() { group_->abort("the group was aborted"); }

}  // namespace torch_coll
