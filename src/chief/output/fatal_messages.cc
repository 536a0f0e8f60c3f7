#include "chief/output/fatal_messages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <utility>

#include "base/split.h"
#include "base/utf8.h"

namespace autodist::chief {
namespace {

constexpr size_t kMaxFatalTextLength = 240;
constexpr size_t kMaxFatalLineLength = PythonTraceback::kMaxLineLength;
constexpr size_t kSearched = 256;             // bytes of a line that are searched
constexpr uint32_t kMaxNoise = 1'000;         // lines
constexpr uint32_t kForgottenAfter = 5'000;   // lines: it was survived
constexpr uint32_t kConsequenceWithin = 300;  // lines that may follow an exception until the end
constexpr uint32_t kMaxUsageLength = 200;     // lines

constexpr std::string_view kTerminate = "terminate called after throwing an instance of '";
constexpr std::string_view kWhat = "  what():  ";

// Beginnings of lines that are a message by themselves.
struct Beginning {
  std::string_view text;
  FatalMessage::Weight weight;
};
using Kind = FatalMessage::Kind;
constexpr FatalMessage::Weight kHint = FatalMessage::Weight::kHint;
constexpr FatalMessage::Weight kLikely = FatalMessage::Weight::kLikely;
constexpr FatalMessage::Weight kFatal = FatalMessage::Weight::kFatal;
constexpr Beginning kBeginnings[] = {
    {"terminate called", kLikely},
    {"libc++abi: terminating", kFatal},
    {"double free or corruption", kFatal},
    {"corrupted size vs. prev_size", kFatal},
    {"corrupted double-linked list", kFatal},
    {"free(): ", kFatal},
    {"malloc(): ", kFatal},
    {"malloc_consolidate(): ", kFatal},
    {"munmap_chunk(): ", kFatal},
    {"realloc(): ", kFatal},
    {"*** stack smashing detected ***", kFatal},
    {"*** buffer overflow detected ***", kFatal},
    {"Fatal error in ", kFatal},                // MPICH
    {"Abort(", kFatal},                         // MPICH
    {"MPI_ABORT was invoked on rank ", kHint},  // Open MPI, because of an earlier message, if any
    {"Fortran runtime error: ", kFatal},
    {"panic: ", kFatal},        // Go
    {"fatal error: ", kFatal},  // Go
};

// How shells name the signal that ended a program (strsignal of glibc).
constexpr std::string_view kSignals[] = {
    "Killed",         "Terminated",          "Segmentation fault",       "Aborted",
    "Bus error",      "Illegal instruction", "Floating point exception", "Trace/breakpoint trap",
    "Bad system call"};

// Messages of PyTorch's DataLoader about a worker that ended. The rank then fails as well, for
// example at its connection to the worker.
constexpr std::string_view kOfChild[] = {
    "ERROR: Unexpected segmentation fault encountered in worker",
    "ERROR: Unexpected bus error encountered in worker",
    "ERROR: Unexpected floating-point exception encountered in worker",
};

// First letters of all of these, and of lines that begin another message.
constexpr auto kFirstLetters = [] {
  std::array<bool, 256> first{};
  for (const Beginning& beginning : kBeginnings) {
    first[static_cast<unsigned char>(beginning.text[0])] = true;
  }
  for (const char other : {'=', 'D', 'T', 'E', ' ', 'u', '-', '/', '\xe2'})
    first[static_cast<unsigned char>(other)] = true;
  return first;
}();

bool IsConnection(std::string_view line) {
  return line.starts_with("During handling of the above exception") ||
         line.starts_with("The above exception was the direct cause");
}

// An exception because of another failure, which has its own messages.
bool IsConsequence(std::string_view exception) {
  return exception.ends_with("ChildFailedError") || exception.ends_with("CalledProcessError");
}

// Of two exceptions in a chain, the earlier is more specific if it knows what ended a process.
bool IsMoreSpecific(std::string_view earlier, std::string_view later) {
  return earlier.find("killed by signal") != std::string_view::npos &&
         later.find("exited unexpectedly") != std::string_view::npos;
}

// glog and Abseil: "F1123 05:15:06.123456 4711 file.cc:33] text".
std::string_view TextOfLogFatal(std::string_view line) {
  constexpr size_t kDate = 5;
  if (line.size() < kDate || line[0] != 'F' ||
      !std::all_of(line.begin() + 1, line.begin() + kDate,
                   [](unsigned char c) { return std::isdigit(c) != 0; })) {
    return "";
  }
  const size_t end = line.find("] ");
  return end == std::string_view::npos ? "" : line.substr(end + 2);
}

// "==4711==ERROR: AddressSanitizer: ..."
std::string_view TextOfSanitizer(std::string_view line) {
  constexpr std::string_view kMark = "==ERROR: ";
  const size_t mark = line.find(kMark);
  return line.starts_with("==") && mark != std::string_view::npos ? line.substr(mark + kMark.size())
                                                                  : "";
}

// An error of the interpreter itself (runpy.py, main.c): "/usr/bin/python3: No module named train".
std::string_view TextOfPython(std::string_view line) {
  const size_t end = line.find(": ");
  if (line[0] != '/' || end == std::string_view::npos) return "";
  std::string_view program = line.substr(0, end);
  program.remove_prefix(program.rfind('/') + 1);
  const bool python = program.starts_with("python") &&
                      program.find_first_not_of("0123456789.", 6) == std::string_view::npos;
  line.remove_prefix(end + 2);
  constexpr std::string_view kTexts[] = {"No module named ", "can't open file ",
                                         "can't find '__main__'", "Error while "};
  const bool known =
      std::ranges::any_of(kTexts, [&](std::string_view text) { return line.starts_with(text); });
  return python && known ? line : "";
}

std::string_view Trimmed(std::string_view line) {
  constexpr std::string_view kSpace = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  return line.substr(0, line.find_last_not_of(kSpace) + 1);
}

// Returns whether a shell reports with the line that a signal ended a program. bash: "train.sh:
// line 3:  4711 Killed                  python3 train.py", with only "  4711 Killed ... | python3
// train.py" for a later part of a pipeline; dash, and bash for SIGTERM: "Killed". zsh writes
// nothing.
bool IsOfShell(std::string_view line) {
  constexpr std::string_view kLine = ": line ";
  constexpr std::string_view kBlanks = "                        ";
  constexpr size_t kSignalColumn = kBlanks.size();  // bash pads a signal to this length
  const size_t script = line.find(kLine);
  bool with_pid = line.starts_with("  ");
  if (script != std::string_view::npos) {
    line.remove_prefix(script + kLine.size());
    if (!base::TakeNumber<uint32_t>(line) || !base::TakePrefix(line, ": ")) return false;
    with_pid = true;
  }
  if (with_pid) {
    line = Trimmed(line);
    if (!base::TakeNumber<uint32_t>(line) || !base::TakePrefix(line, " ")) return false;
  }
  const auto signal =
      std::ranges::find_if(kSignals, [&](auto text) { return base::TakePrefix(line, text); });
  if (signal == std::end(kSignals)) return false;
  const size_t padding = kSignalColumn - signal->size();
  if (with_pid && line.substr(0, padding) == kBlanks.substr(0, padding)) return true;
  base::TakePrefix(line, " (core dumped)");
  return line.empty();
}

// Replaces several spaces by one.
std::string InOneColumn(std::string_view line) {
  std::string text(Trimmed(line));
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), both_blank), text.end());
  return text;
}

}  // namespace

void FatalMessages::Take(std::string_view line, std::chrono::steady_clock::time_point now) {
  now_ = now;
  if (last_ && ++since_ > kForgottenAfter) last_.reset();
  if (Continue(line)) return;
  if (line.size() > 3) Recognise(line);
}

// Returns whether the line belongs only to the current message.
bool FatalMessages::Continue(std::string_view line) {
  const bool another = traceback_ && PythonTraceback::IsHeader(line) && !traceback_->Contains(line);
  if (traceback_ && !another) {
    const bool was_complete = traceback_->complete();
    const bool taken = traceback_->Take(line);
    if (taken && traceback_->complete()) RecordTraceback();
    // The line after an exception may be another message.
    if (taken) return !was_complete || traceback_->Contains(line);
    if (traceback_->over() || ++noise_ > kMaxNoise) traceback_.reset();
  }
  return last_ && last_->text_follows && ContinueText(line);
}

// what() of a C++ exception, or Rust's message.
bool FatalMessages::ContinueText(std::string_view line) {
  const bool what = line.starts_with(kWhat);
  if (!what && !last_->text.ends_with(':')) {
    last_->text_follows = since_ < kMaxNoise;
    return false;
  }
  last_->text_follows = false;
  if (what) line.remove_prefix(kWhat.size());
  if (last_->text.ends_with(':')) last_->text.pop_back();
  last_->text =
      base::Truncated(last_->text + ": " + std::string(Trimmed(line)), kMaxFatalTextLength);
  last_->lines.emplace_back((what ? std::string(kWhat) : "") +
                            base::Truncated(line, kMaxFatalLineLength));
  return true;
}

void FatalMessages::BeginTraceback(std::string_view line) {
  std::deque<std::string> cause;
  cause_.clear();
  if (IsConnection(before_) && last_ && last_->kind == Kind::kTraceback) {
    cause.assign(last_->lines.begin(), last_->lines.end());
    cause.insert(cause.end(), {"", before_, ""});
    cause_ = last_->text;
  }
  replaced_ = last_;
  // A thread's exception ends only the thread; an ignored exception ends nothing.
  traceback_weight_ = before_.starts_with("Exception in ")       ? kLikely
                      : before_.empty() || IsConnection(before_) ? kFatal
                                                                 : kHint;
  before_.clear();
  noise_ = 0;
  traceback_.emplace(line, working_directory_);
  if (!cause.empty()) traceback_->GoesAfter(std::move(cause));
  if (traceback_->complete()) RecordTraceback();
}

// Cython prints an ignored exception twice, before and after the line that says so. The traceback
// has only the frames up to where the exception is ignored.
void FatalMessages::TakeBackTraceback() {
  if (!last_ || !traceback_ || !traceback_->complete()) return;
  const bool of_program = std::ranges::any_of(
      last_->lines, [](const std::string& line) { return line.ends_with(", in <module>"); });
  if (of_program) return;
  traceback_.reset();
  last_ = std::move(replaced_);
  replaced_.reset();
}

void FatalMessages::RecordTraceback() {
  Weight weight = traceback_weight_;
  if (IsConsequence(traceback_->ExceptionName())) weight = std::min(weight, kLikely);
  // An abort is the consequence of an earlier message.
  std::string text = traceback_->Text();
  if (text.starts_with("Fatal Python error: Aborted")) weight = std::min(weight, kLikely);
  // Of several processes that write here, the first failure counts.
  const std::string& prefix = traceback_->prefix();
  const bool other = last_ && last_->weight == weight && last_prefix_.starts_with('[') &&
                     prefix.starts_with('[') && prefix != last_prefix_;
  if (IsMoreSpecific(cause_, text)) text = cause_;
  const bool of_child = last_is_of_child_ && since_ < kConsequenceWithin && BlamesPeer(text);
  if (other || of_child || !Replaces(weight, true)) {
    traceback_.reset();
    return;
  }
  last_ = FatalMessage{weight,
                       text,
                       {traceback_->lines().begin(), traceback_->lines().end()},
                       now_,
                       Kind::kTraceback};
  last_is_of_child_ = false;
  last_prefix_ = prefix;
  since_ = 0;
}

bool FatalMessages::Replaces(Weight weight, bool traceback) const {
  if (!last_ || weight > last_->weight) return true;
  if (weight < last_->weight) return false;
  // A program that ends because of an exception may also abort.
  return traceback || last_->kind != Kind::kTraceback || since_ > kConsequenceWithin;
}

bool FatalMessages::Record(Weight weight, std::string_view text, std::string_view line) {
  if (!Replaces(weight, false)) return false;
  last_ = FatalMessage{weight,
                       base::Truncated(Trimmed(text), kMaxFatalTextLength),
                       {base::Truncated(line, kMaxFatalLineLength)},
                       now_};
  last_is_of_child_ = false;
  last_prefix_.clear();
  since_ = 0;
  return true;
}

void FatalMessages::Recognise(std::string_view line) {
  const char last = line.back();
  if ((last == ':' || last == ')') && PythonTraceback::BeginsWith(line)) {
    return BeginTraceback(line);
  }
  if (last == '.' && (line.ends_with("' failed.") || line.ends_with("` failed.")) &&
      line.find("Assertion `") != std::string_view::npos) {
    // A failed assertion in CUDA is not yet the end.
    Record(line.ends_with("' failed.") ? kFatal : kLikely, line, line);
    return;
  }
  if (usage_ > 0 && usage_-- && line.substr(0, kSearched).find(": error: ") != line.npos) {
    Record(kLikely, line, line);
  }
  if (kFirstLetters[static_cast<unsigned char>(line[0])]) RecogniseBeginning(line);
  if (by_shells_ && IsOfShell(line.substr(0, kSearched)) &&
      Record(kLikely, InOneColumn(line), line)) {
    last_->kind = Kind::kShell;
    return;
  }
  RecogniseLibraries(line);
}

void FatalMessages::RecogniseBeginning(std::string_view line) {
  if (PythonTraceback::BeginsWith(line)) return BeginTraceback(line);
  constexpr std::string_view kSurvived[] = {"Exception ignored ",      "Exception in thread ",
                                            "Exception in callback ",  "Error in atexit",
                                            "Error in sys.excepthook", "--- Logging error ---"};
  if (IsConnection(line) ||
      std::ranges::any_of(kSurvived, [&](auto begin) { return line.starts_with(begin); })) {
    before_ = base::Truncated(line, kMaxFatalLineLength);
    if (line.starts_with("Exception ignored in: '")) TakeBackTraceback();
    return;
  }
  if (line.starts_with("usage: ")) usage_ = kMaxUsageLength;
  if (line.starts_with(kTerminate)) {
    const std::string_view type = line.substr(kTerminate.size());
    if (Record(kFatal, type.substr(0, type.rfind('\'')), line)) last_->text_follows = true;
    return;
  }
  if (line.starts_with("thread '") && line.find("' panicked at ") != std::string_view::npos) {
    if (Record(kFatal, line, line)) last_->text_follows = line.ends_with(':');
    return;
  }
  for (const std::string_view text :
       {TextOfLogFatal(line), TextOfSanitizer(line), TextOfPython(line)}) {
    if (!text.empty()) Record(kFatal, text, line);
  }
  for (const std::string_view begin : kOfChild) {
    if (line.starts_with(begin)) last_is_of_child_ = Record(kFatal, line, line);
  }
  for (const Beginning& beginning : kBeginnings) {
    if (beginning.text[0] == line[0] && line.starts_with(beginning.text)) {
      Record(beginning.weight, line, line);
    }
  }
}

// Recognizes errors of CUDA, NCCL and XLA anywhere in the line: all contain a C.
void FatalMessages::RecogniseLibraries(std::string_view whole_line) {
  const std::string_view line = whole_line.substr(0, kSearched);
  constexpr std::string_view kErrors[] = {"CUDA error",   "CUDA Error",   "Cuda error",
                                          "CUDA failure", "Cuda failure", "CUDA out of memory",
                                          "CCL error",    "CCL failure"};
  constexpr std::string_view kExhausted = "RESOURCE_EXHAUSTED: ";
  for (size_t at = line.find('C'); at != std::string_view::npos; at = line.find('C', at + 1)) {
    const std::string_view rest = line.substr(at);
    const std::string_view beginning = rest.substr(0, 3);
    if (beginning != "CUD" && beginning != "Cud" && beginning != "CCL" && beginning != "CE_") {
      continue;
    }
    if (rest.starts_with("CCL INFO")) return;
    if (rest.starts_with("CCL.cpp")) {
      if (auto enqueued = EnqueuedIn(whole_line)) enqueued_ = *std::move(enqueued);
    }
    if (rest.starts_with("CCL WARN ")) {
      Record(kHint, line.substr(at - std::min<size_t>(at, 1)), line);
      return;
    }
    if (std::ranges::any_of(kErrors, [&](auto error) { return rest.starts_with(error); })) {
      Record(kLikely, line, line);
      return;
    }
    if (rest.starts_with("CE_EXHAUSTED: ") && line.substr(0, at).ends_with("RESOUR")) {
      Record(kLikely, line.substr(at - kExhausted.find('C')), line);
      return;
    }
  }
}

}  // namespace autodist::chief
