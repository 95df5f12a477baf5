// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/host_copy.h"

#include "mpi/library.h"
#include "mpi/packing.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace coll::shim {
namespace {

constexpr std::ptrdiff_t largest_element_bytes = 4096;  // of a reduction

char *moved(const void *from, std::ptrdiff_t bytes) {
  return reinterpret_cast<char *>(reinterpret_cast<std::uintptr_t>(from) + static_cast<std::uintptr_t>(bytes));
}

// Where the data of `count` elements is, relative to their buffer. Empty if there is none, or MPI reports an error.
Part range_of(MPI_Count count, MPI_Datatype datatype, const Datatype &element) {
  MPI_Count lower, extent;
  if (count == 0 || element.size_bytes == 0 ||
      mpi.COLL_SHIM_COUNT(Type_get_true_extent)(datatype, &lower, &extent) != MPI_SUCCESS)
    return {};
  const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(count - 1) * element.extent_bytes;
  const std::ptrdiff_t begin = lower + std::min<std::ptrdiff_t>(last, 0);
  return {begin, static_cast<std::size_t>(lower + extent + std::max<std::ptrdiff_t>(last, 0) - begin)};
}

}  // namespace

HostCopy::HostCopy(const void *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element, bool stores)
    : device_(moved(buffer, 0)), host_(device_), all_(range_of(count, datatype, element)) {
  if (all_.bytes == 0 || !in_device(moved(buffer, all_.offset_bytes))) return;
  // libcoll handles an element of a reduction with the gap at its end.
  const std::ptrdiff_t gap = std::clamp<std::ptrdiff_t>(element.extent_bytes, 0, largest_element_bytes);
  room_ = std::make_unique_for_overwrite<char[]>(all_.bytes + static_cast<std::size_t>(gap));
  host_ = moved(room_.get(), -all_.offset_bytes);
  if (stores) find_data(count, datatype, element);
}

// MPI knows where the data is: it unpacks bytes of ones into zeros.
void HostCopy::find_data(MPI_Count count, MPI_Datatype datatype, const Datatype &element) {
  if (element.in_order(count)) {
    data_.push_back(all_);
    return;
  }
  const std::size_t bytes = static_cast<std::size_t>(count) * element.size_bytes;
  const auto ones = std::make_unique_for_overwrite<char[]>(bytes);
  const auto found = std::make_unique<char[]>(all_.bytes);
  std::memset(ones.get(), 1, bytes);
  char *const begin = found.get(), *const end = begin + all_.bytes;
  // The arguments are good, so an error is a lack of memory.
  if (!unpack_elements(ones.get(), moved(begin, -all_.offset_bytes), count, datatype, element)) throw std::bad_alloc();
  for (char *at = std::find(begin, end, 1); at != end;) {
    char *const gap = std::find(at, end, 0);
    data_.push_back({all_.offset_bytes + (at - begin), static_cast<std::size_t>(gap - at)});
    at = std::find(gap, end, 1);
  }
}

bool HostCopy::load() const {
  return !needed() || copy_parts(host_, device_, {&all_, 1}, moved(device_, all_.offset_bytes));
}

bool HostCopy::store() const {
  return !needed() || copy_parts(device_, host_, data_, moved(device_, all_.offset_bytes));
}

ReductionCopies::ReductionCopies(const void *from, std::size_t inputs, void *recv, std::size_t outputs,
                                 MPI_Datatype datatype)
    : in_place_(from == COLL_IN_PLACE), stores_(outputs > 0) {
  const Datatype *element = datatype_of(datatype);
  if (element == nullptr) throw std::bad_alloc();
  const auto as_count = [](std::size_t count) { return static_cast<MPI_Count>(count); };
  if (!in_place_) operands_ = HostCopy(from, as_count(inputs), datatype, *element, false);
  // Where nothing is written, the receive buffer is an input in place, or it is not used.
  const std::size_t used = in_place_ ? std::max(inputs, outputs) : outputs;
  result_ = HostCopy(recv, as_count(used), datatype, *element, stores_);
}

}  // namespace coll::shim
