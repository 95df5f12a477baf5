// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include "topo/hierarchy.h"
#include "topo/machine.h"

namespace coll::topo {

// A file of machines/, or a synthetic text.
inline Machine machine_of(const std::string &source) {
  Machine machine;
  const bool file = source.ends_with(".xml");
  const Status status = load(file ? std::string(COLL_TEST_MACHINES "/") + source : source, machine);
  EXPECT_TRUE(status.ok()) << status.text();
  return machine;
}

inline Sensitivity sensitivity_of(std::string_view text) {
  Sensitivity sensitivity;
  const Status status = Sensitivity::parse(text, sensitivity);
  EXPECT_TRUE(status.ok()) << status.text();
  return sensitivity;
}

inline Hierarchy hierarchy_of(const std::string &source, int ranks, Mapping by, std::string_view sensitivity) {
  return Hierarchy::from_places(map_ranks(machine_of(source), ranks, by), sensitivity_of(sensitivity));
}

}  // namespace coll::topo
