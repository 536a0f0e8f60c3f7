#include "top/painter.h"

#include <string_view>

namespace autodist::top {
namespace {

// Synchronized output (DEC private mode 2026) if the terminal supports it; others ignore it.
constexpr char kBeginFrame[] = "\x1b[?2026h";
constexpr char kEndFrame[] = "\x1b[?2026l";
constexpr char kClear[] = "\x1b[0m\x1b[2J";
constexpr int kNamed = 8;
// Rewriting up to this many unchanged cells costs less than moving the cursor.
constexpr int kWorthGoing = 8;

void AddColour(std::string& text, int16_t colour, int first, Colours colours) {
  if (colour == kPlain || colours == Colours::kNone) return;
  if (colour < kNamed) {
    text += ";" + std::to_string(first + colour);
  } else if (colours == Colours::kAll) {
    text += ";" + std::to_string(first + 8) + ";5;" + std::to_string(colour);
  }
}

}  // namespace

Colours ColoursOf(const char* term, const char* colour_term, const char* no_colour) {
  if (no_colour && *no_colour) return Colours::kNone;
  const std::string_view name = term ? term : "";
  if (name.starts_with("vt")) return Colours::kNone;
  const bool many = name.find("256") != name.npos || name.find("direct") != name.npos ||
                    name.find("kitty") != name.npos || name.find("alacritty") != name.npos;
  return many || (colour_term && *colour_term) ? Colours::kAll : Colours::kNamed;
}

void Painter::SetStyle(const Style& style, std::string& text) {
  if (style == style_) return;
  style_ = style;
  text += "\x1b[0";
  if (style.bold) text += ";1";
  if (style.faint && colours_ != Colours::kAll) text += ";2";
  // Issues stay visible without colors.
  const bool marked = style.back != kPlain && style.back < kNamed;
  if (style.reverse || (marked && colours_ == Colours::kNone)) text += ";7";
  AddColour(text, style.fore, 30, colours_);
  AddColour(text, style.back, 40, colours_);
  text += 'm';
}

void Painter::DrawRow(const Frame& next, int row, std::string& text) {
  int cursor = -1;  // the cursor's column; -1: in another row
  for (int column = 0; column < next.columns(); ++column) {
    const Cell& cell = next.at(row, column);
    if (cell.glyph == 0) continue;  // drawn with the previous cell
    const bool second = column + 1 < next.columns() && next.at(row, column + 1).glyph == 0;
    const bool same =
        shown_.at(row, column) == cell && (!second || shown_.at(row, column + 1).glyph == 0);
    if (same) continue;
    if (cursor >= 0 && column - cursor <= kWorthGoing) {
      for (; cursor < column; ++cursor) {
        const Cell& between = next.at(row, cursor);
        if (between.glyph == 0) continue;
        SetStyle(between.style, text);
        AppendCharacter(text, between.glyph);
      }
    } else {
      text += "\x1b[" + std::to_string(row + 1) + ";" + std::to_string(column + 1) + "H";
    }
    SetStyle(cell.style, text);
    AppendCharacter(text, cell.glyph);
    cursor = column + (second ? 2 : 1);
  }
}

std::string Painter::Draw(const Frame& next) {
  const bool whole = shown_.columns() != next.columns() || shown_.rows() != next.rows();
  std::string text;
  if (whole) {
    text = kClear;
    style_ = {};
    shown_ = Frame(next.columns(), next.rows());  // blank, as the terminal is now
  }
  for (int row = 0; row < next.rows(); ++row) DrawRow(next, row, text);
  shown_ = next;
  return text.empty() ? text : kBeginFrame + text + kEndFrame;
}

}  // namespace autodist::top
