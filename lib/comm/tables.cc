// SPDX-License-Identifier: BSD-3-Clause
#include "comm/tables.h"

#include <sys/stat.h>

#include <mutex>

#include "config/config.h"
#include "model/own_table.h"
#include "model/table_json.h"

namespace coll::comm {

namespace {

// Identifies a version of a file without reading it: inode, size and time. If there is no such file, it is the name
// alone.
std::string signature(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return path;
  return path + '/' + std::to_string(about.st_ino) + '/' + std::to_string(about.st_size) + '/' +
         std::to_string(about.st_mtim.tv_sec) + '.' + std::to_string(about.st_mtim.tv_nsec);
}

}  // namespace

std::shared_ptr<const FoundTable> find_table(const std::string& wish, const topo::Machine& machine) {
  static const auto none = std::make_shared<const FoundTable>();
  static std::mutex mutex;
  static std::string known;
  static std::shared_ptr<const FoundTable> kept;
  const std::vector<std::string> directories = config::table_directories();
  const std::string path = wish.empty() ? model::table_path(directories, machine) : wish;
  if (path.empty() || wish == "none") return none;
  const std::string now = (wish.empty() ? "own " : "asked ") + signature(path);
  const std::lock_guard lock(mutex);
  if (known == now) return kept;
  model::Found found = model::find_table(wish, directories, machine);
  auto made = std::make_shared<FoundTable>();
  made->remark = found.remark;
  if (found.found) {
    made->text = model::write_table(found.table);
    made->table = std::make_shared<const model::Table>(std::move(found.table));
  }
  known = now;
  kept = made;
  return made;
}

std::shared_ptr<const model::Table> table_of(std::string_view text) {
  static std::mutex mutex;
  static std::string known;
  static std::shared_ptr<const model::Table> kept;
  const std::lock_guard lock(mutex);
  if (known == text) return kept;
  auto read = std::make_shared<model::Table>();
  if (!model::parse_table(text, "the table of rank 0", *read).ok()) return nullptr;
  known = text;
  kept = read;
  return kept;
}

}  // namespace coll::comm
