// SPDX-License-Identifier: BSD-3-Clause
// Compares copy and reduction kernels with the C library's memcpy and with a loop that the compiler
// vectorizes for this machine. Each pair runs in one process; compare the lines of one size.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "mem/copy.h"
#include "mem/reduce.h"
#include "mem/simd.h"
#include "mem/types.h"

void plain_sum(float* __restrict dst, const float* a, const float* b, size_t count);  // plain_sum.cc

namespace {

using namespace coll::mem;

// Touched, page-aligned memory, like send and receive buffers.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ != MAP_FAILED) std::memset(data_, 1, bytes);
  }
  ~Memory() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  Memory(const Memory&) = delete;
  bool usable() const { return data_ != MAP_FAILED; }
  char* at(size_t offset) const { return static_cast<char*>(data_) + offset; }

 private:
  void* data_;
  size_t bytes_;
};

constexpr size_t slack = 4096;

// ---- copies: bytes, offset of the destination and of the source from a page -----------------------------------------

template <auto copy_function>
void copies(benchmark::State& state) {
  const size_t bytes = state.range(0), to = state.range(1), from = state.range(2);
  const Memory src(bytes + slack), dst(bytes + slack);
  if (!src.usable() || !dst.usable()) return state.SkipWithError("no memory for the buffers");
  for (auto _ : state) {
    copy_function(dst.at(to), src.at(from), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

void from_c_library(void* dst, const void* src, size_t bytes) { std::memcpy(dst, src, bytes); }
void temporal(void* dst, const void* src, size_t bytes) { copy(dst, src, bytes); }

void copy_sizes(benchmark::internal::Benchmark* benchmark) {
  struct Places {
    int64_t to, from;
  };
  for (const auto [to, from] : {Places{0, 0}, {16, 16}, {16, 0}})
    for (int64_t bytes : {8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20})
      benchmark->Args({bytes, to, from});
  benchmark->ArgNames({"bytes", "to", "from"});
}
BENCHMARK(copies<from_c_library>)->Apply(copy_sizes);
BENCHMARK(copies<temporal>)->Apply(copy_sizes);
BENCHMARK(copies<copy_nt>)->Apply(copy_sizes);

void copies_to_two(benchmark::State& state) {
  const size_t bytes = state.range(0);
  const Memory src(bytes), dst1(bytes), dst2(bytes);
  if (!src.usable() || !dst1.usable() || !dst2.usable()) return state.SkipWithError("no memory for the buffers");
  for (auto _ : state) {
    copy2(dst1.at(0), dst2.at(0), src.at(0), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}
BENCHMARK(copies_to_two)->RangeMultiplier(16)->Range(1 << 10, 16 << 20)->ArgName("bytes");

// ---- reductions: bytes of one operand, sources, offset -------------------------------------------------------------------

void plain_loop(benchmark::State& state) {
  const size_t bytes = state.range(0), offset = state.range(2);
  const Memory a(bytes + slack), b(bytes + slack), dst(bytes + slack);
  if (!a.usable() || !b.usable() || !dst.usable()) return state.SkipWithError("no memory for the buffers");
  auto floats = [&](const Memory& memory) { return reinterpret_cast<float*>(memory.at(offset)); };
  for (auto _ : state) {
    plain_sum(floats(dst), floats(a), floats(b), bytes / sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes * 3));
}

// Counts bytes loaded and stored.
void reduces(benchmark::State& state, const char* target, coll_op op, coll_datatype type) {
  const size_t bytes = state.range(0), offset = state.range(2);
  const int sources = static_cast<int>(state.range(1));
  if (!simd_select(target)) return state.SkipWithError("not on this processor");
  const ReduceKernel kernel = reduce_kernel(op, type);
  const Memory dst(bytes + slack), src(sources * (bytes + slack));
  if (!dst.usable() || !src.usable()) return state.SkipWithError("no memory for the buffers");
  const void* from[max_sources];
  for (int s = 0; s < sources; ++s) from[s] = src.at(s * (bytes + slack) + offset);
  for (auto _ : state) {
    kernel(dst.at(offset), nullptr, from, sources, bytes / datatype_size(type));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes * (sources + 1)));
  simd_select(simd_targets().front());
}

void reduce_sizes(benchmark::internal::Benchmark* benchmark, std::initializer_list<int64_t> sources) {
  for (int64_t offset : {0, 16})
    for (int64_t count : sources)
      for (int64_t bytes : {8, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20}) benchmark->Args({bytes, count, offset});
  benchmark->ArgNames({"bytes", "sources", "offset"});
}

// Measures float sums at all sizes; other operations, types and targets only at sizes that fit into the L1.
void register_reductions() {
  reduce_sizes(benchmark::RegisterBenchmark("plain_loop/sum/float", plain_loop), {2});
  const char* best = simd_targets().front();
  reduce_sizes(benchmark::RegisterBenchmark("reduces/sum/float", reduces, best, COLL_SUM, COLL_FLOAT), {2, 3, 4, 8});
  for (const char* target : simd_targets())
    for (coll_op op = 1; op < COLL_OP_END_; ++op)
      for (coll_datatype type = 1; type < COLL_DATATYPE_END_; ++type) {
        if (!op_defined(op, type)) continue;
        const std::string name = std::string("on_") + target + "/" + op_name(op) + "/" + datatype_name(type);
        benchmark::RegisterBenchmark(name.c_str(), reduces, target, op, type)
            ->Args({16 << 10, 2, 0})
            ->ArgNames({"bytes", "sources", "offset"});
      }
}

}  // namespace

int main(int argc, char** argv) {
  register_reductions();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("simd", coll::mem::simd_target());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
