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

TEST(EndedJobTest, WhetherTheJobRuns) {
  const std::string running = "JobId=7 JobName=bash\n   JobState=RUNNING Reason=None\n";
  const std::string pending = "JobId=8\n   JobState=PENDING Reason=BeginTime\n";
  const std::string failed = "JobId=9\n   JobState=NODE_FAIL Reason=NodeDown\n";
  const std::string completing = "JobId=10\n   JobState=COMPLETING Reason=None\n";
  using Row = std::pair<std::string, v1::SlurmState>;
  for (const auto& [said, state] :
       {Row{failed, v1::SLURM_STATE_ENDED},
        {"scontrol show job: slurm_load_jobs error: Invalid job id specified",
         v1::SLURM_STATE_ENDED},
        {pending, v1::SLURM_STATE_ENDED},  // requeued
        {pending + failed, v1::SLURM_STATE_ENDED},
        {running, v1::SLURM_STATE_RUNNING},
        {pending + running, v1::SLURM_STATE_RUNNING},  // tasks of an array
        {running + pending, v1::SLURM_STATE_RUNNING},
        {completing, v1::SLURM_STATE_RUNNING},
        {failed + completing, v1::SLURM_STATE_RUNNING},
        {"scontrol show job: slurm_load_jobs error: Unable to contact slurm controller",
         v1::SLURM_STATE_UNSPECIFIED},
        {"'scontrol' is not in PATH", v1::SLURM_STATE_UNSPECIFIED}}) {
    EXPECT_EQ(StateIn(said), state) << said;
  }
}

TEST(EndedJobTest, WhetherASubmittedJobIsPendingOrHasEnded) {
  using enum SubmissionState;
  const std::string running = "JobId=7 JobName=bash\n   JobState=RUNNING Reason=None\n";
  const std::string pending = "JobId=8\n   JobState=PENDING Reason=JobHeldUser\n";
  for (const auto& [said, state] :
       {std::pair<std::string, SubmissionState>{pending, kPending},
        {pending + pending, kPending},
        {pending + running, kOther},  // tasks of an array
        {running, kOther},
        {"JobId=7\n   JobState=CONFIGURING Reason=None\n", kOther},
        {"JobId=7\n   JobState=CANCELLED Reason=None\n", kEnded},
        {"scontrol show job: slurm_load_jobs error: Invalid job id specified", kEnded},
        {"'scontrol' is not in PATH", kOther}}) {
    EXPECT_EQ(SubmissionStateIn(said), state) << said;
  }
}

TEST(EndedJobTest, WhetherTheNodeAnswers) {
  for (const auto& [said, answers] :
       {std::pair{"NodeName=n7 Arch=x86_64\n   State=IDLE ThreadsPerCore=1\n", true},
        {"   State=MIXED+DRAIN ThreadsPerCore=1\n", true},
        {"   State=IDLE+CLOUD+POWERED_DOWN ThreadsPerCore=1\n", true},
        {"   State=DOWN ThreadsPerCore=1\n", false},
        {"   State=DOWN* ThreadsPerCore=1\n", false},
        {"   State=IDLE* ThreadsPerCore=1\n", false},
        {"   State=ALLOCATED+NOT_RESPONDING ThreadsPerCore=1\n", false},
        {"   State=IDLE+FAIL\n", false},
        {"   State=UNKNOWN\n", false},
        {"Node n7 not found", false},
        {"", false}}) {
    EXPECT_EQ(NodeAnswers(said), answers) << said;
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
