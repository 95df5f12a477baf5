// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/devices.h"

#include "mpi/choice.h"
#include "mpi/log.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

namespace coll::shim {

bool has_devices = false;

namespace {

// A library that allocates device memory, by the beginning of its file name.
struct Library {
  const char *prefix;
  std::unique_ptr<DeviceRuntime> (*make)(void *library);
  std::atomic<const DeviceRuntime *> runtime{nullptr};  // never deleted
};
Library libraries[] = {{"libcuda.so", cuda_runtime}, {"libamdhip64.so", hip_runtime}};

// The file of a driver: of CUDA, CUDA in WSL, CUDA on Tegra, and HIP.
constexpr const char *device_files[] = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvgpu", "/dev/nvhost-ctrl-gpu", "/dev/kfd"};

// How many shared objects this process has ever loaded.
unsigned long long loaded_objects() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *count) {
        *static_cast<unsigned long long *>(count) = info->dlpi_adds;
        return 1;  // the first object has the number, too
      },
      &count);
  return count;
}

bool begins_with(const char *path, const char *prefix) {
  const char *slash = std::strrchr(path, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : path, prefix, std::strlen(prefix)) == 0;
}

// Opens `library` if the process has loaded it.
void open_loaded(Library &library) {
  struct Search {
    const char *prefix;
    std::vector<std::string> paths;
  } search{library.prefix, {}};
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        if (info->dlpi_name != nullptr && begins_with(info->dlpi_name, search.prefix))
          search.paths.emplace_back(info->dlpi_name);
        return 0;
      },
      &search);
  for (const std::string &path : search.paths) {
    void *handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    std::unique_ptr<DeviceRuntime> runtime = library.make(handle);
    if (runtime == nullptr) {
      warn_once("%s lacks a function: collectives on its device memory will fail", path.c_str());
      continue;
    }
    log_line("%s is loaded: buffers in device memory are exchanged by copies in host memory", runtime->name());
    library.runtime.store(runtime.release(), std::memory_order_release);
    return;
  }
}

// Looks for libraries that have been loaded since the last call.
void look_for_runtimes() try {
  static std::mutex mutex;
  static std::atomic<unsigned long long> seen{0};
  const unsigned long long now = loaded_objects();
  if (now == seen.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex);
  for (Library &library : libraries)
    if (library.runtime.load(std::memory_order_relaxed) == nullptr) open_loaded(library);
  seen.store(now, std::memory_order_release);
} catch (const std::bad_alloc &) { /* the next call looks again */
}

bool any_device_file() {
  for (const char *file : device_files)
    if (access(file, F_OK) == 0) return true;
  return false;
}

bool any_runtime() {
  for (const Library &library : libraries)
    if (library.runtime.load(std::memory_order_acquire) != nullptr) return true;
  return false;
}

}  // namespace

void find_devices() {
  enum { automatic, on, off };
  const int choice = choice_of("COLL_DEVICE_MEMORY", {"auto", "on", "off"}, "it is taken as auto");
  if (choice == off) return;
  look_for_runtimes();
  has_devices = any_runtime() || any_device_file() || choice == on;
}

const DeviceRuntime *runtime_of(const void *at) {
  if (!any_runtime()) look_for_runtimes();
  for (const Library &library : libraries)
    if (const DeviceRuntime *runtime = library.runtime.load(std::memory_order_acquire);
        runtime != nullptr && runtime->owns(at))
      return runtime;
  return nullptr;
}

bool copy_parts(char *to, const char *from, std::span<const Part> parts, const void *device) {
  const DeviceRuntime *runtime = runtime_of(device);
  if (runtime == nullptr) return false;
  const int code = runtime->copy(to, from, parts, device);
  if (code != 0) warn_once("%s: a copy between host and device failed with error %d", runtime->name(), code);
  return code == 0;
}

bool copy_out(void *to, const void *from, std::size_t bytes) {
  if (!in_device(to)) {
    std::memcpy(to, from, bytes);
    return true;
  }
  const Part whole{0, bytes};
  return copy_parts(static_cast<char *>(to), static_cast<const char *>(from), {&whole, 1}, to);
}

}  // namespace coll::shim
