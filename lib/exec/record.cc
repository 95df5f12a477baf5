// SPDX-License-Identifier: BSD-3-Clause
#include "exec/record.h"

#include <cstdio>
#include <ctime>
#include <utility>

#include "plan/words.h"

namespace coll::exec {

using plan::Kind;

namespace {

constexpr uint32_t most_lanes = 16;  // of a rank, in the numbers of a timeline's rows

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string us(int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000), static_cast<long long>(ns % 1000));
  return text;
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

}  // namespace

void Record::begin(const Run* of, const plan::Plan& plan, int rank) {
  of_ = of;
  plan_ = &plan;
  rank_ = rank;
  boxes_.clear();
  blocked_ns_.assign(plan.program(rank).lanes.size(), 0);
}

int64_t Record::now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void Record::done(uint32_t lane, uint32_t step, uint64_t pass, int64_t begin_ns, size_t bytes,
                  const std::string& flag) {
  boxes_.push_back({lane, step, pass, begin_ns, now_ns(), bytes, flag});
}

void Record::blocked(uint32_t lane) {
  if (blocked_ns_[lane] == 0) blocked_ns_[lane] = now_ns();
}

int64_t Record::waited(uint32_t lane) { return std::exchange(blocked_ns_[lane], 0); }

std::string Record::events() const {
  std::string out;
  if (plan_ == nullptr) return out;
  const auto event = [&](const std::string& text) { out += (out.empty() ? "{" : ",\n{") + text + "}"; };
  event("\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":" +
        quoted(std::string(plan::name(plan_->collective)) + " " + plan_->algorithm + " " + plan_->parameters) + "}");
  const auto row = [&](uint32_t lane) {
    return "\"pid\":0,\"tid\":" + std::to_string(uint32_t(rank_) * most_lanes + lane);
  };
  for (uint32_t lane = 0; lane < blocked_ns_.size(); lane++)
    event("\"ph\":\"M\",\"name\":\"thread_name\"," + row(lane) +
          ",\"args\":{\"name\":" + quoted("rank " + std::to_string(rank_) + " lane " + std::to_string(lane)) + "}");
  for (const Box& box : boxes_) {
    const plan::Step& step = plan_->program(rank_).lanes[box.lane].steps[box.step];
    const std::string arrow = ",\"name\":\"flag\",\"cat\":\"flag\"," + row(box.lane) + ",\"id\":" + quoted(box.flag) +
                              ",\"ts\":" + us(box.end_ns);
    if (step.kind == Kind::post) {
      event("\"ph\":\"s\"" + arrow);
      continue;
    }
    event(std::string("\"ph\":\"X\",\"name\":\"") + kind_name(step.kind) + "\"," + row(box.lane) +
          ",\"ts\":" + us(box.begin_ns) + ",\"dur\":" + us(box.end_ns - box.begin_ns) +
          ",\"args\":{\"step\":" + quoted(plan::words(*plan_, rank_, step)) + ",\"pass\":" + std::to_string(box.pass) +
          ",\"bytes\":" + std::to_string(box.bytes) + "}");
    if (step.kind == Kind::wait) event("\"ph\":\"f\",\"bp\":\"e\"" + arrow);
  }
  return out;
}

}  // namespace coll::exec
