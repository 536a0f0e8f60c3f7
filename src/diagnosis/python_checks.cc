// Checks that ranks run the same program, and that Pythons have the modules that the script
// imports.
#include <algorithm>

#include "base/for_user.h"
#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

std::string MajorAndMinor(const std::string& version) {
  const size_t dot = version.find('.', version.find('.') + 1);
  return version.substr(0, dot);
}

const v1::PythonModule* ModuleOf(const Evidence& evidence, uint32_t node, int index) {
  const auto& modules = FactsOf(evidence, node).python().modules();
  return index < modules.size() ? &modules[index] : nullptr;
}

// The first unconditional import of the name; null: none.
const v1::PythonImport* CertainImportOf(const Evidence& evidence, const std::string& name) {
  const auto& imports = evidence.probe.imports();
  const auto found = std::ranges::find_if(imports, [&](const v1::PythonImport& import) {
    return import.module() == name || import.module().starts_with(name + ".");
  });
  return found == imports.end() ? nullptr : &*found;
}

std::string PythonText(const v1::PythonFact& python) {
  return python.executable().empty() ? "its Python" : "its Python, " + python.executable() + ",";
}

// Other Python versions have other module versions, too.
bool HasOtherVersion(const Evidence& evidence, uint32_t node) {
  const std::string own = MajorAndMinor(FactsOf(evidence, node).python().version());
  const auto known = [&](uint32_t other) {
    return !FactsOf(evidence, other).python().version().empty();
  };
  const auto reached = ReachedNodes(evidence);
  const auto first = std::ranges::find_if(reached, known);
  return first != reached.end() && !own.empty() &&
         MajorAndMinor(FactsOf(evidence, *first).python().version()) != own;
}

void AddMissing(const Evidence& evidence, const std::string& name,
                const std::vector<uint32_t>& missing, const std::string& where, IssueList& issues) {
  if (where.empty() && evidence.optional_modules.contains(name)) return;
  const v1::PythonImport* certain = CertainImportOf(evidence, name);
  for (const uint32_t node : missing) {
    const v1::PythonFact& python = FactsOf(evidence, node).python();
    std::string what = PythonText(python) + " has no module " + name;
    if (!where.empty()) what += ", which it has on " + where;
    if (where.empty() && certain) what += ", which is imported by " + certain->where();
    // A program may work without optional imports.
    const bool bad = certain || !where.empty();
    issues.Add(
        v1::CHECK_PYTHON, bad ? v1::CHECK_RESULT_BAD : v1::CHECK_RESULT_WARNING, node, what,
        base::ForUser("install it, or activate the environment that has it[spec| (python_venv)]"));
  }
}

void CheckModule(const Evidence& evidence, IssueList& issues, int index) {
  const std::string& name = evidence.probe.python_modules(index);
  std::vector<uint32_t> missing;
  std::string where;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::PythonModule* module = ModuleOf(evidence, node, index);
    if (!module || !FactsOf(evidence, node).python().error().empty()) continue;
    if (!module->found()) {
      missing.push_back(node);
    } else if (where.empty()) {
      where = NameOf(evidence, node);
    }
  }
  AddMissing(evidence, name, missing, where, issues);
  const auto compare = [&](const std::string& what,
                           const std::string& (v1::PythonModule::*value)() const) {
    CompareValues(evidence, issues, v1::CHECK_PYTHON, v1::CHECK_RESULT_BAD, what,
                  "install the same version everywhere", [&](uint32_t node) {
                    const v1::PythonModule* module = ModuleOf(evidence, node, index);
                    return module && !HasOtherVersion(evidence, node) ? (module->*value)() : "";
                  });
  };
  compare("the version of " + name, &v1::PythonModule::version);
  compare("the CUDA version that " + name + " was built with", &v1::PythonModule::cuda);
}

// Whether the node's Python lacks the module, or the whole package that contains it.
bool IsMissing(const v1::PythonFact& python, const std::string& module) {
  return std::ranges::any_of(python.modules(), [&](const v1::PythonModule& known) {
    return !known.found() && (module == known.name() || module.starts_with(known.name() + "."));
  });
}

void CheckImports(const Evidence& evidence, IssueList& issues) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::PythonFact& python = FactsOf(evidence, node).python();
    if (!python.has_failed_import() || !python.error().empty()) continue;
    const v1::FailedImport& failed = python.failed_import();
    const auto index = static_cast<int>(failed.index());
    if (index >= evidence.probe.imports_size()) continue;
    const v1::PythonImport& import = evidence.probe.imports(index);
    if (IsMissing(python, import.module())) continue;
    issues.Add(
        v1::CHECK_PYTHON, failed.certain() ? v1::CHECK_RESULT_BAD : v1::CHECK_RESULT_WARNING, node,
        import.where() + ": import " + import.module() + " fails: " + failed.error(),
        "try it on the node: " + (python.executable().empty() ? "python" : python.executable()) +
            " -c 'import " + import.module() + "'");
  }
}

}  // namespace

// A different Python was reported already if it lacks modules. Each system has a sh.
void CheckPrograms(const Evidence& evidence, IssueList& issues) {
  const bool images = std::ranges::any_of(
      ReachedNodes(evidence), [&](uint32_t node) { return IsInContainer(evidence, node); });
  CompareValues(
      evidence, issues, v1::CHECK_PROGRAM, v1::CHECK_RESULT_WARNING, "the program's path",
      images
          ? "use the same image for all nodes, or give the program's whole path"
          : base::ForUser(
                "give the nodes the same environment[spec| with python_venv and shared_envs], or "
                "the program's whole path"),
      [&](uint32_t node) {
        const std::string& program = FactsOf(evidence, node).program();
        return issues.HasBad(v1::CHECK_PYTHON, node) || program.ends_with("/sh") ? "" : program;
      });
}

void CheckPythons(const Evidence& evidence, IssueList& issues) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::PythonFact& python = FactsOf(evidence, node).python();
    // A missing program is reported by itself.
    if (python.error().empty() || issues.HasBad(v1::CHECK_PROGRAM, node)) continue;
    issues.Bad(v1::CHECK_PYTHON, node, "Python does not run: " + python.error(),
               "start it on the node to see why");
  }
  const auto version = [&](uint32_t node) { return FactsOf(evidence, node).python().version(); };
  CompareValues(evidence, issues, v1::CHECK_PYTHON, v1::CHECK_RESULT_BAD, "the version of Python",
                "use the same one everywhere",
                [&](uint32_t node) { return MajorAndMinor(version(node)); });
  for (int i = 0; i < evidence.probe.python_modules_size(); ++i) {
    CheckModule(evidence, issues, i);
  }
  CheckImports(evidence, issues);
}

}  // namespace autodist::diagnosis
