// SPDX-License-Identifier: BSD-3-Clause
// The page of a report: a template, built into collctl, into which the data is inserted.
#pragma once

#include <string>

namespace coll::tools::report {

// Returns "", or why collctl was built without the page.
std::string page_problem();

// REQUIRES: page_problem() is "". `json` may contain any text: "<" is escaped.
std::string page_with(const std::string& json);

}  // namespace coll::tools::report
