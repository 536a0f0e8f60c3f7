#include "base/text_table.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/text_width.h"
#include "base/utf8.h"

namespace autodist::base {
namespace {

constexpr size_t kBetweenColumns = 2;

// Removes the first character, or a byte that is none; returns its width.
size_t TakeCharacter(std::string_view& text) {
  const size_t length = Utf8CharacterLength(text);
  const size_t columns = length == 0 ? 1 : ColumnsOf(CodePoint(text.substr(0, length)));
  text.remove_prefix(std::max<size_t>(length, 1));
  return columns;
}

size_t Columns(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) columns += TakeCharacter(text);
  return columns;
}

// The widths of all columns but the last, with the blanks behind each.
std::vector<size_t> Widths(const std::vector<TextRow>& rows) {
  std::vector<size_t> widths(rows.front().size() - 1);
  for (const TextRow& row : rows) {
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], Columns(row[i]) + kBetweenColumns);
    }
  }
  return widths;
}

size_t Sum(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), size_t{0});
}

}  // namespace

std::string CutTo(const std::string& text, size_t columns) {
  if (Columns(text) <= columns) return text;
  std::string_view rest = text;
  size_t kept = 0;
  for (size_t used = TakeCharacter(rest); used < columns; used += TakeCharacter(rest)) {
    kept = text.size() - rest.size();
  }
  return text.substr(0, kept) + "…";
}

size_t LastColumn(const std::vector<TextRow>& rows) { return Sum(Widths(rows)); }

std::string TextTable(const std::vector<TextRow>& rows, size_t width) {
  const std::vector<size_t> widths = Widths(rows);
  const size_t last = Sum(widths);
  std::string text;
  for (const TextRow& row : rows) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      line += row[i] + std::string(widths[i] - Columns(row[i]), ' ');
    }
    line += width > last + 1 ? CutTo(row.back(), width - last) : row.back();
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace autodist::base
