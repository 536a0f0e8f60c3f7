#include "agent/stacks/gdb.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/parse_number.h"
#include "base/split.h"

namespace autodist::agent {
namespace {

constexpr std::string_view kBegin = "autodist: begin ";
constexpr std::string_view kEnd = "autodist: end ";
constexpr std::string_view kThread = "Thread ";
// The distance between files, larger than any library.
constexpr uint64_t kFileDistance = uint64_t{1} << 36;
constexpr size_t kMaxNameLength = 4096;  // of a name that is demangled

bool IsPlain(std::string_view file) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+=,:").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return file.starts_with('/') && std::ranges::all_of(file, plain);
}

bool IsOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
}

// "autodist: begin 4711\n"
std::string Echo(std::string_view label, const std::string& process) {
  return "echo " + std::string(label) + process + "\\n";
}

std::optional<pid_t> After(std::string_view label, std::string_view line) {
  if (!line.starts_with(label)) return std::nullopt;
  line.remove_prefix(label.size());
  return base::ParseNumber<pid_t>(line);
}

// Returns "1 (LWP 7)" of "2.1 (LWP 7)", gdb's numbering of threads with several inferiors.
std::string_view WithoutInferior(std::string_view number_and_more) {
  const size_t end = std::min(number_and_more.size(), number_and_more.find(' '));
  const size_t point = number_and_more.substr(0, end).find('.');
  if (point != std::string_view::npos) number_and_more.remove_prefix(point + 1);
  return number_and_more;
}

std::string DemangledName(std::string_view name) {
  if (name.size() > kMaxNameLength) return std::string(name);
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, nullptr), std::free);
  return demangled ? demangled.get() : std::string(name);
}

}  // namespace

std::vector<std::string> GdbCommand(const std::vector<pid_t>& processes,
                                    const std::vector<std::string>& files) {
  // Otherwise gdb spends more than half of the time demangling the names of all functions.
  std::vector<std::string> argv = {"gdb", "-batch", "-nx", "-iex", "set demangle-style none"};
  uint64_t offset = kFileDistance;
  for (const std::string& file : files) {
    if (!IsPlain(file)) continue;
    const std::string address = std::to_string(offset);
    argv.insert(argv.end(), {"-ex", "add-symbol-file " + file + " -o " + address});
    offset += kFileDistance;
  }
  // Each process gets a separate gdb "inferior"; the files belong to the first.
  size_t inferior = 1;
  for (const pid_t pid : processes) {
    const std::string number = std::to_string(pid);
    for (const std::string& command :
         {std::string("add-inferior"), "inferior " + std::to_string(++inferior),
          Echo(kBegin, number), "attach " + number, std::string("thread apply all bt"),
          std::string("detach"), Echo(kEnd, number)}) {
      argv.insert(argv.end(), {"-ex", command});
    }
  }
  return argv;
}

std::optional<MappedCode> ReadMappedCode(std::string_view line) {
  const std::vector<std::string_view> words = base::Split(line.substr(0, line.find('/')), ' ');
  if (line.find('/') == std::string_view::npos || words.size() < 2) return std::nullopt;
  if (words[1].find('x') == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> range = base::Split(words[0], '-');
  const auto begin = base::ParseNumber<uint64_t>(range.front(), 16);
  const auto end = base::ParseNumber<uint64_t>(range.back(), 16);
  if (range.size() != 2 || !begin || !end || *end < *begin) return std::nullopt;
  return MappedCode{std::string(line.substr(line.find('/'))), *end - *begin};
}

std::map<pid_t, GdbStacks> ReadGdbStacks(std::string_view output) {
  std::map<pid_t, GdbStacks> stacks;
  GdbStacks* current = nullptr;
  for (const std::string_view line : base::Lines(output)) {
    if (const auto begun = After(kBegin, line)) {
      current = &stacks[*begun];
      continue;
    }
    if (!current) continue;
    if (After(kEnd, line)) {
      current->ended = true;
      current = nullptr;
      continue;
    }
    current->frames = current->frames || line.starts_with("#0 ");
    const bool begins_thread = line.starts_with(kThread);
    if (begins_thread) current->text += kThread;
    current->text +=
        Demangled(begins_thread ? WithoutInferior(line.substr(kThread.size())) : line) + "\n";
  }
  return stacks;
}

std::string Demangled(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t found = std::min(text.size(), text.find("_Z"));
    const bool inside = found > 0 && IsOfName(text[found - 1]);  // "not_Zeros"
    result += text.substr(0, found);
    text.remove_prefix(found);
    const auto* end = std::ranges::find_if_not(text, IsOfName);
    const std::string_view name = text.substr(0, static_cast<size_t>(end - text.begin()));
    result += inside ? std::string(name) : DemangledName(name);
    text.remove_prefix(name.size());
  }
  return result;
}

}  // namespace autodist::agent
