// Recognises, among all that a program writes to one stream, what says why it ends: a Python
// exception, a C++ terminate, an abort of the C library, errors of CUDA, NCCL, MPI and XLA.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chief/output/python_traceback.h"

namespace autodist::chief {

struct FatalMessage {
  // Of two, that which says more counts, and of such as say the same, the later.
  enum class Weight : uint8_t {
    kHint,    // it may have been survived
    kLikely,  // it is fatal to a part of the program, or the consequence of what is
    kFatal,   // the last that such a program says
  };
  Weight weight;
  std::string text;                                 // in one line
  std::vector<std::string> lines;                   // as they were written
  std::chrono::steady_clock::time_point time = {};  // when it came
};

// More lines than a program writes as it ends: what was told before them was caught.
inline constexpr uint32_t kMaxLinesAtTheEnd = 100;

// What a rank has written that such a program says last.
struct RankFailure {
  uint32_t rank = 0;
  FatalMessage message;
};

// Lines are taken as they come, whatever they hold; what is kept is bounded. One that tells nothing
// costs a look at its ends and a search for one letter.
class FatalMessages {
 public:
  explicit FatalMessages(std::string working_directory)
      : working_directory_(std::move(working_directory)) {}

  // Without its line break; taken now.
  void Take(std::string_view line, std::chrono::steady_clock::time_point now = {});

  const std::optional<FatalMessage>& last() const { return last_; }
  // That have come after it.
  uint32_t lines_since() const { return since_; }

 private:
  using Weight = FatalMessage::Weight;

  bool Continue(std::string_view line);
  bool ContinueText(std::string_view line);
  void BeginTraceback(std::string_view line);
  void TellTraceback();
  void Recognise(std::string_view line);
  void RecogniseBeginning(std::string_view line);
  void RecogniseLibraries(std::string_view line);
  // Whether it counts.
  bool Tell(Weight weight, std::string_view text, std::string_view line);
  bool Replaces(Weight weight, bool traceback) const;

  std::string working_directory_;
  std::chrono::steady_clock::time_point now_{};
  std::optional<FatalMessage> last_;
  uint32_t since_ = 0;  // lines, since the last was told
  bool last_is_traceback_ = false;
  bool last_is_of_child_ = false;             // the end of a process that it had started
  std::string last_prefix_;                   // of a traceback
  std::optional<PythonTraceback> traceback_;  // that is being written
  Weight traceback_weight_ = Weight::kFatal;
  std::string cause_;          // the exception of which the one being written is a consequence
  uint32_t noise_ = 0;         // lines of others within what is being written
  bool text_follows_ = false;  // of the last: what() of a C++ exception, or Rust's message
  std::string before_;         // a line that tells what the next traceback is
  uint32_t usage_ = 0;         // lines of a usage that may come; argparse ends one with an error
};

}  // namespace autodist::chief
