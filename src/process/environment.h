// The environment variables of a process that is about to be started.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::process {

// A value type; not thread-safe.
class Environment {
 public:
  // From "NAME=value" strings; what has no '=' is ignored.
  static Environment FromStrings(const char* const* strings);
  // From what `env -0` prints: "NAME=value" entries, each ended by a NUL byte.
  static Environment FromNulSeparated(std::string_view text);
  // What a login without any start-up file would give: HOME, USER, LOGNAME, SHELL, LANG and the
  // system's default PATH. Taken from `current` where it has them.
  static Environment CleanLogin(const Environment& current);

  // Ours without what the user set for other programs, or for shells: for a program that we start
  // for ourselves. It does not read BASH_ENV, and loads neither the job's libraries nor its
  // Python.
  Environment ForOurPrograms() const;

  bool Has(const std::string& name) const { return variables_.contains(name); }
  std::string Get(const std::string& name) const;  // "" if unset
  void Set(const std::string& name, const std::string& value) { variables_[name] = value; }
  // A trailing '*' in `pattern` matches any rest of a name.
  void Remove(const std::string& pattern);

  // Replaces $NAME and ${NAME}, and nothing else: there is no command substitution, and a '$' that
  // does not begin a name stays. An unset or empty variable that is an element of a list
  // separated by ':' takes its separator with it, so that '$LD_LIBRARY_PATH:/opt/lib' never
  // becomes ':/opt/lib', which would mean the working directory.
  std::string Expand(std::string_view text) const;

  std::vector<std::string> ToStrings() const;

 private:
  void Add(std::string_view entry);  // unless it is there already

  std::map<std::string, std::string> variables_;
};

}  // namespace autodist::process
