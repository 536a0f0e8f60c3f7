#include "why/stack_frames.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

namespace autodist::why {
namespace {

using Language = ThreadStack::Language;

constexpr size_t kNowhere = std::string_view::npos;

template <size_t kCount>
bool IsOne(const std::array<std::string_view, kCount>& of, std::string_view text) {
  return std::ranges::find(of, text) != of.end();
}

template <size_t kCount>
bool BeginsWithOne(const std::array<std::string_view, kCount>& of, std::string_view text) {
  return std::ranges::any_of(of, [text](std::string_view one) { return text.starts_with(one); });
}

// Folders of packages; below them, files have their familiar names.
constexpr std::array<std::string_view, 2> kPackages = {"/site-packages/", "/dist-packages/"};

// Files of the standard library that wait on behalf of their caller, or pass calls on.
constexpr std::array<std::string_view, 10> kWaitingFiles = {
    "threading.py", "queue.py",  "selectors.py", "subprocess.py", "socket.py",
    "ssl.py",       "signal.py", "runpy.py",     "contextlib.py", "socketserver.py"};
constexpr std::array<std::string_view, 3> kWaitingFolders = {"multiprocessing/", "asyncio/",
                                                             "concurrent/futures/"};
// Files of PyTorch that do so.
constexpr std::array<std::string_view, 4> kPassingFiles = {
    "torch/_ops.py", "torch/distributed/c10d_logger.py", "torch/utils/_contextlib.py",
    "torch/_dynamo/eval_frame.py"};

// Python files that wait for a process.
constexpr std::array<std::string_view, 4> kAwaitingFiles = {
    "subprocess.py", "multiprocessing/popen_fork.py", "multiprocessing/process.py",
    "torch/multiprocessing/spawn.py"};
// Files with which they wait.
constexpr std::array<std::string_view, 2> kPollingFiles = {"selectors.py",
                                                           "multiprocessing/connection.py"};
constexpr std::array<std::string_view, 4> kLauncherFolders = {
    "torch/distributed/elastic/", "torch/distributed/launcher/", "deepspeed/launcher/",
    "accelerate/commands/"};

// libc functions that wait, by name or its beginning; leading underscores are ignored.
constexpr std::array<std::string_view, 34> kWaitingFunctions = {
    "read",         "readv",     "pread64",     "read_nocancel", "write",       "writev",
    "recv",         "recvfrom",  "recvmsg",     "send",          "sendto",      "sendmsg",
    "accept",       "accept4",   "connect",     "poll",          "ppoll",       "select",
    "pselect",      "nanosleep", "sleep",       "usleep",        "pause",       "syscall",
    "wait3",        "wait4",     "waitpid",     "waitid",        "sched_yield", "sigsuspend",
    "sigtimedwait", "sigwait",   "sigwaitinfo", "start"};
// The same of libstdc++ and the Python interpreter.
constexpr std::array<std::string_view, 30> kWaitingFamilies = {"GI_",
                                                               "IO_",
                                                               "new_do_write",
                                                               "libc_",
                                                               "futex",
                                                               "do_futex",
                                                               "lll_",
                                                               "gthread_",
                                                               "std::mutex::lock",
                                                               "std::lock_guard",
                                                               "std::unique_lock",
                                                               "pthread_",
                                                               "sem_",
                                                               "new_sem_",
                                                               "epoll_",
                                                               "clock_nanosleep",
                                                               "internal_syscall",
                                                               "std::condition_variable",
                                                               "std::this_thread::",
                                                               "std::thread::join",
                                                               "std::future",
                                                               "std::_V2::condition_variable",
                                                               "Py",
                                                               "take_gil",
                                                               "method_vectorcall",
                                                               "cfunction_",
                                                               "object_vacall",
                                                               "slot_tp_",
                                                               "pymain_",
                                                               "run_mod"};
constexpr std::array<std::string_view, 4> kAwaitingFunctions = {"wait3", "wait4", "waitpid",
                                                                "waitid"};
// Source files of system libraries, as their debug information names them.
constexpr std::array<std::string_view, 14> kSystemFiles = {
    "./nptl/",   "./csu/",      "./io/",   "./misc/",  "./posix/",      "./time/",  "./socket/",
    "./signal/", "../sysdeps/", "../csu/", "../nptl/", "/usr/include/", "/usr/lib", "/usr/src/"};

std::string_view WithoutUnderscores(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return name;
}

// The path within Python's standard library: "threading.py" for "…/lib/python3.11/threading.py".
// "": not part of it.
std::string InStandardLibrary(const std::string& file) {
  size_t found = file.rfind("/lib/python3");
  if (found == kNowhere) found = file.rfind("/lib64/python3");
  if (found == kNowhere) return "";
  const size_t folder = file.find('/', file.find("/python3", found) + 1);
  return folder == kNowhere ? "" : file.substr(folder + 1);
}

std::string InPackages(const std::string& file) {
  for (const std::string_view packages : kPackages) {
    if (const size_t found = file.rfind(packages); found != kNowhere) {
      return file.substr(found + packages.size());
    }
  }
  return "";
}

bool IsUsers(const StackFrame& frame, Language language) {
  if (frame.file.empty() || frame.line.empty()) return false;
  if (language == Language::kNative) return !BeginsWithOne(kSystemFiles, frame.file);
  return !frame.file.starts_with('<') && InPackages(frame.file).empty() &&
         InStandardLibrary(frame.file).empty();
}

bool IsInformative(const StackFrame& frame, Language language) {
  if (language == Language::kNative) {
    // Without debug information, main shows only the program's name.
    return frame.function != "??" && (frame.function != "main" || !frame.file.empty()) &&
           !IsOne(kWaitingFunctions, WithoutUnderscores(frame.function)) &&
           !BeginsWithOne(kWaitingFamilies, WithoutUnderscores(frame.function));
  }
  if (IsOne(kPassingFiles, InPackages(frame.file))) return false;
  const std::string file = InStandardLibrary(frame.file);
  if (!InPackages(frame.file).empty() || file.empty()) return true;
  return !IsOne(kWaitingFiles, file) && !BeginsWithOne(kWaitingFolders, file);
}

// "    step (/home/me/train.py:41)", "    do_wait (libc.so.6)".
StackFrame PythonFrame(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const size_t place = line.rfind(" (");
  StackFrame frame{std::string(line.substr(0, place)), "", ""};
  if (place == kNowhere || !line.ends_with(')')) return frame;
  frame.file = line.substr(place + 2, line.size() - place - 3);
  if (const size_t colon = frame.file.rfind(':'); colon != kNowhere) {
    frame.line = frame.file.substr(colon + 1);
    frame.file.resize(colon);
  }
  return frame;
}

// Where the function's arguments begin: its name may contain "(anonymous namespace)".
size_t Arguments(std::string_view text) {
  size_t at = text.find(" (");
  while (at != kNowhere && text.substr(at + 1).starts_with("(anonymous"))
    at = text.find(" (", at + 2);
  return at;
}

// "#3  0x00007f… in ncclWait (comm=0x1) at src/wait.cc:5", "#0  main () from /lib/libm.so.6".
StackFrame NativeFrame(std::string_view line) {
  line.remove_prefix(std::min(line.find(' '), line.size()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.starts_with("0x")) {
    const size_t in = line.find(" in ");
    line.remove_prefix(in == kNowhere ? line.size() : in + 4);
  }
  const size_t arguments = Arguments(line);
  StackFrame frame{std::string(line.substr(0, arguments)), "", ""};
  if (arguments == kNowhere) return frame;
  const size_t at = line.rfind(") at ");
  const size_t from = line.rfind(") from ");
  if (at != kNowhere) {
    frame.file = line.substr(at + 5);
    if (const size_t colon = frame.file.rfind(':'); colon != kNowhere) {
      frame.line = frame.file.substr(colon + 1);
      frame.file.resize(colon);
    }
  } else if (from != kNowhere) {
    frame.file = line.substr(line.rfind('/') == kNowhere ? from + 7 : line.rfind('/') + 1);
  }
  return frame;
}

bool BeginsThread(std::string_view line) { return line.starts_with("Thread "); }

// The line that begins the main thread; lines.size(): none does. gdb shows it last: if it is
// missing, gdb was cut off, and the threads cannot be identified.
size_t MainThreadAt(const std::vector<std::string_view>& lines, Language language) {
  size_t first = lines.size();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!BeginsThread(lines[i])) continue;
    first = std::min(first, i);
    const bool is_main = language == Language::kPython ? lines[i].find("\"MainThread\"") != kNowhere
                                                       : lines[i].starts_with("Thread 1 ");
    if (is_main) return i;
  }
  return language == Language::kPython ? first : lines.size();
}

ThreadStack ThreadAt(const std::vector<std::string_view>& lines, size_t at, Language language) {
  ThreadStack stack;
  stack.language = language;
  for (size_t i = at + 1; i < lines.size() && !BeginsThread(lines[i]); ++i) {
    const bool python = language == Language::kPython;
    if (!lines[i].starts_with(python ? "  " : "#")) continue;
    StackFrame frame = python ? PythonFrame(lines[i]) : NativeFrame(lines[i]);
    if (!frame.function.empty()) stack.frames.push_back(std::move(frame));
  }
  return stack;
}

}  // namespace

size_t ThreadStack::Informative() const {
  for (size_t i = 0; i < frames.size(); ++i) {
    if (IsInformative(frames[i], language)) return i;
  }
  return frames.size();
}

size_t ThreadStack::Named() const {
  const auto named = [](const StackFrame& frame) { return frame.function != "??"; };
  return static_cast<size_t>(std::ranges::find_if(frames, named) - frames.begin());
}

size_t ThreadStack::UserFrame(size_t at) const {
  while (at < frames.size() && !IsUsers(frames[at], language)) ++at;
  return at;
}

bool ThreadStack::AwaitsProcess() const {
  if (frames.empty()) return false;
  if (language == Language::kNative) {
    // The caller may have no name.
    const auto awaits = [](const StackFrame& frame) {
      return IsOne(kAwaitingFunctions, WithoutUnderscores(frame.function)) ||
             frame.function.ends_with("wait4");
    };
    return std::any_of(frames.begin(),
                       frames.begin() + std::min<std::ptrdiff_t>(2, std::ssize(frames)), awaits);
  }
  // A sleep between two polls is not a frame, but a wait may span several files.
  for (const StackFrame& frame : frames) {
    const std::string package = InPackages(frame.file);
    const std::string file = package.empty() ? InStandardLibrary(frame.file) : package;
    if (IsOne(kAwaitingFiles, file) || BeginsWithOne(kLauncherFolders, package)) return true;
    if (!IsOne(kPollingFiles, file)) return false;
  }
  return false;
}

std::vector<ThreadStack> Threads(const std::vector<std::string_view>& lines, Language language) {
  const size_t main = MainThreadAt(lines, language);
  std::vector<ThreadStack> threads;
  if (main == lines.size()) return threads;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!BeginsThread(lines[i])) continue;
    ThreadStack thread = ThreadAt(lines, i, language);
    if (i == main) {
      threads.insert(threads.begin(), std::move(thread));
    } else if (!thread.frames.empty()) {
      threads.push_back(std::move(thread));
    }
  }
  return threads;
}

std::string ShortFile(const std::string& file, const std::string& folder) {
  if (!folder.empty() && file.starts_with(folder + "/")) return file.substr(folder.size() + 1);
  if (std::string package = InPackages(file); !package.empty()) return package;
  if (std::string standard = InStandardLibrary(file); !standard.empty()) return standard;
  return file;
}

std::string_view MethodOf(const StackFrame& frame) {
  const std::string_view name = frame.function;
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

std::string_view PlainName(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t end = 0;
  while (end < function.size() && function[end] != '<' && function[end] != '(') {
    ++end;
    if (function.substr(std::min(end, function.size())).starts_with(kAnonymous)) {
      end += kAnonymous.size();
    }
  }
  function = function.substr(0, end);
  size_t space = function.rfind(' ');
  // The space in "(anonymous namespace)" is part of the name.
  while (space != kNowhere && function.substr(space).starts_with(" namespace)")) {
    space = space == 0 ? kNowhere : function.rfind(' ', space - 1);
  }
  return space == kNowhere ? function : function.substr(space + 1);
}

}  // namespace autodist::why
