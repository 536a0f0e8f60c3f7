// Formats a report as Markdown, for GitHub and others.
#pragma once

#include <string>

#include "report/document.h"

namespace autodist::report {

// Escapes the document's text, so that it is never interpreted as Markdown or HTML. Pure.
std::string MarkdownOf(const Document& document);

}  // namespace autodist::report
