// SPDX-License-Identifier: BSD-3-Clause
// collctl plan: prints messages, bytes and steps of one collective on a machine, real or described, and draws its plan.
#include <bit>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "coll/coll.h"
#include "plan/count.h"
#include "plan/draw.h"
#include "plan/verify.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/call_options.h"
#include "tools/common/choose_plans.h"
#include "tools/common/machine.h"
#include "tools/common/output_file.h"
#include "tools/common/text.h"
#include "tune/select.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

struct PlanOptions {
  std::string collective, algorithm, size = "1M", type = "float", topology = "native", map_by = "core";
  std::string sensitivity = topo::Sensitivity::standard().text(), chunk, transport, svg;
  int ranks = 0, root = 0, rank = -1;
  int depth = 0, k = 0;
  bool in_place = false, text = false, json = false;
};

// A plan with the call and the machine that it is for.
struct Answer {
  Layout layout;
  plan::Plan plan;
  size_t count = 0, element_bytes = 1;  // elements of the vector (reduce-scatter: of all blocks), or of one block
  std::vector<size_t> pieces;           // elements of each block of a reduce-scatter with unequal blocks
  plan::AccessMode access = plan::AccessMode::direct;
  plan::Counts counts;
  std::string chosen_by;  // the rule that selected the algorithm; "": the user did
  size_t bytes() const { return count * element_bytes; }
  plan::Shape shape() const {
    const bool scattered = plan.collective == plan::Collective::reduce_scatter;
    return plan::shape_of(plan, scattered ? count / size_t(plan.ranks) : count, pieces);
  }
};

// Names of transports as in the other subcommands; plans call CMA "copy".
const char* transport_name(plan::AccessMode access) {
  return access == plan::AccessMode::remote ? "cma" : plan::name(access);
}

plan::AccessMode parse_access(const std::string& text) {
  for (plan::AccessMode access : {plan::AccessMode::direct, plan::AccessMode::remote, plan::AccessMode::staged})
    if (text == transport_name(access) || text == plan::name(access)) return access;
  throw usage(fmt::format("--transport: unknown value '{}'; use shm, cma or mapped", text));
}

void set_parameters(const PlanOptions& options, algo::Parameters& parameters) {
  if (!options.chunk.empty()) {
    std::vector<uint32_t> levels;
    for (size_t begin = 0; begin <= options.chunk.size();) {
      size_t end = std::min(options.chunk.find(',', begin), options.chunk.size());
      size_t bytes = parse_bytes(std::string_view(options.chunk).substr(begin, end - begin), "--chunk");
      if (bytes < 64 || bytes > (size_t(1) << 30))
        throw usage(fmt::format("--chunk {}: a chunk has 64 bytes to 1G", options.chunk));
      levels.push_back(uint32_t(bytes));
      begin = end + 1;
    }
    parameters.chunk_bytes = levels.front();
    if (levels.size() > 1) parameters.level_chunk_bytes = levels;
  }
  if (options.depth != 0 && !std::has_single_bit(unsigned(options.depth)))
    throw usage(fmt::format("--depth {}: a ring has a power of two of slots; use {} or {}", options.depth,
                            std::bit_floor(unsigned(options.depth)), std::bit_ceil(unsigned(options.depth))));
  if (options.depth != 0) parameters.depth = uint16_t(options.depth);
  if (options.k != 0) parameters.k = uint16_t(options.k);
}

size_t count_of(const PlanOptions& options, plan::Collective collective, size_t element_bytes) {
  if (collective == plan::Collective::barrier) return 0;
  size_t bytes = parse_bytes(options.size, "--size");
  if (bytes % element_bytes != 0)
    throw usage(fmt::format("--size {} is not a whole number of elements of {}; use a multiple of {} bytes",
                            options.size, options.type, element_bytes));
  return bytes / element_bytes;
}

tune::Choice choice_of(const PlanOptions& options, plan::Collective collective, Answer& answer) {
  if (!options.algorithm.empty()) return parse_algorithm(collective, options.algorithm);
  const topo::Machine& machine = answer.layout.machine;
  tune::Situation situation = layout_situation(machine, answer.layout.hierarchy, machine.source == "native", collective,
                                               answer.bytes(), answer.element_bytes);
  if (collective == plan::Collective::reduce_scatter) {
    // Communicators select by the size of one block.
    situation.irregular = answer.count % size_t(options.ranks) != 0;
    situation.bytes = situation.irregular ? 0 : answer.bytes() / size_t(options.ranks);
  }
  situation.single_copy = answer.access == plan::AccessMode::remote;
  situation.mapped = !options.transport.empty() && answer.access == plan::AccessMode::direct;
  const tune::Selection selected = tune::Selector().shipped(situation);
  answer.chosen_by = tune::source_text(selected);
  return selected.choice;
}

Answer answer_of(const PlanOptions& options) {
  std::vector<plan::Collective> named = parse_collectives(options.collective);
  if (named.size() != 1) throw usage("'all' is not possible here; name one collective");
  plan::Collective collective = named.front();
  if (options.root >= options.ranks)
    throw usage(
        fmt::format("--root {}: there are {} ranks; use 0 to {}", options.root, options.ranks, options.ranks - 1));
  if (options.root != 0 && !is_rooted(collective))
    throw usage(fmt::format("--root: {} has no root; leave it out", plan::name(collective)));
  Answer answer;
  answer.element_bytes = coll_datatype_size(parse_type(options.type));
  answer.count = count_of(options, collective, answer.element_bytes);
  if (!options.transport.empty()) answer.access = parse_access(options.transport);
  answer.layout = lay_out(options.ranks, options.topology, options.map_by, options.sensitivity);
  apply_forced_profile(answer.layout.machine);
  tune::Choice choice = choice_of(options, collective, answer);
  if (options.transport.empty()) answer.access = choice.algorithm->described;
  set_parameters(options, choice.parameters);
  const topo::Hierarchy& hierarchy = answer.layout.hierarchy;
  if (choice.algorithm->refuses != nullptr)
    if (std::string refused = choice.algorithm->refuses({.hierarchy = &hierarchy, .parameters = choice.parameters});
        !refused.empty())
      throw usage(fmt::format("--algorithm {}: {}", choice.algorithm->name, refused));
  if (collective == plan::Collective::reduce_scatter && answer.count % size_t(options.ranks) != 0)
    answer.pieces =
        uneven_blocks(*choice.algorithm, answer.count, options.ranks, answer.element_bytes, "--size", options.size);
  answer.plan = choice.algorithm->make({.hierarchy = &hierarchy,
                                        .root = options.root,
                                        .irregular = !answer.pieces.empty(),
                                        .parameters = choice.parameters});
  const auto distance = [&](int a, int b) { return uint8_t(hierarchy.distance(a, b)); };
  answer.counts =
      plan::count(answer.plan, answer.shape(), answer.element_bytes, answer.access, distance, options.in_place);
  if (!answer.counts.problem.empty()) throw Failure("the plan cannot run: " + answer.counts.problem);
  return answer;
}

size_t steps_in(const plan::Plan& plan) {
  size_t steps = 0;
  for (const plan::Program& program : plan.programs)
    for (const plan::Lane& lane : program.lanes) steps += lane.steps.size();
  return steps;
}

// Messages in the three classes of the XHC paper (Table II).
struct Crossings {
  plan::Messages inter_socket, inter_numa, intra_numa;
};

Crossings crossings(const plan::Counts& counts) {
  Crossings sums;
  for (size_t i = 0; i < counts.by_distance.size(); ++i) {
    auto distance = topo::Distance(i);
    plan::Messages& sum = distance == topo::Distance::node     ? sums.inter_socket
                          : distance == topo::Distance::socket ? sums.inter_numa
                                                               : sums.intra_numa;
    sum.messages += counts.by_distance[i].messages;
    sum.bytes += counts.by_distance[i].bytes;
  }
  return sums;
}

ordered_json to_json(const PlanOptions& options, const Answer& answer) {
  const Crossings sums = crossings(answer.counts);
  const plan::Traffic& total = answer.counts.total;
  return {{"collective", plan::name(answer.plan.collective)},
          {"algorithm", answer.plan.algorithm},
          {"parameters", answer.plan.parameters},
          {"ranks", answer.plan.ranks},
          {"root", answer.plan.root},
          {"size_bytes", answer.bytes()},
          {"type", options.type},
          {"in_place", options.in_place},
          {"transport", transport_name(answer.access)},
          {"machine", topo::describe(answer.layout.machine)},
          {"map_by", options.map_by},
          {"hierarchy", topo::describe(answer.layout.hierarchy)},
          {"messages",
           {{"inter_socket", sums.inter_socket.messages},
            {"inter_numa", sums.inter_numa.messages},
            {"intra_numa", sums.intra_numa.messages}}},
          {"message_bytes",
           {{"inter_socket", sums.inter_socket.bytes},
            {"inter_numa", sums.inter_numa.bytes},
            {"intra_numa", sums.intra_numa.bytes}}},
          {"dav_bytes",
           {{"load", total.loaded},
            {"store", total.stored},
            {"total", total.total()},
            {"copied", answer.counts.copied.total()}}},
          {"steps", steps_in(answer.plan)},
          {"steps_executed", answer.counts.steps},
          {"flags_per_rank", answer.plan.flags},
          {"staging_bytes_per_rank", answer.plan.staging_bytes},
          {"balanced", answer.plan.balanced},
          {"synchronizing", answer.plan.synchronizing}};
}

// Returns "4.00 MiB, 4.00 vectors".
std::string volume(uint64_t bytes, size_t vector_bytes) {
  return bytes_text(bytes) +
         (vector_bytes == 0 ? "" : fmt::format(" = {:.4g} vectors", double(bytes) / double(vector_bytes)));
}

void print(const PlanOptions& options, const Answer& answer) {
  const plan::Plan& plan = answer.plan;
  const Crossings sums = crossings(answer.counts);
  const auto line = [](const char* label, const std::string& text) {
    fmt::print("{:<11}{}\n", label, wrapped(text, 11));
  };
  line("plan", fmt::format("{} {}{}{}{}", plan::name(plan.collective), plan.algorithm,
                           plan.parameters.empty() ? "" : ", " + plan.parameters,
                           is_rooted(plan.collective) ? fmt::format(", root {}", plan.root) : "",
                           answer.chosen_by.empty() ? "" : fmt::format(" (selected by {})", answer.chosen_by)));
  if (plan.collective != plan::Collective::barrier)
    line(plan::has_pieces(plan.collective) && plan.collective != plan::Collective::reduce_scatter ? "block" : "vector",
         fmt::format("{}: {} elements of {}{}", bytes_text(answer.bytes()), count_text(answer.count), options.type,
                     options.in_place ? ", in place" : ""));
  line("machine", topo::describe(answer.layout.machine));
  line("ranks", topo::describe(answer.layout.hierarchy) + ", mapped by " + options.map_by);
  line("transport", transport_name(answer.access));
  if (is_reduction(plan.collective)) line("operands", order_of(*algo::find(plan.collective, plan.algorithm)));
  fmt::print("\n");
  Table table("<>>");
  table.row({"messages", "number", "bytes"});
  const auto row = [&](const char* label, const plan::Messages& m) {
    table.row({label, count_text(m.messages), bytes_text(m.bytes)});
  };
  row("between sockets", sums.inter_socket);
  row("between NUMA nodes", sums.inter_numa);
  row("inside a NUMA node", sums.intra_numa);
  fmt::print("{}\n", table.text());
  const plan::Traffic& total = answer.counts.total;
  line("loads", volume(total.loaded, answer.bytes()));
  line("stores", volume(total.stored, answer.bytes()));
  line("total", volume(total.total(), answer.bytes()));
  line("copied", volume(answer.counts.copied.total(), answer.bytes()) + "; reductions move the rest of the total");
  line("steps",
       fmt::format("{} in the plan, {} executed; {} flags and {} of staging per rank", count_text(steps_in(plan)),
                   count_text(answer.counts.steps), plan.flags, bytes_text(plan.staging_bytes)));
}

void write_svg(const PlanOptions& options, const Answer& answer) {
  write_file("--svg", options.svg, plan::draw_svg(answer.plan, answer.shape(), answer.element_bytes, answer.access));
}

int plan_command(const PlanOptions& options) {
  if (options.rank >= options.ranks)
    throw usage(
        fmt::format("--rank {}: there are {} ranks; use 0 to {}", options.rank, options.ranks, options.ranks - 1));
  Answer answer = answer_of(options);
  if (!options.svg.empty()) write_svg(options, answer);
  ordered_json json = options.json ? to_json(options, answer) : ordered_json();
  if (options.json && options.text) json["text"] = plan::draw_text(answer.plan, options.rank);
  if (options.json) return fmt::print("{}\n", json.dump(2)), exit_fine;
  print(options, answer);
  if (options.text) fmt::print("\n{}", plan::draw_text(answer.plan, options.rank));
  return exit_fine;
}

}  // namespace

void add_plan(Command& app, Action& action) {
  auto options = std::make_shared<PlanOptions>();
  Command* sub = app.add_subcommand("plan", "Show messages, bytes and steps of a collective");
  sub->add_option("COLLECTIVE", options->collective, "the collective; see collctl list")->required()->option_text("  ");
  sub->add_option("-n,--ranks", options->ranks, "number of ranks, 1 to 1024 (required)")
      ->required()
      ->range(1, 1024)
      ->option_text("N");
  sub->add_option("--algorithm", options->algorithm,
                  "algorithm, with parameters if wanted; see collctl list;\ndefault: the built-in default of this call")
      ->option_text("A");
  sub->add_option("--root", options->root, "root of bcast, reduce, scatter and gather; default: 0")
      ->at_least_zero()
      ->option_text("R");
  sub->add_option("--size", options->size,
                  "bytes of the vector (reduce_scatter: of all blocks), or of the block\n"
                  "that one rank has for one other; default: 1M")
      ->option_text("BYTES");
  sub->add_option("--type", options->type, "datatype of the elements; default: float")->option_text("TYPE");
  sub->add_flag("--in-place", options->in_place, "the input is in the receive buffer");
  sub->add_option("--topology", options->topology,
                  "native: this machine (default); or describe another one: an XML\n"
                  "file of lstopo, or a text as in the first example")
      ->option_text("TEXT");
  add_placement_options(*sub, options->map_by, options->sensitivity);
  sub->add_option("--transport", options->transport,
                  "how peers access each other's buffers: shm (all data is staged),\n"
                  "cma (kernel-assisted copies) or mapped (loads and stores);\n"
                  "default: as in the paper that the algorithm comes from")
      ->option_text("HOW");
  sub->add_option("--chunk", options->chunk, "bytes per pipeline iteration, 64 to 1G; a list sets one per level")
      ->option_text("BYTES");
  sub->add_option("--depth", options->depth, "chunks in a staging ring: 1 to 1024, a power of two")
      ->range(1, 1024)
      ->option_text("N");
  sub->add_option("--k", options->k, "most ranks that access one rank's memory at once, 1 to 1024")
      ->range(1, 1024)
      ->option_text("N");
  sub->add_flag("--text", options->text, "print the steps, too");
  sub->add_option("--rank", options->rank, "with --text: print only the steps of this rank")
      ->at_least_zero()
      ->option_text("R");
  sub->add_option("--svg", options->svg, "draw a run of the plan to this SVG file")->file();
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl plan bcast --algorithm hierarchical -n 64 --root 10 --size 1M \\\n"
               "    --topology \"package:2 numa:4 core:8\" --map-by numa --sensitivity numa,socket\n"
               "  collctl plan allreduce --algorithm fused:chunk=64K -n 4 --size 256K --svg plan.svg\n"
               "  collctl plan barrier --algorithm dissemination -n 8 --text --rank 0"));
  sub->callback([&action, options] { action = [options] { return plan_command(*options); }; });
}

}  // namespace coll::tools
