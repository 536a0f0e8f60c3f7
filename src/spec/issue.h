// An issue in a spec file, with its position.
#pragma once

#include <string>

namespace autodist::spec {

// A position in the file.
struct Position {
  int line = 0;  // both from 1; 0: the whole file
  int column = 0;

  bool operator==(const Position&) const = default;
};

struct Issue {
  std::string file;
  int line = 0;      // from 1; 0: the whole file, or the value of an option
  int column = 0;    // from 1; 0: the whole line
  std::string what;  // the issue, and what is valid

  // Formats as "file:line:column: what", without numbers that are 0.
  std::string ToString() const;
};

}  // namespace autodist::spec
