// SPDX-License-Identifier: BSD-3-Clause
#include "model/families.h"

#include <algorithm>

namespace coll::model {

namespace {

constexpr Family families[] = {{"EPYC", "EPYC", true},
                               {"Neoverse", "Neoverse", false},
                               {"Ampere", "Neoverse", false},
                               {"Xeon", "Xeon", true},
                               {"", "all processors", true}};

}  // namespace

const Family& family_of(std::string_view processor) {
  return *std::ranges::find_if(
      families, [&](const Family& family) { return processor.find(family.word) != std::string_view::npos; });
}

Choice choose(const Question& question, const Family& family) {
  Choice choice = choose(question);
  if (question.collective != plan::Collective::bcast || question.levels < 2 || family.lines_are_passed_on)
    return choice;
  choice.algorithm = algo::find(question.collective, "hierarchical");
  complete(question, choice);
  return choice;
}

}  // namespace coll::model
