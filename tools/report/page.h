// SPDX-License-Identifier: BSD-3-Clause
// The page that shows a report: one template, built into collctl, with the data in its middle.
#pragma once

#include <string>

namespace coll::tools::report {

// "" or why collctl was built without the page.
std::string page_problem();

// REQUIRES: page_problem() is "". `json` may contain any text: it cannot end the element that holds it.
std::string page_with(const std::string& json);

}  // namespace coll::tools::report
