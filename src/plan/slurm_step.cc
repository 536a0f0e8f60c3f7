#include "plan/slurm_step.h"

#include <absl/strings/str_replace.h>

namespace autodist::plan {
namespace {

// Of the allocation's options, those that srun would take for its step's. Source: srun(1), "INPUT
// ENVIRONMENT VARIABLES".
constexpr char kForget[] =
    "unset SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_NTASKS_PER_GPU SLURM_MEM_PER_CPU "
    "SLURM_MEM_PER_GPU SLURM_MEM_PER_NODE SLURM_GPUS SLURM_GPUS_PER_NODE SLURM_GPUS_PER_SOCKET "
    "SLURM_GPUS_PER_TASK SLURM_GPU_BIND SLURM_TRES_PER_TASK SLURM_HINT SLURM_DISTRIBUTION "
    "SLURM_STDOUTMODE SLURM_STDERRMODE SLURM_LABELIO SLURM_EXCLUSIVE SLURM_EXACT SLURM_TIMELIMIT; ";

// Takes nothing away from other steps, passes every byte at once, and neither cares about the
// folder that we are in nor binds anything to a core. $g: what of the devices it has. Source:
// srun(1).
constexpr char kSrun[] =
    "srun --quiet --overlap --mem=0 --unbuffered --mpi=none --cpu-bind=none --kill-on-bad-exit=0 "
    "--wait=0 --chdir=/ --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist=\"$n\" $g";

// $1 node, $2 option of srun or nothing, $3 how the name of the pipe begins by which the holder
// learns which agent to start, $4 and $5 what the holder's step and ours run.
constexpr char kInStep[] =
    "{forget}n=$1 g=$2 f=$3.$$ h=$4 a=$5; shift 5; for l in \"$@\"; do :; done; "
    "[ \"$l\" != start ] || setsid {srun} --job-name=autodist-agent --input=none "
    "sh -c \"$h\" sh \"$f\" \"$@\" < /dev/null > /dev/null & "
    "exec {srun} --job-name=autodist-link sh -c \"$a\" sh \"$l\" \"$f\" \"$@\"";

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

}  // namespace

std::vector<std::string> SlurmStepWords(const std::string& node, size_t gpus,
                                        const std::string& job_id, uint32_t node_rank) {
  return {"sh",
          "-c",
          absl::StrReplaceAll(kInStep, {{"{forget}", kForget}, {"{srun}", kSrun}}),
          "sh",
          node,
          gpus == 0 ? "" : "--gres=gpu:" + std::to_string(gpus),
          "/tmp/autodist-hold-" + job_id + "." + std::to_string(node_rank),
          kHold,
          kAttach};
}

}  // namespace autodist::plan
