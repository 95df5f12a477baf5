// SPDX-License-Identifier: BSD-3-Clause
// A machine as bytes: one rank per node loads the machine, the other ranks parse its bytes.
//
// Layout: magic, numbers in base 128 (low groups first, 0x80 = more follow; signed ones zig-zag), strings as length and
// bytes, and finally a 64-bit FNV-1a digest of all preceding bytes. Each place is stored as differences to the previous
// one, so a processing unit takes about six bytes.
#include <algorithm>
#include <array>
#include <limits>

#include "config/digest.h"
#include "topo/machine.h"

namespace coll::topo {
namespace {

constexpr std::string_view magic = "coll-machine-1\n";
constexpr std::array levels{&Place::package, &Place::numa, &Place::l3, &Place::l2, &Place::core, &Place::pu};
constexpr std::size_t checksum_bytes = 8;
constexpr std::uint64_t pu_limit = 1 << 20;

class Writer {
 public:
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
  }
  void difference(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes += value;
  }
  std::string bytes;
};

// After a failed read, all further reads return 0, and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number(std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value <= limit ? value : fail();
    }
    return fail();
  }
  std::int64_t difference() {
    const std::uint64_t value = number(1u << 31);
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  std::string text() {
    const auto size = static_cast<std::size_t>(number(rest_.size()));
    if (size > rest_.size()) return fail(), std::string();
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  bool ok() const { return ok_; }
  bool complete() const { return ok_ && rest_.empty(); }
  std::uint64_t fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void write(Writer &out, const Cache &cache) {
  out.number(cache.size_bytes);
  out.number(cache.line_bytes);
  out.number(cache.instances);
  out.number(static_cast<std::uint64_t>(cache.inclusive));
}

Cache read_cache(Reader &in) {
  Cache cache;
  cache.size_bytes = in.number();
  cache.line_bytes = static_cast<std::uint32_t>(in.number(std::numeric_limits<std::uint32_t>::max()));
  cache.instances = static_cast<std::uint32_t>(in.number(std::numeric_limits<std::uint32_t>::max()));
  cache.inclusive = static_cast<Inclusion>(in.number(static_cast<std::uint64_t>(Inclusion::yes)));
  return cache;
}

Status damaged(const char *what) {
  return Status::error(std::string("machine description received from another rank: ") + what +
                       "; all ranks must run the same version of the library");
}

}  // namespace

std::string serialize(const Machine &machine) {
  Writer out;
  out.bytes = magic;
  for (int count : {machine.packages, machine.numas, machine.l3s, machine.cores})
    out.number(static_cast<std::uint64_t>(count));
  for (const Cache *cache : {&machine.l1d, &machine.l2, &machine.l3}) write(out, *cache);
  for (const std::string *text : {&machine.processor, &machine.source, &machine.note}) out.text(*text);
  out.number(machine.pus.size());
  Place before;
  for (const Place &pu : machine.pus) {
    for (auto level : levels) out.difference(static_cast<std::int64_t>(pu.*level) - before.*level);
    before = pu;
  }
  const std::uint64_t sum = config::digest(out.bytes);
  for (std::size_t i = 0; i < checksum_bytes; ++i) out.bytes.push_back(static_cast<char>(sum >> (8 * i)));
  return out.bytes;
}

Status parse(std::string_view bytes, Machine &machine) {
  if (!bytes.starts_with(magic)) return damaged("it does not begin as one");
  if (bytes.size() < magic.size() + checksum_bytes) return damaged("it is cut short");
  const std::string_view body = bytes.substr(0, bytes.size() - checksum_bytes);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < checksum_bytes; ++i)
    sum |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[body.size() + i])) << (8 * i);
  if (sum != config::digest(body)) return damaged("its checksum is wrong");

  Machine made;
  Reader in(body.substr(magic.size()));
  for (int *count : {&made.packages, &made.numas, &made.l3s, &made.cores})
    *count = static_cast<int>(in.number(pu_limit));
  for (Cache *cache : {&made.l1d, &made.l2, &made.l3}) *cache = read_cache(in);
  for (std::string *text : {&made.processor, &made.source, &made.note}) *text = in.text();
  const std::uint64_t pus = in.number(pu_limit);
  std::int64_t before[levels.size()];
  std::fill(std::begin(before), std::end(before), -1);
  for (std::uint64_t i = 0; i < pus && in.ok(); ++i) {
    Place &pu = made.pus.emplace_back();
    for (std::size_t level = 0; level < levels.size(); ++level) {
      before[level] += in.difference();
      if (before[level] < -1 || before[level] > std::numeric_limits<int>::max()) in.fail();
      pu.*levels[level] = static_cast<int>(before[level]);
    }
  }
  const bool in_range = std::ranges::all_of(made.pus, [&](const Place &pu) {
    return pu.package < made.packages && pu.numa < made.numas && pu.l3 < made.l3s && pu.core < made.cores;
  });
  if (!in.complete() || made.pus.empty() || !in_range) return damaged("its contents do not add up");
  machine = std::move(made);
  return {};
}

}  // namespace coll::topo
