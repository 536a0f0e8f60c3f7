#include "agent/prepare/python.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "agent/supervisor/run_program.h"
#include "base/fd.h"
#include "base/parse_number.h"
#include "base/python_command.h"
#include "base/split.h"
#include "process/spawn.h"

namespace autodist::agent {
namespace {

using base::IsPython;

constexpr size_t kMaxFirstLineLength = 256;  // the limit of Linux

// For any Python since 3.7 (where it only reports PyTorch's version: importlib.metadata came
// later). Arguments: the rank's script, or "", and the modules. Output: a marker line, because
// other code may write too, then fields separated by tabs.
//
// The first folder in sys.path contains the user's files; it is removed while modules of the
// standard library are imported, so that user files cannot shadow them.
// while modules of the standard library are imported, which must not be mistaken for those.
constexpr char kScript[] = R"python(
import sys
own = [sys.path.pop(0)] if sys.path and sys.path[0] == '' else []
import importlib.util, os, re
try:
    from importlib import metadata
except ImportError:
    metadata = None

DISTRIBUTIONS = {
    'cupy': ['cupy', 'cupy-cuda12x', 'cupy-cuda11x', 'cupy-cuda13x'],
    'paddle': ['paddlepaddle-gpu', 'paddlepaddle'],
    'tensorflow': ['tensorflow', 'tensorflow-cpu', 'tensorflow-gpu'],
}

def version_of(name):
    for distribution in DISTRIBUTIONS.get(name, [name]):
        try:
            return metadata.version(distribution)
        except Exception:
            pass
    return ''

def torch_versions(spec):
    try:
        path = os.path.join(list(spec.submodule_search_locations)[0], 'version.py')
        with open(path, encoding='utf-8', errors='replace') as file:
            text = file.read(65536)
    except Exception:
        return '', ''
    def value(name):
        found = re.search(r'^%s *(?::[^=\n]*)?= *[\'"]([^\'"\n]*)' % name, text, re.M)
        return found.group(1) if found else ''
    return value('__version__'), value('cuda')

script, names = sys.argv[1], [name.split('.')[0] for name in sys.argv[2:]]
if own and script:
    own = [script if os.path.isdir(script) else os.path.dirname(os.path.realpath(script))]
sys.path[:0] = own
specs = []
for name in names:
    try:
        specs.append(importlib.util.find_spec(name))
    except Exception:
        specs.append(None)
del sys.path[:len(own)]

lines = ['', 'autodist: python facts', 'version\t' + sys.version.split()[0]]
lines.append('executable\t' + (sys.executable or ''))
for name, spec in zip(names, specs):
    version, cuda = torch_versions(spec) if spec and name == 'torch' else ('', '')
    if spec and not version:
        version = version_of(name)
    lines.append('\t'.join(['module', '1' if spec else '0', version or '', cuda]))
os.write(1, ('\n'.join(lines) + '\n').encode('utf-8', 'replace'))
)python";

// Arguments: the rank's script, or "", and modules, which it imports in order. The modules' output
// goes to stderr. A line names the current module, another one its error, and whether a rank would
// certainly get it too: an error that a rank's variables may prevent is not certain.
constexpr char kImportScript[] = R"python(
import os, sys
out = os.dup(1)
os.dup2(2, 1)
script = sys.argv[1]
if sys.path and sys.path[0] == '' and script:
    sys.path[0] = script if os.path.isdir(script) else os.path.dirname(os.path.realpath(script))
names = sys.argv[2:]
sys.argv[1:] = []

def write(*fields):
    os.write(out, ('\t'.join(fields) + '\n').encode('utf-8', 'replace'))

def is_certain(error):
    library = isinstance(error, OSError) and '.so' in str(error)
    return library or isinstance(error, (ImportError, SyntaxError, SystemExit))

for index, name in enumerate(names):
    write('trying', str(index))
    try:
        __import__(name)
    except BaseException as error:
        text = ' '.join((type(error).__name__ + ': ' + str(error)).split())
        write('failed', '1' if is_certain(error) else '0', text[:1000])
        break
else:
    write('imported')
os._exit(0)
)python";

constexpr std::string_view kMarker = "\nautodist: python facts\n";

// Returns the script that `python ARGUMENT...` runs; "" for a module or statements.
std::string ScriptOf(const std::vector<std::string>& command) {
  const base::PythonTarget target = base::TargetOfPython(command, 1);
  return target.module.empty() && target.at < command.size() ? command[target.at] : "";
}

void Parse(std::string_view printed, v1::PythonFact& fact) {
  const size_t marker = printed.find(kMarker);
  if (marker == std::string_view::npos) return;
  int module = 0;
  for (const std::string_view line : base::Split(printed.substr(marker + kMarker.size()), '\n')) {
    const auto fields = base::Split(line, '\t');
    if (fields[0] == "version" && fields.size() == 2) fact.set_version(std::string(fields[1]));
    if (fields[0] == "executable" && fields.size() == 2) {
      fact.set_executable(std::string(fields[1]));
    }
    if (fields[0] == "module" && fields.size() == 4 && module < fact.modules_size()) {
      v1::PythonModule& into = *fact.mutable_modules(module++);
      into.set_found(fields[1] == "1");
      into.set_version(std::string(fields[2]));
      into.set_cuda(std::string(fields[3]));
    }
  }
}

bool IsNamed(const std::string& program, std::string_view beginning) {
  return std::string_view(program).substr(program.rfind('/') + 1).starts_with(beginning);
}

// Programs that execute their last arguments.
bool IsPrefix(const std::string& program) {
  constexpr const char* kPrefixes[] = {"env",     "nice",   "nohup", "numactl",
                                       "taskset", "stdbuf", "time",  "ionice"};
  return std::ranges::any_of(kPrefixes, [&](const char* name) { return IsNamed(program, name); });
}

// Programs that run a script with their own Python.
bool IsLauncher(const std::string& program) {
  constexpr const char* kLaunchers[] = {"torchrun", "accelerate", "deepspeed", "composer"};
  const std::string_view name = std::string_view(program).substr(program.rfind('/') + 1);
  return std::ranges::find(kLaunchers, name) != std::end(kLaunchers);
}

// Returns the Python in a script's first line, for example "#!/usr/bin/env -S python3 -u"; or "".
std::string PythonOfFirstLine(const std::string& program, const ProgramCommand& of) {
  const auto path = process::FindProgram(program, of.environment.Get("PATH"), of.working_directory);
  if (!path.ok()) return "";
  const std::string full = path->starts_with('/') ? *path : of.working_directory + "/" + *path;
  const base::UniqueFd fd(open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, kMaxFirstLineLength> head;
  const ssize_t got = fd.valid() ? pread(fd.get(), head.data(), head.size(), 0) : -1;
  if (got <= 0) return "";
  std::string_view line(head.data(), static_cast<size_t>(got));
  line = line.substr(0, line.find('\n'));
  if (!line.starts_with("#!")) return "";
  for (const std::string_view word : base::Split(line.substr(2), ' ')) {
    if (IsPython(std::string(word))) return std::string(word);
    if (!word.empty() && !word.starts_with('-') && !IsPrefix(std::string(word))) return "";
  }
  return "";
}

}  // namespace

std::optional<RankPython> PythonOf(const std::vector<std::string>& command,
                                   const process::Environment& environment,
                                   const std::string& working_directory) {
  if (command.empty()) return std::nullopt;
  if (IsPython(command[0])) return RankPython{command[0], ScriptOf(command)};
  if (IsPrefix(command[0])) {
    const auto python = std::find_if(command.begin() + 1, command.end(), IsPython);
    if (python == command.end()) return std::nullopt;
    return RankPython{*python, ScriptOf({python, command.end()})};
  }
  const std::string python = PythonOfFirstLine(command[0], {{}, environment, working_directory});
  if (python.empty()) return std::nullopt;
  if (!IsLauncher(command[0])) {
    // Other programs in PATH may start any Python, as `conda run` does.
    const bool script = command[0].find('/') != std::string::npos;
    return script ? std::optional(RankPython{python, command[0]}) : std::nullopt;
  }
  const auto script = std::find_if(command.begin() + 1, command.end(),
                                   [](const auto& word) { return word.ends_with(".py"); });
  return RankPython{python, script == command.end() ? "" : *script};
}

v1::PythonFact PythonFacts(const RankPython& of_rank,
                           const google::protobuf::RepeatedPtrField<std::string>& modules,
                           const process::Environment& environment,
                           const std::string& working_directory, Supervisor& supervisor) {
  v1::PythonFact fact;
  ProgramCommand python{
      {of_rank.program, "-c", kScript, of_rank.script}, environment, working_directory};
  for (const std::string& module : modules) {
    python.argv.push_back(module);
    fact.add_modules()->set_name(module);
  }
  const auto output = RunProgram(python, kPythonLimit, supervisor);
  if (!output.ok()) {
    fact.set_error(Message(output.status()));
  } else if (!output->failure.empty()) {
    fact.set_error(of_rank.program + " " + output->failure +
                   (output->said.empty() ? "" : ":\n" + output->said));
  } else {
    Parse(output->result, fact);
    if (fact.version().empty()) fact.set_error(of_rank.program + " does not behave as a Python");
  }
  return fact;
}

std::optional<v1::FailedImport> TryImports(
    const RankPython& of_rank, const google::protobuf::RepeatedPtrField<v1::PythonImport>& imports,
    const process::Environment& environment, const std::string& working_directory,
    Supervisor& supervisor) {
  if (imports.empty()) return std::nullopt;
  ProgramCommand python{
      {of_rank.program, "-c", kImportScript, of_rank.script}, environment, working_directory};
  for (const v1::PythonImport& import : imports) python.argv.push_back(import.module());
  const auto output = RunProgram(python, kImportLimit, supervisor);
  if (!output.ok()) return std::nullopt;  // PythonFacts reports the failure
  return FailedImportIn(output->result, output->failure, static_cast<uint32_t>(imports.size()));
}

std::optional<v1::FailedImport> FailedImportIn(std::string_view printed, const std::string& ended,
                                               uint32_t imports) {
  v1::FailedImport failed;
  bool trying = false;
  for (const std::string_view line : base::Lines(printed)) {
    const auto fields = base::Split(line, '\t');
    if (fields[0] == "imported") return std::nullopt;
    if (fields[0] == "trying" && fields.size() == 2) {
      const auto index = base::ParseNumber<uint32_t>(fields[1]);
      if (!index || *index >= imports) return std::nullopt;
      failed.set_index(*index);
      trying = true;
    }
    if (fields[0] == "failed" && fields.size() >= 3 && trying) {
      failed.set_certain(fields[1] == "1");
      failed.set_error(std::string(line.substr(fields[0].size() + fields[1].size() + 2)));
      return failed;
    }
  }
  // A library may end the process; a timeout is not a failure.
  if (!trying || ended.starts_with("did not end")) return std::nullopt;
  failed.set_certain(true);
  failed.set_error("its Python " + (ended.empty() ? "ended" : ended));
  return failed;
}

}  // namespace autodist::agent
