#include "cli/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include "support/scoped_variable.h"

namespace autodist::cli {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1'795'195'951'400;  // 2 min 31 s after its start

v1::JobStatus Job() {
  setenv("TZ", "UTC", 1);
  tzset();
  v1::JobStatus job;
  job.set_job_id("20261120-173000-3fa9c1");
  job.set_phase(v1::JOB_PHASE_RUNNING);
  job.set_started_ms(1'795'195'800'123);
  job.set_world_size(5);
  for (const char* word : {"./train", "two words", "\x1b[31m"}) job.add_command(word);
  for (const auto& [address, first, ranks] :
       {std::tuple{"10.0.0.1", 0u, 4u}, {"node-2", 4u, 1u}, {"node-3", 0u, 0u}}) {
    v1::NodeStatus& node = *job.add_nodes();
    node.set_address(address);
    node.set_phase(ranks > 0 ? v1::NODE_PHASE_RUNNING : v1::NODE_PHASE_LOST);
    node.set_first_rank(first);
    node.set_ranks(ranks);
    node.set_running_ranks(ranks);
  }
  job.mutable_nodes(2)->set_detail("no route to host");
  return job;
}

TEST(JobTextTest, ATableOfJobs) {
  const test::ScopedVariable home("HOME", "/data/an");
  v1::JobStatus running = Job();
  running.set_working_directory("/data/an/digits");
  v1::JobStatus ended = Job();
  ended.set_working_directory("/data/ann");
  ended.set_job_id("short");
  ended.set_phase(v1::JOB_PHASE_ENDED);
  ended.set_exit_code(137);
  ended.set_ended_ms(ended.started_ms() + 1'900);
  ended.set_last_output_ms(ended.started_ms() + 1'000);
  ended.set_name("sweep-3");
  ended.set_attempt(1);
  ended.set_max_restarts(3);
  v1::Progress progress;
  progress.set_step(1234);
  progress.set_total(5000);
  const ProgressOfJobs known = {{Job().job_id(), progress}};
  EXPECT_EQ(
      JobTable({running, ended}, known, {}, kNow, 0),
      "JOB                     NAME     STATE     NODES  RANKS  STARTED  ELAPSED     PROGRESS  "
      "LAST OUTPUT  RESTARTS  FOLDER     COMMAND\n"
      "20261120-173000-3fa9c1  -        running   3      5      17:30    2 min 31 s  24 %      "
      "-            -         ~/digits   ./train 'two words' '\\x1b[31m'\n"
      "short                   sweep-3  exit 137  3      5      17:30    1 s         -         "
      "2 min ago    1 of 3    /data/ann  ./train 'two words' '\\x1b[31m'\n");
  EXPECT_EQ(JobTable({running, ended}, known, {}, kNow, 80),
            "JOB     NAME     STATE     RANKS  STARTED  ELAPSED     PROGRESS  COMMAND\n"
            "3fa9c1  -        running   5      17:30    2 min 31 s  24 %      ./train 'two w…\n"
            "short   sweep-3  exit 137  5      17:30    1 s         -         ./train 'two w…\n");
}

TEST(JobTextTest, AStalledJobIsMarked) {
  v1::JobSnapshot stalled;
  *stalled.mutable_job() = Job();
  stalled.add_issues()->set_kind(v1::Issue::KIND_STALLED);
  v1::JobSnapshot slow;
  slow.mutable_job()->set_job_id("slow");
  slow.add_issues()->set_kind(v1::Issue::KIND_SLOW);
  const std::set<std::string> ids = StalledJobsIn({stalled, slow});
  EXPECT_EQ(ids, std::set<std::string>{Job().job_id()});
  EXPECT_THAT(JobTable({Job()}, {}, ids, kNow, 0), HasSubstr("  -     stalled  3 "));
  v1::JobStatus stopping = Job();
  stopping.set_phase(v1::JOB_PHASE_STOPPING);
  EXPECT_THAT(JobTable({stopping}, {}, ids, kNow, 0), HasSubstr("  -     stopping  3 "));
}

TEST(JobTextTest, JobsOfOtherMachines) {
  v1::JobStatus there = Job();
  there.set_host("gpu1");
  there.set_elsewhere(true);
  v1::JobStatus unknown = there;
  unknown.set_phase(v1::JOB_PHASE_UNSPECIFIED);
  unknown.clear_nodes();
  unknown.clear_world_size();
  v1::JobStatus stopped = there;
  stopped.set_phase(v1::JOB_PHASE_ENDED);
  const std::string table = JobTable({there, unknown, stopped}, {}, {}, kNow, 0);
  EXPECT_THAT(table, HasSubstr("STATE    HOST  NODES"));
  EXPECT_THAT(table, HasSubstr("  running  gpu1  3"));
  EXPECT_THAT(table, HasSubstr("  unknown  gpu1  -      -      17:30    -  "));
  EXPECT_THAT(table, HasSubstr("  ended    gpu1  3      5      17:30    -  "));
  stopped.set_exit_code(3);
  EXPECT_EQ(StateText(stopped), "exit 3");
}

TEST(JobTextTest, ATableOfRanks) {
  v1::JobSnapshot snapshot;
  *snapshot.mutable_job() = Job();
  snapshot.add_nodes()->set_address("10.0.0.1");
  for (uint32_t i = 0; i < 2; ++i) {
    v1::RankSnapshot& rank = *snapshot.add_ranks();
    rank.set_rank(i);
    rank.set_state_text(i == 0 ? "training" : "starting");
  }
  snapshot.mutable_ranks(0)->set_pid(4711);
  EXPECT_EQ(RankTable({snapshot}),
            "JOB                     RANK  NODE      PID   STATE\n"
            "20261120-173000-3fa9c1  0     10.0.0.1  4711  training\n"
            "20261120-173000-3fa9c1  1     10.0.0.1  -     starting\n");
  EXPECT_EQ(RankTable({}), "");
}

TEST(JobTextTest, TheStartTimeOfAJob) {
  constexpr int64_t kDay = 86'400'000;
  for (const auto& [later, text] :
       {std::pair{int64_t{0}, " 17:30 "}, {kDay, " Nov 20 "}, {365 * kDay, " 2026-11-20 "}}) {
    EXPECT_THAT(JobTable({Job()}, {}, {}, kNow + later, 0), HasSubstr(text));
  }
}

TEST(JobTextTest, TheAgeOfAJob) {
  const int64_t now = Job().started_ms() + 1'000'000'000;
  for (const auto& [seconds, text] : {std::pair{0, "now"},
                                      {3, "3 s ago"},
                                      {59, "59 s ago"},
                                      {12 * 60 + 40, "12 min ago"},
                                      {23 * 3600, "23 h ago"},
                                      {50 * 3600, "2 d ago"}}) {
    v1::JobStatus job = Job();
    job.set_last_output_ms(now - seconds * 1000 - 500);
    EXPECT_THAT(JobText(job, now), HasSubstr("last output  " + std::string(text) + "\n"));
  }
}

TEST(JobTextTest, ACrashedJobHasNoDuration) {
  v1::JobStatus job = Job();
  job.set_chief_gone(true);
  EXPECT_THAT(JobText(job, kNow), HasSubstr("elapsed      -\n"));
}

TEST(JobTextTest, OneJobAndItsNodes) {
  const std::string text = JobText(Job(), kNow);
  EXPECT_THAT(text, HasSubstr("state        running\n"));
  EXPECT_THAT(text, HasSubstr("NODE      STATE    RANKS  RUNNING\n"
                              "10.0.0.1  running  0-3    4\n"
                              "node-2    running  4      1\n"
                              "node-3    lost     -      0        no route to host\n"));
  EXPECT_THAT(text, Not(HasSubstr("restarts")));
  EXPECT_THAT(text, Not(HasSubstr("exit code")));
}

TEST(JobTextTest, AnEndedAndACrashedJob) {
  v1::JobStatus job = Job();
  job.set_phase(v1::JOB_PHASE_ENDED);
  job.set_ended_ms(job.started_ms() + 60'000);
  job.set_exit_code(9);
  job.set_attempt(1);
  job.set_max_restarts(3);
  job.set_report("rank 1 failed\n  | doomed");
  const std::string text = JobText(job, kNow);
  EXPECT_THAT(text, HasSubstr("ended        2026-11-20 17:31:00\nelapsed      1 min 0 s\n"));
  EXPECT_THAT(text, HasSubstr("restarts     1 of 3\n"));
  EXPECT_THAT(text, HasSubstr("exit code    9\n"));
  EXPECT_TRUE(text.ends_with("\nrank 1 failed\n  | doomed\n"));

  v1::JobStatus crashed = Job();
  crashed.set_chief_gone(true);
  EXPECT_EQ(StateText(crashed), "crashed");
  EXPECT_THAT(JobText(crashed, kNow), HasSubstr("`autodist clean " + crashed.job_id() + "`"));
  EXPECT_THAT(JobText(crashed, kNow), HasSubstr("10.0.0.1  unknown  0-3    -\n"));
  crashed.set_host("another-machine");  // only Slurm can know of it
  crashed.set_slurm_state(v1::SLURM_STATE_ENDED);
  EXPECT_EQ(CrashedText(crashed),
            "the chief of job " + crashed.job_id() +
                " on another-machine is gone and the job has crashed; Slurm has ended it");
  crashed.set_slurm_state(v1::SLURM_STATE_NODE_DOWN);
  EXPECT_EQ(CrashedText(crashed),
            "Slurm has ended job " + crashed.job_id() +
                ", but the chief's node, another-machine, is down or does not answer; it may "
                "still have processes of the job");
}

TEST(JobTextTest, AJobThatDoesNotAnswerIsShownAsLastKnown) {
  v1::JobStatus job = Job();
  job.set_chief_silent(true);
  EXPECT_EQ(StateText(job), "not answering");
  EXPECT_THAT(JobText(job, kNow), HasSubstr("state        not answering; last known: running\n"));
  EXPECT_THAT(JobText(job, kNow), HasSubstr("10.0.0.1  unknown  0-3    -\n"));
}

TEST(JobTextTest, ARateHasTwoDigits) {
  v1::JobSnapshot snapshot;
  snapshot.mutable_progress()->set_step(55);
  for (const auto& [rate, text] : {std::pair{0.9992, "1"},
                                   {0.0123, "0.012"},
                                   {2.06, "2.1"},
                                   {9.98, "10"},
                                   {10.4, "10"},
                                   {1234.4, "1234"}}) {
    snapshot.mutable_progress()->set_rate(rate);
    EXPECT_EQ(DetailsOf(snapshot).rows.at(0).second, "step 55, " + std::string(text) + " steps/s");
  }
}

}  // namespace
}  // namespace autodist::cli
