// Parses the frames that py-spy and gdb print, and selects the informative ones. Pure logic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::why {

struct StackFrame {
  std::string function;
  std::string file;  // or library; "": unknown
  std::string line;  // "": unknown
};

struct ThreadStack {
  enum class Language { kPython, kNative };
  Language language = Language::kNative;
  std::vector<StackFrame> frames;  // innermost first

  // Index of the innermost frame that is not only about waiting or calling; frames.size(): no such
  // frame, also below.
  size_t Informative() const;
  // Index of the innermost frame that has a name.
  size_t Named() const;
  // Index of the innermost frame from `at` on that belongs neither to the system nor to a package.
  size_t UserFrame(size_t at) const;
  // It only waits for another process.
  bool AwaitsProcess() const;
};

// Parses all threads with readable frames; the main one is first, and may have no frames. `lines`
// are py-spy's or gdb's of one process. Empty: no thread has frames.
std::vector<ThreadStack> Threads(const std::vector<std::string_view>& lines,
                                 ThreadStack::Language language);

// The file as users know it: without the folder of packages or the standard library, or `folder`.
std::string ShortFile(const std::string& file, const std::string& folder);
// "backward" of Python's "Tensor.backward".
std::string_view MethodOf(const StackFrame& frame);
// A C++ name without arguments, template arguments and return type: "gloo::allreduce".
std::string_view PlainName(std::string_view function);

}  // namespace autodist::why
