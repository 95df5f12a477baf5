// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include "topo/source.h"

namespace coll::topo {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
         c == ':';
}

// One pass over the document, no more state than the open elements.
class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  Status run() {
    prolog();
    if (what_.empty() && !at("<topology")) fail("there is no <topology> element: this is not hwloc's XML");
    while (what_.empty() && next_ < text_.size()) step();
    if (what_.empty() && !open_.empty()) fail("the file ends inside <" + std::string(open_.back()) + ">: it is truncated");
    if (what_.empty()) return {};
    const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(next_, text_.size())), '\n');
    return Status::error("line " + std::to_string(line + 1) + ": " + what_);
  }

 private:
  bool at(std::string_view start) const { return text_.substr(next_).starts_with(start); }
  void fail(std::string what) {
    if (what_.empty()) what_ = std::move(what);
  }
  void skip_space() {
    while (next_ < text_.size() && is_space(text_[next_])) ++next_;
  }
  void skip_past(std::string_view end) {
    const auto found = text_.find(end, next_);
    if (found == std::string_view::npos) {
      next_ = text_.size();
      fail("the file ends before '" + std::string(end) + "': it is truncated");
    } else {
      next_ = found + end.size();
    }
  }
  std::string_view name() {
    const std::size_t first = next_;
    while (next_ < text_.size() && is_name(text_[next_])) ++next_;
    return text_.substr(first, next_ - first);
  }

  void prolog() {
    skip_space();
    if (at("<?xml")) skip_past("?>");
    for (skip_space(); at("<!--") || at("<!DOCTYPE"); skip_space()) {
      if (at("<!--")) {
        comment();
      } else {
        const std::size_t first = next_;
        skip_past(">");
        // Declarations inside a document type can define entities that blow up: nobody writes them here.
        if (text_.substr(first, next_ - first).find('[') != std::string_view::npos)
          fail("the document type has declarations of its own");
      }
    }
  }

  void comment() {
    next_ += 4;
    const std::size_t first = next_;
    skip_past("-->");
    if (what_.empty() && text_.substr(first, next_ - 3 - first).find("--") != std::string_view::npos)
      fail("'--' inside a comment");
  }

  void step() {
    if (text_[next_] != '<') return content();
    if (closed_) return fail("something follows the end of <topology>");
    if (at("<!--")) return comment();
    if (at("</")) return close();
    return open();
  }

  void content() {
    const std::size_t end = std::min(text_.find('<', next_), text_.size());
    if (open_.empty() && std::any_of(text_.begin() + static_cast<std::ptrdiff_t>(next_),
                                     text_.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return !is_space(c); }))
      return fail("text outside the elements");
    characters(end);
  }

  // Text or an attribute's value, up to `end`.
  void characters(std::size_t end) {
    for (; next_ < end; ++next_) {
      const auto c = static_cast<unsigned char>(text_[next_]);
      if ((c < 0x20 && !is_space(text_[next_])) || c >= 0x7f) return fail("a character that hwloc never writes");
      if (text_.substr(next_, 3) == "]]>") return fail("']]>' in text");
      if (c != '&') continue;
      const std::string_view reference = text_.substr(next_, std::min<std::size_t>(8, end - next_));
      constexpr std::string_view known[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#9;", "&#10;", "&#13;",
                                            "&#xa;", "&#xA;", "&#xd;", "&#xD;", "&#x9;"};
      if (std::ranges::none_of(known, [&](std::string_view one) { return reference.starts_with(one); }))
        return fail("an unknown '&' reference");
    }
  }

  void close() {
    next_ += 2;
    const std::string_view closing = name();
    skip_space();
    if (!at(">")) return fail("'>' missing after '</" + std::string(closing) + "'");
    if (open_.empty() || open_.back() != closing)
      return fail("</" + std::string(closing) + "> closes " +
                  (open_.empty() ? "nothing" : "<" + std::string(open_.back()) + ">"));
    ++next_;
    open_.pop_back();
    closed_ = open_.empty();
  }

  void open() {
    ++next_;
    const std::string_view opening = name();
    if (opening.empty()) return fail("no element name after '<'");
    std::vector<std::string_view> given;
    for (;;) {
      const bool spaced = next_ < text_.size() && is_space(text_[next_]);
      skip_space();
      if (next_ >= text_.size()) return fail("the file ends inside <" + std::string(opening) + ">: it is truncated");
      if (at("/>")) {
        next_ += 2;
        closed_ = open_.empty();
        return;
      }
      if (at(">")) {
        ++next_;
        if (open_.size() >= 64) return fail("elements are nested too deep");
        open_.push_back(opening);
        return;
      }
      if (!spaced) return fail("broken attribute in <" + std::string(opening) + ">");
      if (!attribute(opening, given)) return;
    }
  }

  bool attribute(std::string_view element, std::vector<std::string_view> &given) {
    const std::string_view key = name();
    if (key.empty() || !at("=\"")) return fail("broken attribute in <" + std::string(element) + ">"), false;
    if (std::ranges::count(given, key) != 0) return fail("attribute '" + std::string(key) + "' is given twice"), false;
    given.push_back(key);
    next_ += 2;
    const auto end = text_.find('"', next_);
    if (end == std::string_view::npos) {
      fail("the value of '" + std::string(key) + "' never ends: the file is truncated");
      return false;
    }
    if (text_.substr(next_, end - next_).find('<') != std::string_view::npos)
      return fail("'<' in the value of '" + std::string(key) + "'"), false;
    characters(end);
    next_ = end + 1;
    return what_.empty();
  }

  std::string_view text_;
  std::size_t next_ = 0;
  std::vector<std::string_view> open_;
  bool closed_ = false;  // the <topology> element is complete
  std::string what_;
};

}  // namespace

Status check_xml(std::string_view text) { return Checker(text).run(); }

}  // namespace coll::topo
