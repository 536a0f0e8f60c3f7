// Reads Python's report of an uncaught exception, line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::chief {

// Removes escape sequences that choose colours (ECMA-48: SGR). `buffer` holds the result if there
// were any.
std::string_view WithoutColours(std::string_view line, std::string& buffer);

// Returns the content of a line in a box drawn by rich, without its sides and blanks; other lines
// unchanged. The rules above and below a box yield only their title: "Traceback (most recent call
// last)".
std::string_view WithoutBox(std::string_view line);

// Returns the lines of a report with the number of lines instead of frames of installed packages,
// if it also has others: the log has all.
std::vector<std::string> WithoutPackages(const std::vector<std::string>& lines);

// Also reads the reports of rich and IPython. Lines may have a prefix, such as PyTorch's "[rank0]:
// ", and other lines between them. In a report with several tracebacks, such as an exception group,
// the first that is no group counts.
class PythonTraceback {
 public:
  static constexpr size_t kMaxLineLength = 400;  // of kept text

  // Returns whether a traceback begins with the line: its header, or the header of a fatal error
  // such as a segmentation fault, or the location of a syntax error, which has no header.
  static bool BeginsWith(std::string_view line);
  static bool IsHeader(std::string_view line);

  // `working_directory`: of the program; "~/..." for one in any home folder.
  PythonTraceback(std::string_view first_line, std::string_view working_directory);

  // Returns whether the line can only be a part of it.
  bool Contains(std::string_view line) const;
  // Takes the program's next line; false if it is no part of it.
  bool Take(std::string_view line);
  // Prepends the traceback that caused this one.
  void GoesAfter(std::deque<std::string> lines);

  // Returns whether the exception is known; more lines may follow.
  bool complete() const { return !exception_.empty(); }
  // No more lines follow.
  bool over() const { return over_; }

  // "TypeError: unsupported operand, train.py:41"; once it is complete.
  std::string Text() const;
  std::string ExceptionName() const;
  const std::string& prefix() const { return prefix_; }
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  enum class Kind { kTraceback, kGroup, kSyntaxError, kFatalError, kRich, kIPython };

  // How likely the user wrote the file; higher is likelier.
  enum class Owner : uint8_t { kNone, kPackage, kOther, kJob };

  static Kind KindOf(std::string_view first_line);
  std::string_view WithoutPrefix(std::string_view line) const;
  std::string_view WithoutDecoration(std::string_view line) const;
  bool TakeException(std::string_view line);
  bool TakeMore(std::string_view line, std::string_view text);
  void TakeFrame(std::string_view line);
  void TakePlace(std::string_view path, std::string_view number);
  bool TakeFatalErrorLine(std::string_view line);
  void Keep(std::string_view line);

  Kind kind_;
  std::string working_directory_;
  std::string prefix_;
  std::deque<std::string> lines_;
  std::string place_;  // "train.py:41"
  Owner owner_ = Owner::kNone;
  std::string exception_;  // its last line
  std::string group_;      // the enclosing group's exception
  std::string more_;       // NCCL's additional text
  int lines_after_ = 0;
  bool last_error_follows_ = false;
  bool in_current_thread_ = false;
  bool over_ = false;
};

}  // namespace autodist::chief
