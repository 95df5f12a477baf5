// SPDX-License-Identifier: BSD-3-Clause
#include "plan/words.h"

namespace coll::plan {

namespace {

const char* buffer_name(Buffer buffer) {
  switch (buffer) {
    case Buffer::none: return "staging";
    case Buffer::send: return "send";
    case Buffer::recv: return "recv";
  }
  return "?";
}

std::string view_words(const Plan& plan, uint16_t view) {
  return "view " + std::to_string(view) + " (" + buffer_name(plan.views[view].buffer) + ")";
}

std::string value_words(const Plan& plan, const Step& step) {
  auto with = [&](const std::string& what) {
    if (step.value == 0) return what;
    return what + (step.value > 0 ? " + " : " - ") + std::to_string(step.value > 0 ? step.value : -step.value);
  };
  switch (step.add) {
    case Add::nothing: return std::to_string(step.value);
    case Add::index:
      return step.value == 1 ? "pass"
                             : "pass" + (step.value > 1 ? " + " + std::to_string(step.value - 1)
                                                        : " - " + std::to_string(1 - step.value));
    case Add::trips: return with("all passes over " + words(plan.ranges[step.range]));
  }
  return "?";
}

std::string within_words(const Plan& plan, const Step& step) {
  return step.within ? " [" + words(plan.ranges[step.range]) + "]" : "";
}

std::string operand_list(const Plan& plan, int own, const Operand* operands, size_t n, const char* between) {
  std::string out;
  for (size_t i = 0; i < n; ++i) {
    if (i != 0) out += between;
    if (n > 8 && i == 6) {  // long lists are regular: print how many operands are left out
      out += "... (" + std::to_string(n - 7) + " more) ..." + between;
      i = n - 1;
    }
    out += words(plan, operands[i], own);
  }
  return out;
}

}  // namespace

std::string size_words(uint64_t bytes) {
  static const char* const units[] = {" B", " KiB", " MiB", " GiB"};
  int unit = 0;
  while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) bytes /= 1024, ++unit;
  return std::to_string(bytes) + units[unit];
}

std::string words(const Plan& plan, const Operand& operand, int own) {
  const std::string block = operand.block == no_block ? "" : " block " + std::to_string(operand.block);
  if (operand.space == Space::send) return "send" + block;
  if (operand.space == Space::recv) return "recv" + block;
  return (int(operand.rank) == own ? "own" : "rank " + std::to_string(operand.rank)) + " " +
         view_words(plan, operand.view) + block;
}

std::string flag_words(const Plan& plan, uint16_t flag) {
  std::string out = "flag " + std::to_string(flag);
  for (size_t v = 0; v < plan.views.size(); ++v)
    if (plan.views[v].flag == flag && plan.views[v].buffer != Buffer::none)
      out += " of " + view_words(plan, uint16_t(v));
  return out;
}

std::string words(const Range& range) {
  std::string out;
  auto block = [](unsigned first, unsigned span, unsigned of) {
    if (span == 1) return "block " + std::to_string(first) + " of " + std::to_string(of);
    return "blocks " + std::to_string(first) + " to " + std::to_string(first + span - 1) + " of " + std::to_string(of);
  };
  const auto who = [](uint16_t rank) { return rank == any_rank ? std::string("any") : std::to_string(rank); };
  if (range.is_piece())
    out = (range.sender == any_rank || range.receiver == any_rank ? "longest piece " : "piece ") + who(range.sender) +
          "->" + who(range.receiver);
  if (range.parts > 1) out += (out.empty() ? "" : ", ") + block(range.part, 1, range.parts);
  if (range.chunk_bytes != 0) {
    if (!out.empty()) out += ", ";
    out += "chunks of " + size_words(range.chunk_bytes);
  }
  if (range.subs > 1) {
    if (!out.empty()) out += ", ";
    out += "sub-" + block(range.sub, range.span, range.subs);
  }
  return out.empty() ? "whole vector" : out;
}

std::string words(const Plan& plan, int rank, const Step& step) {
  std::string out;
  if (step.when != When::always && step.view != no_view)
    out = "if own " + view_words(plan, step.view) + (step.when == When::staged ? " is staged: " : " is direct: ");
  const Operand* operands = plan.program(rank).operands.data() + step.operand;
  switch (step.kind) {
    case Kind::publish: return out + "publish " + view_words(plan, step.view);
    case Kind::copy:
    case Kind::reduce: {
      out += step.kind == Kind::copy ? "copy " : "reduce ";
      out += operand_list(plan, rank, operands, step.destinations, " and ") + " <- ";
      out += operand_list(plan, rank, operands + step.destinations, step.sources, " + ");
      if (step.from_right) out += ", from the right";
      if (step.blocks > 1) out += ", " + std::to_string(step.blocks) + " blocks";
      return out + " [" + words(plan.ranges[step.range]) + "]";
    }
    case Kind::post:
      return out + "post " + flag_words(plan, step.flag) + " = " + value_words(plan, step) + within_words(plan, step);
    case Kind::wait: {
      std::string whose = int(step.rank) == rank ? "own " : "rank " + std::to_string(step.rank) + " ";
      return out + "wait " + whose + flag_words(plan, step.flag) + " >= " + value_words(plan, step) +
             within_words(plan, step);
    }
    case Kind::loop: return out + "loop over " + words(plan.ranges[step.range]);
    case Kind::end: return out + "end";
  }
  return "?";
}

}  // namespace coll::plan
