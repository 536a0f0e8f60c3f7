// Formats a table with aligned columns for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace autodist::base {

using TextRow = std::vector<std::string>;

// Returns one line for each row, two blanks between columns, no trailing blanks. All rows have as
// many cells as the first; cells are UTF-8. `width`, if not 0:
// the maximum width of a line, to which the last cell is cut: "./train --lr…".
std::string TextTable(const std::vector<TextRow>& rows, size_t width = 0);

// Returns the text, cut to this width if it is longer: "./train --lr…".
std::string CutTo(const std::string& text, size_t columns);

// Returns the column, from 0, at which the last cells begin.
size_t LastColumn(const std::vector<TextRow>& rows);

}  // namespace autodist::base
