#include "cli/run_options.h"

#include "base/fd.h"
#include "chief/moved/lines.h"
#include "cli/display_options.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/nodes_options.h"
#include "cli/program_options.h"
#include "cli/values.h"
#include "control/jobs.h"
#include "json/proto_json.h"
#include "progress/pattern.h"

namespace autodist::cli {
namespace {

constexpr uint64_t kMostRestarts = 1'000'000;
constexpr uint64_t kMostNodes = 1'000'000;
constexpr uint64_t kMostRanks = 1'000'000;
constexpr double kShortestSample = 0.1;  // seconds

CLI::Validator JobName() {
  return {[](const std::string& text) {
            const Status status = control::CheckJobName(text);
            return status.ok() ? std::string() : Message(status);
          },
          "NAME"};
}

CLI::Validator ProgressPattern() {
  return {[](const std::string& text) {
            const auto pattern = progress::Pattern::Parse(text);
            if (pattern.ok()) return std::string();
            const std::string remedy = Remedy(pattern.status());
            return Message(pattern.status()) + (remedy.empty() ? "" : "; " + remedy);
          },
          "REGEX"};
}

// What happens when something breaks, or takes too long.
void AddFailureOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, "--max-restarts",
           "How often the job is started again when a rank fails or a node is lost")
      ->check(WholeNumber(0, kMostRestarts))
      ->group(group::kFailure);
  AddField(app, request, "--min-nodes",
           "Go on with this many nodes where others are lost: the job starts again with a "
           "smaller world size, and takes nodes back at the next restart")
      ->check(WholeNumber(1, kMostNodes))
      ->group(group::kFailure);
  AddField(app, request, "--checkpoint-dir",
           "Where the program keeps its checkpoints, on this machine or a file system that "
           "it shares; used to compute how much work a restart lost")
      ->check(NotEmpty())
      ->type_name("FOLDER")
      ->group(group::kFailure);
  AddField(app, request, "--timeout", "Stop the job after this time: 90, 10m, 2d")
      ->transform(Duration(0, kMaxTimeout))
      ->group(group::kFailure);
  AddField(app, request, "--hang-timeout",
           "Record the ranks' stacks after this time without output of any rank: 90, 10m; "
           "auto: ten times what a step takes, but 60 s at least")
      ->transform(DurationOrAuto())
      ->type_name("DURATION")
      ->group(group::kFailure);
  AddField(app, request, "--on-hang", "What to do then: stop, or only warn")
      ->group(group::kFailure);
  AddField(app, request, "--grace", "The time between SIGTERM and SIGKILL when ranks are stopped")
      ->transform(Duration(0))
      ->group(group::kFailure);
  AddField(app, request, "--stop-signal", "Asks ranks to end, in place of SIGTERM: INT, USR1, ...")
      ->transform(SignalName())
      ->default_str("TERM")
      ->group(group::kFailure);
  AddField(app, request, "--lease",
           "A node that receives nothing from here for this time ends its ranks")
      ->transform(Duration(1))
      ->group(group::kFailure);
}

void AddOutputOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, "--name",
           "A name of your choice for the job, by which ps, attach, logs, ... find it; the "
           "newest job with it is meant")
      ->check(JobName())
      ->group(group::kOutput);
  AddField(app, request, "--log-dir", "Where each job's folder with its ranks' output is made")
      ->check(NotEmpty())
      ->type_name("FOLDER")
      ->group(group::kOutput);
  AddDisplayOptions(app, *request.mutable_display(), group::kOutput);
  AddField(app, request, "--detach",
           "Return once the ranks run; `autodist ps`, attach, logs and stop reach the job")
      ->group(group::kOutput);
  AddField(app, request, "--chief-on",
           "With --detach, from a machine that is no node: autodist itself goes on on this "
           "node, an address of the spec's or first, so that this machine may go; ps, "
           "attach, logs, top, web and stop --chief-on reach the job")
      ->check(NotEmpty())
      ->type_name("ADDRESS")
      ->group(group::kOutput);
  AddField(app, request, "--stdin-rank",
           "The rank that gets what is typed here, in a terminal of its own, for pdb say; or "
           "what is piped into autodist")
      ->check(WholeNumber(0, kMostRanks))
      ->type_name("R")
      ->group(group::kOutput);
  AddField(app, request, "--on-end",
           "What sh is to do on this machine when the job is over, or could not be started; "
           "how it ended is in AUTODIST_VERDICT, AUTODIST_EXIT_CODE, AUTODIST_CAUSE, ...")
      ->check(NotEmpty())
      ->type_name("COMMAND")
      ->group(group::kOutput);
  AddField(app, request, "--nccl-debug",
           "What NCCL logs in every rank: VERSION, WARN, INFO or TRACE; the last two go to "
           "the ranks' stderr")
      ->check(OneOf({"VERSION", "WARN", "INFO", "TRACE"}))
      ->type_name("LEVEL")
      ->group(group::kOutput);
  AddField(app, request, "--json",
           "What happens, as lines of JSON on stdout: start, what ranks write, events, progress, "
           "end; with --dry-run: the plan as JSON")
      ->group(group::kOutput);
}

// How it is told, and to whom.
void AddViewOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, "--web",
           "Show this job in a browser while it runs. The address has a token that opens the page; "
           "it is "
           "printed at a terminal, else kept in a file of the log folder. ADDRESS:PORT: where to "
           "listen; a loopback address, and a port that is free")
      ->expected(0, 1)
      ->check(ListenAddressText())
      ->type_name("[ADDRESS]")
      ->group(group::kOutput);
  AddField(app, request, "--web-control",
           "With --web: allow viewers to stop the job and to take its stacks")
      ->group(group::kOutput);
  AddField(app, request, "--metrics",
           "ADDRESS:PORT of this machine where Prometheus may ask for the job's metrics: "
           "127.0.0.1:9464, [::1]:9464; port 0 is a free one, which is said")
      ->check(ListenAddressText())
      ->type_name("ADDRESS")
      ->group(group::kOutput);
  AddField(app, request, "--sample",
           "The time between two samples of each node, its GPUs and its ranks, at least; "
           "in jobs of more than 250 nodes longer; 0: none")
      ->transform(DurationOrNone(kShortestSample))
      ->group(group::kOutput);
  AddField(app, request, "--progress",
           "How the program tells its progress, where that is not recognised: a regular "
           "expression of RE2 that is looked for in each line, with groups named step, total, "
           "epoch, or as a metric: 'step (?P<step>\\d+)/(?P<total>\\d+) loss (?P<loss>\\S+)'")
      ->check(ProgressPattern())
      ->type_name("REGEX")
      ->group(group::kOutput);
}

void AddExpertOptions(CLI::App& app, v1::JobRequest& request) {
  AddFanOut(app, request);
  AddAgent(app, request);
  AddField(app, request, "--spool",
           "Bytes of output kept per rank on its node while none can be sent, "
           "before the rank has to wait; 1G, 500M")
      ->transform(Size())
      ->default_str("1G")
      ->group(group::kExpert);
  AddField(app, request, "--no-affinity",
           "Let ranks run on any CPU; default: a rank on a GPU runs on the CPUs of the GPU's "
           "NUMA node")
      ->group(group::kExpert);
  AddField(app, request, "--no-preflight",
           "Start the ranks without comparing the nodes' files, addresses and folders first")
      ->group(group::kExpert);
}

}  // namespace

void AddRequest(CLI::App& app, v1::JobRequest& request) {
  AddNodes(app, request);
  AddKubernetes(app, request);
  AddPatience(app, request);
  AddField(app, request, "--on-busy",
           "Where another job or another user has the devices: warn, refuse to start, or wait "
           "until they are free. GPUs, and CPUs of your other jobs; default: warn, of GPUs")
      ->group(group::kWhere);
  AddProgramOptions(app, request);
  AddFailureOptions(app, request);
  AddOutputOptions(app, request);
  AddViewOptions(app, request);
  AddField(app, request, "--sync",
           "First copy what has changed in this folder to the other nodes, apart from what "
           ".gitignore and .autodistignore name; deletes nothing there")
      ->group(group::kFiles);
  AddField(app, request, "--sync-from",
           "With --sync from outside the nodes: first: the first node gets the files from "
           "here and the others from it, as they reach each other, encrypted; here: "
           "each gets them from here")
      ->group(group::kFiles);
  AddField(app, request, "--fetch",
           "When the ranks have ended, well or not, bring what matches in this folder on the "
           "nodes into the log folder: 'ckpt*', 'out/**/*.pt'; may be given again")
      ->check(FilePattern())
      ->type_name("PATTERN")
      ->group(group::kFiles);
  AddField(app, request, "--max-size",
           "With --fetch: the files of one node may have so many bytes: 500M, 50G")
      ->transform(Size())
      ->default_str("10G")
      ->group(group::kFiles);
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
  app.add_flag("--show-values", options.show_values,
               "With --dry-run: as --verbose, also the python_venv and the values of variables "
               "that you have given, apart from those whose names tell of secrets")
      ->group(group::kOutput);
}

}  // namespace autodist::cli
