// SPDX-License-Identifier: BSD-3-Clause
#include "plan/trace_events.h"

#include "plan/words.h"

namespace coll::plan {

namespace {

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::copy: return "copy";
    case Kind::reduce: return "reduce";
    case Kind::wait: return "wait";
    case Kind::post: return "post";
    case Kind::publish: return "publish";
    default: return "step";
  }
}

std::string in_row(uint32_t row) { return ",\"pid\":0,\"tid\":" + std::to_string(row); }

std::string arrow(uint32_t row, const std::string& id, const std::string& at_us) {
  return ",\"name\":\"flag\",\"cat\":\"flag\"" + in_row(row) + ",\"id\":" + id + ",\"ts\":" + at_us;
}

}  // namespace

TraceEvents::TraceEvents(const Plan& plan) : plan_(plan) {
  add("\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":" +
      json_string(std::string(name(plan.collective)) + " " + plan.algorithm + " " + plan.parameters) + "}");
}

void TraceEvents::name_row(uint32_t row, int rank, size_t lane) {
  add("\"ph\":\"M\",\"name\":\"thread_name\"" + in_row(row) +
      ",\"args\":{\"name\":" + json_string("rank " + std::to_string(rank) + " lane " + std::to_string(lane)) + "}");
}

void TraceEvents::slice(uint32_t row, int rank, const Step& step, const std::string& begin_us,
                        const std::string& duration_us, uint64_t iteration, uint64_t bytes) {
  add(std::string("\"ph\":\"X\",\"name\":\"") + kind_name(step.kind) + "\"" + in_row(row) + ",\"ts\":" + begin_us +
      ",\"dur\":" + duration_us + ",\"args\":{\"step\":" + json_string(words(plan_, rank, step)) +
      ",\"pass\":" + std::to_string(iteration) + ",\"bytes\":" + std::to_string(bytes) + "}");
}

void TraceEvents::arrow_begins(uint32_t row, const std::string& id, const std::string& at_us) {
  add("\"ph\":\"s\"" + arrow(row, id, at_us));
}

void TraceEvents::arrow_ends(uint32_t row, const std::string& id, const std::string& at_us) {
  add("\"ph\":\"f\",\"bp\":\"e\"" + arrow(row, id, at_us));
}

void TraceEvents::add(const std::string& event) { text_ += (text_.empty() ? "{" : ",\n{") + event + "}"; }

}  // namespace coll::plan
