#include "slurm/ended_job.h"

#include <gtest/gtest.h>

namespace autodist::slurm {
namespace {

TEST(EndedJobTest, WhatScontrolSays) {
  for (const char* said :
       {"scontrol show job: slurm_load_jobs error: Invalid job id specified",
        "JobId=7 JobName=bash\n   JobState=TIMEOUT Reason=TimeLimit\n",
        "JobId=7\n   JobState=COMPLETED Reason=None\n",
        "JobId=7\n   JobState=COMPLETED Reason=None\n\nJobId=8\n   JobState=FAILED Reason=x\n"}) {
    EXPECT_TRUE(SaysEnded(said)) << said;
  }
  for (const char* said :
       {"", "JobId=7 JobName=bash\n   JobState=RUNNING Reason=None\n",
        "JobId=7\n   JobState=PENDING Reason=Resources\n",
        "JobId=7\n   JobState=COMPLETED Reason=None\n\nJobId=8\n   JobState=RUNNING Reason=None\n",
        "scontrol show job: slurm_load_jobs error: Unable to contact slurm controller",
        "'scontrol' is not in PATH"}) {
    EXPECT_FALSE(SaysEnded(said)) << said;
  }
}

TEST(EndedJobTest, WhetherAnyProcessIsLeft) {
  for (const auto& [said, nothing] :
       {std::pair{"JobId=7\n   JobState=NODE_FAIL Reason=NodeDown\n", true},
        {"scontrol show job: slurm_load_jobs error: Invalid job id specified", true},
        {"JobId=7\n   JobState=PENDING Reason=BeginTime\n", true},  // requeued
        {"JobId=7\n   JobState=RUNNING Reason=None\n", false},
        {"JobId=7\n   JobState=COMPLETING Reason=None\n", false},
        {"scontrol show job: slurm_load_jobs error: Unable to contact slurm controller", false},
        {"'scontrol' is not in PATH", false}}) {
    EXPECT_EQ(SaysNothingRuns(said), nothing) << said;
  }
}

TEST(EndedJobTest, OnlyVariablesOfAJob) {
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_NNODES",
        "SLURM_NTASKS", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_ON_NODE", "SLURM_SUBMIT_DIR",
        "SLURM_GPUS_ON_NODE", "SLURM_PROCID", "SLURMD_NODENAME"}) {
    EXPECT_TRUE(IsOfJob(name)) << name;
  }
  for (const char* name : {"SLURM_CONF", "SLURM_TIME_FORMAT", "SLURM_CLUSTERS", "SLURM_JWT",
                           "SBATCH_ACCOUNT", "PATH"}) {
    EXPECT_FALSE(IsOfJob(name)) << name;
  }
}

}  // namespace
}  // namespace autodist::slurm
