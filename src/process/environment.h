// The environment variables of a process before its start.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::process {

// A value type; not thread-safe.
class Environment {
 public:
  // From "NAME=value" strings; strings without '=' are ignored.
  static Environment FromStrings(const char* const* strings);
  // From the output of `env -0`: "NAME=value" entries, each followed by a NUL byte.
  static Environment FromNulSeparated(std::string_view text);
  // Of a process when it was started, by its folder of /proc; empty: it has ended, or belongs to
  // another user. Blocks as long as a thread of it hangs in the kernel with its memory locked.
  static Environment OfProcess(const std::string& proc_folder);
  // The environment of a login without start-up files: HOME, USER, LOGNAME, SHELL, LANG and the
  // system's default PATH. Values come from `current` where it has them.
  static Environment CleanLogin(const Environment& current);

  // Our environment without what the user set for other programs or for shells, for programs that
  // autodist runs for itself. They neither read BASH_ENV nor load the job's libraries or Python.
  Environment ForOurPrograms() const;

  bool Has(const std::string& name) const { return variables_.contains(name); }
  std::string Get(const std::string& name) const;  // "" if unset
  void Set(const std::string& name, const std::string& value) { variables_[name] = value; }
  // A trailing '*' in `pattern` matches the rest of any name.
  void Remove(const std::string& pattern);

  // Replaces only $NAME and ${NAME}: no command substitution, and a '$' that does not begin a name
  // stays. An unset or empty variable that is an element of a list separated by ':' is removed with
  // its separator, so that '$LD_LIBRARY_PATH:/opt/lib' never becomes ':/opt/lib', where the empty
  // element means the working directory.
  std::string Expand(std::string_view text) const;

  std::vector<std::string> ToStrings() const;

 private:
  void Add(std::string_view entry);  // if it is missing

  std::map<std::string, std::string> variables_;
};

}  // namespace autodist::process
