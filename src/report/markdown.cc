#include "report/markdown.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "base/utf8.h"
#include "report/document.h"

namespace autodist::report {
namespace {

// The longest run of backticks; the fence must be longer.
size_t LongestRun(std::string_view text) {
  size_t longest = 0;
  size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// Whether a list, a heading or a rule could begin at this position.
bool MayBeginBlock(const std::string& text, size_t at) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text[at] == '.' || text[at] == ')') {
    const bool ends = at + 1 == text.size() || text[at + 1] == ' ';
    return ends && at > 0 && std::all_of(text.begin(), text.begin() + static_cast<long>(at), digit);
  }
  return at == 0 && (text[at] == '-' || text[at] == '+' || text[at] == '=');
}

// Escapes the text; addresses in it do not become links.
std::string MarkdownText(const std::string& raw) {
  constexpr std::string_view kSpecial = "\\`*_[]<>|#~&$!";
  const std::string text = base::Printable(raw);
  std::string markdown;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view before = std::string_view(text).substr(0, i);
    const bool link = (text[i] == '/' && before.ends_with(":")) ||
                      (text[i] == '.' && (before.ends_with("www") || before.ends_with("WWW")));
    if (link || kSpecial.find(text[i]) != std::string_view::npos || MayBeginBlock(text, i)) {
      markdown += '\\';
    }
    markdown += text[i];
  }
  return markdown;
}

// In a table, '|' ends a cell even within code.
std::string MarkdownCode(const std::string& raw, bool in_table) {
  std::string text = base::Printable(raw);
  if (text.empty()) return "";
  if (in_table) text = absl::StrReplaceAll(text, {{"|", "\\|"}});
  const std::string fence(LongestRun(text) + 1, '`');
  return fence + " " + text + " " + fence;
}

std::string MarkdownCell(const Cell& cell, bool in_table) {
  const std::string text =
      cell.kind == Cell::Kind::kCode ? MarkdownCode(cell.text, in_table) : MarkdownText(cell.text);
  return GlyphOf(cell.tone) + text;
}

std::string MarkdownRow(const std::vector<Cell>& row) {
  std::string text = "|";
  for (const Cell& cell : row) text += " " + MarkdownCell(cell, true) + " |";
  return text + "\n";
}

// The curve reduced to a few columns: "▁▂▄▇".
std::string Sparkline(const Curve& curve) {
  constexpr size_t kColumns = 40;
  constexpr const char* kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t size = curve.heights.size();
  std::string line;
  for (size_t column = 0; column < kColumns; ++column) {
    double sum = 0;
    int count = 0;
    for (size_t i = column * size / kColumns; i < (column + 1) * size / kColumns; ++i) {
      if (!curve.heights[i]) continue;
      sum += *curve.heights[i];
      ++count;
    }
    if (count == 0) {
      line += " ";
      continue;
    }
    line += kLevels[static_cast<size_t>(std::clamp(sum / count * 8, 0.0, 7.0))];
  }
  return line;
}

// Formats each kind of block.
struct BlockMarkdown {
  std::string operator()(const Paragraph& paragraph) const {
    return GlyphOf(paragraph.tone) + MarkdownText(paragraph.text) + "\n\n";
  }
  std::string operator()(const Lines& lines) const {
    const std::string text = base::PrintableLines(lines.text);
    const std::string fence(std::max<size_t>(LongestRun(text) + 1, 3), '`');
    return fence + "text\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n\n";
  }
  std::string operator()(const Facts& facts) const {
    std::string text;
    for (const Facts::Fact& fact : facts.facts) {
      text += "* " + MarkdownText(fact.name) + ": " + MarkdownCell(fact.value, false) + "\n";
    }
    return text.empty() ? text : text + "\n";
  }
  std::string operator()(const Table& table) const {
    std::string text = MarkdownRow(table.heading) + "|";
    for (const Cell& cell : table.heading) {
      text += cell.kind == Cell::Kind::kNumber ? "---:|" : "---|";
    }
    text += "\n";
    for (const std::vector<Cell>& row : table.rows) text += MarkdownRow(row);
    return text + "\n";
  }
  std::string operator()(const Shares& shares) const {
    constexpr Cell::Kind kNumber = Cell::Kind::kNumber;
    Table table{{{""}, {"time", kNumber}, {"share", kNumber}}, {}};
    for (const Shares::Part& part : shares.parts) {
      table.rows.push_back({{part.name}, {part.value}, {base::Percent(part.share)}});
    }
    return (*this)(table);
  }
  std::string operator()(const Curves& curves) const {
    constexpr Cell::Kind kNumber = Cell::Kind::kNumber;
    Table table{{{""}, {"course"}, {"least", kNumber}, {"most", kNumber}, {"last", kNumber}}, {}};
    for (const Curve& curve : curves.curves) {
      table.rows.push_back(
          {{curve.name}, {Sparkline(curve)}, {curve.least}, {curve.most}, {curve.last}});
    }
    const Curve& any = curves.curves.front();
    return (*this)(table) + "From " + any.begin + " to " + any.end + ".\n\n";
  }
};

}  // namespace

std::string MarkdownOf(const Document& document) {
  std::string text = "# " + MarkdownText(document.title) + "\n\n**" + GlyphOf(document.tone) +
                     MarkdownText(document.state) + "**\n\n";
  if (!document.command.empty()) text += MarkdownCode(document.command, false) + "\n\n";
  for (const Block& block : document.summary) text += std::visit(BlockMarkdown{}, block);
  for (const Section& section : document.sections) {
    text += "## " + MarkdownText(section.heading) + "\n\n";
    for (const Block& block : section.blocks) text += std::visit(BlockMarkdown{}, block);
  }
  text.pop_back();  // the last empty line
  return text;
}

}  // namespace autodist::report
