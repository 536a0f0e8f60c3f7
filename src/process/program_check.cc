#include "process/program_check.h"

#include <fcntl.h>
#include <linux/elf.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/did_you_mean.h"
#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/shell_quote.h"
#include "base/split.h"
#include "base/utf8.h"
#include "process/spawn.h"

namespace autodist::process {
namespace {

constexpr size_t kHead = 4096;        // bytes of a file that are examined
constexpr int kMaxInterpreters = 4;   // the limit of Linux
constexpr size_t kMaxNames = 10'000;  // of a folder, to search for a similar one
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr char kBinfmt[] = "/proc/sys/fs/binfmt_misc";

Status Missing(const std::string& cause, const std::string& hint) {
  return WithRemedy(Error(StatusCode::kNotFound, cause), hint);
}

Status NotExecutable(const std::string& cause, const std::string& hint) {
  return WithRemedy(Error(StatusCode::kPermissionDenied, cause), hint);
}

std::string Quoted(const std::string& name) { return "'" + base::Printable(name) + "'"; }

// Returns the first bytes of the file; "" if it is not readable, which may not prevent execution.
std::string HeadOf(const std::string& file) {
  const base::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string head(kHead, '\0');
  const ssize_t got = fd.valid() ? pread(fd.get(), head.data(), head.size(), 0) : 0;
  head.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return head;
}

// Whether binfmt_misc has other formats: emulators, Wine, Java. `begin`: prefix of their names.
bool KnowsOtherFormats(std::string_view begin = "") {
  return std::ranges::any_of(base::EntriesOf(kBinfmt), [&](const std::string& name) {
    return name != "register" && name != "status" && name.starts_with(begin);
  });
}

struct Machine {
  const char* name;  // as uname prints it
  uint16_t elf;
  uint16_t also;  // its 32-bit variant
};
constexpr Machine kMachines[] = {{"x86_64", EM_X86_64, EM_386},
                                 {"aarch64", EM_AARCH64, EM_ARM},
                                 {"ppc64le", EM_PPC64, EM_PPC},
                                 {"riscv64", EM_RISCV, EM_RISCV},
                                 {"s390x", EM_S390, EM_S390}};

std::string NameOfMachine(uint16_t elf) {
  for (const Machine& machine : kMachines) {
    if (machine.elf == elf) return machine.name;
    if (machine.also == elf) return std::string("32 bits of ") + machine.name;
  }
  return "machine number " + std::to_string(elf) + " of ELF";
}

// Returns the loader that a 64-bit binary names.
std::string LoaderOf(const std::string& file, const Elf64_Ehdr& header) {
  const base::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  for (int i = 0; fd.valid() && i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    const auto at = static_cast<off_t>(header.e_phoff) + i * header.e_phentsize;
    if (pread(fd.get(), &part, sizeof part, at) != sizeof part) break;
    if (part.p_type != PT_INTERP || part.p_filesz > kHead) continue;
    std::string loader(part.p_filesz, '\0');
    const ssize_t got =
        pread(fd.get(), loader.data(), loader.size(), static_cast<off_t>(part.p_offset));
    return got == static_cast<ssize_t>(loader.size()) ? loader.c_str() : "";
  }
  return "";
}

Status CheckBinary(const std::string& file, const std::string& name, const std::string& head) {
  Elf64_Ehdr header;
  if (head.size() < sizeof header) {
    return NotExecutable(Quoted(name) + " is incomplete: it is only the beginning of a program",
                         "copy or build it again");
  }
  std::memcpy(&header, head.data(), sizeof header);
  utsname here{};
  uname(&here);
  for (const Machine& machine : kMachines) {
    if (std::string_view(here.machine) != machine.name) continue;
    if (header.e_machine != machine.elf && header.e_machine != machine.also &&
        !KnowsOtherFormats("qemu")) {
      return NotExecutable(Quoted(name) + " is a program for " + NameOfMachine(header.e_machine) +
                               ", and this node is " + machine.name,
                           std::string("build or install it for ") + machine.name);
    }
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return OkStatus();
  const std::string loader = LoaderOf(file, header);
  if (loader.empty() || access(loader.c_str(), F_OK) == 0) return OkStatus();
  const bool musl = loader.find("musl") != std::string::npos;
  return Missing(
      Quoted(name) + " needs the loader " + base::Printable(loader) + ", which does not exist here",
      musl ? "it was built for musl (Alpine): build it for glibc, or statically"
           : "it was built for another system: build it on this one, or statically");
}

Status CheckInterpreter(const std::string& name, const Shebang& line, const ProgramPlace& place,
                        int depth);

Status CheckFile(const std::string& file, const std::string& name, const ProgramPlace& place,
                 int depth) {
  struct stat info;
  if (stat(file.c_str(), &info) != 0) return Missing(Quoted(name) + " does not exist", "");
  if (S_ISDIR(info.st_mode)) {
    return NotExecutable(Quoted(name) + " is a folder", "name the program in it");
  }
  if (!S_ISREG(info.st_mode)) {
    return NotExecutable(Quoted(name) + " is not an executable file", "name a program");
  }
  const std::string head = HeadOf(file);
  const bool script = head.starts_with("#!");
  if (access(file.c_str(), X_OK) != 0) {
    struct statvfs mount;
    const bool has_bit = (info.st_mode & 0111) != 0;
    if (has_bit && statvfs(file.c_str(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0) {
      return NotExecutable(
          Quoted(name) + " is on a file system that is mounted noexec",
          script ? "name its interpreter first, such as `bash " + base::ShellQuote(name) + "`"
                 : "copy it to another file system");
    }
    return NotExecutable(Quoted(name) + " is not an executable file",
                         name.ends_with(".py") && !script
                             ? "write python3 before it"
                             : "make it executable: chmod +x " + base::ShellQuote(name) +
                                   (name.ends_with(".py") ? ", or write python3 before it" : ""));
  }
  if (info.st_size == 0) {
    return NotExecutable(Quoted(name) + " is an empty file", "copy or build it again");
  }
  if (script) return CheckInterpreter(name, ShebangOf(head), place, depth);
  if (head.starts_with(ELFMAG)) return CheckBinary(file, name, head);
  if (head.starts_with(kByteOrderMark) && head.substr(kByteOrderMark.size()).starts_with("#!")) {
    return NotExecutable(
        Quoted(name) + " begins with a byte order mark before its `#!`, so that `#!` is not seen",
        "sed -i '1s/^\\xEF\\xBB\\xBF//' " + base::ShellQuote(name));
  }
  if (name.ends_with(".py") && !head.empty()) {
    return NotExecutable(Quoted(name) + " does not begin with `#!`: sh would run it, not Python",
                         "write python3 before it, or begin it with `#!/usr/bin/env python3`");
  }
  if (head.find('\0') != std::string::npos && !KnowsOtherFormats()) {
    return NotExecutable(Quoted(name) + " is not a program for Linux" +
                             (head.starts_with("MZ") ? ", but one for Windows" : ""),
                         "build or install it for this system");
  }
  return OkStatus();
}

// Resolves the path as the kernel does, without PATH.
std::string FileOf(const std::string& interpreter, const ProgramPlace& place) {
  return interpreter[0] == '/' ? interpreter : place.working_directory + "/" + interpreter;
}

Status CheckInterpreter(const std::string& name, const Shebang& line, const ProgramPlace& place,
                        int depth) {
  if (line.carriage_return) {
    const std::string shown = line.interpreter + (line.argument.empty() ? "" : " " + line.argument);
    return Missing(Quoted(name) + " begins with `#!" + base::Printable(shown) +
                       "\\r`: it has Windows line endings",
                   "sed -i 's/\\r$//' " + base::ShellQuote(name));
  }
  if (line.interpreter.empty()) {
    return Missing(Quoted(name) + " names no interpreter after `#!`",
                   "begin it with, for example, `#!/bin/bash`");
  }
  const std::string of = "the interpreter of " + name + ", " + base::Printable(line.interpreter);
  const std::string hint = "correct the first line of " + name +
                           ", install it there, or name an interpreter before the script";
  const std::string file = FileOf(line.interpreter, place);
  if (access(file.c_str(), F_OK) != 0) return Missing(of + ", does not exist", hint);
  if (depth < kMaxInterpreters) {
    const Status right = CheckFile(file, line.interpreter, place, depth + 1);
    if (!right.ok()) {
      return WithRemedy(Error(right.code(), of + ": " + Message(right)), hint);
    }
  }
  if (std::filesystem::path(line.interpreter).filename() != "env") return OkStatus();
  const std::string program = ProgramOfEnv(line.argument);
  if (program.empty() || FindProgram(program, place.path, place.working_directory).ok()) {
    return OkStatus();
  }
  const bool python3 =
      program == "python" && FindProgram("python3", place.path, place.working_directory).ok();
  return Missing("the interpreter of " + name + ", " + base::Printable(program) + " (by " +
                     line.interpreter + "), is not in PATH",
                 python3 ? "begin it with `#!/usr/bin/env python3`, which is, or activate an "
                           "environment by python_venv"
                         : hint);
}

std::string NearestIn(const std::string& folder, const std::string& name) {
  std::vector<std::string> names = base::EntriesOf(folder);
  names.resize(std::min(names.size(), kMaxNames));
  return base::Nearest(name, names);
}

// Returns how the user has to name the file to run it.
std::string HowToRun(const std::string& name) {
  const std::string quoted = base::ShellQuote(name);
  if (name.ends_with(".py")) return "python3 " + quoted;
  return name.find('/') == std::string::npos ? "./" + quoted : quoted;
}

// Whether it is a shell builtin, or a line that only a shell can run.
bool IsOfShell(std::string_view program) {
  constexpr std::array<std::string_view, 10> kCommands = {
      ".", "alias", "cd", "eval", "exec", "export", "set", "source", "ulimit", "umask"};
  const std::string_view first = program.substr(0, program.find_first_of(" \t"));
  if (std::ranges::find(kCommands, first) != kCommands.end()) return true;
  return first.size() < program.size() && program.find_first_of("&|;<>`$") != program.npos;
}

}  // namespace

Shebang ShebangOf(std::string_view text) {
  if (!text.starts_with("#!")) return {};
  text = text.substr(2, text.find('\n') == text.npos ? text.npos : text.find('\n') - 2);
  Shebang line;
  line.carriage_return = text.ends_with('\r');
  constexpr std::string_view kBlanks = " \t\r";
  const auto trim = [&](std::string_view& part) {
    part.remove_prefix(std::min(part.find_first_not_of(kBlanks), part.size()));
    part.remove_suffix(part.size() - (part.find_last_not_of(kBlanks) + 1));
  };
  trim(text);
  const size_t end = std::min(text.find_first_of(" \t"), text.size());
  line.interpreter = text.substr(0, end);
  std::string_view argument = text.substr(end);
  trim(argument);
  line.argument = argument;
  return line;
}

std::string ProgramOfEnv(const std::string& argument) {
  const std::vector<std::string_view> parts = base::Split(argument, ' ');
  const bool splits = argument.starts_with("-S") || argument.starts_with("--split-string");
  if (!splits) return argument.starts_with("-") ? "" : argument;
  for (std::string_view part : parts) {
    if (part == parts.front() && part.size() > 2 && !part.starts_with("--")) part.remove_prefix(2);
    if (part.find('=') != part.npos || part.starts_with("-") || part.empty()) continue;
    const bool plain = part.find_first_of("\"'\\$") == part.npos;
    return plain ? std::string(part) : "";
  }
  return "";
}

Status CheckProgramFile(const std::string& file, const std::string& name,
                        const ProgramPlace& place) {
  return CheckFile(file, name, place, 0);
}

bool EndsLinesAsWindows(const std::string& file) {
  const std::string head = HeadOf(file);
  const size_t end = head.find('\n');
  return end != std::string::npos && end > 0 && head[end - 1] == '\r';
}

Status WhyNotFound(const std::string& program, const ProgramPlace& place) {
  const bool has_slash = program.find('/') != std::string::npos;
  const std::string file =
      program.starts_with("/") ? program : place.working_directory + "/" + program;
  const bool is_there = !program.empty() && access(file.c_str(), F_OK) == 0;
  if (has_slash && is_there) return CheckProgramFile(file, program, place);
  // Leaves out PATH, which differs on each node, so that the same issue on many nodes is grouped.
  const std::string cause = Quoted(program) + (has_slash ? " does not exist" : " is not in PATH");
  if (is_there && !std::filesystem::is_directory(file)) {
    return Missing(cause, "it is in the working directory: write " + HowToRun(program));
  }
  const size_t blank = program.find_first_of(" \t");
  if (IsOfShell(program)) {
    const std::string line = blank == std::string::npos
                                 ? "'" + base::Printable(program) + " ...'"
                                 : base::ShellQuote(base::Printable(program));
    return Missing(Quoted(program) + " is for a shell, and no program has that name",
                   "-- bash -c " + line +
                       " runs a shell; to set the environment of all ranks, use python_venv and "
                       "shared_envs in the spec");
  }
  if (blank != std::string::npos &&
      FindProgram(program.substr(0, blank), place.path, place.working_directory).ok()) {
    return Missing(Quoted(program) + " is quoted as one word, and no program has that name",
                   "remove the quotes: -- " + base::Printable(program));
  }
  const std::filesystem::path path(file);
  const std::string similar = NearestIn(path.parent_path(), path.filename());
  if (similar.empty()) return Missing(cause + (has_slash ? "" : " (" + place.path + ")"), "");
  const std::string whole =
      has_slash ? program.substr(0, program.rfind('/') + 1) + similar : similar;
  return Missing(cause, "do you mean " + HowToRun(whole) + "?");
}

}  // namespace autodist::process
