// A table as text, of columns that line up in a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace autodist::base {

using TextRow = std::vector<std::string>;

// A line of each row, two blanks between columns, none at the end. All rows have as many cells as
// the first, of UTF-8, each character of which takes one column. `width`, if not 0: columns that a
// line has at most, for which the last cell is cut, "./train --lr…".
std::string TextTable(const std::vector<TextRow>& rows, size_t width = 0);

// The column, from 0, at which the last cells begin.
size_t LastColumn(const std::vector<TextRow>& rows);

}  // namespace autodist::base
