// autodist init (--hosts | --from | --ssh-config | --slurm) [options]
#include <chrono>
#include <cstdlib>

#include "base/duration.h"
#include "base/exit_codes.h"
#include "base/for_user.h"
#include "base/log.h"
#include "base/text_file.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "cli/nodes_options.h"
#include "cli/values.h"
#include "plan/ssh_reach.h"
#include "reach/config_hosts.h"
#include "reach/host_facts.h"
#include "reach/this_machine.h"
#include "slurm/ended_job.h"
#include "slurm/hosts.h"
#include "spec/address.h"
#include "spec/foreign_file.h"
#include "spec/host_list.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/spec_draft.h"
#include "spec/spec_text.h"
#include "spec/ssh_config_hosts.h"
#include "spec/text_check.h"

namespace autodist::cli {
namespace {

using base::Log;
using base::LogLevel;

constexpr size_t kMaxHostfileSize = 1 << 20;  // bytes

struct InitOptions {
  std::string hosts;
  std::string file;     // after --from and --hostfile
  std::string pattern;  // after --ssh-config; may be empty
  bool slurm = false;
  // Count how often each source was given.
  const CLI::Option* hosts_option = nullptr;
  const CLI::Option* from_option = nullptr;
  const CLI::Option* hostfile_option = nullptr;
  const CLI::Option* ssh_config_option = nullptr;

  spec::SshGroup login;
  v1::JobRequest request;                // its host_key_check
  std::vector<std::string> shared_envs;  // "NAME=VALUE"
  std::string output;                    // empty: stdout
  bool force = false;
  bool offline = false;
  double start_timeout = std::chrono::duration<double>(plan::kDefaultStartLimit).count();
};

// Whether a quoted YAML scalar preserves the text.
bool IsOneLine(const std::string& text) {
  return !spec::FindBadByte(text) && text.find_first_of("\t\r\n") == std::string::npos;
}

Status CheckOptions(const InitOptions& options) {
  const size_t sources = options.hosts_option->count() + options.from_option->count() +
                         options.hostfile_option->count() + options.ssh_config_option->count() +
                         (options.slurm ? 1 : 0);
  if (sources != 1) {
    return WithRemedy(Error(StatusCode::kInvalidArgument,
                            sources == 0 ? "no hosts" : "more than one source of hosts"),
                      "give one of --hosts, --hostfile, --from, --ssh-config and --slurm");
  }
  const std::string& user = options.login.username;
  if (!user.empty()) AD_RETURN_IF_ERROR(Annotate(spec::CheckUser(user), "--user"));
  const std::string& key = options.login.key_file;
  if (!IsOneLine(key)) {
    return Error(StatusCode::kInvalidArgument,
                 "--key-file: a resource spec cannot hold the name " + spec::Quoted(key));
  }
  if (!IsOneLine(options.login.python_venv)) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "--python-venv is not one line of text"),
                      "separate statements by ';'");
  }
  return OkStatus();
}

Result<spec::SharedEnvs> SharedEnvsOf(const std::vector<std::string>& texts) {
  spec::SharedEnvs envs;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return WithRemedy(
          Error(StatusCode::kInvalidArgument, "--shared-env " + text + " gives no value"),
          "write --shared-env " + text + "=VALUE; '$" + text + "' in it is replaced on the node");
    }
    const std::string name = text.substr(0, equals);
    AD_RETURN_IF_ERROR(Annotate(spec::CheckVariableName(name), "--shared-env"));
    if (!IsOneLine(text)) {
      return Error(StatusCode::kInvalidArgument,
                   "--shared-env: the value of " + name + " is not one line of text");
    }
    std::erase_if(envs, [&](const auto& known) { return known.first == name; });
    envs.emplace_back(name, text.substr(equals + 1));
  }
  return envs;
}

spec::HostList ReadHosts(const InitOptions& options, const std::string& home) {
  if (options.hosts_option->count() > 0) {
    WarnOfFile(options.hosts, "--hostfile");
    return spec::ParseHosts(options.hosts);
  }
  for (const CLI::Option* option : {options.hostfile_option, options.from_option}) {
    if (option->count() == 0) continue;
    const auto text = base::ReadTextFile(options.file, kMaxHostfileSize);
    if (!text.ok()) return {{}, {{option->get_name(), 0, 0, Message(text.status())}}, {}};
    return spec::HostsIn(*text, options.file);
  }
  if (options.ssh_config_option->count() > 0) {
    return spec::SshConfigHosts(home + "/.ssh", home,
                                options.pattern.empty() ? "*" : options.pattern);
  }
  return slurm::SlurmHosts([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

int Init(const InitOptions& options) {
  base::SetNodeSource(base::NodeSource::kInit);
  if (const Status status = CheckOptions(options); !status.ok()) return Fail(status, kExitUsage);
  spec::SshGroup login = options.login;
  auto shared_envs = SharedEnvsOf(options.shared_envs);
  if (!shared_envs.ok()) return Fail(shared_envs.status(), kExitUsage);
  login.shared_envs = *std::move(shared_envs);
  if (options.request.has_host_key_check()) {
    login.host_key_check = options.request.host_key_check();
  }
  // Checked before the hosts are queried, which takes time.
  if (!options.output.empty() && !options.force) {
    const Status free = base::CheckNothingAt(options.output);
    if (!free.ok()) return Fail(RefuseToOverwrite(free), kExitUsage);
  }
  if (const Status job = options.slurm ? slurm::CheckJobRuns() : OkStatus(); !job.ok()) {
    return Fail(job, kExitUsage);
  }
  const auto user = reach::ThisUser();
  if (!user.ok()) return Fail(user.status(), kExitUsage);
  spec::HostList list = ReadHosts(options, user->home);
  const bool by_config = options.ssh_config_option->count() > 0;
  if (by_config && list.issues.empty()) reach::SettleConfigHosts(list);
  for (const std::string& warning : list.warnings) Log(LogLevel::kWarning, warning);
  PrintIssues(list.issues);
  if (!list.issues.empty()) return kExitUsage;

  const auto facts = reach::FactsOf(
      list.hosts, login, *user, options.offline ? reach::AskHosts::kNo : reach::AskHosts::kYes,
      by_config ? reach::SameMachines::kMerge : reach::SameMachines::kRefuse,
      {.each = base::ToMilliseconds(options.start_timeout)});
  if (!facts.ok()) return Fail(facts.status(), kExitUsage);
  const spec::SpecDraft draft = spec::DraftSpec(list.hosts, *facts, login);
  for (const std::string& warning : draft.warnings) Log(LogLevel::kWarning, warning);
  const Status written =
      WriteOutput(options.output, spec::SpecText(draft, options.output), options.force);
  if (!written.ok()) return Fail(written, kExitUsage);
  const Status counted =
      CheckDevicesCounted(draft.spec, "the spec is not complete",
                          std::string("correct that and repeat init") +
                              (options.output.empty() ? "" : " with --force") +
                              ", or replace `unknown` in the spec by the numbers of the node's "
                              "GPUs, or remove the node");
  if (!options.output.empty()) {
    const std::string size = counted.ok() ? ": " + SizeOf(draft.spec) : "";
    Log(LogLevel::kInfo, "wrote " + options.output + size);
  }
  return counted.ok() || options.offline ? 0 : Fail(counted, kExitCannotLaunch);
}

}  // namespace

Command AddInit(CLI::App& app) {
  auto options = std::make_shared<InitOptions>();
  options->hosts_option =
      app.add_option("--hosts", options->hosts, "[USER@]HOST[:N],...: N devices of each host")
          ->type_name("HOSTS");
  options->hostfile_option =
      app.add_option("--hostfile", options->file,
                     "Host list of DeepSpeed, Open MPI, MPICH, LSF, PBS, Grid Engine or pssh")
          ->type_name("FILE");
  options->from_option = app.add_option("--from", options->file,
                                        "A host list, or a file of Ansible, accelerate, Ray, "
                                        "SkyPilot or HCCL; the format is detected")
                             ->type_name("FILE");
  options->ssh_config_option =
      app.add_option("--ssh-config", options->pattern,
                     "Hosts of ~/.ssh/config whose names match PATTERN (default: *)")
          ->expected(0, 1)
          ->type_name("PATTERN");
  app.add_flag("--slurm", options->slurm, "Nodes of the current Slurm allocation");
  app.add_option("--key-file", options->login.key_file, "Private key for the login")
      ->type_name("FILE");
  app.add_option("--user", options->login.username, "Login user, for hosts without USER@")
      ->type_name("USER");
  app.add_option("--port", options->login.port, "Port of the SSH servers")
      ->check(WholeNumber(1, 65535));
  AddHostKeyCheck(app, options->request, group::kOptions);
  app.get_option("--host-key-check")->default_str("as ssh is configured");
  app.add_option("--python-venv", options->login.python_venv,
                 "Shell statements that activate the environment on every node")
      ->type_name("STATEMENTS");
  app.add_option("--shared-env", options->shared_envs,
                 "Variable for every node; $NAME in the value is expanded on the node")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("-o,--output", options->output, "Write the spec to this file; default: stdout")
      ->type_name("FILE");
  app.add_flag("--force", options->force, "Replace an existing file");
  app.add_flag("--offline", options->offline, "Do not query the hosts for their devices");
  app.add_option("--start-timeout", options->start_timeout,
                 "Max time for a host to log in and to list its GPUs: 90, 2m")
      ->transform(Duration(1))
      ->default_str(base::DurationText(options->start_timeout));
  app.footer(R"(
Queries all hosts over SSH for their GPUs, in parallel. The devices of a host
that cannot report them are written as given, or else as unknown. The exit code
is then 125, and you must fill them in before the spec can be used. The host
that is this machine becomes the chief.

Examples:
  autodist init --hosts gpu1,gpu2                 print a spec with all GPUs
  autodist init --hosts 'gpu1:4,ann@gpu2:2' --output cluster.yaml
  autodist init --hosts 'gpu[01-16]'              gpu01, gpu02, ... gpu16
  autodist init --hostfile hostfile --user ubuntu --key-file ~/.ssh/id_ed25519
  autodist init --from inventory.ini              a file of another program
  autodist init --ssh-config 'gpu*'               hosts of ~/.ssh/config
  autodist init --hosts gpu1 --python-venv 'source ~/venv/bin/activate'
  salloc -N 2 --gpus-per-node=4 autodist init --slurm --output cluster.yaml

Next: autodist validate cluster.yaml)");
  return [options] { return Init(*options); };
}

}  // namespace autodist::cli
