// Files of /proc and /sys, whose content changes at each read, their text, and their counters.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/parse_number.h"

namespace autodist::agent {

// The buffer of the last read, shared by many files to avoid allocations.
class TextBuffer {
 public:
  // Reads the whole file at once, from the beginning; "" on failure. Valid until the next call.
  std::string_view Read(int fd);
  // Opens and reads a file; `path` is relative to the folder `at`, or absolute.
  std::string_view ReadAt(int at, const char* path);
  std::string_view Read(const std::string& path);

 private:
  std::string text_;
};

// A file that is read for each sample, and so kept open. Reopened after a failure.
class KernelFile {
 public:
  explicit KernelFile(std::string path) : path_(std::move(path)) {}

  std::string_view Read(TextBuffer& buffer);

 private:
  std::string path_;
  base::UniqueFd fd_;
};

// The functions below parse a text word by word, and never allocate.

// Removes the first line from `text`; returns it without its end.
inline std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  return line;
}

// Removes the first word, and the blanks before it; returns "" at the end.
inline std::string_view TakeWord(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = line.find_first_not_of(kBlanks);
  line.remove_prefix(begin == std::string_view::npos ? line.size() : begin);
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

using base::ParseNumber;

// Removes the next word, and parses it as a number; 0 if it is none.
template <typename Number>
Number TakeNumber(std::string_view& line) {
  return ParseNumber<Number>(TakeWord(line)).value_or(0);
}

inline void SkipWords(std::string_view& line, int count) {
  for (int i = 0; i < count; ++i) TakeWord(line);
}

using SampleTime = std::chrono::steady_clock::time_point;

// The rate of a growing counter. Pure logic.
class Rate {
 public:
  // Returns the rate per second since the previous count. nullopt: it is the first count, or
  // smaller than the previous one, as after a reset.
  std::optional<double> Next(uint64_t count, SampleTime now) {
    const uint64_t count_before = std::exchange(count_, count);
    const std::optional<SampleTime> before = std::exchange(time_, now);
    if (!before || *before >= now || count < count_before) return std::nullopt;
    return static_cast<double>(count - count_before) /
           std::chrono::duration<double>(now - *before).count();
  }

 private:
  uint64_t count_ = 0;
  std::optional<SampleTime> time_;
};

}  // namespace autodist::agent
