// SPDX-License-Identifier: BSD-3-Clause
#include "topo/xml_reader.h"

#include <algorithm>

namespace coll::topo {
namespace {

constexpr std::size_t depth_limit = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':';
}
std::string tag(std::string_view name) { return "<" + std::string(name) + ">"; }

// Parses the document in one pass; its only state is the list of open elements. It stops at the first error.
class Reader {
 public:
  Reader(std::string_view text, std::string_view root, XmlVisitor &visitor)
      : text_(text), root_(root), visitor_(visitor) {}

  Status run() {
    prolog();
    while (what_.empty() && next_ < text_.size()) step();
    if (what_.empty() && open_.empty() && !complete_) fail("there is no " + tag(root_) + " in the file");
    if (what_.empty() && !open_.empty()) fail("the file ends inside " + tag(open_.back()) + ": it is truncated");
    if (what_.empty()) return {};
    const std::string_view read = text_.substr(0, next_);
    return Status::error("line " + std::to_string(std::ranges::count(read, '\n') + 1) + ": " + what_);
  }

 private:
  bool at(std::string_view start) const { return text_.substr(next_).starts_with(start); }
  void fail(std::string what) {
    if (what_.empty()) what_ = std::move(what);
  }
  void require_ok(const Status &status) {
    if (!status.ok()) fail(status.text());
  }
  void skip_space() {
    while (next_ < text_.size() && is_space(text_[next_])) ++next_;
  }
  void skip_past(std::string_view end) {
    const auto found = text_.find(end, next_);
    if (found == std::string_view::npos) fail("the file ends before '" + std::string(end) + "': it is truncated");
    next_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }
  std::string_view name() {
    const std::size_t first = next_;
    while (next_ < text_.size() && is_name(text_[next_])) ++next_;
    return text_.substr(first, next_ - first);
  }

  void prolog() {
    skip_space();
    if (at("<?xml")) skip_past("?>");
    skip_space();
    while (at("<!--") && what_.empty()) {
      skip_past("-->");
      skip_space();
    }
    if (!at("<!DOCTYPE")) return;
    const std::size_t first = next_;
    skip_past(">");
    // Definitions in a document type can expand to excessive size; hwloc writes none.
    if (text_.substr(first, next_ - first).find('[') != std::string_view::npos)
      fail("the document type has definitions of its own");
  }

  void step() {
    if (text_[next_] != '<') return content();
    if (at("<!--")) return skip_past("-->");
    if (complete_) return fail("something follows the end of " + tag(root_));
    if (at("</")) return close();
    return open();
  }

  void content() {
    const std::size_t end = std::min(text_.find('<', next_), text_.size());
    const std::string_view between = text_.substr(next_, end - next_);
    if (open_.empty() && !std::ranges::all_of(between, is_space)) return fail("text outside the elements");
    characters(end);
  }

  // Checks the characters of text or of an attribute's value up to `end`.
  void characters(std::size_t end) {
    constexpr std::string_view known[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#9;", "&#10;", "&#13;"};
    for (; next_ < end; ++next_) {
      const auto c = static_cast<unsigned char>(text_[next_]);
      if ((c < 0x20 && !is_space(text_[next_])) || c >= 0x7f) return fail("a character that hwloc never writes");
      if (c == '&' && std::ranges::none_of(known, [&](std::string_view one) { return at(one); }))
        return fail("an unknown '&' reference");
    }
  }

  void close() {
    next_ += 2;
    const std::string_view closing = name();
    skip_space();
    if (!at(">")) return fail("'>' is missing after '</" + std::string(closing) + "'");
    if (open_.empty() || open_.back() != closing)
      return fail("</" + std::string(closing) + "> closes " + (open_.empty() ? "nothing" : tag(open_.back())));
    ++next_;
    end_element();
  }

  void open() {
    ++next_;
    XmlElement element{name(), {}};
    if (element.name.empty()) return fail("no element name after '<'");
    if (open_.empty() && element.name != root_)
      return fail(tag(element.name) + " instead of " + tag(root_) + ": this is not hwloc's XML");
    if (open_.size() >= depth_limit) return fail("elements are nested too deep");
    for (;;) {
      const bool spaced = next_ < text_.size() && is_space(text_[next_]);
      skip_space();
      if (next_ >= text_.size()) return fail("the file ends inside " + tag(element.name) + ": it is truncated");
      if (at(">") || at("/>")) break;
      if (!spaced) return fail("broken attribute in " + tag(element.name));
      attribute(element);
      if (!what_.empty()) return;
    }
    open_.push_back(element.name);
    require_ok(visitor_.open(element));
    const bool empty = at("/>");
    next_ += empty ? 2 : 1;
    if (empty) end_element();
  }

  void attribute(XmlElement &element) {
    const std::string_view key = name();
    if (key.empty() || !at("=\"")) return fail("broken attribute in " + tag(element.name));
    if (element.find(key) != nullptr) return fail("attribute '" + std::string(key) + "' is given twice");
    next_ += 2;
    const auto end = text_.find('"', next_);
    if (end == std::string_view::npos)
      return fail("the value of '" + std::string(key) + "' never ends: the file is truncated");
    const std::string_view value = text_.substr(next_, end - next_);
    if (value.find('<') != std::string_view::npos) return fail("'<' in the value of '" + std::string(key) + "'");
    characters(end);
    if (!what_.empty()) return;
    next_ = end + 1;
    element.attributes.push_back({key, value});
  }

  void end_element() {
    require_ok(visitor_.close());
    open_.pop_back();
    complete_ = open_.empty();
  }

  std::string_view text_, root_;
  XmlVisitor &visitor_;
  std::size_t next_ = 0;
  std::vector<std::string_view> open_;
  bool complete_ = false;
  std::string what_;
};

}  // namespace

Status read_xml(std::string_view text, std::string_view root, XmlVisitor &visitor) {
  return Reader(text, root, visitor).run();
}

}  // namespace coll::topo
