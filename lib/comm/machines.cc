// SPDX-License-Identifier: BSD-3-Clause
#include "comm/machines.h"

#include <mutex>
#include <vector>

#include "mem/processor.h"

namespace coll::comm {

std::shared_ptr<const LoadedMachine> load_machine(const std::string& wish) {
  static std::mutex mutex;
  static std::vector<int> allowed;
  static std::shared_ptr<const LoadedMachine> running;
  const bool is_running = wish.empty() || wish == "native";
  const std::vector<int> cpus = topo::current_cpus();
  const std::lock_guard lock(mutex);
  if (is_running && running != nullptr && allowed == cpus) return running;
  auto made = std::make_shared<LoadedMachine>();
  made->status = topo::load(wish, made->machine);
  mem::apply_forced_profile(made->machine.processor, made->machine.l2.size_bytes);
  made->text = topo::serialize(made->machine);
  if (is_running) running = made, allowed = cpus;
  return made;
}

std::shared_ptr<const topo::Machine> machine_of(std::string_view text, topo::Status& status) {
  static std::mutex mutex;
  static std::string known;
  static std::shared_ptr<const topo::Machine> kept;
  const std::lock_guard lock(mutex);
  if (kept != nullptr && known == text) return kept;
  auto read = std::make_shared<topo::Machine>();
  status = topo::parse(text, *read);
  if (!status.ok()) return nullptr;
  known = text;
  kept = read;
  return kept;
}

}  // namespace coll::comm
