// A report before it is HTML or Markdown: what it says, in its order. All text is as it came, from
// ranks and nodes, too: whoever writes it down makes it harmless.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace autodist::report {

// How something is to be taken; with a glyph of its own.
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

// Lines as they were written.
struct Lines {
  std::string text;
};

// What is named and what it is, a short list of them.
struct Facts {
  struct Fact {
    std::string name;
    Cell value;
  };
  std::vector<Fact> facts;
};

struct Table {
  std::vector<Cell> heading;  // of the kind of its column
  std::vector<std::vector<Cell>> rows;
};

// Parts of one whole.
struct Shares {
  struct Part {
    std::string name;
    double share;  // 0 to 1
    std::string value;
    Severity tone;
  };
  std::vector<Part> parts;
};

// A value over the time of the job.
struct Curve {
  std::string name;
  std::vector<std::optional<double>> heights;  // at even times, 0 to 1; absent: not known
  std::string least;                           // of all, as the value is read
  std::string most;
  std::string last;
  std::vector<double> attempts;  // where each began that was not the first, 0 to 1
  std::string begin;             // times
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
  std::string command;  // empty: not known
  std::string state;
  Severity tone = Severity::kPlain;
  std::vector<Block> summary;  // before the first heading
  std::vector<Section> sections;
};

}  // namespace autodist::report
