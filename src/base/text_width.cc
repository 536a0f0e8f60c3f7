#include "base/text_width.h"

namespace autodist::base {

size_t ColumnsOf(uint32_t code) {
  struct Range {
    uint32_t first, last;
    size_t columns;
  };
  static constexpr Range kOthers[] = {
      {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2}, {0x200B, 0x200F, 0}, {0x20D0, 0x20FF, 0},
      {0x2E80, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2}, {0xF900, 0xFAFF, 2}, {0xFE00, 0xFE0F, 0},
      {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2}, {0xFFE0, 0xFFE6, 2}, {0x1F300, 0x1FAFF, 2},
      {0x20000, 0x3FFFD, 2},
  };
  for (const Range& range : kOthers) {
    if (code >= range.first && code <= range.last) return range.columns;
  }
  return 1;
}

}  // namespace autodist::base
