// SPDX-License-Identifier: BSD-3-Clause
// A strict parser for the subset of XML that hwloc writes: balanced elements, quoted and unique attributes, only
// characters and references that hwloc writes, no entity definitions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/status.h"

namespace coll::topo {

struct XmlAttribute {
  std::string_view name;
  std::string_view value;  // as in the file, with unresolved references
};

struct XmlElement {
  std::string_view name;
  std::vector<XmlAttribute> attributes;
  const std::string_view *find(std::string_view attribute) const {
    for (const XmlAttribute &one : attributes)
      if (one.name == attribute) return &one.value;
    return nullptr;
  }
};

// Receives the elements in the order of the document. A returned error ends the parsing.
class XmlVisitor {
 public:
  virtual ~XmlVisitor() = default;
  virtual Status open(const XmlElement &element) = 0;
  virtual Status close() = 0;
};

// Parses `text`. Errors contain the line. `root` is the required name of the outermost element.
Status read_xml(std::string_view text, std::string_view root, XmlVisitor &visitor);

}  // namespace coll::topo
