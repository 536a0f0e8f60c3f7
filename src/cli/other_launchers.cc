#include "cli/other_launchers.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "base/parse_number.h"
#include "base/split.h"
#include "slurm/hosts.h"

namespace autodist::cli {
namespace {

struct KnownOption {
  const char* launcher;
  const char* names;   // without leading dashes, with '-' for '_'
  const char* option;  // autodist's option; empty: leave it out
  const char* value;   // placeholder for the user's value; empty: the value is not used
  const char* more;
};

constexpr char kOnThisMachine[] = " on this machine, `--hosts HOST:N,...` on several";
// {}: the user's value.
constexpr char kOnEachNode[] = " on this machine, `--hosts HOST:{},...` on several";
constexpr char kNamed[] = " for N ranks on each host, or use a spec";
constexpr char kAllAtOnce[] = "autodist starts all nodes and sets their ranks";
constexpr char kFolder[] = "; default: the folder in which autodist is started";
constexpr char kMeeting[] = "the ranks meet on node 0; --master-port chooses the port";
constexpr char kDevices[] =
    " with `gpus: [0, 1]`; on this machine, CUDA_VISIBLE_DEVICES also works";
constexpr char kAllocation[] = "; give this one to salloc or sbatch";
constexpr char kEnvFile[] =
    " for each variable; or read the file in this shell (set -a; . FILE), and pass its variables "
    "with --pass-env NAME";

// Of several entries with one name, the first that fits the value is used.
constexpr KnownOption kKnown[] = {
    {"mpirun", "np", "-n", "N", kOnThisMachine},
    {"mpirun", "npernode ppn", "-n", "N", kOnEachNode},
    {"srun", "ntasks", "-n", "N", kOnThisMachine},
    {"srun", "ntasks-per-node gpus-per-node", "-n", "N", kOnEachNode},
    {"torchrun", "nproc", "-n", "N", kOnThisMachine},
    {"deepspeed", "num-gpus", "-n", "N", kOnEachNode},
    {"accelerate", "num-processes", "-n", "N", kOnThisMachine},
    {"torchrun", "nnodes", "--hosts HOST1:N,HOST2:N", "", kNamed},
    {"srun", "N nodes", "--hosts HOST1:N,HOST2:N", "", kNamed},
    {"deepspeed", "num-nodes", "--hosts HOST1:N,HOST2:N", "", kNamed},
    {"accelerate", "num-machines", "--hosts HOST1:N,HOST2:N", "", kNamed},
    {"paddle.distributed.launch", "ips", "--hosts", "HOST,...", ""},
    {"mpirun", "H host", "--hosts", "HOST,...", ""},
    {"srun", "w nodelist", "--hosts", "HOST,...", ""},
    {"mpirun", "hostfile machinefile f", "--spec", "FILE", " (hostfiles are accepted)"},
    {"mpirun", "x", "--env", "NAME=VALUE", ""},
    {"mpirun", "x", "--pass-env", "NAME", ""},
    {"srun", "export", "--env", "NAME=VALUE", ""},
    {"srun", "export", "", "ALL", "--slurm passes all variables; else --pass-env NAME passes one"},
    {"srun", "export", "--pass-env", "NAME", ""},
    {"mpirun", "genv genvlist export-env", "--env", "NAME=VALUE", ""},
    {"docker", "env-file", "--env NAME=VALUE", "", kEnvFile},
    {"torchrun", "master-addr local-addr", "", "",
     "autodist sets MASTER_ADDR; to change it, set `data_address` of node 0 in the spec"},
    {"accelerate", "main-process-ip", "", "", "autodist sets MASTER_ADDR"},
    {"accelerate", "main-process-port", "--master-port", "N", ""},
    {"torchrun", "node-rank", "", "", kAllAtOnce},
    {"accelerate", "machine-rank", "", "", kAllAtOnce},
    {"torchrun", "rdzv-backend rdzv-endpoint rdzv-id rdzv-conf standalone", "", "", kMeeting},
    {"msrun", "sched-host sched-port", "", "", kMeeting},
    {"msrun", "worker-num local-worker-num", "-n", "N", kOnThisMachine},
    {"torchrun", "m module", "-- python3 -m", "MODULE", ""},
    {"torch.distributed.launch", "use-env", "", "", "autodist always sets LOCAL_RANK"},
    {"torchrun", "no-python", "", "", "autodist does not add python"},
    {"torchrun", "redirects r tee t", "--log-dir FOLDER", "",
     ": autodist prints the output of all ranks and stores it there"},
    {"horovodrun", "min-np max-np", "--min-nodes", "N", ""},
    {"srun", "o output e error", "--log-dir FOLDER", "",
     ": autodist prints the output of all ranks and stores it there"},
    {"deepspeed", "include i exclude e", "--spec cluster.yaml", "", kDevices},
    {"accelerate", "gpu-ids", "--spec cluster.yaml", "", kDevices},
    {"paddle.distributed.launch", "gpus devices", "--spec cluster.yaml", "", kDevices},
    {"deepspeed", "ssh-port p", "--port", "N", "; in a spec: `port` of the ssh group"},
    {"deepspeed", "no-ssh no-local-rank force-multi", "", "", kAllAtOnce},
    {"accelerate", "multi-gpu multi-cpu", "", "", "autodist starts one rank per device"},
    {"srun", "partition p gres G mem account A time", "--slurm", "", kAllocation},
    {"mpirun", "bind-to", "--no-affinity", "",
     " to run on any CPU; default: the CPUs near the GPU"},
    {"mpirun", "map-by rank-by", "--per job -- mpirun --map-by", "",
     " to use mpirun; autodist numbers ranks node by node"},
    {"srun", "cpu-bind cpus-per-task c", "--no-affinity", "",
     " to run on any CPU; default: the CPUs near the GPU"},
    {"mpirun", "mca", "--per job -- mpirun --mca", "", " to use mpirun"},
    {"mpirun", "allow-run-as-root oversubscribe tag-output", "", "", "this is always on"},
    {"srun", "J job-name", "--name", "NAME", ""},
    {"torchrun", "monitor-interval", "", "", "autodist reports the end of a rank immediately"},
    {"srun", "l label K kill-on-bad-exit u unbuffered", "", "", "this is always on"},
    {"mpirun", "wdir wd", "--workdir", "FOLDER", kFolder},
    {"srun", "D chdir", "--workdir", "FOLDER", kFolder},
    {"mpirun", "output-filename", "--log-dir", "FOLDER", ""},
    {"torchrun", "local-ranks-filter", "--show local0", "", ""},
    {"accelerate", "mixed-precision", "--env ACCELERATE_MIXED_PRECISION=bf16", "",
     ", or give it in the program"},
    {"accelerate", "cpu use-cpu", "--env ACCELERATE_USE_CPU=true", "", ""},
    {"accelerate", "config-file", "--spec FILE", "",
     " for the machines; pass the rest to the program, or with --env"},
    {"deepspeed", "launcher", "", "", kAllAtOnce},
    {"srun", "pty", "--stdin-rank 0", "", ""},
};

// Options that have no value in the other launcher.
constexpr char kAlone[] =
    "standalone use-env no-python no-ssh no-local-rank force-multi multi-gpu multi-cpu "
    "allow-run-as-root oversubscribe tag-output l label K kill-on-bad-exit u unbuffered cpu "
    "use-cpu pty";

// Short options of sbatch, and their long names here or there.
constexpr char kSbatchNames[] =
    "A:account C:constraint D:workdir G:gpus J:name N:nodes c:cpus-per-task d:dependency e:error "
    "n:ntasks o:output p:partition q:qos t:time w:nodelist x:exclude";

struct KnownCommand {
  const char* names;
  const char* here;  // the equivalent command
};

constexpr KnownCommand kCommands[] = {
    {"list ls jobs history queue squeue qstat",
     "`autodist ps` lists jobs; --all includes ended jobs"},
    {"kill cancel scancel qdel terminate end delete down", "`autodist stop` stops a job"},
    {"rm remove purge", "`autodist prune` removes the logs of old jobs"},
    {"launch start exec srun sbatch mpirun mpiexec torchrun horovodrun deepspeed",
     "`autodist run -- PROGRAM` starts a program"},
    {"tail output cat", "`autodist logs` prints the output of ranks"},
    {"show info describe inspect", "`autodist status` shows a job and its nodes"},
    {"check diagnose preflight", "`autodist doctor` checks the nodes before a run"},
    {"htop monitor watch", "`autodist top` watches a job"},
    {"dashboard ui gui", "`autodist web` shows jobs in a browser"},
    {"stack trace dump py-spy", "`autodist stacks` shows what each rank is doing"},
    {"download pull get", "`autodist fetch PATTERN` copies files from the nodes"},
    {"cp scp rsync copy",
     "`autodist run --sync -- PROGRAM` copies this folder to the nodes before the start, `autodist "
     "fetch PATTERN` copies files from them"},
    {"hosts nodes config", "`autodist init --hosts HOST,...` writes a spec"},
    {"connect join", "`autodist attach` shows a job's output"},
    {"wait", "`autodist attach JOB` waits for a job and ends with its exit code"},
    {"sync push upload",
     "`autodist run --sync -- PROGRAM` copies this folder to the nodes before the start"},
    {"env export setenv",
     "`autodist run --env NAME=VALUE -- PROGRAM` sets a variable for all ranks; `autodist run "
     "--dry-run --verbose -- PROGRAM` shows all"},
    {"metrics prometheus",
     "`autodist run --metrics 127.0.0.1:9464 -- PROGRAM` serves a job's metrics for Prometheus; "
     "`autodist top` shows them"},
    {"debug pdb",
     "put breakpoint() into the program; `autodist run --stdin-rank 0 -- PROGRAM` debugs rank 0 in "
     "this "
     "terminal"},
    {"gpus gpu nvidia-smi",
     "`autodist top` shows the GPUs of a job, and `autodist doctor` checks those of the nodes"},
    {"ssh shell login", "use ssh itself: ssh HOST; `autodist status` lists the nodes of a job"},
    {"forward tunnel port-forward proxy",
     "use ssh itself: ssh -L PORT:localhost:PORT HOST; `autodist web` shows jobs in a browser"},
    {"notebook jupyter tensorboard",
     "start it on the node, and forward its port: ssh -L PORT:localhost:PORT HOST"},
    {"profile profiler",
     "`autodist why` explains slow steps; to profile ranks, put the profiler before the program: "
     "`autodist run -- nsys profile ./train`"},
    {"resume restart retry",
     "`autodist run --max-restarts 3 -- PROGRAM` starts a failed job again; to resume an ended "
     "job, run it again: the program reads its checkpoint"},
    {"upgrade update", "replace autodist by a newer release; the nodes get it at the next run"},
};

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool Fits(const KnownOption& known, const std::string& value) {
  const std::string_view wanted = known.value;
  if (value.empty()) return false;
  if (wanted == "N") return IsNumber(value);
  const size_t mark = value.find_first_of("=,");
  if (wanted == "NAME") return mark == std::string::npos && value != "ALL" && value != "NONE";
  if (wanted == "ALL") return value == "ALL";
  return wanted != "NAME=VALUE" || (mark != std::string::npos && value[mark] == '=');
}

struct Named {
  std::string name;   // as in KnownOption
  std::string value;  // "": none
};

Named NameAndValue(const std::string& word, const std::string& next) {
  const size_t equals = word.find('=');
  std::string name = word.substr(0, equals);
  std::string value = equals != std::string::npos ? word.substr(equals + 1)
                      : next.starts_with('-')     ? ""
                                                  : next;
  name.erase(0, name.find_first_not_of('-'));
  std::ranges::replace(name, '_', '-');
  if (IsNumber(std::string_view(name).substr(std::min<size_t>(1, name.size())))) {  // -N4
    value = name.substr(1);
    name.resize(1);
  }
  return {name, value};
}

// Returns the first entry that fits the value, else the first with the name; null if unknown.
const KnownOption* FindKnown(const Named& named) {
  const KnownOption* best = nullptr;
  for (const KnownOption& known : kKnown) {
    if (std::ranges::count(base::Split(known.names, ' '), named.name) == 0) continue;
    if (!best || (!Fits(*best, named.value) && Fits(known, named.value))) best = &known;
  }
  return best;
}

}  // namespace

std::string LongSbatchOption(const std::string& word) {
  for (const std::string_view known : base::Split(kSbatchNames, ' ')) {
    const bool is_short = word.size() > 1 && word[0] == '-' && word[1] == known[0];
    if (is_short) return "--" + std::string(known.substr(2));
  }
  return "";
}

std::vector<std::string> CommandsOfOthers() {
  std::vector<std::string> words;
  for (const KnownCommand& known : kCommands) {
    for (const std::string_view word : base::Split(known.names, ' ')) words.emplace_back(word);
  }
  return words;
}

std::string CommandHere(const std::string& word) {
  for (const KnownCommand& known : kCommands) {
    if (std::ranges::count(base::Split(known.names, ' '), word) > 0) return known.here;
  }
  return "";
}

std::optional<OptionHere> OptionOfAnotherLauncher(const std::string& word,
                                                  const std::string& next) {
  const Named named = NameAndValue(word, next);
  const KnownOption* known = FindKnown(named);
  if (!known) return std::nullopt;
  const std::string value = Fits(*known, named.value) ? named.value : std::string(known->value);
  OptionHere here{known->launcher, known->option,
                  absl::StrReplaceAll(std::string(known->more), {{"{}", value}})};
  if (*known->option && *known->value) here.option += " " + value;
  return here;
}

bool TakesValue(const std::string& word, const std::string& next) {
  const Named named = NameAndValue(word, "");
  return named.value.empty() && !next.empty() && !next.starts_with('-') && FindKnown(named) &&
         std::ranges::count(base::Split(kAlone, ' '), named.name) == 0;
}

Status CheckStartedOnce(
    const std::function<std::optional<std::string>(const std::string& name)>& variable) {
  struct Launcher {
    const char* name;
    const char* variable;  // set for each process
    uint64_t tasks;
    const char* nodes;  // how to select the nodes without it
  };
  constexpr char kHosts[] = "--hosts HOST:N,... or a spec selects the nodes";
  const auto number = [&](const char* name) {
    return base::ParseNumber<uint64_t>(variable(name).value_or("")).value_or(1);
  };
  const Launcher launchers[] = {
      // Open MPI may start its own daemons with srun.
      {"mpirun", "OMPI_COMM_WORLD_SIZE", number("OMPI_COMM_WORLD_SIZE"), kHosts},
      {"srun", "SLURM_STEP_ID", slurm::TasksOfStep(variable),
       "--slurm uses all nodes of the allocation"},
      // MPICH, Intel MPI and others; also srun with PMI.
      {"mpirun", "PMI_SIZE", number("PMI_SIZE"), kHosts},
  };
  const Launcher* found = nullptr;
  std::string unset;
  for (const Launcher& launcher : launchers) {
    if (launcher.tasks <= 1) continue;
    if (!found) found = &launcher;
    unset += std::string(" -u ") + launcher.variable;
  }
  if (!found || variable("AUTODIST_RANK")) return OkStatus();
  return WithRemedy(
      Error(StatusCode::kInvalidArgument,
            "this is one of " + std::to_string(found->tasks) + " tasks of " + found->name + " (" +
                found->variable + "); each that runs autodist would start the whole job"),
      std::string("start autodist once, without ") + found->name + "; " + found->nodes +
          "; if only this task starts it: `env" + unset + " autodist ...`");
}

Status CheckStartedOnce() {
  return CheckStartedOnce([](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace autodist::cli
