// Recognizes in one stream of a program the message that says why it ends: a Python exception, a
// C++ terminate, an abort of the C library, errors of CUDA, NCCL, MPI and XLA.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chief/output/peer_complaints.h"
#include "chief/output/python_traceback.h"

namespace autodist::chief {

struct FatalMessage {
  // The heavier of two messages counts; of equal ones, the later.
  enum class Weight : uint8_t {
    kHint,    // the program may have survived it
    kLikely,  // fatal to a part of the program, or a consequence of a fatal message
    kFatal,   // the last message of such a program
  };
  Weight weight;
  std::string text;                                          // in one line
  std::vector<std::string> lines;                            // as written
  std::chrono::steady_clock::time_point time = {};           // time of arrival
  enum class Kind : uint8_t { kOther, kTraceback, kShell };  // of Python; by a shell
  Kind kind = Kind::kOther;
  bool text_follows = false;  // what() of a C++ exception, or Rust's message, has not arrived
};

// More lines than a program writes while it ends: an earlier message was caught.
inline constexpr uint32_t kMaxLinesAtTheEnd = 100;

// A rank's fatal message.
struct RankFailure {
  uint32_t rank = 0;
  FatalMessage message;
};

// Accepts any lines; keeps a bounded amount. For a line without a message, checks only its ends and
// searches for one letter and one word.
class FatalMessages {
 public:
  // `by_shells`: recognizes messages of shells, which write them to stderr only.
  explicit FatalMessages(std::string working_directory, bool by_shells = true)
      : working_directory_(std::move(working_directory)), by_shells_(by_shells) {}

  // Takes a line without its line break, at `now`.
  void Take(std::string_view line, std::chrono::steady_clock::time_point now = {});

  const std::optional<FatalMessage>& last() const { return last_; }
  // Number of lines after it.
  uint32_t lines_since() const { return since_; }
  // What NCCL's watchdog wrote last.
  const std::optional<EnqueuedCollectives>& enqueued() const { return enqueued_; }

 private:
  using Weight = FatalMessage::Weight;

  bool Continue(std::string_view line);
  bool ContinueText(std::string_view line);
  void BeginTraceback(std::string_view line);
  void RecordTraceback();
  void TakeBackTraceback();
  void Recognise(std::string_view line);
  void RecogniseBeginning(std::string_view line);
  void RecogniseLibraries(std::string_view whole_line);
  // Returns whether it counts.
  bool Record(Weight weight, std::string_view text, std::string_view line);
  bool Replaces(Weight weight, bool traceback) const;

  std::string working_directory_;
  bool by_shells_;
  std::chrono::steady_clock::time_point now_{};
  std::optional<FatalMessage> last_;
  std::optional<FatalMessage> replaced_;      // by the last traceback
  uint32_t since_ = 0;                        // lines since the last message
  bool last_is_of_child_ = false;             // the end of a child process
  std::string last_prefix_;                   // of a traceback
  std::optional<PythonTraceback> traceback_;  // incomplete
  Weight traceback_weight_ = Weight::kFatal;
  std::string cause_;   // the exception that caused the current one
  uint32_t noise_ = 0;  // unrelated lines within the current message
  std::string before_;  // announces the kind of the next traceback
  uint32_t usage_ = 0;  // lines of argparse's usage that may follow; an error ends it
  std::optional<EnqueuedCollectives> enqueued_;
};

}  // namespace autodist::chief
