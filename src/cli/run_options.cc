#include "cli/run_options.h"

#include "base/fd.h"
#include "chief/remote_controller/controller_lines.h"
#include "cli/display_options.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/nodes_options.h"
#include "cli/values.h"
#include "control/jobs.h"
#include "json/proto_json.h"
#include "progress/pattern.h"

namespace autodist::cli {
namespace {

constexpr uint64_t kMaxRestarts = 1'000'000;
constexpr uint64_t kMaxNodes = 1'000'000;
constexpr uint64_t kMaxRanks = 1'000'000;
constexpr double kShortestSample = 0.1;  // seconds

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
            return "'" + text + "' is neither an absolute path nor one that begins with '~/'";
          },
          "FOLDER"};
}

// What happens when something breaks, or takes too long.
void AddFailureOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kFailure, "--max-restarts",
           "How often the job is started again when a rank fails or a node is lost")
      ->check(WholeNumber(0, kMaxRestarts));
  AddField(app, request, group::kFailure, "--min-nodes",
           "Go on with this many nodes where others are lost: the job starts again with a "
           "smaller world size, and takes nodes back at the next restart")
      ->check(WholeNumber(1, kMaxNodes));
  AddField(app, request, group::kFailure, "--checkpoint-dir",
           "Where the program keeps its checkpoints, on this machine or a file system that "
           "it shares; used to compute how much work a restart lost")
      ->check(NotEmpty("FOLDER"));
  AddField(app, request, group::kFailure, "--timeout", "Stop the job after this time: 90, 10m, 2d")
      ->transform(Duration(0, kMaxTimeout));
  AddField(app, request, group::kFailure, "--hang-timeout",
           "Record the ranks' stacks after this time without output of any rank: 90, 10m; "
           "auto: ten times what a step takes, but 60 s at least")
      ->transform(DurationOrAuto());
  AddField(app, request, group::kFailure, "--on-hang", "What to do then: stop, or only warn");
  AddField(app, request, group::kFailure, "--grace",
           "The time between SIGTERM and SIGKILL when ranks are stopped")
      ->transform(Duration(0));
  AddField(app, request, group::kFailure, "--stop-signal",
           "Asks ranks to end, in place of SIGTERM: INT, USR1, ...")
      ->transform(SignalName())
      ->default_str("TERM");
  AddField(app, request, group::kFailure, "--lease",
           "A node that receives nothing from here for this time ends its ranks")
      ->transform(Duration(1));
}

void AddOutputOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kOutput, "--name",
           "A name of your choice for the job, by which ps, attach, logs, ... find it; the "
           "newest job with it is meant")
      ->check(ParsedBy(control::CheckJobName, "NAME"));
  AddField(app, request, group::kOutput, "--log-dir",
           "Where each job's folder with its ranks' output is made")
      ->check(NotEmpty("FOLDER"));
  AddDisplayOptions(app, *request.mutable_display(), group::kOutput);
  AddField(app, request, group::kOutput, "--detach",
           "Return once the ranks run; `autodist ps`, attach, logs and stop reach the job");
  AddField(app, request, group::kOutput, "--chief-on",
           "With --detach, from a machine that is no node: autodist itself goes on on this "
           "node, an address of the spec's or first, so that this machine may go; ps, "
           "attach, logs, top, web and stop --chief-on reach the job")
      ->check(NotEmpty("ADDRESS"));
  AddField(app, request, group::kOutput, "--stdin-rank",
           "The rank that gets what is typed here, in a terminal of its own, for pdb say; or "
           "what is piped into autodist")
      ->check(WholeNumber(0, kMaxRanks));
  AddField(app, request, group::kOutput, "--on-exit",
           "What sh is to do on this machine when the job is over, or could not be started; "
           "how it ended is in AUTODIST_OUTCOME, AUTODIST_EXIT_CODE, AUTODIST_CAUSE, ...")
      ->check(NotEmpty("COMMAND"));
  AddField(app, request, group::kOutput, "--nccl-debug",
           "What NCCL logs in every rank: VERSION, WARN, INFO or TRACE; the last two go to "
           "the ranks' stderr")
      ->check(OneOf({"VERSION", "WARN", "INFO", "TRACE"}));
  AddField(app, request, group::kOutput, "--json",
           "What happens, as lines of JSON on stdout: start, what ranks write, events, progress, "
           "end; with --dry-run: the plan as JSON");
}

// How it is told, and to whom.
void AddViewOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kOutput, "--web",
           "Show this job in a browser while it runs. The address has a token that opens the page; "
           "it is "
           "printed at a terminal, else kept in a file of the log folder. ADDRESS:PORT: where to "
           "listen; a loopback address, and a port that is free")
      ->expected(0, 1)
      ->check(ListenAddressText())
      ->type_name("[ADDRESS]");
  AddField(app, request, group::kOutput, "--web-allow-actions",
           "With --web: allow viewers to stop the job and to take its stacks");
  AddField(app, request, group::kOutput, "--metrics",
           "ADDRESS:PORT of this machine where Prometheus may ask for the job's metrics: "
           "127.0.0.1:9464, [::1]:9464; port 0 is a free one, which is said")
      ->check(ListenAddressText());
  AddField(app, request, group::kOutput, "--sample-interval",
           "The time between two samples of each node, its GPUs and its ranks, at least; "
           "in jobs of more than 250 nodes longer; 0: none")
      ->transform(DurationOrNone(kShortestSample));
  AddField(app, request, group::kOutput, "--progress-regex",
           "How the program tells its progress, where that is not recognised: a regular "
           "expression of RE2 that is looked for in each line, with groups named step, total, "
           "epoch, or as a metric: 'step (?P<step>\\d+)/(?P<total>\\d+) loss (?P<loss>\\S+)'")
      ->check(ProgressPattern());
}

void AddExpertOptions(CLI::App& app, v1::JobRequest& request) {
  AddFanOut(app, request);
  AddAgent(app, request);
  AddField(app, request, group::kAdvanced, "--output-buffer",
           "Bytes of output kept per rank on its node while none can be sent, "
           "before the rank has to wait; 1G, 500M")
      ->transform(Size())
      ->default_str("1G");
  AddField(app, request, group::kAdvanced, "--no-affinity",
           "Let ranks run on any CPU; default: a rank on a GPU runs on the CPUs of the GPU's "
           "NUMA node");
  AddField(app, request, group::kAdvanced, "--no-preflight",
           "Start the ranks without comparing the nodes' files, addresses and folders first");
}

}  // namespace

void AddProgramOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kProgram, "--per",
           "How often the program is started: once per device; once per node, where it "
           "starts the node's ranks itself (torchrun); once per job, on the chief (mpirun)");
  AddField(app, request, group::kProgram, "--framework",
           "Whose variables tell the ranks who they are, with commas between: torch, paddle, "
           "jax, ... (`autodist frameworks`); default: the launcher's, or torch")
      ->delimiter(',')
      ->type_name("FRAMEWORKS");
  AddField(app, request, group::kProgram, "--master-port",
           "Port of the ranks' rendezvous on the chief; default: one that is free")
      ->check(WholeNumber(1, 65535));
  AddField(app, request, group::kProgram, "--workdir",
           "Where the program starts on the nodes: an absolute path, or '~/...' in quotes; "
           "default: as here, and where this machine is no node the same path below the home "
           "folder")
      ->check(WorkingDirectory());
  AddField(app, request, group::kEnvironment, "--env",
           "A variable for all processes on every node, as it is")
      ->type_name("NAME=VALUE");
  AddField(app, request, group::kEnvironment, "--pass-env",
           "A variable that all processes get from this environment, for secrets: its value "
           "is never shown")
      ->type_name("VARIABLE");
}

void AddRequest(CLI::App& app, v1::JobRequest& request) {
  AddNodes(app, request);
  AddKubernetes(app, request);
  AddPatience(app, request);
  AddField(app, request, group::kNodes, "--on-busy",
           "Where another job or another user has the devices: warn, refuse to start, or wait "
           "until they are free. GPUs, and CPUs of your other jobs; default: warn, of GPUs");
  AddProgramOptions(app, request);
  AddFailureOptions(app, request);
  AddOutputOptions(app, request);
  AddViewOptions(app, request);
  AddField(app, request, group::kFiles, "--sync",
           "First copy what has changed in this folder to the other nodes, apart from what "
           ".gitignore and .autodistignore name; deletes nothing there");
  AddField(app, request, group::kFiles, "--sync-topology",
           "With --sync from outside the nodes: relay: the first node gets the files from "
           "here and passes them on to the others, encrypted; direct: each node gets them from "
           "here");
  AddField(app, request, group::kFiles, "--fetch",
           "When the ranks have ended, well or not, bring what matches in this folder on the "
           "nodes into the log folder: 'ckpt*', 'out/**/*.pt'; may be given again")
      ->check(FilePattern());
  AddField(app, request, group::kFiles, "--max-size",
           "With --fetch: the files of one node may have so many bytes: 500M, 50G")
      ->transform(Size())
      ->default_str("10G");
  AddExpertOptions(app, request);
}

Result<v1::JobRequest> ReadRequest(const std::string& file) {
  AD_ASSIGN_OR_RETURN(const std::string json, base::ReadFile(file, chief::kLargestRequest));
  v1::JobRequest request;
  AD_RETURN_IF_ERROR(Annotate(json::FromJson(json, request), file));
  CLI::App options;
  v1::JobRequest unused;
  AddRequest(options, unused);
  AD_RETURN_IF_ERROR(Annotate(CheckFields(options, request), file));
  return request;
}

void AddRunOptions(CLI::App& app, RunOptions& options) {
  AddRequest(app, options.request);
  app.add_flag("--dry-run", options.dry_run, "Print the plan, start nothing")
      ->group(group::kOutput);
  app.add_flag("--verbose", options.verbose,
               "With --dry-run: also the environment of each node and rank")
      ->group(group::kOutput);
  app.add_flag("--show-env-values", options.show_env_values,
               "With --dry-run: as --verbose, also the python_venv and the values of variables "
               "that you have given, apart from those whose names tell of secrets")
      ->group(group::kOutput);
}

}  // namespace autodist::cli
