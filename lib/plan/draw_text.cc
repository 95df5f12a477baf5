// SPDX-License-Identifier: BSD-3-Clause
#include "plan/check.h"
#include "plan/draw.h"
#include "plan/words.h"

namespace coll::plan {

namespace {

void write_header(const Plan& plan, std::string& out) {
  out += std::string(name(plan.collective)) + " " + plan.algorithm + ", " + std::to_string(plan.ranks) + " ranks";
  if (plan.collective == Collective::bcast || plan.collective == Collective::reduce)
    out += ", root " + std::to_string(plan.root);
  if (!plan.parameters.empty()) out += ", " + plan.parameters;
  if (plan.synchronizing) out += ", synchronizing";
  if (is_reduction(plan.collective)) out += plan.balanced ? ", balanced order" : ", operands in any order";
  out += "\neach rank: " + std::to_string(plan.flags) + " flags, " + size_words(plan.staging_bytes) + " of staging\n";
  for (size_t v = 0; v < plan.views.size(); ++v) {
    const View& view = plan.views[v];
    const char* buffer = view.buffer == Buffer::none ? "staging" : view.buffer == Buffer::send ? "send" : "recv";
    out += "view " + std::to_string(v) + ": " + buffer;
    if (view.buffer != Buffer::none) out += ", announced by flag " + std::to_string(view.flag);
    out += ", " + std::to_string(view.depth) + (view.depth == 1 ? " slot of " : " slots of ");
    out += size_words(view.slot_bytes) + "\n";
  }
}

void write_program(const Plan& plan, int rank, std::string& out) {
  const Program& program = plan.program(rank);
  for (size_t l = 0; l < program.lanes.size(); ++l) {
    out += "\nrank " + std::to_string(rank) + " lane " + std::to_string(l) + ":\n";
    int depth = 0;
    const auto& steps = program.lanes[l].steps;
    for (size_t at = 0; at < steps.size(); ++at) {
      if (steps[at].kind == Kind::end && depth > 0) --depth;
      std::string number = std::to_string(at);
      out += std::string(number.size() < 5 ? 5 - number.size() : 0, ' ') + number + "  ";
      out += std::string(size_t(depth) * 2, ' ') + words(plan, rank, steps[at]) + "\n";
      if (steps[at].kind == Kind::loop) ++depth;
    }
  }
}

}  // namespace

std::string draw_text(const Plan& plan, int rank) {
  std::string out;
  // A plan with only one rank's program can be listed; steps with numbers out of range cannot.
  if (plan.only_rank < 0)
    if (auto problem = check_form(plan); !problem.empty()) return "malformed plan: " + problem + "\n";
  write_header(plan, out);
  for (int r = 0; r < plan.ranks; ++r) {
    if (rank >= 0 && r != rank) continue;
    if (plan.only_rank >= 0 && r != plan.only_rank) continue;
    write_program(plan, r, out);
  }
  return out;
}

}  // namespace coll::plan
