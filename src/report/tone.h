// How tones are shown: never by a colour alone.
#pragma once

#include <string>

#include "report/document.h"

namespace autodist::report {

// "✕ "; empty: of a plain one.
inline std::string GlyphOf(Tone tone) {
  switch (tone) {
    case Tone::kRunning:
      return "● ";
    case Tone::kSlow:
      return "▲ ";
    case Tone::kBad:
      return "✕ ";
    case Tone::kAway:
      return "↻ ";
    case Tone::kPlain:
      break;
  }
  return "";
}

}  // namespace autodist::report
