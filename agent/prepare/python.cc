#include "agent/prepare/python.h"

#include <algorithm>
#include <string_view>

#include "agent/prepare/examine.h"
#include "agent/supervisor/run_program.h"
#include "base/split.h"

namespace autodist::agent {
namespace {

// For any Python since 3.7 (which tells no versions but PyTorch's: importlib.metadata came later).
// Its arguments: the rank's script, or nothing, and the modules. What it writes, after a line of
// its own, as other code may write, too: fields separated by tabs.
//
// The folder that python itself puts first in sys.path holds the user's files; it is taken out
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
for name, spec in zip(names, specs):
    version, cuda = torch_versions(spec) if spec and name == 'torch' else ('', '')
    if spec and not version:
        version = version_of(name)
    lines.append('\t'.join(['module', '1' if spec else '0', version or '', cuda]))
os.write(1, ('\n'.join(lines) + '\n').encode('utf-8', 'replace'))
)python";

constexpr std::string_view kMarker = "\nautodist: python facts\n";

// The script that `python ARGUMENT...` runs; "" if it runs a module or statements.
std::string ScriptOf(const std::vector<std::string>& command) {
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& argument = command[i];
    if (!argument.starts_with('-')) return argument;
    if (argument == "-" || argument.starts_with("-m") || argument.starts_with("-c")) return "";
    if (argument == "-W" || argument == "-X" || argument == "--check-hash-based-pycs") ++i;
  }
  return "";
}

void Parse(std::string_view printed, v1::PythonFact& fact) {
  const size_t marker = printed.find(kMarker);
  if (marker == std::string_view::npos) return;
  int module = 0;
  for (const std::string_view line : base::Split(printed.substr(marker + kMarker.size()), '\n')) {
    const auto fields = base::Split(line, '\t');
    if (fields[0] == "version" && fields.size() == 2) fact.set_version(std::string(fields[1]));
    if (fields[0] == "module" && fields.size() == 4 && module < fact.modules_size()) {
      v1::PythonModule& into = *fact.mutable_modules(module++);
      into.set_found(fields[1] == "1");
      into.set_version(std::string(fields[2]));
      into.set_cuda(std::string(fields[3]));
    }
  }
}

}  // namespace

bool IsPython(const std::string& program) {
  return std::string_view(program).substr(program.rfind('/') + 1).starts_with("python");
}

v1::PythonFact PythonFacts(const std::vector<std::string>& command,
                           const google::protobuf::RepeatedPtrField<std::string>& modules,
                           const process::Environment& environment,
                           const std::string& working_directory, Supervisor& supervisor) {
  v1::PythonFact fact;
  ProgramCommand python{
      {command.at(0), "-c", kScript, ScriptOf(command)}, environment, working_directory};
  for (const std::string& module : modules) {
    python.argv.push_back(module);
    fact.add_modules()->set_name(module);
  }
  const auto output = RunProgram(python, kExamineLimit, supervisor);
  if (!output.ok()) {
    fact.set_error(Message(output.status()));
  } else if (!output->failure.empty()) {
    fact.set_error(command[0] + " " + output->failure +
                   (output->said.empty() ? "" : ":\n" + output->said));
  } else {
    Parse(output->result, fact);
    if (fact.version().empty()) fact.set_error(command[0] + " does not behave as a Python");
  }
  return fact;
}

}  // namespace autodist::agent
