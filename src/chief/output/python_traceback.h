// What Python prints of an exception that nobody caught, read line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace autodist::chief {

// Or what rich and IPython print in its place. Its lines may come with a prefix, as PyTorch's
// "[rank0]: ", and with others' between them. Of several tracebacks in one, as of an exception
// group, the first that is no group counts.
class PythonTraceback {
 public:
  static constexpr size_t kMaxLineLength = 400;  // of what is kept

  // Whether a traceback begins with it: its header, or that of a fatal error, such as a
  // segmentation fault; or the place of a syntax error, which has none.
  static bool BeginsWith(std::string_view line);
  static bool IsHeader(std::string_view line);

  // `working_directory`: of the program; "~/..." for one in any home folder.
  PythonTraceback(std::string_view first_line, std::string_view working_directory);

  // Whether the line can be nothing but a part of it.
  bool Contains(std::string_view line) const;
  // The next line that its program writes; false where it is no part of it.
  bool Take(std::string_view line);
  // What comes before it in the report: the traceback of which this one is the consequence.
  void GoesAfter(std::deque<std::string> lines);

  // Whether the exception is told; lines may follow that say more.
  bool complete() const { return !exception_.empty(); }
  // Nothing more is to come.
  bool over() const { return over_; }

  // "TypeError: unsupported operand, train.py:41"; once it is complete.
  std::string Text() const;
  std::string ExceptionName() const;
  const std::string& prefix() const { return prefix_; }
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  enum class Kind { kTraceback, kGroup, kSyntaxError, kFatalError, kRich, kIPython };

  // How likely the person wrote the file: more is more.
  enum class Owner : uint8_t { kNone, kPackage, kSomebody, kJob };

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
  std::string group_;      // that of the group it is in
  std::string more_;       // what NCCL adds to it
  int lines_after_ = 0;
  bool last_error_follows_ = false;
  bool in_current_thread_ = false;
  bool over_ = false;
};

}  // namespace autodist::chief
