// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/packing.h"

#include "mpi/communicators.h"
#include "mpi/devices.h"
#include "mpi/host_copy.h"
#include "mpi/library.h"
#include "mpi/typemap.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <new>

namespace coll::shim {
namespace {

// A datatype for a message with absolute addresses (MPI_BOTTOM), relative to an address that is not NULL: MPICH's
// MPI_Pack rejects a NULL buffer.
class SeenFrom {
 public:
  SeenFrom(const char *base, int count, MPI_Datatype datatype) {
    MPI_Aint to_zero = -static_cast<MPI_Aint>(reinterpret_cast<std::intptr_t>(base));
    made_ = mpi.Type_create_hindexed(1, &count, &to_zero, datatype, &type_) == MPI_SUCCESS;
    good_ = made_ && mpi.Type_commit(&type_) == MPI_SUCCESS;
  }
  ~SeenFrom() {
    if (made_) mpi.Type_free(&type_);
  }
  SeenFrom(const SeenFrom &) = delete;
  SeenFrom &operator=(const SeenFrom &) = delete;

  bool good() const { return good_; }
  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_;
  bool made_;
  bool good_;
};

}  // namespace

bool pack(const void *buffer, int count, MPI_Datatype datatype, char *packed, std::size_t bytes) {
  if (buffer == nullptr) {
    const SeenFrom seen(packed, count, datatype);
    return seen.good() && pack(packed, 1, seen.type(), packed, bytes);
  }
  int position = 0;
  const int size = static_cast<int>(bytes);
  return mpi.Pack(buffer, count, datatype, packed, size, &position, private_communicator()) == MPI_SUCCESS &&
         position == size;
}

bool unpack(const char *packed, std::size_t bytes, void *buffer, int count, MPI_Datatype datatype) {
  if (buffer == nullptr) {
    const SeenFrom seen(packed, count, datatype);
    return seen.good() && unpack(packed, bytes, const_cast<char *>(packed), 1, seen.type());
  }
  int position = 0;
  const int size = static_cast<int>(bytes);
  return mpi.Unpack(packed, size, &position, buffer, count, datatype, private_communicator()) == MPI_SUCCESS;
}

namespace {

// Calls part(elements done, elements to do, their bytes) until all are done; no call has more than INT_MAX bytes.
template <typename Part>
bool in_parts(MPI_Count count, std::size_t element_bytes, Part part) {
  const int most = static_cast<int>(INT_MAX / std::max<std::size_t>(element_bytes, 1));
  for (MPI_Count done = 0; done < count;) {
    const int now = static_cast<int>(std::min<MPI_Count>(most, count - done));
    if (!part(done, now, static_cast<std::size_t>(now) * element_bytes)) return false;
    done += now;
  }
  return true;
}

#ifdef OPEN_MPI
// Packs or unpacks elements that are too large for MPI_Pack, which counts bytes in an int. `move(data, count, part,
// packed)` moves blocks of their parts.
template <typename Move>
bool move_large(char *data, MPI_Count count, MPI_Datatype datatype, const Datatype &element, char *packed, Move move) {
  for (MPI_Count i = 0; i < count; i++) {
    char *const at = data + i * element.extent_bytes;
    if (!for_each_block(datatype, [&](MPI_Aint displacement, MPI_Count blocks, MPI_Datatype part) {
          const Datatype *found_part = datatype_of(part);
          if (found_part == nullptr) return false;
          const Datatype of_part = *found_part;  // a copy: `move` may replace the cached description
          if (!move(at + displacement, blocks, part, of_part, packed)) return false;
          packed += static_cast<std::size_t>(blocks) * of_part.size_bytes;
          return true;
        }))
      return false;
  }
  return true;
}

bool pack_large(const char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element, char *packed) {
  return move_large(const_cast<char *>(buffer), count, datatype, element, packed, pack_elements);
}
bool unpack_large(const char *packed, char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element) {
  return move_large(buffer, count, datatype, element, const_cast<char *>(packed),
                    [](char *data, MPI_Count blocks, MPI_Datatype part, const Datatype &of_part, const char *from) {
                      return unpack_elements(from, data, blocks, part, of_part);
                    });
}
#else
bool pack_large(const char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element, char *packed) {
  static const auto pack = reinterpret_cast<decltype(&::PMPI_Pack_c)>(variable("PMPI_Pack_c"));
  MPI_Count position = 0;
  return pack != nullptr && pack(buffer, count, datatype, packed, count * static_cast<MPI_Count>(element.size_bytes),
                                 &position, private_communicator()) == MPI_SUCCESS;
}
bool unpack_large(const char *packed, char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element) {
  static const auto unpack = reinterpret_cast<decltype(&::PMPI_Unpack_c)>(variable("PMPI_Unpack_c"));
  MPI_Count position = 0;
  return unpack != nullptr && unpack(packed, count * static_cast<MPI_Count>(element.size_bytes), &position, buffer,
                                     count, datatype, private_communicator()) == MPI_SUCCESS;
}
#endif

bool is_large(const Datatype &element) { return element.size_bytes > INT_MAX; }

}  // namespace

bool pack_elements(const char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element, char *packed) {
  if (has_devices) [[unlikely]] {
    const HostCopy copy(buffer, count, datatype, element, false);
    if (copy.needed())
      return copy.load() && pack_elements(static_cast<char *>(copy.host()), count, datatype, element, packed);
  }
  if (element.in_order(count)) {
    std::memcpy(packed, buffer, static_cast<std::size_t>(count) * element.size_bytes);
    return true;
  }
  if (is_large(element)) return pack_large(buffer, count, datatype, element, packed);
  return in_parts(count, element.size_bytes, [&](MPI_Count done, int now, std::size_t bytes) {
    return pack(buffer + done * element.extent_bytes, now, datatype,
                packed + static_cast<std::size_t>(done) * element.size_bytes, bytes);
  });
}

bool unpack_elements(const char *packed, char *buffer, MPI_Count count, MPI_Datatype datatype,
                     const Datatype &element) {
  if (has_devices) [[unlikely]] {
    const HostCopy copy(buffer, count, datatype, element, true);
    if (copy.needed())
      return unpack_elements(packed, static_cast<char *>(copy.host()), count, datatype, element) && copy.store();
  }
  if (element.in_order(count)) {
    std::memcpy(buffer, packed, static_cast<std::size_t>(count) * element.size_bytes);
    return true;
  }
  if (is_large(element)) return unpack_large(packed, buffer, count, datatype, element);
  return in_parts(count, element.size_bytes, [&](MPI_Count done, int now, std::size_t bytes) {
    return unpack(packed + static_cast<std::size_t>(done) * element.size_bytes, bytes,
                  buffer + done * element.extent_bytes, now, datatype);
  });
}

}  // namespace coll::shim
