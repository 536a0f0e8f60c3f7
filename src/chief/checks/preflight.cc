#include "chief/checks/preflight.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string_view>

#include "base/fd.h"
#include "base/random.h"
#include "diagnosis/chief_variables.h"
#include "files/digest.h"
#include "reach/this_machine.h"

namespace autodist::chief {

namespace {

constexpr size_t kLargestSource = 1 << 20;  // bytes

}  // namespace

Preflight::Preflight(const v1::LaunchPlan& plan, bool thorough, bool health) : plan_(plan) {
  probe_.set_thorough(thorough);
  probe_.set_health(health);
  probe_.set_device_users(true);
  if (plan.nodes_size() > 0 && plan.nodes(0).ranks_size() > 0) {
    const auto& argv = plan.nodes(0).ranks(0).argv();
    const std::string folder = reach::FolderHere(plan);
    program_ = FilesOfProgram({argv.begin(), argv.end()}, folder);
    for (const std::string& file : program_.files) probe_.add_files(file);
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
  return evidence;
}

diagnosis::Evidence EvidenceOf(const v1::LaunchPlan& plan,
                               const std::vector<launch::LaunchedNode>& nodes) {
  diagnosis::Evidence evidence;
  evidence.plan = &plan;
  for (const launch::LaunchedNode& node : nodes) {
    evidence.nodes.push_back({node.status, node.prepared, node.clock_offset_ns});
  }
  return evidence;
}

}  // namespace autodist::chief
