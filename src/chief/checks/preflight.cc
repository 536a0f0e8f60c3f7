#include "chief/checks/preflight.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/did_you_mean.h"
#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/random.h"
#include "diagnosis/chief_variables.h"
#include "files/digest.h"
#include "plan/command_argv.h"
#include "process/program_check.h"
#include "reach/this_machine.h"

namespace autodist::chief {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 256;
constexpr size_t kMaxLargeFiles = 8;
constexpr size_t kMaxImports = 64;
constexpr uintmax_t kLargestFile = 64 << 20;
constexpr size_t kLargestScript = 1 << 20;

// Modules of the standard library that training scripts import. The list need not be complete: a
// query for one does no harm.
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

// Returns a Python script without comments and contents of strings; keeps its lines.
std::string WithoutStrings(const std::string& script) {
  std::string text;
  std::string quote;  // the end of the current string; empty: outside of strings
  for (size_t i = 0; i < script.size(); ++i) {
    const char c = script[i];
    if (!quote.empty()) {
      if (script.compare(i, quote.size(), quote) == 0 || (quote.size() == 1 && c == '\n')) {
        i += c == '\n' ? 0 : quote.size() - 1;
        quote.clear();
      } else if (c == '\\') {
        ++i;
      }
      if (i < script.size() && script[i] == '\n') text += '\n';
    } else if (c == '#') {
      i = std::min(script.find('\n', i), script.size());
      text += '\n';
    } else if (c == '"' || c == '\'') {
      const std::string triple(3, c);
      quote = script.compare(i, 3, triple) == 0 ? triple : std::string(1, c);
      i += quote.size() - 1;
      text += c;
    } else {
      text += c;
    }
  }
  return text;
}

// Returns whether the line may change the module search path, or ends the script.
bool ChangesImports(const std::string& line) {
  constexpr const char* kChanging[] = {"sys.path",    "sys.meta_path", "sys.modules", "addsitedir",
                                       "subprocess.", "os.system",     "exec("};
  constexpr const char* kEnding[] = {"sys.exit(", "exit(", "quit(", "raise "};
  return std::ranges::any_of(
             kChanging, [&](const char* text) { return line.find(text) != std::string::npos; }) ||
         std::ranges::any_of(kEnding, [&](const char* text) { return line.starts_with(text); });
}

struct ImportedName {
  std::string name;  // of a module, or of a possible one; relative names with their dots
  size_t line;
  bool certain;   // a module, imported unconditionally
  bool optional;  // in a block that handles a failed import
};

// Tracks whether a line of a script is in a block that handles failed imports.
class Blocks {
 public:
  // Takes the next line; returns whether it is in such a block.
  bool Take(const std::string& line) {
    const size_t indent = line.find_first_not_of(" \t");
    if (indent == std::string::npos) return optional();
    while (!blocks_.empty() && blocks_.back().first >= indent) blocks_.pop_back();
    const bool within = optional();
    const std::string_view text = std::string_view(line).substr(indent);
    if (line.find_last_of(':') == line.find_last_not_of(" \t\r")) {
      blocks_.emplace_back(indent, within || text.starts_with("try") ||
                                       text.starts_with("except") ||
                                       text.find("suppress(") != std::string_view::npos ||
                                       text.find("TYPE_CHECKING") != std::string_view::npos);
    }
    return within;
  }

 private:
  bool optional() const { return !blocks_.empty() && blocks_.back().second; }

  std::vector<std::pair<size_t, bool>>
      blocks_;  // indentation of the first line, whether imports may fail
};

// Returns the modules named in lines that begin with import or from.
std::vector<ImportedName> ImportsOf(const std::string& script) {
  std::vector<ImportedName> imports;
  std::istringstream lines(WithoutStrings(script));
  Blocks blocks;
  size_t number = 0;
  bool certain = true;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    certain = certain && !ChangesImports(line);
    // From here on, the script may find modules that are not found here.
    const bool optional = blocks.Take(line) || !certain;
    const bool always =
        certain && !line.empty() && !std::isspace(static_cast<unsigned char>(line[0]));
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "from" && words >> word) {
      imports.push_back({word, number, always, optional});
      std::string name;
      words >> name;  // "import"
      // A name imported from a package may be a module of the package.
      while (words >> name && name != "as") {
        std::erase_if(name, [](char c) { return c == '(' || c == ')' || c == '\\'; });
        imports.push_back(
            {word + (word.ends_with('.') ? "" : ".") + name, number, false, optional});
      }
    } else if (word == "import") {
      for (bool alias = false; words >> word;) {
        if (word == "as" || alias) {
          alias = !alias;
        } else {
          imports.push_back({word, number, always, optional});
        }
      }
    }
  }
  std::erase_if(imports, [](const ImportedName& import) {
    return import.name.empty() || !std::ranges::all_of(import.name, [](unsigned char c) {
             return std::isalnum(c) || c == '_' || c == '.';
           });
  });
  return imports;
}

// Files there differ on every machine.
bool IsKernelFile(const std::string& path) {
  return path.starts_with("/proc/") || path.starts_with("/sys/") || path.starts_with("/dev/");
}

class Collector {
 public:
  explicit Collector(const std::string& directory) : directory_(directory) {}

  void AddFile(const std::string& path) {
    if (path.empty() || IsKernelFile(path)) return;
    std::error_code error;
    const fs::path full = fs::path(directory_) / path;  // an absolute path is kept
    if (!fs::is_regular_file(full, error)) return;
    const bool large = fs::file_size(full, error) > kLargestFile;
    std::vector<std::string>& list = large ? found_.large : found_.files;
    if (list.size() >= (large ? kMaxLargeFiles : kMaxFiles)) return;
    if (seen_.insert(path).second) list.push_back(path);
  }

  // `runs`: the program runs it. Another script may be for another Python, so its modules are
  // omitted.
  void AddScript(const std::string& path, bool runs) {
    const fs::path base = fs::path(path).parent_path();
    records_modules_ = runs;
    AddPython(path, base, base, runs);
    records_modules_ = true;
  }

  // Adds the module of `python -m`; searches no packages outside of the folder.
  void AddModule(std::string name) {
    std::ranges::replace(name, '.', '/');
    for (const fs::path path : {name + ".py", name + "/__main__.py"}) {
      AddPython(path, "", path.parent_path(), true);
    }
  }

  // Adds the script even if the file does not exist.
  void AddScriptToRun(const std::string& path) {
    std::error_code error;
    const fs::path full = fs::path(directory_) / path;
    if (path.empty() || fs::exists(full, error) || error) return;
    found_.files.push_back(path);
    found_.missing_script = path;
    std::vector<std::string> beside;
    for (std::string& name : base::EntriesOf(full.parent_path())) {
      const bool alike = fs::path(name).extension() == full.extension();
      if (alike && beside.size() < kMaxFiles) beside.push_back(std::move(name));
    }
    const std::string nearest = base::Nearest(full.filename().string(), beside);
    if (!nearest.empty()) found_.nearest_script = fs::path(path).replace_filename(nearest);
  }

  ProgramFiles Take() { return std::move(found_); }

 private:
  // `base`: where absolute imports are searched; `package`: where relative ones are. `certain`: the
  // script runs unconditionally.
  void AddPython(const std::string& path, const fs::path& base, const fs::path& package,
                 bool certain, bool optional = false) {
    if (seen_.contains(path)) return;
    AddFile(path);
    if (!seen_.contains(path)) return;
    const auto text = base::ReadFile(fs::path(directory_) / path, kLargestScript);
    if (!text.ok()) return;
    for (ImportedName import : ImportsOf(*text)) {
      import.certain = import.certain && certain;
      import.optional = import.optional || optional;
      AddImport(import, path, base, package);
    }
  }

  void AddImport(const ImportedName& import, const std::string& importer, const fs::path& base,
                 const fs::path& package) {
    const std::string& name = import.name;
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
        AddPython(module, base, module.parent_path(), import.certain, import.optional);
      } else if (Exists(folder / "__init__.py")) {
        local = true;
        AddPython(folder / "__init__.py", base, folder, import.certain, import.optional);
      } else if (part == top && IsFolder(folder)) {
        local = true;  // a namespace package
      }
    }
    if (local || top.empty() || IsStandard(top) || !records_modules_) return;
    if (std::ranges::find(found_.python_modules, top) == found_.python_modules.end()) {
      found_.python_modules.push_back(top);
      if (import.optional) found_.optional_modules.insert(top);
    }
    if (!import.optional) found_.optional_modules.erase(top);
    if (import.certain && found_.imports.size() < kMaxImports && imported_.insert(name).second) {
      found_.imports.push_back({name, importer + ", line " + std::to_string(import.line)});
    }
  }

  bool IsFolder(const fs::path& path) const {
    std::error_code error;
    return fs::is_directory(fs::path(directory_) / path, error);
  }

  bool Exists(const fs::path& path) const {
    std::error_code error;
    return fs::is_regular_file(fs::path(directory_) / path, error);
  }

  const std::string directory_;
  std::set<std::string> seen_;
  std::set<std::string> imported_;
  bool records_modules_ = true;
  ProgramFiles found_;
};

// Decides by the first line.
bool IsPythonScript(const fs::path& path) {
  constexpr size_t kMaxLineLength = 256;
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, kMaxLineLength> head;
  const ssize_t got = fd.valid() ? pread(fd.get(), head.data(), head.size(), 0) : -1;
  std::string_view line(head.data(), got > 0 ? static_cast<size_t>(got) : 0);
  line = line.substr(0, line.find('\n'));
  return line.starts_with("#!") && line.find("python") != std::string_view::npos;
}

constexpr size_t kLargestSource = 1 << 20;  // bytes

}  // namespace

ProgramFiles FilesOfProgram(const std::vector<std::string>& argv, const std::string& directory) {
  Collector collector(directory);
  if (argv.empty()) return collector.Take();
  const bool python = fs::path(argv[0]).filename().string().starts_with("python");
  // A name without a slash is searched in PATH. The version shows which Python it is.
  if (argv[0].find('/') != std::string::npos && !python) {
    if (IsPythonScript(fs::path(directory) / argv[0])) {
      collector.AddScript(argv[0], true);
    } else {
      collector.AddFile(argv[0]);
    }
  }
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
      collector.AddScript(path, path == script.path);
    } else {
      collector.AddFile(path);
    }
  }
  return collector.Take();
}

Preflight::Preflight(const v1::LaunchPlan& plan, bool thorough, bool health,
                     const files::FileTree* synced)
    : plan_(plan) {
  probe_.set_thorough(thorough);
  probe_.set_health(health);
  probe_.set_device_users(true);
  if (plan.nodes_size() > 0 && plan.nodes(0).ranks_size() > 0) {
    const auto& argv = plan.nodes(0).ranks(0).argv();
    const std::string folder = reach::FolderHere(plan);
    program_ = FilesOfProgram({argv.begin(), argv.end()}, folder);
    for (const std::string& file : program_.files) probe_.add_files(file);
    if (synced) AddSynced(*synced, folder);
    AddLargeFiles(synced != nullptr);
    if (!reach::TakesPart(plan)) ReadDigests(folder);
    if (thorough) {
      for (const std::string& name : program_.python_modules) probe_.add_python_modules(name);
      for (const ProgramFiles::Import& import : program_.imports) {
        v1::PythonImport& added = *probe_.add_imports();
        added.set_module(import.module);
        added.set_where(import.where);
      }
    }
  }
  AddVariables(thorough);
  if (reach::TakesPart(plan)) {
    MarkSharedFolders();
  } else if (plan.shared_paths_size() > 0) {
    // The folders need not exist here.
    *probe_.mutable_shared_folders() = plan.shared_paths();
    probe_.set_mark(base::RandomHex());
    probe_.set_nodes(static_cast<uint32_t>(plan.nodes_size()));
  }
}

Preflight::~Preflight() {
  for (const std::string& path : probe_.shared_files()) unlink(path.c_str());
}

// Reads only the script, unless thorough: a program may have many files.
void Preflight::AddVariables(bool thorough) {
  std::vector<std::string> names;
  for (const char* const* entry = environ; *entry; ++entry) {
    const std::string_view variable = *entry;
    names.emplace_back(variable.substr(0, variable.find('=')));
  }
  names = diagnosis::NamesToCompare(names);
  *probe_.mutable_chief_variables() = {names.begin(), names.end()};
  const std::string folder = reach::FolderHere(plan_);
  std::set<std::string> mentioned;
  for (const std::string& file : program_.files) {
    if (!file.ends_with(".py") && !file.ends_with(".sh")) continue;
    const auto text =
        base::ReadFile(file.starts_with('/') ? file : folder + "/" + file, kLargestSource);
    for (std::string& name : diagnosis::NamesIn(text.value_or(""), names)) {
      mentioned.insert(std::move(name));
    }
    if (!thorough) break;
  }
  mentioned_variables_ = {mentioned.begin(), mentioned.end()};
}

void Preflight::AddNeed(const std::string& path, const diagnosis::NodeNeed& need) {
  probe_.add_paths(path);
  needs_.push_back(need);
}

void Preflight::AddSynced(const files::FileTree& tree, const std::string& folder) {
  std::vector<std::string> files = program_.files;
  files.insert(files.end(), program_.large.begin(), program_.large.end());
  synced_ = CompareWithSync(tree, files);
  for (const auto& [link, target] : synced_.links) {
    AddNeed(target,
            {v1::CHECK_FILES, v1::CHECK_RESULT_WARNING,
             WithRemedy(Error(StatusCode::kNotFound,
                              link + " is a link to " + target + ", which does not exist there"),
                        "copy it there, or replace the link by what it leads to: --sync copies "
                        "links as they are")});
  }
  // Before the copy, the node's agent cannot check the program.
  const auto& argv = plan_.nodes(0).ranks(0).argv();
  const std::string program = argv.empty() ? "" : argv[0];
  const bool copied =
      std::ranges::count(program_.files, program) > 0 && !synced_.not_copied.contains(program);
  if (!copied) return;
  const std::string file = fs::path(folder) / program;
  program_to_copy_ = process::CheckProgramToCopy(file, program);
  const auto need = process::NeedOf(file, program);
  if (need) AddNeed(need->program, {v1::CHECK_PROGRAM, v1::CHECK_RESULT_BAD, need->missing});
}

void Preflight::AddLargeFiles(bool synced) {
  const auto& argv = plan_.nodes(0).ranks(0).argv();
  for (const std::string& file : program_.large) {
    if (file == argv[0]) continue;  // the node's agent checks the program
    if (synced && !synced_.not_copied.contains(file)) continue;
    const bool has_slash = file.find('/') != std::string::npos;
    AddNeed(has_slash ? file : "./" + file,
            {v1::CHECK_FILES, v1::CHECK_RESULT_WARNING,
             WithRemedy(Error(StatusCode::kNotFound,
                              file + ", an argument of the program, does not exist there"),
                        "copy it there, or put it on a file system that all nodes share")});
  }
}

void Preflight::ReadDigests(const std::string& folder) {
  digests_here_.emplace();
  for (const std::string& file : probe_.files()) {
    const std::string path = file.starts_with('/') ? file : folder + "/" + file;
    digests_here_->push_back(files::DigestOfFile(path).value_or(""));
  }
}

// A file that cannot be written here is missed and reported by the chief's own agent.
void Preflight::MarkSharedFolders() {
  for (const std::string& folder : plan_.shared_paths()) {
    const std::string path = folder + "/.autodist-" + base::RandomHex();
    const base::UniqueFd file(
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (file.valid()) {
      (void)base::WriteAll(file.get(), base::RandomHex(), base::Deadline::Never()).ok();
    }
    probe_.add_shared_files(path);
  }
}

diagnosis::Evidence Preflight::EvidenceFrom(const std::vector<launch::LaunchedNode>& nodes) const {
  diagnosis::Evidence evidence = EvidenceOf(plan_, nodes);
  evidence.probe = probe_;
  evidence.digests_here = digests_here_;
  evidence.activated_here = std::getenv("VIRTUAL_ENV") || std::getenv("CONDA_PREFIX");
  evidence.mentioned_variables = mentioned_variables_;
  evidence.missing_script = program_.missing_script;
  evidence.nearest_script = program_.nearest_script;
  evidence.optional_modules = program_.optional_modules;
  evidence.needs = needs_;
  evidence.program_to_copy = program_to_copy_;
  evidence.not_copied = synced_.not_copied;
  evidence.leads_out = synced_.leads_out;
  return evidence;
}

bool LacksProgramHere(const v1::LaunchPlan& plan) {
  if (plan.nodes().empty() || plan.nodes(0).ranks().empty() || reach::TakesPart(plan)) return false;
  const auto& argv = plan.nodes(0).ranks(0).argv();
  if (argv.empty() || argv[0].find('/') == std::string::npos) return false;
  const fs::path file = fs::path(reach::FolderHere(plan)) / argv[0];  // or argv[0] if absolute
  return access(file.c_str(), F_OK) != 0;
}

diagnosis::Evidence EvidenceOf(const v1::LaunchPlan& plan,
                               const std::vector<launch::LaunchedNode>& nodes) {
  diagnosis::Evidence evidence;
  evidence.plan = &plan;
  for (const launch::LaunchedNode& node : nodes) {
    evidence.nodes.push_back({node.status, node.prepared, node.clock_offset_ns, node.step});
  }
  return evidence;
}

}  // namespace autodist::chief
