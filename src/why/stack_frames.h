// The frames in what py-spy and gdb write, and which of them tell something. Pure logic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::why {

struct StackFrame {
  std::string function;
  std::string file;  // or library; "": not known
  std::string line;  // "": not known
};

struct ThreadStack {
  enum class Language { kPython, kNative };
  Language language = Language::kNative;
  std::vector<StackFrame> frames;  // the innermost first

  // The place in `frames` of the innermost one that is not only about waiting, or calling.
  // frames.size(): there is none, as below.
  size_t Telling() const;
  // That of the innermost one that has a name.
  size_t Named() const;
  // That of the innermost one from `at` on which is neither of the system's nor of a package's.
  size_t UsersOwn(size_t at) const;
  // It does nothing but wait for another process.
  bool AwaitsProcess() const;
};

// Of all threads that have frames that can be read, the main one first, which may have none.
// `lines` are py-spy's, or gdb's, of one process; none of any thread: empty.
std::vector<ThreadStack> Threads(const std::vector<std::string_view>& lines,
                                 ThreadStack::Language language);

// As a person knows the file: without where packages or the standard library are, or `folder`.
std::string ShortFile(const std::string& file, const std::string& folder);
// A name in C++ without arguments, templates' arguments and what it returns: "gloo::allreduce".
std::string_view PlainName(std::string_view function);

}  // namespace autodist::why
