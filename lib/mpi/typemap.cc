// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/typemap.h"

#include "mpi/library.h"

#include <cstddef>
#include <vector>

namespace coll::shim {
namespace {

constexpr int deepest = 16;
constexpr int most_arguments = 8192;

bool vector_in_order(MPI_Datatype type, int depth);

// The arguments of a datatype's constructor; this object frees the datatypes among them unless they are predefined.
class Contents {
 public:
  Contents(MPI_Datatype type, int integers, int addresses, int types)
      : integers_(integers + 1u), addresses_(addresses + 1u), types_(types) {
    good_ = mpi.Type_get_contents(type, integers, addresses, types, integers_.data(), addresses_.data(),
                                  types_.data()) == MPI_SUCCESS;
  }
  ~Contents() {
    if (!good_) return;
    for (MPI_Datatype &type : types_) {
      int integers, addresses, types, combiner;
      if (mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
          combiner != MPI_COMBINER_NAMED)
        mpi.Type_free(&type);
    }
  }
  Contents(const Contents &) = delete;
  Contents &operator=(const Contents &) = delete;

  bool good() const { return good_; }
  // Commits the parts, which may be uncommitted although the whole is committed.
  bool commit() const {
    for (MPI_Datatype type : types_)
      if (mpi.Type_commit(&type) != MPI_SUCCESS) return false;
    return true;
  }
  int integer(std::size_t i) const { return integers_[i]; }
  MPI_Aint address(std::size_t i) const { return addresses_[i]; }
  MPI_Datatype type(std::size_t i) const { return types_[i]; }

 private:
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
  bool good_;
};

// Follows the blocks of a type in sending order; in_order() is false from the first block that does not start where the
// previous one ended.
class Run {
 public:
  void block(MPI_Aint displacement_bytes, MPI_Count elements, MPI_Count element_bytes) {
    if (elements == 0 || element_bytes == 0) return;
    in_order_ = in_order_ && displacement_bytes == end_bytes_;
    end_bytes_ += static_cast<MPI_Aint>(elements * element_bytes);
  }
  bool in_order() const { return in_order_; }

 private:
  MPI_Aint end_bytes_ = 0;
  bool in_order_ = true;
};

MPI_Count size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  mpi.COLL_SHIM_COUNT(Type_size)(type, &size);
  return size;
}

bool blocks_in_order(const Contents &made, int combiner) {
  Run run;
  if (combiner == MPI_COMBINER_STRUCT) {
    const int blocks = made.integer(0);
    for (int i = 0; i < blocks; i++) run.block(made.address(i), made.integer(1 + i), size_of(made.type(i)));
    return run.in_order();
  }
  const MPI_Count bytes = size_of(made.type(0));
  const int blocks = made.integer(0);
  for (int i = 0; i < blocks; i++) {
    switch (combiner) {
      case MPI_COMBINER_VECTOR: run.block(MPI_Aint{i} * made.integer(2) * bytes, made.integer(1), bytes); break;
      case MPI_COMBINER_HVECTOR: run.block(i * made.address(0), made.integer(1), bytes); break;
      case MPI_COMBINER_INDEXED: run.block(made.integer(1 + blocks + i) * bytes, made.integer(1 + i), bytes); break;
      case MPI_COMBINER_HINDEXED: run.block(made.address(i), made.integer(1 + i), bytes); break;
      case MPI_COMBINER_INDEXED_BLOCK: run.block(made.integer(2 + i) * bytes, made.integer(1), bytes); break;
      case MPI_COMBINER_HINDEXED_BLOCK: run.block(made.address(i), made.integer(1), bytes); break;
      default: return false;
    }
  }
  return run.in_order();
}

bool element_in_order(MPI_Datatype type, int depth) {
  int integers, addresses, types, combiner;
  if (depth > deepest || mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS)
    return false;
  if (combiner == MPI_COMBINER_NAMED) {
    // Among predefined datatypes, only pairs may have a gap.
    MPI_Aint lower, extent;
    return mpi.Type_get_extent(type, &lower, &extent) == MPI_SUCCESS && lower == 0 && extent == size_of(type);
  }
  if (integers > most_arguments || addresses > most_arguments || types > most_arguments) return false;

  const Contents made(type, integers, addresses, types);
  if (!made.good()) return false;
  if (combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_RESIZED)
    return element_in_order(made.type(0), depth + 1);
  for (int i = 0; i < types; i++)
    if (!vector_in_order(made.type(i), depth + 1)) return false;
  return combiner == MPI_COMBINER_CONTIGUOUS || blocks_in_order(made, combiner);
}

bool vector_in_order(MPI_Datatype type, int depth) {
  MPI_Aint lower, extent;
  return mpi.Type_get_extent(type, &lower, &extent) == MPI_SUCCESS && lower == 0 && extent == size_of(type) &&
         element_in_order(type, depth);
}

// Visits the rows of a subarray in the order of memory; dimension `d` counts from the slowest one.
bool for_each_row(const Contents &made, MPI_Aint extent, std::size_t d, MPI_Aint at, const VisitBlock &visit) {
  const auto dimensions = static_cast<std::size_t>(made.integer(0));
  const bool of_c = made.integer(1 + 3 * dimensions) == MPI_ORDER_C;
  const std::size_t place = of_c ? d : dimensions - 1 - d;
  const MPI_Aint size = made.integer(1 + place), part = made.integer(1 + dimensions + place),
                 first = made.integer(1 + 2 * dimensions + place);
  at = at * size + first;
  if (d + 1 == dimensions) return visit(at * extent, part, made.type(0));
  for (MPI_Aint i = 0; i < part; i++)
    if (!for_each_row(made, extent, d + 1, at + i, visit)) return false;
  return true;
}

bool for_each_block(const Contents &made, int combiner, const VisitBlock &visit) {
  MPI_Aint lower = 0, extent = 0;
  const int blocks = combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_RESIZED ? 1 : made.integer(0);
  if (mpi.Type_get_extent(made.type(0), &lower, &extent) != MPI_SUCCESS) return false;
  if (combiner == MPI_COMBINER_SUBARRAY) return for_each_row(made, extent, 0, 0, visit);
  if (combiner == MPI_COMBINER_CONTIGUOUS) return visit(0, blocks, made.type(0));
  for (int i = 0; i < blocks; i++) {
    bool goes_on = false;
    switch (combiner) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED: goes_on = visit(0, 1, made.type(0)); break;
      case MPI_COMBINER_VECTOR:
        goes_on = visit(MPI_Aint{i} * made.integer(2) * extent, made.integer(1), made.type(0));
        break;
      case MPI_COMBINER_HVECTOR: goes_on = visit(i * made.address(0), made.integer(1), made.type(0)); break;
      case MPI_COMBINER_INDEXED:
        goes_on = visit(made.integer(1 + blocks + i) * extent, made.integer(1 + i), made.type(0));
        break;
      case MPI_COMBINER_HINDEXED: goes_on = visit(made.address(i), made.integer(1 + i), made.type(0)); break;
      case MPI_COMBINER_INDEXED_BLOCK:
        goes_on = visit(made.integer(2 + i) * extent, made.integer(1), made.type(0));
        break;
      case MPI_COMBINER_HINDEXED_BLOCK: goes_on = visit(made.address(i), made.integer(1), made.type(0)); break;
      case MPI_COMBINER_STRUCT: goes_on = visit(made.address(i), made.integer(1 + i), made.type(i)); break;
      default: break;
    }
    if (!goes_on) return false;
  }
  return true;
}

}  // namespace

bool for_each_block(MPI_Datatype type, const VisitBlock &visit) {
  int integers, addresses, types, combiner;
  if (mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
      combiner == MPI_COMBINER_NAMED || types < 1)
    return false;
  const Contents made(type, integers, addresses, types);
  return made.good() && made.commit() && for_each_block(made, combiner, visit);
}

bool element_in_order(MPI_Datatype type) { return element_in_order(type, 0); }

}  // namespace coll::shim
