// SPDX-License-Identifier: BSD-3-Clause
#include "tune/shipped.h"

#include <cassert>

namespace coll::tune {

const Book& shipped() {
  static const Book book = [] {
    Book made;
    for (const RulesText& file : rules_texts)
      if (!made.add(file.text, file.name).ok()) assert(false && "tests/tune reads all of them");
    return made;
  }();
  return book;
}

}  // namespace coll::tune
