// SPDX-License-Identifier: BSD-3-Clause
// The registry entries of reductions that one generator makes in several variants: one entry per variant.
#include "algo/families.h"

namespace coll::algo {
namespace {

using plan::Collective;
using plan::Plan;

using Generator = Plan (*)(const PlanRequest&, Collective);

template <Generator generator, Collective what>
Plan make(const PlanRequest& request) {
  return generator(request, what);
}

// Adds `entry` for every one of `forms`.
template <Generator generator, Collective... forms>
void add(std::vector<Algorithm>& family, Algorithm entry) {
  const auto add_form = [&](Collective what, auto* make) {
    entry.collective = what;
    entry.irregular = what == Collective::reduce_scatter;
    entry.make = make;
    family.push_back(entry);
  };
  (add_form(forms, make<generator, forms>), ...);
}

constexpr auto allreduce = Collective::allreduce, reduce = Collective::reduce,
               reduce_scatter = Collective::reduce_scatter;

void add_trees(std::vector<Algorithm>& family) {
  add<flat_tree, reduce>(family, {.name = "flat",
                                  .summary = "the root reduces the data of all ranks",
                                  .source = "XHC IV-B with one group",
                                  .reads = {.chunk = true, .depth = true},
                                  .applies = always});
  add<hierarchical, reduce, allreduce>(
      family, {.name = "hierarchical",
               .summary = "leaders reduce their groups, level by level; finished chunks come down while others go up",
               .source = "XHC IV-B",
               .stores_partials = true,
               .reads = {.chunk = true, .depth = true, .hierarchy = true},
               .applies = has_consecutive_groups});
  add<hierarchical_by_index, reduce, allreduce>(
      family, {.name = "hierarchical_by_index",
               .summary = "as hierarchical, but every member of a group reduces one slice of each chunk",
               .source = "XHC IV-B, step 2a",
               .stores_partials = true,
               .reads = {.chunk = true, .depth = true, .hierarchy = true},
               .applies = has_consecutive_groups});
  add<rg, reduce, allreduce>(family, {.name = "rg",
                                      .summary = "groups of k+1 neighbours reduce through shared memory, as a tree",
                                      .source = "YHCCL 3.4, Tables 2 and 3",
                                      .stores_partials = true,
                                      .reads = {.chunk = true, .depth = true, .k = true},
                                      .described = plan::AccessMode::staged,
                                      .applies = always});
}

void add_mapped(std::vector<Algorithm>& family) {
  add<fused, reduce, allreduce, reduce_scatter>(
      family, {.name = "fused",
               .summary = "each rank reduces its slice of all vectors in one step, into the result; others copy it",
               .source = "this project; SAS for the mapped buffers",
               .reads = {.chunk = true, .depth = true},
               .applies = always});
  add<shared_address_space, allreduce>(
      family, {.name = "shared_address_space",
               .summary = "each rank reduces its slice of all vectors, two at a time, and the others copy it",
               .source = "SAS, partitioned",
               .stores_partials = true,
               .reads = {.chunk = true, .depth = true},
               .applies = always});
}

void add_through_shared_memory(std::vector<Algorithm>& family) {
  add<movement_avoiding, reduce, allreduce, reduce_scatter>(
      family, {.name = "movement_avoiding",
               .summary = "slices go from rank to rank; one of p operands is copied, the others are reduced in place",
               .source = "YHCCL 3.3 to 3.5, Alg. 2",
               .balanced = false,
               .stores_partials = true,
               .reads = {.chunk = true, .depth = true},
               .described = plan::AccessMode::staged,
               .applies = fits_one_group});
  add<movement_avoiding_socket, reduce, allreduce, reduce_scatter>(
      family, {.name = "movement_avoiding_socket",
               .summary = "as movement_avoiding inside every socket, then parts of each slice across sockets",
               .source = "YHCCL 3.3 to 3.5",
               .balanced = false,
               .stores_partials = true,
               .reads = {.chunk = true, .depth = true, .hierarchy = true},
               .described = plan::AccessMode::staged,
               .applies = has_levels});
  add<in_order_tree, reduce, allreduce, reduce_scatter>(
      family,
      {.name = "in_order_tree",
       .summary =
           "even ranks copy into shared memory, odd ranks reduce their own into it in place, and join the blocks",
       .source = "this project; YHCCL 3.3 in the balanced order",
       .stores_partials = true,
       .reads = {.chunk = true, .depth = true},
       .described = plan::AccessMode::staged,
       .applies = always});
  add<dpml, reduce, allreduce, reduce_scatter>(
      family, {.name = "dpml",
               .summary = "all ranks copy in, then each rank reduces one slice of all vectors in one step",
               .source = "YHCCL Tables 1 to 3; Bayatpour et al. 2017",
               .reads = {.chunk = true, .depth = true},
               .described = plan::AccessMode::staged,
               .applies = always});
  Algorithm two_level{.name = "dpml_two_level",
                      .summary = "all ranks copy in; slices are reduced inside each socket, then across sockets",
                      .source = "YHCCL 5.1, Fig. 4",
                      .stores_partials = true,
                      .reads = {.chunk = true, .depth = true, .hierarchy = true},
                      .described = plan::AccessMode::staged,
                      .applies = has_consecutive_sockets};
  add<dpml_two_level, reduce>(family, two_level);
  two_level.max_bytes = 262144;
  add<dpml_two_level, allreduce, reduce_scatter>(family, two_level);
}

void add_between_neighbours(std::vector<Algorithm>& family) {
  add<ring, allreduce, reduce_scatter>(
      family,
      {.name = "ring",
       .summary = "partial results go round the ranks, each reduces its own into them; then finished slices go round",
       .source = "YHCCL Tables 1 and 2; Patarasuk and Yuan 2009",
       .balanced = false,
       .stores_partials = true,
       .reads = {.chunk = true, .depth = true},
       .described = plan::AccessMode::remote,
       .applies = fits_ring});
  add<rabenseifner, allreduce, reduce_scatter>(
      family, {.name = "rabenseifner",
               .summary = "recursive halving: ranks at doubling distances exchange and reduce halves; then doubling",
               .source = "YHCCL Tables 1 and 2; Thakur, Rabenseifner and Gropp 2005",
               .stores_partials = true,
               .reads = {.chunk = true, .depth = true},
               .described = plan::AccessMode::remote,
               .applies = always});
}

void add_grouped(std::vector<Algorithm>& family) {
  add<grouped_reduction, reduce, allreduce, reduce_scatter>(
      family, {.name = "grouped",
               .summary = "groups of 16 consecutive ranks reduce their inputs, then ranks reduce the groups' results",
               .source = "this project",
               .stores_partials = true,
               .reads = {.chunk = true, .depth = true},
               .described = plan::AccessMode::staged,
               .max_bytes = 16384,
               .applies = exceeds_a_group});
  family.back().irregular = false;
}

}  // namespace

std::span<const Algorithm> reductions_family() {
  static const std::vector<Algorithm> family = [] {
    std::vector<Algorithm> made;
    add_trees(made);
    add_mapped(made);
    add_through_shared_memory(made);
    add_between_neighbours(made);
    add_grouped(made);
    return made;
  }();
  return family;
}

}  // namespace coll::algo
