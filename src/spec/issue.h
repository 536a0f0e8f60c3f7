// What is wrong in a spec file, and where.
#pragma once

#include <string>

namespace autodist::spec {

// A place in the file.
struct Position {
  int line = 0;  // both from 1; 0 where the file as a whole is meant
  int column = 0;

  bool operator==(const Position&) const = default;
};

struct Issue {
  std::string file;
  int line = 0;      // from 1; 0 where the file as a whole is meant
  int column = 0;    // from 1; 0 where the line as a whole is meant
  std::string what;  // what is wrong, and what would be right

  // "file:line:column: what"
  std::string ToString() const;
};

}  // namespace autodist::spec
