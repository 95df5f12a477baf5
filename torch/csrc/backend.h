// SPDX-License-Identifier: BSD-3-Clause
// The c10d backend: libcoll runs the collectives, an inner gloo group point-to-point messages and sparse tensors. All
// ranks are on one node; otherwise torch_coll creates a gloo group instead.
#pragma once

#include <memory>

#include "compat.h"
#include "group.h"
#include "work.h"

namespace torch_coll {

class Backend final : public Base {
 public:
  Backend(c10d::Store& store, int rank, int size, Milliseconds timeout, c10::intrusive_ptr<Base> gloo);

  const std::string getBackendName() const override { return "coll"; }

  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  WorkPointer allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) override;
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  WorkPointer allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) override;
  WorkPointer allgather_coalesced(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  WorkPointer gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& opts) override;
  WorkPointer scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& opts) override;
  WorkPointer reduce_scatter(Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& opts) override;
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& opts) override;
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                            std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& opts) override;
  WorkPointer alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;
  WorkPointer barrier(const c10d::BarrierOptions& opts) override;

  // These run in the gloo group.
  WorkPointer send(Tensors& tensors, int to, int tag) override;
  WorkPointer recv(Tensors& tensors, int from, int tag) override;
  WorkPointer recvAnysource(Tensors& tensors, int tag) override;
  void monitoredBarrier(const c10d::BarrierOptions& opts, bool all_ranks) override;

  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return sequence_; }

  // Overrides if this version of torch has the function.
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts);
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& opts);
#if TORCH_COLL_VERSION >= 200
  WorkPointer allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  void startCoalescing() override;
  WorkPointer endCoalescing() override;
#endif
  bool supportsCoalescing() const { return true; }
  void setTimeout(Milliseconds timeout);
  void abort();
  void shutdown() {}
#if TORCH_COLL_VERSION >= 214
  c10d::ErrorType getError() override;
  bool supportsSplitting() const override { return true; }
  c10::intrusive_ptr<Options> getBackendOptions() override;
  // Collective over `ranks`, ranks of this group in the order of the new one. Null on other ranks.
  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
                                          const c10::intrusive_ptr<Options>& opts) override;
  WorkPointer gather_into_tensor(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& opts) override;
#endif

  std::string describe() const { return coll_comm_describe(group_->comm()); }

 private:
  struct Call;
  WorkPointer launch(Call call);
  template <typename Opts>
  WorkPointer all_reduce(Tensors& tensors, const Opts& opts, c10d::OpType type, const char* title);

  std::shared_ptr<Group> group_;
  c10::intrusive_ptr<Base> gloo_;
  std::atomic<int64_t> timeout_ms_;
  std::atomic<uint64_t> sequence_{0};
  bool coalescing_ = false;
  std::vector<WorkPointer> coalesced_;
};

}  // namespace torch_coll
