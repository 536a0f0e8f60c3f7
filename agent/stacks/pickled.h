// Python's pickle format, of plain data: https://docs.python.org/3/library/pickletools.html
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::agent {

struct PickledValue {
  enum class Kind { kNone, kBool, kInteger, kFloat, kText, kList, kDict };  // a tuple is a list

  Kind kind = Kind::kNone;
  int64_t integer = 0;  // of kBool, too
  double number = 0;
  std::string text;                        // or bytes
  std::vector<const PickledValue*> items;  // of kDict: a key, its value, the next key, ...

  // Of a dict: the value of this key; one of kNone where there is none.
  const PickledValue& operator[](std::string_view key) const;
  // Of a list; one of kNone beyond its end.
  const PickledValue& At(size_t index) const;
};

// Owns what a pickle has. Not thread-safe.
class Pickled {
 public:
  // Protocols 2 to 5. Whatever would call or import something of Python's is an error, not done:
  // the bytes may be of anybody. A value may be in many places, and within itself.
  static Result<Pickled> Read(std::string_view bytes);

  const PickledValue& root() const { return *root_; }

 private:
  friend class PickleReader;
  std::deque<PickledValue> values_;
  const PickledValue* root_ = nullptr;
};

}  // namespace autodist::agent
