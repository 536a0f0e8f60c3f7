#include "chief/checks/program_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/did_you_mean.h"
#include "base/fd.h"
#include "plan/script.h"

namespace autodist::chief {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 256;
constexpr uintmax_t kLargestFile = 64 << 20;
constexpr size_t kLargestScript = 1 << 20;

// Of the standard library's modules those that training scripts import; asking a node about one
// does no harm.
constexpr const char* kStandardModules[] = {
    "__future__", "abc",        "argparse", "array",       "ast",        "asyncio",
    "atexit",     "base64",     "bisect",   "collections", "concurrent", "contextlib",
    "copy",       "csv",        "ctypes",   "dataclasses", "datetime",   "decimal",
    "enum",       "errno",      "fcntl",    "functools",   "gc",         "getpass",
    "glob",       "gzip",       "hashlib",  "heapq",       "importlib",  "inspect",
    "io",         "itertools",  "json",     "logging",     "math",       "multiprocessing",
    "numbers",    "operator",   "os",       "pathlib",     "pickle",     "platform",
    "pprint",     "queue",      "random",   "re",          "resource",   "shutil",
    "signal",     "socket",     "sqlite3",  "ssl",         "statistics", "string",
    "struct",     "subprocess", "sys",      "tarfile",     "tempfile",   "textwrap",
    "threading",  "time",       "timeit",   "traceback",   "types",      "typing",
    "unittest",   "urllib",     "uuid",     "warnings",    "weakref",    "zipfile"};

bool IsStandard(const std::string& module) {
  return std::ranges::find(kStandardModules, module) != std::end(kStandardModules);
}

// The modules that a script names in lines that begin with import or from; relative ones with
// their dots.
std::vector<std::string> ImportsOf(const std::string& script) {
  std::vector<std::string> imports;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    words >> word;
    if (word == "from" && words >> word) {
      imports.push_back(word);
      std::string name;
      words >> name;  // "import"
      // What is imported from a package may be a module of it.
      while (words >> name && name != "as") {
        std::erase_if(name, [](char c) { return c == '(' || c == ')' || c == '\\'; });
        imports.push_back(word + (word.ends_with('.') ? "" : ".") + name);
      }
    } else if (word == "import") {
      for (bool alias = false; words >> word;) {
        if (word == "as" || alias) {
          alias = !alias;
        } else {
          imports.push_back(word);
        }
      }
    }
  }
  std::erase_if(imports, [](const std::string& name) {
    return name.empty() || !std::ranges::all_of(name, [](unsigned char c) {
             return std::isalnum(c) || c == '_' || c == '.';
           });
  });
  return imports;
}

// What is read there differs on every machine.
bool IsOfTheKernel(const std::string& path) {
  return path.starts_with("/proc/") || path.starts_with("/sys/") || path.starts_with("/dev/");
}

class Collector {
 public:
  explicit Collector(const std::string& directory) : directory_(directory) {}

  void AddFile(const std::string& path) {
    if (path.empty() || found_.files.size() >= kMostFiles || IsOfTheKernel(path)) return;
    std::error_code error;
    const fs::path full = fs::path(directory_) / path;  // an absolute path stays as it is
    if (!fs::is_regular_file(full, error) || fs::file_size(full, error) > kLargestFile) return;
    if (seen_.insert(path).second) found_.files.push_back(path);
  }

  void AddScript(const std::string& path) {
    const fs::path base = fs::path(path).parent_path();
    AddPython(path, base, base);
  }

  // Of `python -m`; that of another package is not looked for.
  void AddModule(std::string name) {
    std::ranges::replace(name, '.', '/');
    for (const fs::path path : {name + ".py", name + "/__main__.py"}) {
      AddPython(path, "", path.parent_path());
    }
  }

  // There may be no such file.
  void AddScriptToRun(const std::string& path) {
    std::error_code error;
    const fs::path full = fs::path(directory_) / path;
    if (path.empty() || fs::exists(full, error) || error) return;
    found_.files.push_back(path);
    found_.missing_script = path;
    std::vector<std::string> beside;
    for (const auto& entry : fs::directory_iterator(full.parent_path(), error)) {
      if (entry.path().extension() == full.extension() && beside.size() < kMostFiles) {
        beside.push_back(entry.path().filename());
      }
    }
    const std::string nearest = base::Nearest(full.filename().string(), beside);
    if (!nearest.empty()) found_.nearest_script = fs::path(path).replace_filename(nearest);
  }

  ProgramFiles Take() { return std::move(found_); }

 private:
  // `base`: where absolute imports are looked for; `package`: where relative ones are.
  void AddPython(const std::string& path, const fs::path& base, const fs::path& package) {
    if (seen_.contains(path)) return;
    AddFile(path);
    if (!seen_.contains(path)) return;
    const auto text = base::ReadFile(fs::path(directory_) / path, kLargestScript);
    if (!text.ok()) return;
    for (const std::string& name : ImportsOf(*text)) AddImport(name, base, package);
  }

  void AddImport(const std::string& name, const fs::path& base, const fs::path& package) {
    const size_t dots = std::min(name.find_first_not_of('.'), name.size());
    fs::path folder = dots == 0 ? base : package;
    for (size_t up = 1; up < dots; ++up) folder = folder.parent_path();
    std::istringstream parts(name.substr(dots));
    std::string top;
    bool local = dots > 0;
    for (std::string part; std::getline(parts, part, '.');) {
      if (top.empty()) top = part;
      const fs::path module = folder / (part + ".py");
      folder /= part;
      if (Exists(module)) {
        local = true;
        AddPython(module, base, module.parent_path());
      } else if (Exists(folder / "__init__.py")) {
        local = true;
        AddPython(folder / "__init__.py", base, folder);
      }
    }
    if (local || top.empty() || IsStandard(top)) return;
    if (std::ranges::find(found_.python_modules, top) == found_.python_modules.end()) {
      found_.python_modules.push_back(top);
    }
  }

  bool Exists(const fs::path& path) const {
    std::error_code error;
    return fs::is_regular_file(fs::path(directory_) / path, error);
  }

  const std::string directory_;
  std::set<std::string> seen_;
  ProgramFiles found_;
};

}  // namespace

ProgramFiles FilesOfProgram(const std::vector<std::string>& argv, const std::string& directory) {
  Collector collector(directory);
  if (argv.empty()) return collector.Take();
  const bool python = fs::path(argv[0]).filename().string().starts_with("python");
  // A name without a slash is looked up in PATH. Which Python it is its version tells.
  if (argv[0].find('/') != std::string::npos && !python) collector.AddFile(argv[0]);
  const plan::Script script = plan::ScriptIn(argv);
  if (!script.module.empty()) collector.AddModule(script.module);
  collector.AddScriptToRun(script.path);
  for (size_t i = 1; i < argv.size(); ++i) {
    const size_t equals = argv[i].find('=');
    const std::string path = argv[i].starts_with('-') && equals != std::string::npos
                                 ? argv[i].substr(equals + 1)
                                 : argv[i];
    if (path.starts_with('-')) continue;
    if (path.ends_with(".py")) {
      collector.AddScript(path);
    } else {
      collector.AddFile(path);
    }
  }
  return collector.Take();
}

}  // namespace autodist::chief
