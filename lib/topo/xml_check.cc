// SPDX-License-Identifier: BSD-3-Clause
// Parses hwloc's XML, checks that its objects are consistent, and writes a copy with only the parts that a Machine
// needs.
//
// hwloc 2 dereferences null or aborts if objects lack a set or contradict each other, as in damaged or hand-edited
// files. The copy has every set that hwloc relies on.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "topo/source.h"
#include "topo/xml_reader.h"

namespace coll::topo {
namespace {

constexpr unsigned bit_limit = 1 << 16;

// A set of processing units or NUMA nodes: 32 bits per word, lowest first.
class Bits {
 public:
  // Parses hwloc's notation: hexadecimal words, highest first, separated by commas; an empty word is zero. Returns
  // nullopt if the text is invalid.
  static std::optional<Bits> parse(std::string_view text) {
    std::vector<std::uint32_t> words;
    for (bool more = true; more;) {
      const auto comma = text.find(',');
      std::string_view word = text.substr(0, comma);
      more = comma != std::string_view::npos;
      if (more) text.remove_prefix(comma + 1);
      std::uint32_t value = 0;
      if (!word.empty() && !parse_word(word, value)) return std::nullopt;
      if (word.empty() && words.empty()) return std::nullopt;
      words.push_back(value);
    }
    if (words.size() > bit_limit / 32) return std::nullopt;
    std::ranges::reverse(words);
    Bits bits;
    bits.words_ = std::move(words);
    return bits;
  }
  static Bits one(std::uint64_t index) {
    Bits bits;
    bits.words_.resize(index / 32 + 1);
    bits.words_.back() = 1u << (index % 32);
    return bits;
  }
  std::uint32_t word(std::size_t i) const { return i < words_.size() ? words_[i] : 0; }
  bool empty() const {
    return std::ranges::all_of(words_, [](std::uint32_t w) { return w == 0; });
  }
  bool inside(const Bits &other) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((words_[i] & ~other.word(i)) != 0) return false;
    return true;
  }
  bool meets(const Bits &other) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((words_[i] & other.word(i)) != 0) return true;
    return false;
  }
  bool equals(const Bits &other) const { return inside(other) && other.inside(*this); }
  void add(const Bits &other) {
    words_.resize(std::max(words_.size(), other.words_.size()));
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.word(i);
  }

 private:
  static bool parse_word(std::string_view word, std::uint32_t &value) {
    if (!word.starts_with("0x") || word.size() < 3 || word.size() > 10) return false;
    const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
    return error == std::errc{} && end == word.data() + word.size();
  }
  std::vector<std::uint32_t> words_;
};

enum class Kind { normal, memory, ignored };

struct Type {
  std::string_view name;
  Kind kind;
  int cache_depth = 0;
};
constexpr std::array<Type, 20> types{
    {{"Machine", Kind::normal},     {"Package", Kind::normal},     {"Die", Kind::normal},
     {"Group", Kind::normal},       {"Core", Kind::normal},        {"PU", Kind::normal},
     {"L1Cache", Kind::normal, 1},  {"L2Cache", Kind::normal, 2},  {"L3Cache", Kind::normal, 3},
     {"L4Cache", Kind::normal, 4},  {"L5Cache", Kind::normal, 5},  {"L1iCache", Kind::normal, 1},
     {"L2iCache", Kind::normal, 2}, {"L3iCache", Kind::normal, 3}, {"NUMANode", Kind::memory},
     {"MemCache", Kind::memory},    {"Bridge", Kind::ignored},     {"PCIDev", Kind::ignored},
     {"OSDev", Kind::ignored},      {"Misc", Kind::ignored}}};

struct Object {
  const Type *type;
  Bits cpuset, complete_cpuset, nodeset, complete_nodeset;
  Bits below;           // cpusets of the normal children so far
  Bits complete_below;  // complete cpusets of the normal children so far
  std::string nodeset_text = {}, complete_nodeset_text = {};
};

class Copier : public XmlVisitor {
 public:
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n";

  Status open(const XmlElement &element) override {
    kept_.push_back(false);
    if (skipped_ > 0 || kept_.size() > depth_limit) return ++skipped_, Status();
    if (kept_.size() == 1) return topology(element);
    if (element.name == "object") return object(element);
    if (element.name == "info" && !objects_.empty()) info(element);
    ++skipped_;
    return {};
  }

  Status close() override {
    const bool kept = kept_.back();
    kept_.pop_back();
    if (!kept) return --skipped_, Status();
    text += kept_.empty() ? "</topology>\n" : "</object>\n";
    if (kept_.empty()) return end();
    const Object object = std::move(objects_.back());
    objects_.pop_back();
    if (object.type->kind == Kind::normal && object.type->name != "PU" && !object.below.equals(object.cpuset))
      return bad(object, "its processing units are not those of its parts");
    return {};
  }

 private:
  static constexpr std::size_t depth_limit = 64;

  static Status bad(const Object &object, std::string_view what) {
    return Status::error("the " + std::string(object.type->name) +
                         " object contradicts the others: " + std::string(what));
  }

  Status topology(const XmlElement &element) {
    const std::string_view *version = element.find("version");
    const bool old = version == nullptr || version->starts_with("1.");
    // Versions 2 and 3 do not differ in the objects that are copied.
    if (old || !(version->starts_with("2.") || version->starts_with("3.")))
      return Status::error("it is of hwloc version " + (version == nullptr ? std::string("1") : std::string(*version)) +
                           ", but 2 or 3 is needed" +
                           (old ? " (with hwloc 2, 'lstopo -i OLD.xml NEW.xml' converts it)" : ""));
    text += "<topology version=\"2.0\">\n";
    kept_.back() = true;
    return {};
  }

  Status end() const {
    if (root_seen_ && pus_ > 0 && nodes_ > 0) return {};
    return Status::error(pus_ == 0 ? "it describes no processing unit" : "it describes no NUMA node");
  }

  Status object(const XmlElement &element) {
    const std::string_view *name = element.find("type");
    if (name == nullptr) return Status::error("an object without a type");
    const auto type = std::ranges::find(types, *name, &Type::name);
    if (type == types.end()) return Status::error("an object of the unknown type '" + std::string(*name) + "'");
    if (type->kind == Kind::ignored) return ++skipped_, Status();
    if ((type->name == "Machine") != objects_.empty() || (objects_.empty() && root_seen_))
      return Status::error("a Machine object must be the root of all others, and only that");

    Object made{&*type, {}, {}, {}, {}, {}, {}};
    text += "<object type=\"" + std::string(type->name) + "\" gp_index=\"" + std::to_string(++count_) + "\"";
    if (Status status = sets(element, made); !status.ok()) return status;
    if (Status status = numbers(element, made); !status.ok()) return status;
    if (Status status = fits(element, made); !status.ok()) return status;
    text += ">\n";
    kept_.back() = true;
    root_seen_ = true;
    objects_.push_back(std::move(made));
    return {};
  }

  Status set(const XmlElement &element, const Object &made, const char *name, Bits &bits) {
    const std::string_view *value = element.find(name);
    const auto parsed = value != nullptr ? Bits::parse(*value) : std::nullopt;
    if (!parsed) return bad(made, std::string("its ") + name + (value != nullptr ? " is damaged" : " is missing"));
    bits = *parsed;
    text += std::string(" ") + name + "=\"" + std::string(*value) + "\"";
    return {};
  }

  // Reads a set of allowed units. Without it, the whole set `all` is allowed.
  Status allowed(const XmlElement &element, const Object &made, const char *name, const char *all, Bits &bits) {
    if (element.find(name) != nullptr) return set(element, made, name, bits);
    const std::string_view value = *element.find(all);
    bits = *Bits::parse(value);
    text += std::string(" ") + name + "=\"" + std::string(value) + "\"";
    return {};
  }

  Status sets(const XmlElement &element, Object &made) {
    struct Set {
      const char *name;
      Bits Object::*bits;
      std::string Object::*text;  // null: every object must have this set
    };
    constexpr Set all[] = {{"cpuset", &Object::cpuset, nullptr},
                           {"complete_cpuset", &Object::complete_cpuset, nullptr},
                           {"nodeset", &Object::nodeset, &Object::nodeset_text},
                           {"complete_nodeset", &Object::complete_nodeset, &Object::complete_nodeset_text}};
    for (const auto &[name, bits, kept] : all) {
      const std::string_view *value = element.find(name);
      if (value == nullptr && kept != nullptr && !objects_.empty()) {
        // An object without node sets inherits those of its parent.
        made.*bits = objects_.back().*bits;
        made.*kept = objects_.back().*kept;
        text += std::string(" ") + name + "=\"" + made.*kept + "\"";
        continue;
      }
      if (Status status = set(element, made, name, made.*bits); !status.ok()) return status;
      if (kept != nullptr) made.*kept = std::string(*value);
    }
    if (!made.cpuset.inside(made.complete_cpuset) || !made.nodeset.inside(made.complete_nodeset))
      return bad(made, "a set is larger than its complete set");
    if (made.type->name != "Machine") return {};
    Bits allowed_cpus, allowed_nodes;
    if (Status status = allowed(element, made, "allowed_cpuset", "cpuset", allowed_cpus); !status.ok()) return status;
    if (Status status = allowed(element, made, "allowed_nodeset", "nodeset", allowed_nodes); !status.ok())
      return status;
    if (!allowed_cpus.meets(made.cpuset)) return bad(made, "no processing unit is allowed");
    if (!allowed_nodes.meets(made.nodeset)) return bad(made, "no NUMA node is allowed");
    return {};
  }

  Status numbers(const XmlElement &element, const Object &made) {
    for (const char *name : {"os_index", "cache_size", "cache_linesize", "local_memory"}) {
      const std::string_view *value = element.find(name);
      if (value == nullptr || (name[0] == 'c' && made.type->cache_depth == 0) ||
          (name[0] == 'l' && made.type->name != "NUMANode"))
        continue;
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
      if (error != std::errc{} || end != value->data() + value->size())
        return bad(made, std::string("its ") + name + " is no number");
      text += std::string(" ") + name + "=\"" + std::to_string(number) + "\"";
    }
    if (made.type->cache_depth > 0) {
      const char *kind = made.type->name[2] == 'i' ? "2" : made.type->cache_depth == 1 ? "1" : "0";
      text += " depth=\"" + std::to_string(made.type->cache_depth) + "\" cache_type=\"" + kind + "\"";
    }
    return {};
  }

  // Checks that the object is consistent with its parent and its previous siblings.
  Status fits(const XmlElement &element, const Object &made) {
    if (Status status = leaf(element, made); !status.ok() || objects_.empty()) return status;
    Object &parent = objects_.back();
    if (parent.type->kind == Kind::memory && made.type->kind != Kind::memory) return bad(made, "it is inside memory");
    if (parent.type->name == "PU" || parent.type->name == "NUMANode")
      return bad(made, "it is inside a " + std::string(parent.type->name));
    if (!made.cpuset.inside(parent.cpuset) || !made.complete_cpuset.inside(parent.complete_cpuset))
      return bad(made, "it has processing units that the object around it lacks");
    if (!made.nodeset.inside(objects_.front().nodeset) ||
        !made.complete_nodeset.inside(objects_.front().complete_nodeset))
      return bad(made, "it has NUMA nodes that the machine lacks");
    if (made.type->kind == Kind::memory) return {};
    for (const Object &around : objects_)
      if (around.type == made.type && made.type->name != "Group") return bad(made, "it is inside one of its kind");
    if (made.complete_cpuset.meets(parent.complete_below))
      return bad(made, "it shares processing units with its neighbour");
    parent.below.add(made.cpuset);
    parent.complete_below.add(made.complete_cpuset);
    return {};
  }

  // Checks that the sets of a processing unit or NUMA node contain exactly its own index.
  Status leaf(const XmlElement &element, const Object &made) {
    const bool pu = made.type->name == "PU", node = made.type->name == "NUMANode";
    if (!pu && !node) return {};
    std::uint64_t index = 0;
    const std::string_view *value = element.find("os_index");
    if (value == nullptr) return bad(made, "its os_index is missing");
    std::from_chars(value->data(), value->data() + value->size(), index);
    if (index >= bit_limit) return bad(made, "its os_index is out of range");
    const Bits own = Bits::one(index);
    if (!own.equals(pu ? made.complete_cpuset : made.complete_nodeset) || !own.equals(pu ? made.cpuset : made.nodeset))
      return bad(made, "its os_index is not what its set says");
    if (node && node_bits_.meets(own)) return bad(made, "its os_index is given twice");
    if (node) node_bits_.add(own);
    (pu ? pus_ : nodes_) += 1;
    return {};
  }

  // Copies the infos that a Machine is made from, and no others.
  void info(const XmlElement &element) {
    constexpr std::array<std::string_view, 4> needed = {"CPUModel", "CPUImplementer", "CPUPart", "Inclusive"};
    const std::string_view *name = element.find("name"), *value = element.find("value");
    if (name == nullptr || value == nullptr || std::ranges::find(needed, *name) == needed.end()) return;
    text += "<info name=\"" + std::string(*name) + "\" value=\"" + std::string(*value) + "\"/>\n";
  }

  std::vector<bool> kept_;  // for each open element, whether it is in the copy
  std::vector<Object> objects_;
  int skipped_ = 0;  // number of open elements that are left out
  int count_ = 0, pus_ = 0, nodes_ = 0;
  Bits node_bits_;
  bool root_seen_ = false;
};

}  // namespace

Status check_xml(std::string_view text, std::string &hwloc_text) {
  Copier copier;
  if (Status status = read_xml(text, "topology", copier); !status.ok()) return status;
  hwloc_text = std::move(copier.text);
  return {};
}

}  // namespace coll::topo
