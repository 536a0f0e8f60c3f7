#include "process/environment.h"

#include <cctype>

#include "base/fd.h"
#include "base/split.h"

namespace autodist::process {
namespace {

constexpr char kDefaultPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool StartsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool ContinuesName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Variables that change how a shell, the loader or Python runs any program.
constexpr const char* kOfOtherPrograms[] = {
    "BASH_ENV",   "ENV",      "SHELLOPTS",   "BASHOPTS",      "POSIXLY_CORRECT", "CDPATH",
    "GLOBIGNORE", "IFS",      "PS4",         "BASH_XTRACEFD", "BASH_FUNC_*",     "LD_LIBRARY_PATH",
    "LD_PRELOAD", "LD_AUDIT", "LD_BIND_NOW", "GCONV_PATH",    "PYTHON*"};

// A "$NAME" or "${NAME}" at the start of `text`.
struct Reference {
  std::string name;
  size_t length = 0;  // 0: no reference
};

Reference ParseReference(std::string_view text) {
  const bool braced = text.size() > 1 && text[1] == '{';
  const size_t begin = braced ? 2 : 1;
  size_t end = begin;
  while (end < text.size() && ContinuesName(text[end])) ++end;
  if (end == begin || !StartsName(text[begin])) return {};
  if (braced && (end == text.size() || text[end] != '}')) return {};
  return {std::string(text.substr(begin, end - begin)), end + (braced ? 1 : 0)};
}

}  // namespace

Environment Environment::FromStrings(const char* const* strings) {
  Environment environment;
  for (; *strings; ++strings) environment.Add(*strings);
  return environment;
}

void Environment::Add(std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos || equals == 0) return;
  variables_.emplace(entry.substr(0, equals), entry.substr(equals + 1));
}

Environment Environment::FromNulSeparated(std::string_view text) {
  Environment environment;
  for (const std::string_view entry : base::Split(text, '\0')) environment.Add(entry);
  return environment;
}

Environment Environment::OfProcess(const std::string& proc_folder) {
  constexpr size_t kLargestEnvironment = 4 << 20;  // bytes
  return FromNulSeparated(
      base::ReadFile(proc_folder + "/environ", kLargestEnvironment).value_or(""));
}

Environment Environment::CleanLogin(const Environment& current) {
  Environment clean;
  for (const char* name : {"HOME", "USER", "LOGNAME", "SHELL"}) {
    if (current.Has(name)) clean.Set(name, current.Get(name));
  }
  clean.Set("LANG", "C.UTF-8");
  clean.Set("PATH", kDefaultPath);
  return clean;
}

Environment Environment::ForOurPrograms() const {
  Environment clean = *this;
  for (const char* name : kOfOtherPrograms) clean.Remove(name);
  return clean;
}

std::string Environment::Get(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? "" : found->second;
}

void Environment::Remove(const std::string& pattern) {
  if (!pattern.ends_with('*')) {
    variables_.erase(pattern);
    return;
  }
  const std::string prefix = pattern.substr(0, pattern.size() - 1);
  std::erase_if(variables_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

std::string Environment::Expand(std::string_view text) const {
  std::string expanded;
  while (!text.empty()) {
    const Reference reference = text[0] == '$' ? ParseReference(text) : Reference{};
    if (reference.length == 0) {
      expanded += text[0];
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(reference.length);
    const std::string value = Get(reference.name);
    expanded += value;
    if (!value.empty()) continue;
    const bool starts_element = expanded.empty() || expanded.back() == ':';
    if (starts_element && text.starts_with(':')) {
      text.remove_prefix(1);
    } else if (starts_element && text.empty() && !expanded.empty()) {
      expanded.pop_back();
    }
  }
  return expanded;
}

std::vector<std::string> Environment::ToStrings() const {
  std::vector<std::string> strings;
  strings.reserve(variables_.size());
  for (const auto& [name, value] : variables_) strings.push_back(name + "=" + value);
  return strings;
}

}  // namespace autodist::process
