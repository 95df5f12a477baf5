// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/edges.h"

#include "mpi/devices.h"
#include "mpi/library.h"
#include "mpi/packing.h"

#include <algorithm>
#include <cstdint>

namespace coll::shim {

MPI_Datatype Types::operator[](int i) const {
#if defined(OPEN_MPI)
  if (types_ == nullptr) return mpi.Type_f2c(numbers_[i]);
#elif !defined(COLL_SHIM_ABI)  // which has no Fortran
  if (types_ == nullptr) return numbers_[i];
#endif
  return types_[i];
}

// Packing memory that an object keeps for reuse.
constexpr std::size_t most_kept_bytes = std::size_t{1} << 20;

Edges::~Edges() { clear(); }

void Edges::clear() {
  for (Edge &edge : edges_)
    if (edge.duplicated) mpi.Type_free(&edge.type);
  edges_.clear();
  packed_bytes_ = 0;
  if (packed_room_ > most_kept_bytes) packed_.reset(), packed_room_ = 0;
  drops_empty = false;
}

template <typename Count, typename Displ>
bool Edges::add(const SideArguments<Count, Displ> &side, int i, int peer, bool copies) {
  if (side.irregular && (side.counts == nullptr || side.displs == nullptr)) return false;
  if (side.of_types && !side.types) return false;
  const MPI_Count count = side.irregular ? static_cast<MPI_Count>(side.counts[i]) : side.count;
  if (count < 0 || side.buffer == MPI_IN_PLACE) return false;
  if (count == 0 && drops_empty) return true;
  const MPI_Datatype type = side.of_types ? side.types[i] : side.type;
  const Datatype *element = element_of(type, count == 0);
  if (element == nullptr) return false;
  std::ptrdiff_t sum;
  if (__builtin_mul_overflow(count, element->size_bytes, &sum)) return false;
  const auto bytes = static_cast<std::size_t>(sum);
  if (bytes == 0 && drops_empty) return true;
  std::ptrdiff_t offset = 0;
  if (side.of_types) offset = static_cast<std::ptrdiff_t>(side.displs[i]);
  else if (side.irregular) offset = static_cast<std::ptrdiff_t>(side.displs[i]) * element->extent_bytes;
  else if (!side.one_block) offset = static_cast<std::ptrdiff_t>(i) * count * element->extent_bytes;
  // Computed with integers: relative to MPI_BOTTOM, displacements are addresses.
  const auto data =
      reinterpret_cast<char *>(reinterpret_cast<std::uintptr_t>(side.buffer) + static_cast<std::uintptr_t>(offset));
  const bool packs = bytes > 0 && (copies || !element->in_order(count) || in_device(data));
  if (bytes > 0 && !packs && data == nullptr) return false;
  // All peers of an allgather share one packed copy.
  const bool shares = packs && side.one_block && !edges_.empty();
  edges_.push_back(
      {peer, data, count, type, *element, bytes, packs, false, shares ? edges_[0].packed_at : packed_bytes_});
  if (packs && !shares) packed_bytes_ += (bytes + 15) / 16 * 16;
  return true;
}

template bool Edges::add(const SideArguments<int, int> &, int, int, bool);
template bool Edges::add(const SideArguments<int, MPI_Aint> &, int, int, bool);
template bool Edges::add(const SideArguments<MPI_Count, MPI_Aint> &, int, int, bool);

void Edges::take_memory() {
  if (packed_bytes_ <= packed_room_) return;
  packed_room_ = 0;
  packed_.reset(new char[packed_bytes_]);
  packed_room_ = packed_bytes_;
}

bool Edges::keep_types() {
  for (Edge &edge : edges_) {
    if (!edge.packs || is_predefined(edge.type)) continue;
    MPI_Datatype kept;
    if (mpi.Type_dup(edge.type, &kept) != MPI_SUCCESS) return false;
    edge.type = kept;
    edge.duplicated = true;
  }
  return true;
}

bool Edges::load() {
  std::size_t end = 0;
  for (const Edge &edge : edges_) {
    if (!edge.packs || edge.packed_at < end) continue;  // packed already
    end = edge.packed_at + edge.bytes;
    if (!pack_elements(edge.data, edge.count, edge.type, edge.element, packed_.get() + edge.packed_at)) return false;
  }
  return true;
}

bool Edges::store() {
  return std::all_of(edges_.begin(), edges_.end(), [this](const Edge &edge) {
    return !edge.packs ||
           unpack_elements(packed_.get() + edge.packed_at, edge.data, edge.count, edge.type, edge.element);
  });
}

void Edges::list(std::vector<coll_outgoing> &messages) const {
  messages.clear();
  for (const Edge &edge : edges_) messages.push_back({edge.peer, data_of(edge), edge.bytes});
}

void Edges::list(std::vector<coll_incoming> &messages) const {
  messages.clear();
  for (const Edge &edge : edges_) messages.push_back({edge.peer, const_cast<char *>(data_of(edge)), edge.bytes});
}

}  // namespace coll::shim
