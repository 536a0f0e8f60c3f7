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
#include "base/for_user.h"
#include "base/quantity.h"
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

std::string LoaderIn(const std::string& file, const Elf64_Ehdr& header) {
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

std::optional<Elf64_Ehdr> HeaderIn(const std::string& head) {
  Elf64_Ehdr header;
  if (!head.starts_with(ELFMAG) || head.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, head.data(), sizeof header);
  return header.e_ident[EI_CLASS] == ELFCLASS64 ? std::optional(header) : std::nullopt;
}

Status LoaderMissing(const std::string& name, const std::string& loader) {
  const bool musl = loader.find("musl") != std::string::npos;
  return Missing(
      Quoted(name) + " needs the loader " + base::Printable(loader) + ", which does not exist here",
      musl ? "it was built for musl (Alpine): build it for glibc, or statically"
           : "it was built for another system: build it on this one, or statically");
}

std::string CorrectFirstLine(const std::string& name) {
  return "correct the first line of " + name +
         ", install it there, or name an interpreter before the script";
}

Status InterpreterMissing(const std::string& name, const std::string& interpreter) {
  return Missing(
      "the interpreter of " + name + ", " + base::Printable(interpreter) + ", does not exist",
      CorrectFirstLine(name));
}

// `by`: the env that looks for the program.
Status ProgramOfEnvMissing(const std::string& name, const std::string& program,
                           const std::string& by) {
  return Missing("the interpreter of " + name + ", " + base::Printable(program) + " (by " +
                     base::Printable(by) + "), is not in PATH",
                 CorrectFirstLine(name));
}

bool IsEnv(const std::string& interpreter) {
  return std::filesystem::path(interpreter).filename() == "env";
}

Status CheckBinary(const std::string& file, const std::string& name, const std::string& head) {
  Elf64_Ehdr header;
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
  const std::string loader = LoaderIn(file, header);
  if (loader.empty() || access(loader.c_str(), F_OK) == 0) return OkStatus();
  return LoaderMissing(name, loader);
}

Status CheckInterpreter(const std::string& name, const Shebang& line, const ProgramPlace& place,
                        int depth);

// Checks the first line of a script, whatever the machine has.
Status CheckFirstLine(const std::string& name, const Shebang& line) {
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
  return OkStatus();
}

// Returns how to run a script that the kernel may not execute: "`/bin/sh train.sh`".
std::string NameInterpreter(const std::string& name, const Shebang& line) {
  std::string hint = "name its interpreter first";
  const std::string program =
      IsEnv(line.interpreter) ? ProgramOfEnv(line.argument) : line.interpreter;
  if (program.empty() || line.carriage_return) return hint;
  std::vector<std::string> argv = {program};
  if (program == line.interpreter && !line.argument.empty()) argv.push_back(line.argument);
  argv.push_back(name);
  return hint + ": `" + base::Printable(base::ShellLine(argv)) + "`";
}

Status Incomplete(const std::string& name) {
  return NotExecutable(Quoted(name) + " is incomplete: it is only the beginning of a program",
                       "copy or build it again");
}

// `place`: null: the file is to be copied to other machines.
Status CheckFile(const std::string& file, const std::string& name, const ProgramPlace* place,
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
  const bool has_bit = (info.st_mode & 0111) != 0;
  if (!has_bit || (place && access(file.c_str(), X_OK) != 0)) {
    struct statvfs mount;
    if (has_bit && statvfs(file.c_str(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0) {
      return NotExecutable(
          Quoted(name) + " is on a file system that is mounted noexec",
          script ? NameInterpreter(name, ShebangOf(head)) : "copy it to another file system");
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
  if (script) {
    const Shebang line = ShebangOf(head);
    AD_RETURN_IF_ERROR(CheckFirstLine(name, line));
    return place ? CheckInterpreter(name, line, *place, depth) : OkStatus();
  }
  if (head.starts_with(ELFMAG)) {
    if (head.size() < sizeof(Elf64_Ehdr)) return Incomplete(name);
    return place ? CheckBinary(file, name, head) : OkStatus();
  }
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
  const std::string file = FileOf(line.interpreter, place);
  if (access(file.c_str(), F_OK) != 0) return InterpreterMissing(name, line.interpreter);
  if (depth < kMaxInterpreters) {
    const Status right = CheckFile(file, line.interpreter, &place, depth + 1);
    if (!right.ok()) {
      return WithRemedy(
          Error(right.code(), "the interpreter of " + name + ", " +
                                  base::Printable(line.interpreter) + ": " + Message(right)),
          CorrectFirstLine(name));
    }
  }
  if (!IsEnv(line.interpreter)) return OkStatus();
  const std::string program = ProgramOfEnv(line.argument);
  if (program.empty() || FindProgram(program, place.path, place.working_directory).ok()) {
    return OkStatus();
  }
  const Status missing = ProgramOfEnvMissing(name, program, line.interpreter);
  const bool python3 =
      program == "python" && FindProgram("python3", place.path, place.working_directory).ok();
  return python3
             ? WithRemedy(missing,
                          base::ForUser("begin it with `#!/usr/bin/env python3`, which is[spec|, "
                                        "or activate an environment with python_venv]"))
             : missing;
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

// Returns the program in PATH that is meant by a name such as "pyhton3"; "": none. Only a few, so
// that all nodes suggest the same one.
std::string UsualProgramLike(const std::string& name, const ProgramPlace& place) {
  std::vector<std::string> usual = {"python3", "torchrun", "accelerate", "deepspeed", "mpirun"};
  // python is none of them: it may belong to an environment that is not active.
  const std::string nearest = name == "python" ? "" : base::Nearest(name, usual);
  return !nearest.empty() && FindProgram(nearest, place.path, place.working_directory).ok()
             ? nearest
             : "";
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
  return CheckFile(file, name, &place, 0);
}

Status CheckProgramToCopy(const std::string& file, const std::string& name) {
  return CheckFile(file, name, nullptr, 0);
}

std::optional<ProgramNeed> NeedOf(const std::string& file, const std::string& name) {
  const std::string head = HeadOf(file);
  if (const auto header = HeaderIn(head)) {
    const std::string loader = LoaderIn(file, *header);
    if (loader.empty()) return std::nullopt;
    return ProgramNeed{loader, LoaderMissing(name, loader)};
  }
  const Shebang line = ShebangOf(head);
  if (!line.interpreter.starts_with('/') || line.carriage_return) return std::nullopt;
  const std::string program = IsEnv(line.interpreter) ? ProgramOfEnv(line.argument) : "";
  if (program.empty()) {
    return ProgramNeed{line.interpreter, InterpreterMissing(name, line.interpreter)};
  }
  return ProgramNeed{program, ProgramOfEnvMissing(name, program, line.interpreter)};
}

std::string LoaderOf(const std::string& file) {
  const auto header = HeaderIn(HeadOf(file));
  return header ? LoaderIn(file, *header) : "";
}

Status LibrariesMissing(const std::string& name, std::string_view said) {
  constexpr size_t kMaxReason = 500;  // bytes
  // Of glibc's loader, twice, and of musl's.
  constexpr std::string_view kCannotLoad = "error while loading shared libraries: ";
  constexpr std::string_view kNoVersion = "not found (required by";
  constexpr std::string_view kOfMusl = "Error loading shared library ";
  for (std::string_view line : base::Lines(said)) {
    const size_t cannot = line.find(kCannotLoad);
    const bool version = line.find(kNoVersion) != line.npos;
    if (cannot == line.npos && !version && !line.starts_with(kOfMusl)) continue;
    if (cannot != line.npos) line.remove_prefix(cannot + kCannotLoad.size());
    if (line.starts_with(kOfMusl)) line.remove_prefix(kOfMusl.size());
    const size_t colon = version ? line.find(": ") : line.npos;  // behind the program
    if (colon != line.npos) line.remove_prefix(colon + 2);
    const bool absent = line.find("No such file") != line.npos;
    return Missing(
        Quoted(name) + " cannot be loaded: " + base::ToUtf8(line, kMaxReason),
        version ? "build it on the oldest system of the nodes, or statically"
        : absent
            ? base::ForUser("install the library on this node, or put its folder into "
                            "LD_LIBRARY_PATH with [spec|shared_envs][hosts,allocation,here|--env]")
            : "");
  }
  return OkStatus();
}

Status CheckSizeOfArguments(const std::vector<std::string>& argv,
                            const std::vector<std::string>& environment, uint64_t limit) {
  // MAX_ARG_STRLEN, ARG_MAX and three quarters of _STK_LIM in the kernel.
  constexpr uint64_t kMaxString = 128 << 10;
  constexpr uint64_t kMinTotal = 128 << 10;
  constexpr uint64_t kMaxTotal = 6 << 20;
  const auto too_long = [](const std::string& what, uint64_t size, uint64_t accepted,
                           const std::string& hint) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, what + base::Thousands(static_cast<size_t>(size)) +
                                                " bytes; this node accepts " +
                                                base::Thousands(static_cast<size_t>(accepted))),
        hint);
  };
  uint64_t total = 0;
  for (size_t i = 0; i < argv.size() + environment.size(); ++i) {
    const bool variable = i >= argv.size();
    const std::string& text = variable ? environment[i - argv.size()] : argv[i];
    total += text.size() + 1 + sizeof(char*);
    if (text.size() < kMaxString) continue;
    return too_long(variable ? "the variable " + text.substr(0, text.find('=')) + " has "
                             : "argument " + std::to_string(i) + " of the program has ",
                    text.size(), kMaxString - 1,
                    "write it to a file, and give the program the file's name");
  }
  const uint64_t max_total = std::clamp(limit / 4, kMinTotal, kMaxTotal);
  if (total <= max_total) return OkStatus();
  return too_long("the arguments and variables of the program have ", total, max_total,
                  "shorten them, or raise the limit there: a quarter of `ulimit -s`");
}

bool EndsLinesAsWindows(const std::string& file) {
  const std::string head = HeadOf(file);
  const size_t end = head.find('\n');
  return end != std::string::npos && end > 0 && head[end - 1] == '\r';
}

bool IsCommandLine(const std::string& program, const ProgramPlace& place) {
  const size_t blank = program.find_first_of(" \t");
  return blank != std::string::npos && access(FileOf(program, place).c_str(), F_OK) != 0 &&
         FindProgram(program.substr(0, blank), place.path, place.working_directory).ok();
}

Status WhyNotFound(const std::string& program, const ProgramPlace& place) {
  const bool has_slash = program.find('/') != std::string::npos;
  const std::string file = FileOf(program, place);
  const bool is_there = !program.empty() && access(file.c_str(), F_OK) == 0;
  if (has_slash && is_there) return CheckProgramFile(file, program, place);
  // Leaves out PATH, which differs on each node, so that the same issue on many nodes is grouped.
  const std::string cause = Quoted(program) + (has_slash ? " does not exist" : " is not in PATH");
  if (is_there && !std::filesystem::is_directory(file)) {
    return Missing(cause, "it is in the working directory: write " + HowToRun(program));
  }
  if (IsOfShell(program)) {
    const std::string line = program.find_first_of(" \t") == std::string::npos
                                 ? "'" + base::Printable(program) + " ...'"
                                 : base::ShellQuote(base::Printable(program));
    return Missing(
        Quoted(program) + " is for a shell, and no program has that name",
        "-- bash -c " + line +
            base::ForUser(
                " runs a shell; to set the environment of all ranks, use [spec|python_venv and "
                "shared_envs in the spec][hosts,allocation,here|--env]"));
  }
  if (IsCommandLine(program, place)) {
    return Missing(Quoted(program) + " is quoted as one word, and no program has that name",
                   "remove the quotes: -- " + base::Printable(program));
  }
  const std::filesystem::path path(file);
  const std::string similar = NearestIn(path.parent_path(), path.filename());
  if (const std::string usual = UsualProgramLike(program, place);
      similar.empty() && !usual.empty()) {
    return Missing(cause, "do you mean " + usual + "?");
  }
  if (similar.empty()) return Missing(cause + (has_slash ? "" : " (" + place.path + ")"), "");
  const std::string whole =
      has_slash ? program.substr(0, program.rfind('/') + 1) + similar : similar;
  return Missing(cause, "do you mean " + HowToRun(whole) + "?");
}

}  // namespace autodist::process
