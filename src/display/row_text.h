// Fits text of ranks into a row of the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace autodist::display {

// Removes all terminal control sequences except colors (SGR of ECMA-48).
std::string Harmless(std::string_view text);

// Also cuts the text at `columns` columns.
std::string Cut(std::string_view text, size_t columns);

// The part of a bar without its progress: "train:" of "train:  12%|█▏ | 12/100". Bars of the same
// kind have the same label.
std::string BarLabel(std::string_view bar);

}  // namespace autodist::display
