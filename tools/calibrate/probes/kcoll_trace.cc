// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/probes/kcoll_trace.h"

#ifndef COLL_TRACEFS

namespace coll::tools {

std::unique_ptr<KcollWatch> watch_kcoll_tracepoints(std::string& problem) {
  problem = "collctl was built without libtracefs and libtraceevent";
  return nullptr;
}

}  // namespace coll::tools

#else

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <event-parse.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

struct tracefs_instance;
struct tracefs_hist;
// An inline function of libtracefs 1.6 (Debian 12) passes this one an integer for an enumerator, which C++ refuses. This
// overload is never called.
int tracefs_hist_command(tracefs_instance*, tracefs_hist*, int);
extern "C" {
#include <tracefs.h>
}

namespace coll::tools {
namespace {

constexpr const char* events[] = {"kcoll_pin", "kcoll_copy"};
constexpr size_t buffer_kib = 4096;  // of each processor

class Tracepoints : public KcollWatch {
 public:
  ~Tracepoints() override {
    if (instance_ == nullptr) return;
    tracefs_trace_off(instance_);
    for (const char* event : events) tracefs_event_disable(instance_, "kcoll", event);
    tracefs_instance_destroy(instance_);
    tracefs_instance_free(instance_);
    if (parser_ != nullptr) tep_free(parser_);
  }

  // Returns "" or an error.
  std::string begin() {
    if (tracefs_tracing_dir() == nullptr) return "tracefs is not mounted; mount -t tracefs tracefs /sys/kernel/tracing";
    const std::string name = fmt::format("collctl-{}", getpid());
    instance_ = tracefs_instance_create(name.c_str());
    if (instance_ == nullptr) return fmt::format("tracefs: {}; run as root to read tracepoints", std::strerror(errno));
    const char* systems[] = {"kcoll", nullptr};
    parser_ = tracefs_local_events_system(nullptr, systems);
    if (parser_ == nullptr || tep_find_event_by_name(parser_, "kcoll", events[0]) == nullptr)
      return "the kernel has no tracepoints kcoll:*";
    tracefs_instance_set_buffer_size(instance_, buffer_kib, -1);
    // Names of tasks are not needed; recording them would enable a hook in the scheduler.
    tracefs_option_disable(instance_, TRACEFS_OPTION_RECORD_CMD);
    for (const char* event : events)
      if (tracefs_event_enable(instance_, "kcoll", event) != 0)
        return fmt::format("kcoll:{} cannot be enabled: {}", event, std::strerror(errno));
    tracefs_trace_on(instance_);
    return "";
  }

  KcollTimes stop() override {
    tracefs_trace_off(instance_);
    times_ = {};
    times_.source = "tracepoints";
    tracefs_iterate_raw_events(parser_, instance_, nullptr, 0, &Tracepoints::take, this);
    times_.lost = lost();
    return times_;
  }

 private:
  static int take(tep_event* event, tep_record* record, int, void* context) {
    auto& times = static_cast<Tracepoints*>(context)->times_;
    const auto number = [&](const char* name) {
      unsigned long long value = 0;
      return tep_get_field_val(nullptr, event, name, record, &value, 0) == 0 ? uint64_t(value) : 0;
    };
    if (std::strcmp(event->name, "kcoll_pin") == 0) {
      const double lock = double(number("lock_ns")) / 1000, pin = double(number("pin_ns")) / 1000;
      times.pins++;
      times.pages += number("pages");
      times.throttle_us += double(number("gate_ns")) / 1000;
      times.lock_us += lock;
      times.pin_us += pin;
      KcollTimes::Concurrent& concurrent = times.by_concurrency[int(number("conc"))];
      concurrent.pages += number("pages");
      concurrent.us += lock + pin;
    } else if (std::strcmp(event->name, "kcoll_copy") == 0 && number("ret") == 0) {
      times.copies++;
      times.copied_bytes += number("len");
      times.total_us += double(number("total_ns")) / 1000;
      times.copy_us += double(number("copy_ns")) / 1000;
      times.wait_us += double(number("pin_ns")) / 1000;  // the time that a copy waits for its pages
    }
    return 0;
  }

  // Adds up the lost events of all processors' buffers, from lines such as "overrun: 12".
  uint64_t lost() const {
    uint64_t sum = 0;
    for (int cpu = 0; cpu < int(sysconf(_SC_NPROCESSORS_CONF)); ++cpu) {
      char* text = tracefs_instance_file_read(instance_, fmt::format("per_cpu/cpu{}/stats", cpu).c_str(), nullptr);
      if (text == nullptr) continue;
      if (const char* at = std::strstr(text, "overrun: ")) sum += std::strtoull(at + 9, nullptr, 10);
      std::free(text);
    }
    return sum;
  }

  tracefs_instance* instance_ = nullptr;
  tep_handle* parser_ = nullptr;
  KcollTimes times_;
};

}  // namespace

std::unique_ptr<KcollWatch> watch_kcoll_tracepoints(std::string& problem) {
  auto watch = std::make_unique<Tracepoints>();
  problem = watch->begin();
  if (!problem.empty()) return nullptr;
  return watch;
}

}  // namespace coll::tools

#endif
