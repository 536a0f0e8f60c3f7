// A report as one page that needs nothing else.
#pragma once

#include <string>

#include "report/document.h"

namespace autodist::report {

// Runs no script and loads nothing, whatever the document's text is; light or dark as the reader
// has it. Pure.
std::string HtmlOf(const Document& document);

}  // namespace autodist::report
