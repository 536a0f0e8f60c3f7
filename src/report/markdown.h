// A report as Markdown, as GitHub and others show it.
#pragma once

#include <string>

#include "report/document.h"

namespace autodist::report {

// What the document's text looks like is never taken for Markdown or HTML. Pure.
std::string MarkdownOf(const Document& document);

}  // namespace autodist::report
