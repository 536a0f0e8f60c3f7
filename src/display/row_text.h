// Text of ranks in a row of the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace autodist::display {

// Without anything that a terminal would obey, but for colours (SGR of ECMA-48).
std::string Harmless(std::string_view text);

// The same, as much of it as fits into so many columns.
std::string Cut(std::string_view text, size_t columns);

// How many columns a character takes, as most terminals have it (Unicode's East Asian Width W and
// F, and marks): 0, 1 or 2.
size_t ColumnsOf(uint32_t code);

// What a bar is about, without how far it is: "train:" of "train:  12%|█▏ | 12/100". Two that are
// about the same are alike.
std::string BarLabel(std::string_view bar);

}  // namespace autodist::display
