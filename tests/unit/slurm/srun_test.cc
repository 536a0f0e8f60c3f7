#include "slurm/srun.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/proof_of_end.h"
#include "support/temp_folder.h"

namespace autodist::slurm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

// Slurm says so when it begins to end the steps; their processes then have KillWait, 30 seconds.
TEST(SrunErrorTest, AnEndedAllocationDoesNotProveTheEndOfItsSteps) {
  const Status over = SrunError(
      "srun: error: Unable to create step for job 7: Job/step already completing or "
      "completed\n");
  EXPECT_TRUE(Message(over).starts_with("Slurm has ended the job: srun: error: ")) << over;
  EXPECT_FALSE(ProofOfEnd::In(over));
  const Status busy =
      SrunError("srun: error: Unable to create step for job 7: Requested nodes are busy\n");
  EXPECT_TRUE(Message(busy).starts_with("srun: error: ")) << busy;
}

TEST(SrunErrorTest, OutputOfTasksIsNotAnError) {
  for (const std::string said : {"", "error: no room\n", "slurmstepd: error: no room\n"}) {
    EXPECT_TRUE(SrunError(said).ok()) << said;
  }
}

TEST(SrunErrorTest, NoticesAreNoReasons) {
  const struct {
    std::string said;
    std::string rest;
  } kCases[] = {
      {"", ""},
      {"srun: cluster configuration lacks support for cpu binding\n", ""},
      {"srun: job 7 queued and waiting for resources\n"
       "srun: job 7 has been allocated resources\n",
       ""},
      {"srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)\n"
       "srun: Step created for StepId=7.0\n",
       "srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)"},
      {"srun: Job step created\n", ""},
      {"srun: launch/slurm: _task_start: Launching StepId=7.0, host n0, 1 tasks: 0\n"
       "srun: launch/slurm: _task_finish: Received task exit notification for 1 task\n",
       ""},
      {"srun: launch/slurm: launch_p_step_launch: StepId=7.0 aborted before step completely "
       "launched.\n",
       "srun: launch/slurm: launch_p_step_launch: StepId=7.0 aborted before step completely "
       "launched."},
      {"srun: cluster configuration lacks support for cpu binding\n"
       "slurmstepd: error: no room\n\n"
       "srun: Force Terminated StepId=7.0\n",
       "slurmstepd: error: no room\nsrun: Force Terminated StepId=7.0"},
      {"no library: it has been allocated resources\n",
       "no library: it has been allocated resources"},
  };
  for (const auto& [said, rest] : kCases) EXPECT_EQ(WithoutNotices(said), rest);
}

TEST(SrunIntoTest, RunsOnOneNodeBesideTheStepsOfTheJob) {
  const test::TempFolder folder;
  const std::string path = getenv("PATH");
  setenv("PATH", folder.path().c_str(), 1);
  EXPECT_THAT(SrunInto("4711", "n7", true), IsEmpty());
  std::filesystem::permissions(folder.Write("srun", "#!/bin/sh\n"),
                               std::filesystem::perms::owner_all);
  const std::vector<std::string> argv = SrunInto("4711", "n7", true);
  EXPECT_THAT(argv, AllOf(Contains("--jobid=4711"), Contains("--overlap"), Contains("--pty"),
                          Contains("--nodelist=n7"), Contains("--ntasks=1")));
  EXPECT_THAT(SrunInto("4711", "n7", false), Not(Contains("--pty")));
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace autodist::slurm
