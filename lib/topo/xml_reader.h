// SPDX-License-Identifier: BSD-3-Clause
// Reads the part of XML that hwloc writes, strictly: elements balanced, attributes quoted and given once, no
// character or reference that another reader would stumble over, no entity definitions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/status.h"

namespace coll::topo {

struct XmlAttribute {
  std::string_view name;
  std::string_view value;  // as written, references included
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

// Who is told what is read; a returned error ends the reading.
class XmlVisitor {
 public:
  virtual ~XmlVisitor() = default;
  virtual Status open(const XmlElement &element) = 0;
  virtual Status close() = 0;
};

// Errors say the line. `root` is the name that the outermost element must have.
Status read_xml(std::string_view text, std::string_view root, XmlVisitor &visitor);

}  // namespace coll::topo
