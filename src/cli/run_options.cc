#include "cli/run_options.h"

#include <vector>

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>
#include "base/fd.h"
#include "base/log.h"
#include "chief/remote_controller/controller.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/nodes_options.h"
#include "cli/values.h"
#include "control/jobs.h"
#include "json/proto_json.h"
#include "progress/pattern.h"

namespace autodist::cli {
namespace {

using display::Colour;
using display::PrefixStyle;

PrefixStyle PrefixOf(v1::Display::Prefix prefix) {
  switch (prefix) {
    case v1::Display::PREFIX_NONE:
      return PrefixStyle::kNone;
    case v1::Display::PREFIX_RANK:
      return PrefixStyle::kRank;
    case v1::Display::PREFIX_TIME:
      return PrefixStyle::kTime;
    case v1::Display::PREFIX_NODE:
      return PrefixStyle::kNode;
  }
  return PrefixStyle::kNode;
}

constexpr uint64_t kMaxRestarts = 1'000'000;
constexpr uint64_t kMaxNodes = 1'000'000;
constexpr uint64_t kMaxRanks = 1'000'000;
constexpr double kMinSampleInterval = 0.1;  // seconds

CLI::Validator ProgressPattern() {
  return {[](const std::string& text) {
            const auto pattern = progress::Pattern::Parse(text);
            if (pattern.ok()) return std::string();
            const std::string remedy = Remedy(pattern.status());
            return Message(pattern.status()) + (remedy.empty() ? "" : "; " + remedy);
          },
          "REGEX"};
}

CLI::Validator WorkingDirectory() {
  return {[](const std::string& text) -> std::string {
            if (text.starts_with('/') || text.starts_with("~/")) return "";
            return "'" + text + "' must be an absolute path or begin with '~/'";
          },
          "FOLDER"};
}

// Adds the options for failures and time limits.
void AddFailureOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kFailure, "--max-restarts",
           "Restart the job up to N times when a rank fails or a node is lost")
      ->check(WholeNumber(0, kMaxRestarts));
  AddField(app, request, group::kFailure, "--min-nodes",
           "When nodes are lost, restart with at least N nodes and a smaller world size; returned "
           "nodes rejoin at the next restart")
      ->check(WholeNumber(1, kMaxNodes));
  AddField(app, request, group::kFailure, "--spares",
           "Start no ranks on the last N nodes; a spare takes the place of a node that is lost")
      ->check(WholeNumber(1, kMaxNodes));
  AddField(app, request, group::kFailure, "--on-node-loss",
           "When a node is lost: spare uses --spares, --min-nodes and --max-restarts; shrink also "
           "restarts without it, as --min-nodes 1; stop ends the job");
  AddField(app, request, group::kFailure, "--restart-policy",
           "If a restart can hardly succeed, for example after the same failure twice without "
           "progress: warn and restart, or stop the job (act)");
  AddField(app, request, group::kFailure, "--restart-after-oom",
           "Restart also if the kernel ended a rank for lack of memory");
  AddField(app, request, group::kFailure, "--checkpoint-dir",
           "Where the program writes its checkpoints, on this machine or a shared file system; "
           "used to compute the work that a restart lost")
      ->check(NotEmpty("FOLDER"));
  AddField(app, request, group::kFailure, "--timeout", "Stop the job after this time: 90, 10m, 2d")
      ->transform(Duration(0, kMaxTimeout));
  AddField(app, request, group::kFailure, "--hang-timeout",
           "Treat the job as hung after this time without output: record all stacks and apply "
           "--on-hang; 90, 10m; auto: 10 times the step time, 3 times the longest silence, or "
           "60 s, whichever is longest")
      ->transform(DurationOrAuto());
  AddField(app, request, group::kFailure, "--on-hang",
           "Action when --hang-timeout expires: stop the job, or warn");
  AddField(app, request, group::kFailure, "--grace",
           "Time between SIGTERM and SIGKILL when ranks are stopped")
      ->transform(Duration(0));
  AddField(app, request, group::kFailure, "--stop-signal",
           "Signal that asks ranks to exit: TERM, INT, USR1, ...")
      ->transform(SignalName())
      ->default_str("TERM");
  AddField(app, request, group::kFailure, "--lease",
           "A node ends its ranks if it has no contact with the chief for this time")
      ->transform(Duration(1));
}

void AddOutputOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(
      app, request, group::kOutput, "--name",
      "Name of the job for ps, attach, logs, ...; if several jobs have it, the newest is meant")
      ->check(ParsedBy(control::CheckJobName, "NAME"));
  AddField(app, request, group::kOutput, "--log-dir",
           "Folder that receives a log folder for each job")
      ->check(NotEmpty("FOLDER"));
  AddDisplayOptions(app, *request.mutable_display(), group::kOutput);
  AddField(app, request, group::kOutput, "--detach",
           "Return when the ranks run and leave the job in the background; see ps, attach, logs, "
           "stop");
  AddField(
      app, request, group::kOutput, "--chief-on",
      "With --detach: move the chief to this node (an address, or first), so that this "
      "machine can go offline; also an option of ps, status, attach, logs, top, web, why, stacks "
      "and stop")
      ->check(NotEmpty("ADDRESS"));
  AddField(app, request, group::kOutput, "--stdin-rank",
           "Connect this terminal to rank N, for pdb for example, or send it what is piped into "
           "autodist")
      ->check(WholeNumber(0, kMaxRanks));
  AddField(app, request, group::kOutput, "--on-exit",
           "Command for sh on this machine when the job ends or cannot start; see "
           "AUTODIST_OUTCOME, AUTODIST_EXIT_CODE and AUTODIST_CAUSE")
      ->check(NotEmpty("COMMAND"));
  AddField(app, request, group::kOutput, "--nccl-debug",
           "NCCL_DEBUG of all ranks; INFO and TRACE go to the ranks' stderr")
      ->check(OneOf({"VERSION", "WARN", "INFO", "TRACE"}));
  AddField(app, request, group::kOutput, "--json",
           "Print output, events and progress as JSON lines; with --dry-run: the plan");
}

// Adds the options for the page, metrics and progress.
void AddViewOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kOutput, "--web",
           "Show the job in a browser while it runs. Prints an address with an access token. "
           "[ADDRESS:PORT]: where to listen; default: a free port of a loopback address")
      ->expected(0, 1)
      ->check(ListenAddressText());
  AddField(app, request, group::kOutput, "--web-allow-actions",
           "With --web: allow viewers to stop the job and collect stacks");
  AddField(app, request, group::kOutput, "--metrics",
           "Serve Prometheus metrics on ADDRESS:PORT, such as 127.0.0.1:9464; port 0 selects a "
           "free port")
      ->check(ListenAddressText());
  AddField(app, request, group::kOutput, "--sample-interval",
           "Time between samples of nodes, GPUs and ranks; longer for jobs with more than 250 "
           "nodes; 0: no samples")
      ->transform(DurationOrNone(kMinSampleInterval));
  AddField(
      app, request, group::kOutput, "--progress-regex",
      "Regular expression (RE2) that finds the progress in a line, with groups named step, total, "
      "epoch, or like a metric: 'step (?P<step>\\d+)/(?P<total>\\d+) loss (?P<loss>\\S+)'")
      ->check(ProgressPattern());
}

void AddAdvancedOptions(CLI::App& app, v1::JobRequest& request) {
  AddFanOut(app, request);
  AddAgent(app, request);
  AddField(app, request, group::kAdvanced, "--output-buffer",
           "Max output per rank to keep on its node while disconnected, before the rank blocks: "
           "1G, 500M")
      ->transform(Size())
      ->default_str("1G");
  AddField(app, request, group::kAdvanced, "--no-affinity",
           "Do not bind ranks to the CPUs of their GPU's NUMA node");
  AddField(
      app, request, group::kAdvanced, "--no-preflight",
      "Do not compare the nodes' files, addresses, shared folders and versions, and do not check "
      "GPUs");
}

}  // namespace

void AddDisplayOptions(CLI::App& app, v1::Display& display, const std::string& group) {
  AddField(app, display, group, "--show",
           "Ranks whose output to print: 0,8-15, local0, node:gpu3, none; the log folder has all. "
           "Of equal progress bars, prints only the first unless ranks are named")
      ->check(ParsedBy(display::ShownRanks::Parse, "RANKS"));
  AddField(app, display, group, "--prefix",
           "Prefix of each line: none, rank, node (and rank), time (and both)");
  AddField(app, display, group, "--color",
           "Colors: auto is on for terminals unless NO_COLOR is set");
}

Result<display::View> ViewOf(const v1::Display& display,
                             const std::vector<display::Process>& processes) {
  display::View view;
  AD_ASSIGN_OR_RETURN(view.show, display::ShownRanks::Parse(display.show()));
  const Status known = view.show.CheckAgainst(processes);
  if (!known.ok()) return Error(StatusCode::kInvalidArgument, "--show: " + Message(known));
  view.prefix = PrefixOf(display.prefix());
  if (display.color() == v1::Display::COLOR_AUTO) return view;
  view.colour = display.color() == v1::Display::COLOR_ALWAYS ? Colour::kAlways : Colour::kNever;
  base::SetLogColour(view.colour == Colour::kAlways);
  return view;
}

void AddProgramOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kProgram, "--per",
           "Start the program once per device; once per node, for launchers such as torchrun; or "
           "once per job on node 0, for mpirun");
  AddField(app, request, group::kProgram, "--framework",
           "Frameworks whose variables the ranks receive: torch, paddle, jax, ... (see `autodist "
           "frameworks`); default: from the program, or torch")
      ->delimiter(',')
      ->type_name("FRAMEWORKS");
  AddField(app, request, group::kProgram, "--master-port",
           "Port of the rendezvous on node 0; default: a free port")
      ->check(WholeNumber(1, 65535));
  AddField(app, request, group::kProgram, "--workdir",
           "Working directory on the nodes: an absolute path, or '~/...' in quotes; default: the "
           "same path as here (relative to the home folder if this machine is not a node)")
      ->check(WorkingDirectory());
  AddField(app, request, group::kEnvironment, "--env",
           "Set a variable for all processes on all nodes")
      ->type_name("NAME=VALUE");
  AddField(app, request, group::kEnvironment, "--pass-env",
           "Copy a variable of this environment to all processes, for secrets: the value is never "
           "printed")
      ->type_name("VARIABLE");
}

void AddRequest(CLI::App& app, v1::JobRequest& request) {
  AddNodes(app, request);
  AddKubernetes(app, request);
  AddPatience(app, request);
  AddField(app, request, group::kNodes, "--on-busy",
           "If devices are in use: warn, refuse to start, or wait until they are free; considers "
           "GPUs, and CPUs of your other jobs; default: warn about GPUs");
  AddField(app, request, group::kNodes, "--health",
           "If the hardware of a node has a fault: warn, refuse to start (strict), or do not check "
           "(off)");
  AddProgramOptions(app, request);
  AddFailureOptions(app, request);
  AddOutputOptions(app, request);
  AddViewOptions(app, request);
  AddField(app, request, group::kFiles, "--sync",
           "Copy this folder to the nodes first, except for files that .gitignore or "
           ".autodistignore excludes");
  AddField(app, request, group::kFiles, "--sync-delete",
           "With --sync: delete what the nodes have in the folder and this machine does not, "
           "except for what .gitignore or .autodistignore excludes; --dry-run lists it");
  AddField(app, request, group::kFiles, "--sync-topology",
           "With --sync from a machine that is not a node: relay: the first node forwards the "
           "files to the others, encrypted; direct: each node gets them from here");
  AddField(app, request, group::kFiles, "--fetch",
           "When the ranks have exited, copy matching files from the nodes to the log folder: "
           "'ckpt*', 'out/**/*.pt'; repeatable")
      ->check(FilePattern());
  AddField(app, request, group::kFiles, "--max-size",
           "Max total size of the files of one node: 500M, 50G")
      ->transform(Size())
      ->default_str("10G");
  AddAdvancedOptions(app, request);
}

Result<v1::JobRequest> ReadRequest(const std::string& file) {
  AD_ASSIGN_OR_RETURN(const std::string json, base::ReadFile(file, chief::kLargestRequest));
  v1::JobRequest request;
  AD_RETURN_IF_ERROR(Annotate(json::FromJson(json, request), file));
  CLI::App options;
  v1::JobRequest unused;
  AddRequest(options, unused);
  AD_RETURN_IF_ERROR(Annotate(CheckFields(options, request), file));
  if (request.program().empty()) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, file + ": program: it is missing or empty"),
        "write the program and its arguments: \"program\": [\"./train\"]");
  }
  return request;
}

void AddRunOptions(CLI::App& app, RunOptions& options) {
  AddRequest(app, options.request);
  AddExclude(app, options.exclude);
  app.add_flag("--dry-run", options.dry_run, "Print the plan and start nothing")
      ->group(group::kOutput);
  app.add_flag("--verbose", options.verbose,
               "With --dry-run: include the environment of each node and rank")
      ->group(group::kOutput);
  app.add_flag("--show-env-values", options.show_env_values,
               "With --verbose: include python_venv and the values of your variables, except for "
               "those whose names suggest secrets")
      ->group(group::kOutput);
}

}  // namespace autodist::cli
