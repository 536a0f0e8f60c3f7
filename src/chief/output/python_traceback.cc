#include "chief/output/python_traceback.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/quantity.h"
#include "base/utf8.h"

namespace autodist::chief {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kParameters = "0123456789;:";
constexpr std::array<std::string_view, 9> kEdges = {"│", "─", "╭", "╮", "╰", "╯", "┃", "━", " "};

bool RemoveEdge(std::string_view& line, bool at_begin) {
  for (const std::string_view edge : kEdges) {
    if (at_begin ? !line.starts_with(edge) : !line.ends_with(edge)) continue;
    if (at_begin) {
      line.remove_prefix(edge.size());
    } else {
      line.remove_suffix(edge.size());
    }
    return true;
  }
  return false;
}

bool IsOfBox(std::string_view line) {
  return std::any_of(kEdges.begin(), kEdges.end() - 1,
                     [&](std::string_view edge) { return line.starts_with(edge); });
}

constexpr std::string_view kHeader = "Traceback (most recent call last):";
constexpr std::string_view kBareHeader = "Traceback (most recent call last)";
constexpr std::string_view kGroupHeader = "+ Exception Group Traceback (most recent call last):";
constexpr std::string_view kFatalError = "Fatal Python error: ";
constexpr std::string_view kFile = "File \"";
constexpr size_t kMaxTracebackLines = 30;
constexpr size_t kMaxPrefixLength = 64;
constexpr int kMaxLinesAfter = 8;  // of an exception's own text

std::string_view WithoutSpaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

// All lines of an exception group except the first have a frame.
bool IsOfGroup(std::string_view line) {
  line = WithoutSpaces(line);
  return line.starts_with('|') || line.starts_with('+');
}

bool HasLetters(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

// Returns "name.Of.It" at the beginning of a line that may be an exception's: followed by ": ", ":"
// at the end, or nothing. Returns "" for any other line.
std::string_view ExceptionNameIn(std::string_view line) {
  const auto of_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '<' || c == '>';
  };
  const auto end = std::ranges::find_if_not(line, of_name) - line.begin();
  const std::string_view name = line.substr(0, static_cast<size_t>(end));
  const std::string_view rest = line.substr(name.size());
  if (name.empty() || name.back() == '.' || std::isdigit(static_cast<unsigned char>(name[0])) != 0)
    return "";
  if (!rest.empty() && rest != ":" && !rest.starts_with(": ")) return "";
  // Not "INFO: ..." nor "loss: ...": exceptions are in CamelCase, or have a module.
  const bool dotted = name.find('.') != std::string_view::npos;
  const bool lower =
      std::ranges::any_of(name, [](unsigned char c) { return std::islower(c) != 0; });
  const bool upper = std::isupper(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_';
  return lower && (dotted || upper) ? name : "";
}

bool IsGroup(std::string_view exception) {
  return ExceptionNameIn(exception).ends_with("ExceptionGroup");
}

// Of compiled modules of Cython: "cupy/cuda/device.pyx", relative to the root of their sources.
bool IsOfCython(std::string_view path) { return !path.starts_with('/') && path.ends_with(".pyx"); }

bool IsOfPackage(std::string_view path) {
  if (IsOfCython(path)) return true;
  for (const std::string_view part :
       {"/site-packages/", "/dist-packages/", "/lib/python", "<frozen ", "<string>"}) {
    if (path.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// Returns the part of the path below the folder; "" if it is elsewhere.
std::string_view Below(std::string_view path, std::string_view folder) {
  if (!path.starts_with('/')) return path.starts_with('<') ? "" : path;
  if (folder.starts_with('~')) {
    folder.remove_prefix(1);
    const size_t at = folder.size() > 1 ? path.find(folder) : std::string_view::npos;
    if (at == std::string_view::npos) return "";
    path.remove_prefix(at);
  }
  if (folder.ends_with('/')) folder.remove_suffix(1);
  if (!path.starts_with(folder) || path.size() <= folder.size() || path[folder.size()] != '/')
    return "";
  return path.substr(folder.size() + 1);
}

// Recognizes rich's header, the title of a box.
bool IsRichHeader(std::string_view line) {
  return line.starts_with("╭") && WithoutBox(line) == kBareHeader;
}

// "KeyError          Traceback (most recent call last)"
bool IsIPythonHeader(std::string_view line) {
  if (!line.ends_with(kBareHeader)) return false;
  line.remove_suffix(kBareHeader.size());
  const std::string_view name = line.substr(0, line.find(' '));
  return line.ends_with("  ") && WithoutSpaces(line.substr(name.size())).empty() &&
         !ExceptionNameIn(name).empty();
}

// Parses rich's "PATH:N in NAME" and IPython's "File PATH:N, in NAME".
bool ParseShortFrame(std::string_view line, std::string_view& path, std::string_view& number) {
  constexpr std::string_view kWord = "File ";
  if (line.starts_with(kWord)) line.remove_prefix(kWord.size());
  const size_t end = std::min(line.find(" in "), line.find(", in "));
  line = line.substr(0, end);
  const size_t colon = line.rfind(':');
  const bool is_path = line.starts_with('/') || line.starts_with('~');
  if (!is_path || colon == std::string_view::npos) return false;
  path = line.substr(0, colon);
  number = line.substr(colon + 1);
  return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

// Parses `File "PATH", line N` and anything that follows.
bool ParseFrame(std::string_view line, std::string_view& path, std::string_view& number) {
  if (!line.starts_with(kFile)) return false;
  line.remove_prefix(kFile.size());
  constexpr std::string_view kLine = "\", line ";
  const size_t end = line.find(kLine);
  if (end == std::string_view::npos) return false;
  path = line.substr(0, end);
  number = line.substr(end + kLine.size());
  number = number.substr(0, number.find_first_not_of("0123456789"));
  return !number.empty();
}

}  // namespace

std::string_view WithoutColours(std::string_view line, std::string& buffer) {
  size_t at = line.find(kEscape);
  if (at == std::string_view::npos) return line;
  buffer.clear();
  while (at != std::string_view::npos) {
    buffer += line.substr(0, at);
    line.remove_prefix(at);
    const size_t end = line.starts_with("\x1b[") ? line.find_first_not_of(kParameters, 2) : 0;
    const bool colour = end != 0 && end != std::string_view::npos && line[end] == 'm';
    if (!colour) buffer += kEscape;
    line.remove_prefix(colour ? end + 1 : 1);
    at = line.find(kEscape);
  }
  buffer += line;
  return buffer;
}

std::string_view WithoutBox(std::string_view line) {
  if (!IsOfBox(line)) return line;
  while (RemoveEdge(line, true)) continue;
  while (RemoveEdge(line, false)) continue;
  return line;
}

std::vector<std::string> WithoutPackages(const std::vector<std::string>& lines) {
  std::vector<std::string> shown;
  std::string code;  // how a line of code begins that belongs to the last frame
  bool of_package = false;
  bool has_others = false;
  size_t left_out = 0;
  const auto note = [&] {
    if (left_out == 0) return;
    shown.push_back("    ... " + base::Count(std::exchange(left_out, 0), "line") + " of packages");
  };
  for (const std::string& line : lines) {
    const size_t at = line.find(kFile);
    std::string_view path;
    std::string_view number;
    if (at != std::string::npos && ParseFrame(std::string_view(line).substr(at), path, number)) {
      of_package = IsOfPackage(path);
      has_others = has_others || !of_package;
      code = line.substr(0, at) + "  ";
    } else if (!line.starts_with(code)) {
      of_package = false;
    }
    if (of_package) {
      ++left_out;
      continue;
    }
    note();
    shown.push_back(line);
  }
  note();
  return has_others ? shown : lines;
}

bool PythonTraceback::IsHeader(std::string_view line) {
  return line.ends_with(kHeader) || line.starts_with(kFatalError) || IsRichHeader(line) ||
         IsIPythonHeader(line);
}

bool PythonTraceback::BeginsWith(std::string_view line) {
  if (IsHeader(line)) return true;
  std::string_view path;
  std::string_view number;
  return line.starts_with("  File \"") && ParseFrame(line.substr(2), path, number) &&
         std::isdigit(static_cast<unsigned char>(line.back())) != 0;
}

PythonTraceback::Kind PythonTraceback::KindOf(std::string_view first_line) {
  if (first_line.ends_with(kGroupHeader)) return Kind::kGroup;
  if (first_line.ends_with(kHeader)) return Kind::kTraceback;
  if (first_line.starts_with(kFatalError)) return Kind::kFatalError;
  if (IsRichHeader(first_line)) return Kind::kRich;
  return IsIPythonHeader(first_line) ? Kind::kIPython : Kind::kSyntaxError;
}

PythonTraceback::PythonTraceback(std::string_view first_line, std::string_view working_directory)
    : kind_(KindOf(first_line)), working_directory_(working_directory) {
  Keep(first_line);
  if (kind_ == Kind::kFatalError) {
    exception_ = lines_.back();
  } else if (kind_ == Kind::kSyntaxError) {
    TakeFrame(first_line.substr(2));
  } else if (kind_ == Kind::kTraceback || kind_ == Kind::kGroup) {
    std::string_view before = first_line.substr(
        0, first_line.size() - (kind_ == Kind::kGroup ? kGroupHeader : kHeader).size());
    while (before.ends_with(' ')) before.remove_suffix(1);
    if (before.size() <= kMaxPrefixLength) prefix_ = before;
  }
}

void PythonTraceback::Keep(std::string_view line) {
  // Keeps the end of a long traceback, but the beginning of a group or fatal error.
  if (lines_.size() == kMaxTracebackLines) {
    if (kind_ == Kind::kGroup || kind_ == Kind::kFatalError) return;
    lines_.pop_front();
  }
  lines_.push_back(base::Truncated(line, kMaxLineLength));
}

void PythonTraceback::GoesAfter(std::deque<std::string> lines) {
  for (std::string& line : lines_) lines.push_back(std::move(line));
  while (lines.size() > kMaxTracebackLines) lines.pop_front();
  lines_ = std::move(lines);
}

std::string_view PythonTraceback::WithoutPrefix(std::string_view line) const {
  if (prefix_.empty() || !line.starts_with(prefix_)) return line;
  line.remove_prefix(prefix_.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

std::string_view PythonTraceback::WithoutDecoration(std::string_view line) const {
  line = WithoutPrefix(line);
  if (kind_ == Kind::kRich) return WithoutBox(line);
  if (kind_ != Kind::kGroup) return line;
  line = WithoutSpaces(line);
  return line.starts_with("| ") ? line.substr(2) : line;
}

bool PythonTraceback::Contains(std::string_view line) const {
  return kind_ == Kind::kGroup && IsOfGroup(WithoutPrefix(line));
}

bool PythonTraceback::Take(std::string_view line) {
  if (over_) return false;
  if (kind_ == Kind::kFatalError) return TakeFatalErrorLine(line);
  const std::string_view text = WithoutDecoration(line);
  if (complete() && !(kind_ == Kind::kGroup && IsGroup(exception_))) return TakeMore(line, text);
  if (text.empty()) return true;
  const bool rule = kind_ == Kind::kGroup && text.starts_with('+');
  const bool header = kind_ == Kind::kGroup && text.ends_with(kHeader);
  if (rule || header) {
    if (header) owner_ = Owner::kNone;
  } else if (text.starts_with("  ") || (kind_ == Kind::kRich && text.size() < line.size()) ||
             (kind_ == Kind::kIPython && text.starts_with("File "))) {
    TakeFrame(WithoutSpaces(text));
  } else if (!TakeException(text)) {
    return false;
  }
  Keep(line);
  return true;
}

bool PythonTraceback::TakeException(std::string_view line) {
  const std::string_view name = ExceptionNameIn(line);
  if (name.empty()) return false;
  if (kind_ == Kind::kSyntaxError && name != "SyntaxError" && name != "IndentationError" &&
      name != "TabError") {
    over_ = true;
    return false;
  }
  if (complete()) group_ = std::exchange(exception_, "");
  exception_ = base::Truncated(line, kMaxLineLength);
  return true;
}

// An exception's text may have several lines. NCCL's last error has the reason.
bool PythonTraceback::TakeMore(std::string_view line, std::string_view text) {
  if (kind_ == Kind::kGroup && IsOfGroup(WithoutPrefix(line))) {
    Keep(line);
    return true;
  }
  if (text.find("NCCL INFO") != std::string_view::npos) return false;
  const bool no_text = exception_.ends_with(':') || exception_.ends_with(": ");
  over_ = kind_ == Kind::kGroup || lines_after_ == kMaxLinesAfter || (text.empty() && !no_text);
  if (over_ || text.empty()) return false;
  ++lines_after_;
  if (no_text && HasLetters(text)) {
    exception_ += (exception_.ends_with(' ') ? "" : " ") + base::Truncated(text, kMaxLineLength);
  } else if (std::exchange(last_error_follows_, false)) {
    more_ = base::Truncated(text, kMaxLineLength);
  }
  last_error_follows_ = text == "Last error:";
  Keep(line);
  return true;
}

void PythonTraceback::TakeFrame(std::string_view line) {
  std::string_view path;
  std::string_view number;
  if (ParseFrame(line, path, number) || ParseShortFrame(line, path, number)) {
    TakePlace(path, number);
  }
}

void PythonTraceback::TakePlace(std::string_view path, std::string_view number) {
  std::string_view below = Below(path, working_directory_);
  const Owner owner = IsOfPackage(path) ? Owner::kPackage
                      : !below.empty()  ? Owner::kJob
                                        : Owner::kOther;
  // Keeps the innermost frame of the user's own: the last one, except in the stack of a fatal
  // error.
  if (owner < owner_ || (kind_ == Kind::kFatalError && owner == owner_)) return;
  owner_ = owner;
  place_ = std::string(owner == Owner::kJob ? below : path) + ":" + std::string(number);
}

// Python prints the stacks of all threads; the failed thread's innermost call comes first.
bool PythonTraceback::TakeFatalErrorLine(std::string_view line) {
  if (line.starts_with("Current thread ")) {
    in_current_thread_ = true;
  } else if (line.starts_with("  File \"") && in_current_thread_) {
    TakeFrame(line.substr(2));
  } else if (in_current_thread_) {
    over_ = line.empty();
    return false;
  } else {
    return line.empty() || line.starts_with("Python runtime state: ") ||
           line.starts_with("Thread ") || line.starts_with("  ");
  }
  Keep(line);
  return true;
}

std::string PythonTraceback::ExceptionName() const {
  return std::string(ExceptionNameIn(exception_));
}

std::string PythonTraceback::Text() const {
  constexpr size_t kMaxExceptionShownLength = 240;
  std::string text = base::Truncated(exception_, kMaxExceptionShownLength);
  while (text.ends_with(' ') || text.ends_with(':')) text.pop_back();
  if (!more_.empty()) text += "; " + more_;
  if (!place_.empty()) text += ", " + place_;
  if (!group_.empty()) text += " (the first of " + group_ + ")";
  return text;
}

}  // namespace autodist::chief
