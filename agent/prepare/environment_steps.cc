#include "agent/prepare/environment_steps.h"

#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "agent/supervisor/run_program.h"
#include "base/fd.h"

namespace autodist::agent {
namespace {

using process::Environment;

constexpr char kNotInTime[] =
    "if it is only slow, raise --start-timeout; else run the statements on the node in `bash "
    "--noprofile --norc`";

// bash runs the user's statements, which are in a variable because argv is visible to all users.
// The exit status is that of the last statement, so an ERR trap also detects earlier failures. It
// ignores statements in sourced files (there BASH_SOURCE is not empty) and tested ones (`a || b`,
// `if a`). Then env writes the resulting environment to descriptor 3; by its full path, because
// PATH may have changed.
constexpr char kActivationScript[] =
    "trap 'autodist_status=$?; if [ ${#BASH_SOURCE[@]} = 0 ]; then "
    "[ \"$BASH_COMMAND\" = \"$autodist_statements\" ] || "
    "echo \"autodist: status $autodist_status from: $BASH_COMMAND\" >&2; "
    "exit $autodist_status; fi' ERR; "
    "autodist_statements=$AUTODIST_STATEMENTS; unset AUTODIST_STATEMENTS; "
    "eval \"$autodist_statements\"; autodist_status=$?; trap - ERR; unset autodist_statements; "
    "[ $autodist_status = 0 ] || exit $autodist_status; unset autodist_status; "
    "exec /usr/bin/env -0 >&3";

// Variables that change how bash runs, besides start-up files. Ranks get the original values,
// unless the statements have set them.
constexpr const char* kReadByBash[] = {
    "BASH_ENV",    "ENV",        "SHELLOPTS",     "BASHOPTS", "POSIXLY_CORRECT",
    "CDPATH",      "GLOBIGNORE", "BASH_XTRACEFD", "PS4",      "IFS",
    "BASH_COMPAT", "FUNCNEST",   "EXECIGNORE",    "TMOUT",    "BASH_LOADABLES_PATH"};

// Removes these variables; returns their values.
Environment TakeShellVariables(Environment& environment) {
  Environment taken;
  for (const char* name : kReadByBash) {
    if (environment.Has(name)) taken.Set(name, environment.Get(name));
    environment.Remove(name);
  }
  return taken;
}

// Runs the statements in a clean bash.
Result<Environment> Activate(const std::string& statements, const ActivationPlace& place,
                             const Environment& before, Supervisor& supervisor) {
  ProgramCommand bash{{"bash", "--noprofile", "--norc", "-c", kActivationScript},
                      before,
                      place.folder,
                      /*result_on_descriptor_3=*/true,
                      place.stop};
  const Environment aside = TakeShellVariables(bash.environment);
  bash.environment.Set("AUTODIST_STATEMENTS", statements);
  const auto ran = RunProgram(bash, place.limit, supervisor);
  if (!ran.ok()) {
    return WithRemedy(Annotate(ran.status(), "python_venv needs bash"),
                      "install bash there, or leave python_venv out and name the program by its "
                      "path, such as /opt/venv/bin/python");
  }
  const ProgramOutput& output = *ran;
  const std::string what = "python_venv '" + statements + "' ";
  if (!output.failure.empty()) {
    const Status failed =
        Error(StatusCode::kFailedPrecondition,
              what + output.failure + (output.said.empty() ? "" : ":\n" + output.said));
    return output.timed_out ? WithRemedy(failed, kNotInTime) : failed;
  }
  if (output.result.empty()) {
    return Error(StatusCode::kFailedPrecondition, what + "exited the shell");
  }
  Environment environment = Environment::FromNulSeparated(output.result);
  for (const char* name : kReadByBash) {
    if (aside.Has(name) && !environment.Has(name)) environment.Set(name, aside.Get(name));
  }
  return environment;
}

// Returns "127.0.0.1:41234" with a free port, which the kernel does not assign to other programs
// for a while; "": none is free.
std::string FreeLoopbackAddress() {
  const base::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (!socket.valid() || bind(socket.get(), any, length) != 0 ||
      getsockname(socket.get(), any, &length) != 0) {
    return "";
  }
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

// nullopt: the variable must not be set.
std::optional<std::string> ValueOf(const v1::SetVariable& variable, const Environment& environment,
                                   const NodeValues& values) {
  if (variable.has_literal()) return variable.literal();
  if (variable.has_expanded()) return environment.Expand(variable.expanded());
  if (values.interface.empty() && variable.on_node().find("{interface}") != std::string::npos) {
    return std::nullopt;
  }
  std::string free_address;
  if (variable.on_node().find("{free_address}") != std::string::npos) {
    free_address = FreeLoopbackAddress();
    if (free_address.empty()) return std::nullopt;
  }
  return absl::StrReplaceAll(variable.on_node(),
                             {{"{agent}", values.agent},
                              {"{agent_socket}", values.agent_socket},
                              {"{files}", values.files},
                              {"{free_address}", free_address},
                              {"{interface}", values.interface},
                              {"{working_directory}", values.working_directory}});
}

void Set(const v1::SetVariable& variable, const NodeValues& values, Environment& environment) {
  const auto is_set = [&](const std::string& name) { return environment.Has(name); };
  if (std::ranges::any_of(variable.unless(), is_set)) return;
  const auto value = ValueOf(variable, environment, values);
  if (value) environment.Set(variable.name(), *value);
}

// Returns the versions of the files that the statements source.
std::vector<int64_t> FileVersions(const std::string& statements, const std::string& folder,
                                  const Environment& environment) {
  std::vector<int64_t> versions;
  const std::vector<std::string> words =
      absl::StrSplit(statements, absl::ByAnyChar(" \t\n;&|<>()'\""), absl::SkipEmpty());
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i - 1] != "source" && words[i - 1] != ".") continue;
    const std::string& word = words[i];
    const bool at_home = word.starts_with("~/");
    const std::string path = environment.Expand(at_home ? "$HOME" + word.substr(1) : word);
    struct stat info;
    if (path.empty() || stat((path[0] == '/' ? path : folder + "/" + path).c_str(), &info) != 0 ||
        !S_ISREG(info.st_mode)) {
      continue;
    }
    for (const int64_t number : {int64_t{info.st_mtim.tv_sec}, int64_t{info.st_mtim.tv_nsec},
                                 int64_t{info.st_size}, static_cast<int64_t>(info.st_ino)}) {
      versions.push_back(number);
    }
  }
  return versions;
}

}  // namespace

Result<Environment> Activations::Run(const std::string& statements, const ActivationPlace& place,
                                     const Environment& before, Supervisor& supervisor) {
  Input input{statements, place.folder, before.ToStrings(),
              FileVersions(statements, place.folder, before)};
  const auto known = results_.find(input);
  if (known != results_.end() && !known->second.fresh.Expired()) return known->second.environment;
  AD_ASSIGN_OR_RETURN(Environment after, Activate(statements, place, before, supervisor));
  results_.insert_or_assign(std::move(input), Output{after, base::Deadline::After(kFresh)});
  return after;
}

Result<Environment> TakeSteps(const EnvironmentSteps& steps, Environment environment,
                              const NodeValues& values, const ActivationPlace& place,
                              Activations& activations, Supervisor& supervisor) {
  for (const v1::EnvironmentStep& step : steps) {
    if (step.has_clean_login()) environment = Environment::CleanLogin(environment);
    if (step.has_activate()) {
      AD_ASSIGN_OR_RETURN(environment,
                          activations.Run(step.activate(), place, environment, supervisor));
    }
    for (const std::string& name : step.remove().names()) environment.Remove(name);
    if (step.has_set()) Set(step.set(), values, environment);
  }
  return environment;
}

}  // namespace autodist::agent
