// SPDX-License-Identifier: BSD-3-Clause
// The result of a topology function: success, or one sentence that describes the error and the fix.
#pragma once

#include <string>
#include <utility>

namespace coll::topo {

class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status error(std::string text) {
    Status status;
    status.text_ = std::move(text);
    return status;
  }
  bool ok() const { return text_.empty(); }
  const std::string &text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace coll::topo
