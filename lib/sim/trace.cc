// SPDX-License-Identifier: BSD-3-Clause
#include "sim/trace.h"

#include <cstdio>

#include "plan/words.h"

namespace coll::sim {

using plan::Kind;

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::copy: return "copy";
    case Kind::reduce: return "reduce";
    case Kind::wait: return "wait";
    case Kind::post: return "post";
    default: return "step";
  }
}

}  // namespace

std::string chrome_trace(const plan::Plan& plan, const Result& run) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  const char* separator = "";
  const auto event = [&](const std::string& text) {
    out += separator + ("{" + text + "}");
    separator = ",\n";
  };
  event("\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":" +
        quoted(std::string(plan::name(plan.collective)) + " " + plan.algorithm + " " + plan.parameters) + "}");
  for (int rank = 0; rank < plan.ranks; ++rank)
    for (uint32_t lane = run.first_lane[size_t(rank)]; lane < run.first_lane[size_t(rank) + 1]; ++lane)
      event("\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":" + std::to_string(lane) + ",\"args\":{\"name\":" +
            quoted("rank " + std::to_string(rank) + " lane " + std::to_string(lane - run.first_lane[size_t(rank)])) +
            "}");
  for (const Box& box : run.boxes) {
    if (box.kind == Kind::post) continue;
    const size_t lane = box.lane - run.first_lane[size_t(box.rank)];
    const plan::Step& step = plan.program(box.rank).lanes[lane].steps[box.step];
    event(std::string("\"ph\":\"X\",\"name\":\"") + kind_name(box.kind) +
          "\",\"pid\":0,\"tid\":" + std::to_string(box.lane) + ",\"ts\":" + number(box.begin_us) + ",\"dur\":" +
          number(box.end_us - box.begin_us) + ",\"args\":{\"step\":" + quoted(plan::words(plan, box.rank, step)) +
          ",\"pass\":" + std::to_string(box.index) + ",\"bytes\":" + std::to_string(uint64_t(box.bytes)) + "}");
  }
  int id = 0;
  for (const Arrow& arrow : run.arrows) {
    const std::string both = "\"name\":\"flag\",\"cat\":\"flag\",\"pid\":0,\"id\":" + std::to_string(++id);
    event("\"ph\":\"s\"," + both + ",\"tid\":" + std::to_string(arrow.from_lane) + ",\"ts\":" + number(arrow.from_us));
    event("\"ph\":\"f\",\"bp\":\"e\"," + both + ",\"tid\":" + std::to_string(arrow.to_lane) +
          ",\"ts\":" + number(arrow.to_us));
  }
  return out + "\n]}\n";
}

}  // namespace coll::sim
