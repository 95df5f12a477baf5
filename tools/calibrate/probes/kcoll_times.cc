// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/probes/kcoll_times.h"

#include <fmt/format.h>

#include "tools/calibrate/probes/kcoll_trace.h"
#include "transport/kcoll_device.h"

namespace coll::tools {
namespace {

using transport::KcollDevice;
using transport::KcollStatus;

// Counters of all descriptors of a domain: their increase since the construction.
class Counters : public KcollWatch {
 public:
  Counters(std::shared_ptr<KcollDevice> device, const kcoll_stats& before, std::string remark)
      : device_(std::move(device)), before_(before), remark_(std::move(remark)) {}

  KcollTimes stop() override {
    kcoll_stats now{};
    KcollTimes times;
    times.source = "counters";
    if (device_->stats(now, true) != KcollStatus::ok) return times;
    times.copies = now.timed - before_.timed;
    times.copied_bytes = now.timed_bytes - before_.timed_bytes;
    times.total_us = us(now.total_ns - before_.total_ns);
    times.copy_us = us(now.copy_ns - before_.copy_ns);
    times.wait_us = us(now.wait_ns - before_.wait_ns);
    times.pins = now.pins - before_.pins;
    times.pages = now.pin_pages - before_.pin_pages;
    times.throttle_us = us(now.gate_ns - before_.gate_ns);
    times.lock_us = us(now.lock_ns - before_.lock_ns);
    times.pin_us = us(now.pin_ns - before_.pin_ns);
    for (int bucket = 0; bucket < KCOLL_CONC_BUCKETS; ++bucket)
      if (const uint64_t pages = now.conc_pages[bucket] - before_.conc_pages[bucket]; pages > 0)
        times.by_concurrency[1 << bucket] = {pages, us(now.conc_ns[bucket] - before_.conc_ns[bucket])};
    return times;
  }
  std::string remark() const override { return remark_; }

 private:
  static double us(uint64_t ns) { return double(ns) / 1000; }

  std::shared_ptr<KcollDevice> device_;
  const kcoll_stats before_;
  const std::string remark_;
};

}  // namespace

KcollTimes& KcollTimes::operator+=(const KcollTimes& other) {
  lost += other.lost;
  copies += other.copies, copied_bytes += other.copied_bytes;
  total_us += other.total_us, copy_us += other.copy_us, wait_us += other.wait_us;
  pins += other.pins, pages += other.pages;
  throttle_us += other.throttle_us, lock_us += other.lock_us, pin_us += other.pin_us;
  for (const auto& [tasks, of] : other.by_concurrency)
    by_concurrency[tasks].pages += of.pages, by_concurrency[tasks].us += of.us;
  return *this;
}

std::string text(const KcollTimes& of) {
  std::string words = fmt::format("kcoll by its {}: ", of.source);
  if (of.pins > 0)
    words += fmt::format("per set of {:.0f} pages: gate wait {:.3g} us, lock {:.3g} us, pin {:.3g} us; ",
                         double(of.pages) / double(of.pins), of.throttle_us / double(of.pins),
                         of.lock_us / double(of.pins), of.pin_us / double(of.pins));
  if (of.copies > 0)
    words += fmt::format("per copy of {:.0f} bytes: startup {:.3g} us, wait {:.3g} us, copy {:.3g} us",
                         double(of.copied_bytes) / double(of.copies), of.startup_us() / double(of.copies),
                         of.wait_us / double(of.copies), of.copy_us / double(of.copies));
  else words += "no copy was timed";
  if (of.lost > 0) words += fmt::format("; {} events were lost", of.lost);
  return words;
}

std::unique_ptr<KcollWatch> KcollWatch::start(const transport::Token& domain, std::string& problem) {
  KcollStatus status;
  if (KcollDevice::own(status) == nullptr) return problem = transport::kcoll_hint(status), nullptr;
  std::string remark;
  if (auto traced = watch_kcoll_tracepoints(remark)) return traced;
  return by_counters(problem, &domain, remark);
}

std::unique_ptr<KcollWatch> KcollWatch::by_counters(std::string& problem, const transport::Token* domain,
                                                    const std::string& remark) {
  KcollStatus status;
  // A descriptor can join only one domain, and this process may watch other domains later: open one of its own.
  std::shared_ptr<KcollDevice> device = KcollDevice::open(status);
  if (device == nullptr) return problem = transport::kcoll_hint(status), nullptr;
  kcoll_stats before{};
  status = domain != nullptr ? device->join(*domain) : device->join_user();
  if (status == KcollStatus::ok) status = device->stats(before, true);
  if (status != KcollStatus::ok) return problem = transport::kcoll_hint(status), nullptr;
  return std::make_unique<Counters>(std::move(device), before, remark);
}

}  // namespace coll::tools
