// The width of characters on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace autodist::base {

// The number of columns of a character on most terminals (Unicode's East Asian Width W and F, and
// combining marks): 0, 1 or 2.
size_t ColumnsOf(uint32_t code);

}  // namespace autodist::base
