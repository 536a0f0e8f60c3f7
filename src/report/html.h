// Formats a report as one self-contained page.
#pragma once

#include <string>

#include "report/document.h"

namespace autodist::report {

// Runs no scripts and loads nothing, whatever the document's text is. Follows the reader's light or
// dark setting. Pure.
std::string HtmlOf(const Document& document);

}  // namespace autodist::report
