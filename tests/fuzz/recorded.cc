// SPDX-License-Identifier: BSD-3-Clause
// Files that collctl reads back: statistics of COLL_STATS, timelines of COLL_TRACE and of `bench --trace`, results.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/bench/real_trace.h"
#include "tools/command.h"
#include "tools/report/sections.h"

namespace {

using namespace coll::tools;

// A file in memory, with a name that can be opened during its lifetime.
class File {
 public:
  explicit File(std::string_view content) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || write(descriptor_, content.data(), content.size()) != ssize_t(content.size())) abort();
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string name() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

// Uses the input as the part of the first rank, with a correct one of a second rank.
void join_parts(std::string_view text) {
  const std::string file = "/dev/shm/libcoll-fuzz-" + std::to_string(getpid());
  for (const auto& [part, content] : {std::pair{file + ".0", text}, {file + ".1", "[{\"ts\": 1.5}]"}}) {
    FILE* const to = fopen(part.c_str(), "w");
    if (to == nullptr || fwrite(content.data(), 1, content.size(), to) != content.size() || fclose(to) != 0) abort();
  }
  try {
    join_traces(file, 2, 4096);
    // Joined traces must be readable if they have steps.
    (void)report::timeline_section(file, size_t(64) << 10);
  } catch (const Failure&) {}
  unlink(file.c_str());
  for (const char* part : {".0", ".1"}) unlink((file + part).c_str());
}

void read(char kind, std::string_view text) {
  const File file(text);
  report::Recorded recorded;
  switch (kind) {
    // The section of an accepted file must be JSON for any texts and numbers.
    case 's': (void)report::job_section({file.name()}).dump(); break;
    case 't': (void)report::timeline_section(file.name(), size_t(64) << 10).dump(); break;
    case 'b':
      report::read_recorded(file.name(), recorded);
      (void)recorded.benchmarks.dump(), (void)recorded.contention.dump(), (void)recorded.calibration.dump();
      break;
    case 'j': join_parts(text); break;
    default: break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes == 0) return 0;
  try {
    read(char(data[0]), {reinterpret_cast<const char*>(data) + 1, bytes - 1});
  } catch (const Failure&) {}  // any other exception is a fault: its text would not name the file
  return 0;
}
