#include "cli/chief_on.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/exit_codes.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/random.h"
#include "base/shell_quote.h"
#include "base/typed_command.h"
#include "base/wall_clock.h"
#include "base/write_file.h"
#include "chief/remote_controller/run_remote.h"
#include "chief/remote_controller/start_remote.h"
#include "cli/field_option.h"
#include "cli/named_job.h"
#include "cli/nodes_options.h"
#include "cli/report_format.h"
#include "cli/values.h"
#include "control/job_record.h"
#include "control/prune.h"
#include "plan/ssh_reach.h"
#include "reach/connector_factory.h"
#include "reach/resolve.h"
#include "reach/this_machine.h"
#include "slurm/srun.h"
#include "ssh/ssh_program.h"

namespace autodist::cli {
namespace {

// The spec that the login needs, as an absolute path; "": none.
std::string SpecOfLogin(const v1::JobRequest& request) {
  const std::string file = request.has_spec()    ? request.spec()
                           : request.has_hosts() ? ""
                                                 : DefaultSpecFile().value_or("");
  std::error_code error;
  return file.empty() ? "" : std::filesystem::absolute(file, error).string();
}

v1::JobNote NoteOf(const plan::Input& input, const std::string& node) {
  v1::JobNote note;
  v1::JobStatus& job = *note.mutable_job();
  job.set_job_id(input.job_id);
  job.set_name(input.request.name());
  job.set_host(node);
  job.set_started_ms(base::MillisecondsSince1970());
  job.set_working_directory(input.working_directory);
  const std::filesystem::path folder = input.working_directory;
  job.set_log_folder((folder / input.request.log_dir() / input.job_id).string());
  *job.mutable_command() = {input.command.begin(), input.command.end()};
  job.set_detached(true);
  note.set_chief_on(node);
  note.set_spec(SpecOfLogin(input.request));
  return note;
}

// Says how to attach to the job from a machine that has no note of it.
std::string FromElsewhere(const v1::JobNote& note) {
  return "autodist attach " + note.job().job_id() + " " +
         chief::ChiefOnOptions(note.spec(), note.chief_on()) +
         " (same options for ps, status, logs, top, web, why, stacks, report, fetch and stop)";
}

constexpr char kChiefOn[] = "--chief-on";
constexpr char kSpec[] = "--spec";
constexpr char kListen[] = "--listen";
constexpr char kCopyBy[] = "--copy-by";  // of fetch; hidden

struct RemoteCommand {
  std::string spec_file;
  std::string node;
};

// Returns a spec with only the chosen node: with the login of the user's spec or, if that has none,
// as ssh is configured.
Result<spec::ResourceSpec> SpecOfNode(const RemoteCommand& chosen) {
  spec::ResourceSpec of_node;
  of_node.nodes.emplace_back();
  of_node.nodes[0].address = chosen.node;
  of_node.nodes[0].ssh_config = "there";
  of_node.ssh["there"];  // login as ssh is configured
  const auto spec = SpecFileOf(chosen.spec_file);
  if (!spec) return Error(StatusCode::kAborted, "already reported");
  if (spec->nodes.empty() && chosen.node == "first") {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "--chief-on first: no spec"),
                      "give --spec, or the address of the node");
  }
  const auto node = std::ranges::find_if(spec->nodes, [&](const spec::Node& it) {
    return it.address == chosen.node || (chosen.node == "first" && !it.devices().empty());
  });
  if (node == spec->nodes.end()) {
    // A host that ssh reaches; the default spec need not contain it.
    if (chosen.spec_file.empty() && chosen.node != "first") return of_node;
    return WithRemedy(Error(StatusCode::kInvalidArgument,
                            "--chief-on " + chosen.node + ": no node of the spec has that address"),
                      "give an address of the spec, or first");
  }
  // The spec need not say how to log in to the machine of the chief.
  const auto login = spec->ssh.find(node->ssh_config);
  if (login == spec->ssh.end() || login->second.ByProgram()) {
    of_node.nodes[0].address = node->address;
    return of_node;
  }
  of_node.ssh = spec->ssh;
  of_node.nodes[0] = *node;
  of_node.nodes[0].chief = false;
  return of_node;
}

Result<v1::SshReach> ReachOf(const RemoteCommand& chosen) {
  AD_ASSIGN_OR_RETURN(const spec::ResourceSpec spec, SpecOfNode(chosen));
  AD_ASSIGN_OR_RETURN(const plan::User user, reach::ThisUser());
  AD_ASSIGN_OR_RETURN(const auto addresses, reach::FindNodes(spec, user));
  const spec::Node& node = spec.nodes.front();
  return plan::MakeSshReach(node, spec.group_of(node), addresses.at(node.address), user);
}

// Forwards an address of this machine to the page that the node serves. Options come first, because
// they may not follow "--".
Result<chief::Forward> ForwardFor(const CLI::App& web, std::vector<std::string>& argv) {
  std::string here = web.get_option(kListen)->as<std::string>();
  if (web.get_option(kListen)->count() == 0 || here.ends_with(":0")) {
    AD_ASSIGN_OR_RETURN(const uint16_t port, reach::FreePort());
    const std::string address = here.substr(0, here.rfind(':'));
    here = (address.empty() ? "127.0.0.1" : address) + ":" + std::to_string(port);
  }
  chief::Forward forward{here, "/tmp/autodist-web-" + base::RandomHex() + ".sock"};
  argv.insert(argv.begin() + 1, {"--forwarded", forward.remote_socket, here});
  return forward;
}

// A file of this machine for a report; empty names: the command is no report, or has no --output.
struct Output {
  std::string file;
  std::string beside;  // becomes the file when the report is complete
};

// Removes --output from the arguments, and makes its file our stdout.
Result<Output> TakeOutput(const CLI::App& app, std::vector<Argument>& arguments) {
  if (app.get_name() != "report" || app.get_option("--output")->count() == 0) return Output();
  Output output{app.get_option("--output")->as<std::string>(), ""};
  AD_ASSIGN_OR_RETURN(const ReportFormat format,
                      FormatOfReport(output.file, app.get_option("--markdown")->count() > 0));
  if (app.get_option("--force")->count() == 0) {
    AD_RETURN_IF_ERROR(RefuseToOverwrite(base::CheckNothingAt(output.file)));
  }
  std::erase_if(arguments, [](const Argument& argument) {
    return argument.option == "--output" || argument.option == "--force" ||
           argument.option == "--markdown";
  });
  if (format == ReportFormat::kMarkdown) {
    arguments.insert(arguments.begin(), {"--markdown", {"--markdown"}});
  }
  output.beside = output.file + "." + base::RandomHex();
  const base::UniqueFd opened(
      open(output.beside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0666));
  if (!opened.valid() || dup2(opened.get(), STDOUT_FILENO) < 0) {
    return ErrnoError(errno, output.file);
  }
  return output;
}

int SettleOutput(const Output& output, int code) {
  if (output.file.empty()) return code;
  Status written;
  if (code == 0 && rename(output.beside.c_str(), output.file.c_str()) != 0) {
    written = ErrnoError(errno, output.file);
  }
  if (code != 0 || !written.ok()) unlink(output.beside.c_str());
  if (!written.ok()) return Fail(written, kExitCannotLaunch);
  if (code == 0) base::Log(base::LogLevel::kInfo, "wrote " + output.file);
  return code;
}

// `by_hand`: what to run on the machine itself if it cannot be reached; "": the usual hint.
int RunThere(const CLI::App& app, const chief::RemoteHost& host, std::vector<Argument> arguments,
             const std::string& by_hand = "") {
  const auto output = TakeOutput(app, arguments);
  if (!output.ok()) return Fail(output.status(), kExitUsage);
  std::vector<std::string> argv = {app.get_name()};
  for (const Argument& argument : arguments) {
    argv.insert(argv.end(), argument.words.begin(), argument.words.end());
  }
  const auto code = chief::RunRemote(host, argv);
  const int end = SettleOutput(*output, code.value_or(kExitCannotLaunch));
  if (!code.ok()) {
    return Fail(WithRemedy(code.status(), by_hand), kExitCannotLaunch);
  }
  return end;
}

int RunOnNode(const CLI::App& app, const RemoteCommand& chosen, std::vector<std::string> argv) {
  const auto node = ReachOf(chosen);
  if (node.status().code() == StatusCode::kAborted) return kExitUsage;
  if (!node.ok()) return Fail(node.status(), kExitUsage);
  std::optional<chief::Forward> forward;
  if (app.get_name() == "web") {
    auto made = ForwardFor(app, argv);
    if (!made.ok()) return Fail(made.status(), kExitCannotLaunch);
    forward = *std::move(made);
  }
  if (app.get_name() == "fetch") {
    argv.insert(argv.begin() + 1, {kCopyBy, base::ShellLine(ssh::ScpArgv(*node))});
  }
  return RunThere(app, chief::OverSsh(*node, forward), ArgumentsOf(app, argv));
}

// Where the job is, and the program of this machine that gets there; logs both.
Result<chief::RemoteHost> HostOf(const v1::JobStatus& job, const v1::JobNote& note) {
  const bool by_srun = !note.slurm_job().empty() && !control::IsOver(job) &&
                       !slurm::SrunInto(note.slurm_job(), note.slurm_node(), false).empty();
  chief::RemoteHost host;
  if (by_srun) {
    host.argv_for = [note](const std::vector<std::string>& command, bool terminal) {
      std::vector<std::string> argv =
          slurm::SrunInto(note.slurm_job(), note.slurm_node(), terminal);
      argv.insert(argv.end(), command.begin(), command.end());
      return argv;
    };
    host.name = note.slurm_node();
  } else {
    const std::string name = note.chief_on().empty() ? job.host() : note.chief_on();
    AD_ASSIGN_OR_RETURN(const v1::SshReach reach, ReachOf({note.spec(), name}));
    host = chief::OverSsh(reach);
    host.name = name;
  }
  host.chief_pid = job.chief_pid();
  base::Log(base::LogLevel::kInfo,
            "job " + job.job_id() + " is on " + host.name +
                (by_srun ? ", in Slurm job " + note.slurm_job() + ": going there with srun"
                         : ": going there with ssh"));
  return host;
}

// What this machine learns of the end of a job that it has started there.
void NoteEnd(const CLI::App& app, const std::string& job_id, int code) {
  constexpr int kSignalled = 128;  // the command itself may have been ended by the signal
  auto note = control::ReadNote(job_id);
  if (!note.ok() || note->chief_on().empty()) return;
  const bool stopped = app.get_name() == "stop" && code == 0;
  const bool attached = app.get_name() == "attach" && app.get_option("-i")->count() == 0 &&
                        code < kSignalled && code != kExitCannotLaunch && code != kExitUsage;
  if (!stopped && !attached) return;
  note->mutable_job()->set_phase(v1::JOB_PHASE_ENDED);
  if (attached) note->mutable_job()->set_exit_code(code);
  const Status noted = control::SaveNote(*note);
  if (!noted.ok()) base::Log(base::LogLevel::kWarning, Message(noted));
}

int RunOnItsHost(const CLI::App& app, const CommandLine& line, const v1::JobStatus& job) {
  std::vector<Argument> arguments = ArgumentsOf(app, line.argv);
  std::erase_if(arguments, [](const Argument& argument) { return argument.option.empty(); });
  arguments.push_back({"", {job.job_id()}});
  // --chief-on has brought an autodist that is not in PATH there.
  const v1::JobNote note = control::ReadNote(job.job_id()).value_or(v1::JobNote());
  const std::string by_hand =
      !note.chief_on().empty()
          ? ""
          : "log in to " + job.host() + " and run `" +
                base::ShellLine({"autodist", app.get_name(), job.job_id()}) + "`";
  const auto host = HostOf(job, note);
  if (host.status().code() == StatusCode::kAborted) return kExitUsage;
  if (!host.ok()) return Fail(WithRemedy(host.status(), by_hand), kExitCannotLaunch);
  const int code = RunThere(app, *host, std::move(arguments), by_hand);
  NoteEnd(app, job.job_id(), code);
  return code;
}

}  // namespace

Status CheckChiefOn(const v1::JobRequest& request, bool dry_run) {
  if (!request.detach() && !dry_run) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "--chief-on needs --detach"),
                      "add --detach; `autodist attach` then shows the output");
  }
  std::vector<const google::protobuf::FieldDescriptor*> given;
  request.GetReflection()->ListFields(request, &given);
  for (const google::protobuf::FieldDescriptor* field : given) {
    if (MayTravel(*field, v1::TRAVELS_WITH_CHIEF)) continue;
    const std::string name = OptionName(*field);
    return WithRemedy(Error(StatusCode::kInvalidArgument, name + " cannot be used with --chief-on"),
                      name.starts_with("--web")
                          ? "`autodist web " +
                                chief::ChiefOnOptions(request.spec(), request.chief_on()) +
                                "` shows the page here"
                          : "leave it out");
  }
  return OkStatus();
}

Status LeaveChiefOut(spec::ResourceSpec& spec) {
  for (spec::Node& node : spec.nodes) {
    if (!node.chief) continue;
    if (node.ssh_config.empty()) {
      return WithRemedy(
          Error(StatusCode::kInvalidArgument,
                "--chief-on: no login is configured for " + node.address + ", the chief"),
          "if it is this machine, --detach is enough; else add an 'ssh_config' to it in the "
          "spec");
    }
    node.chief = false;
  }
  return OkStatus();
}

int RunFromNode(const plan::Input& input, const v1::LaunchPlan& plan, const std::string& node,
                std::shared_ptr<transfer::FolderSync> sync) {
  launch::LaunchOptions launch;
  launch.request = input.request;
  launch.connector = reach::ConnectorFactory::For(plan);
  launch.sync = std::move(sync);
  if (const int code = chief::StartRemote(input, plan, launch, node); code != 0) return code;
  const v1::JobNote note = NoteOf(input, node);
  const Status noted = control::RecordRemoteJob(note);
  base::Log(base::LogLevel::kInfo, "the job and its logs are on " + node +
                                       (noted.ok() ? "; from other machines: " : "; from here: ") +
                                       FromElsewhere(note));
  if (!noted.ok()) base::LogFailure(Annotate(noted, "this machine keeps no note of the job"));
  return 0;
}

Command OrRemote(CLI::App& app, const CommandLine& line, Command here) {
  auto chosen = std::make_shared<RemoteCommand>();
  CLI::Option* const node =
      app.add_option(kChiefOn, chosen->node,
                     "Jobs whose chief runs on this node (run --chief-on): an address, or first")
          ->check(NotEmpty("ADDRESS"));
  app.add_option(kSpec, chosen->spec_file,
                 "With --chief-on: the spec for the login; default as for run")
      ->check(NotEmpty("FILE"))
      ->needs(node);
  return [chosen, &app, &line, here = std::move(here)] {
    if (line.from_elsewhere && !chosen->node.empty()) {
      base::SetOptionsToGetHere(chief::ChiefOnOptions(chosen->spec_file, chosen->node));
    }
    return chosen->node.empty() || line.from_elsewhere ? here()
                                                       : RunOnNode(app, *chosen, line.argv);
  };
}

Command ForJob(CLI::App& app, const CommandLine& line,
               const std::function<JobCommand(CLI::App& app)>& add) {
  auto word = std::make_shared<std::string>();
  AddJob(app, *word);
  const JobCommand command = add(app);
  return OrRemote(app, line, [word, command, &app, &line] {
    if (command.before_threads) command.before_threads();
    if (command.without_job) {
      if (const auto code = command.without_job()) return *code;
    }
    const auto job = NamedJob(*word, command.acts ? app.get_name() : "");
    if (!job.ok()) return Fail(job.status(), kExitUsage);
    const bool goes_there = job->elsewhere() && !line.from_elsewhere && control::IsRecorded(*job);
    return goes_there ? RunOnItsHost(app, line, *job) : command.run(*job);
  });
}

}  // namespace autodist::cli
