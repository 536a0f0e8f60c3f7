// A report as data: its contents in order, before they become HTML or Markdown. Texts are
// unmodified, also those of ranks and nodes; the writers of HTML and Markdown must escape them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace autodist::report {

// The severity of a text; each has its own glyph.
enum class Severity { kPlain, kRunning, kSlow, kBad, kAway };

struct Cell {
  enum class Kind { kText, kNumber, kCode };
  std::string text;
  Kind kind = Kind::kText;
  Severity tone = Severity::kPlain;
};

struct Paragraph {
  std::string text;
  Severity tone = Severity::kPlain;
};

// Lines shown as they were written.
struct Lines {
  std::string text;
};

// A short list of names with values.
struct Facts {
  struct Fact {
    std::string name;
    Cell value;
  };
  std::vector<Fact> facts;
};

struct Table {
  std::vector<Cell> heading;  // each cell with the kind of the column
  std::vector<std::vector<Cell>> rows;
};

// Shares of a total.
struct Shares {
  struct Part {
    std::string name;
    double share;  // 0 to 1
    std::string value;
    Severity tone;
  };
  std::vector<Part> parts;
};

// A value over the job's time.
struct Curve {
  std::string name;
  std::vector<std::optional<double>> heights;  // at equal intervals, 0 to 1; absent: unknown
  std::string least;                           // the minimum, formatted
  std::string most;
  std::string last;
  std::vector<double> attempts;  // starts of the attempts after the first, 0 to 1
  std::string begin;             // times of both ends
  std::string end;
};

struct Curves {
  std::vector<Curve> curves;
};

using Block = std::variant<Paragraph, Lines, Facts, Table, Shares, Curves>;

struct Section {
  std::string heading;
  std::vector<Block> blocks;
};

struct Document {
  std::string title;
  std::string command;  // empty: unknown
  std::string state;
  Severity tone = Severity::kPlain;
  std::vector<Block> summary;  // before the first heading
  std::vector<Section> sections;
};

// "✕ ", because severities are never shown by color alone; empty for kPlain.
inline std::string GlyphOf(Severity tone) {
  switch (tone) {
    case Severity::kRunning:
      return "● ";
    case Severity::kSlow:
      return "▲ ";
    case Severity::kBad:
      return "✕ ";
    case Severity::kAway:
      return "↻ ";
    case Severity::kPlain:
      break;
  }
  return "";
}

}  // namespace autodist::report
