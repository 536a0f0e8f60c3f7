// Glyphs for severities, which are never shown by color alone.
#pragma once

#include <string>

#include "report/document.h"

namespace autodist::report {

// "✕ "; empty for kPlain.
inline std::string GlyphOf(Severity tone) {
  switch (tone) {
    case Severity::kRunning:
      return "● ";
    case Severity::kSlow:
      return "▲ ";
    case Severity::kBad:
      return "✕ ";
    case Severity::kAway:
      return "↻ ";
    case Severity::kPlain:
      break;
  }
  return "";
}

}  // namespace autodist::report
