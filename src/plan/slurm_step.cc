#include "plan/slurm_step.h"

#include <absl/strings/str_replace.h>

namespace autodist::plan {
namespace {

// Of the allocation's options, those that srun would take for its step's. Source: srun(1), "INPUT
// ENVIRONMENT VARIABLES".
constexpr char kForget[] =
    "unset SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_NTASKS_PER_GPU SLURM_MEM_PER_CPU "
    "SLURM_MEM_PER_GPU SLURM_MEM_PER_NODE SLURM_GPUS_PER_TASK SLURM_TRES_PER_TASK "
    "SLURM_DISTRIBUTION SLURM_STDOUTMODE SLURM_STDERRMODE SLURM_LABELIO SLURM_EXCLUSIVE "
    "SLURM_EXACT SLURM_TIMELIMIT SLURM_NNODES; ";

// Takes nothing away from other steps, passes every byte at once, and neither cares about the
// folder that we are in nor binds anything to a core. Source: srun(1).
constexpr char kSrun[] =
    "srun --quiet --overlap --mem=0 --unbuffered --mpi=none --cpu-bind=none --kill-on-bad-exit=0 "
    "--wait=0 --chdir=/ --ntasks-per-node=1";

// $1 node, $2 how the name of the pipe begins by which the holder learns which agent to start, $3
// and $4 what the holder's step and ours run.
constexpr char kInStep[] =
    "{forget}n=$1 f=$2.$$ h=$3 a=$4; shift 4; for l in \"$@\"; do :; done; "
    "[ \"$l\" != start ] || setsid {srun} --nodes=1 --ntasks=1 --job-name=autodist-agent "
    "--input=none --nodelist=\"$n\" sh -c \"$h\" sh \"$f\" \"$@\" < /dev/null > /dev/null & "
    "exec {srun} --nodes=1 --ntasks=1 --job-name=autodist-link --nodelist=\"$n\" "
    "sh -c \"$a\" sh \"$l\" \"$f\" \"$@\"";

// The first of the two that comes makes the pipe; /tmp is everybody's.
#define AUTODIST_MAKE_PIPE \
  "mkfifo -m 600 \"$f\" 2> /dev/null; [ -p \"$f\" ] && [ -O \"$f\" ] || exit 1; "

// Waits for six minutes, which is more than sending an agent may take.
constexpr char kHold[] =
    "f=$1; shift; trap '' USR1 USR2; while [ $# -gt 6 ]; do shift; done; " AUTODIST_MAKE_PIPE
    "p=$(timeout 360 head -n 1 \"$f\"); rm -f \"$f\"; [ -n \"$p\" ] || exit 0; "
    "exec \"$p\" hold \"$@\"";

// Slurm's signals are for the holder and for who is in charge of the job.
constexpr char kAttach[] =
    "l=$1 f=$2; shift 2; trap '' TERM USR1 USR2; [ \"$l\" = start ] || exec "
    "\"$@\"; " AUTODIST_MAKE_PIPE "export AUTODIST_HOLDER=\"$f\"; exec \"$@\"";

#undef AUTODIST_MAKE_PIPE

std::string WithSrun(const std::string& script) {
  return absl::StrReplaceAll(script, {{"{forget}", kForget}, {"{srun}", kSrun}});
}

}  // namespace

std::vector<std::string> SlurmStepWords(size_t nodes) {
  const std::string count = std::to_string(nodes);
  return {"sh", "-c", WithSrun("{forget}n=$1; shift; exec {srun} --nodes=$n --ntasks=$n \"$@\""),
          "sh", count};
}

std::vector<std::string> SlurmStepWordsFor(const std::string& node, const std::string& job_id,
                                           uint32_t node_rank) {
  return {"sh",  "-c",   WithSrun(kInStep),
          "sh",  node,   "/tmp/autodist-hold-" + job_id + "." + std::to_string(node_rank),
          kHold, kAttach};
}

}  // namespace autodist::plan
