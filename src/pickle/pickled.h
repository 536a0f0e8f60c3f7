// Python's pickle format for plain data: https://docs.python.org/3/library/pickletools.html
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::pickle {

struct PickledValue {
  enum class Kind { kNone, kBool, kInteger, kFloat, kText, kTuple, kList, kDict };

  Kind kind = Kind::kNone;
  int64_t integer = 0;  // also for kBool
  double number = 0;
  std::string text;                        // or bytes
  std::vector<const PickledValue*> items;  // of kDict: a key, its value, the next key, ...

  // Returns the value of this key in a dict; kNone if it is missing.
  const PickledValue& operator[](std::string_view key) const;
  // Returns an element of a list or tuple; kNone beyond its end.
  const PickledValue& At(size_t index) const;
};

// Owns the values of a pickle. Not thread-safe.
class Pickled {
 public:
  // Supports protocols 2 to 5. The bytes are untrusted: operations that call or import Python
  // objects are errors and are not executed. A value may be in many places, and within itself. The
  // number of values, and of the places that they are in, is limited.
  static Result<Pickled> Read(std::string_view bytes);

  const PickledValue& root() const { return *root_; }

 private:
  friend class PickleReader;
  std::deque<PickledValue> values_;
  const PickledValue* root_ = nullptr;
};

// Reads a pickle, and returns its values as a new one, in which no operation is from the first. Any
// reader of pickles may load the result: it contains only values of the kinds above.
Result<std::string> Rewrite(std::string_view bytes);

}  // namespace autodist::pickle
