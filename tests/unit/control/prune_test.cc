#include "control/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tuple>

#include "base/wall_clock.h"
#include "control/job_record.h"
#include "support/session.h"
#include "support/temp_folder.h"

namespace autodist::control {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kHour = 3'600'000;
constexpr int64_t kNow = 1000 * kHour;

v1::JobStatus Ended(const std::string& id, int64_t hours_ago) {
  v1::JobStatus job;
  job.set_job_id(id);
  job.set_phase(v1::JOB_PHASE_ENDED);
  job.set_ended_ms(kNow - hours_ago * kHour);
  return job;
}

std::vector<v1::JobStatus> Known() {
  v1::JobStatus running;
  running.set_job_id("runs");
  running.set_phase(v1::JOB_PHASE_RUNNING);
  running.set_started_ms(kNow - 90 * kHour);
  v1::JobStatus crashed = running;
  crashed.set_job_id("crashed");
  crashed.set_chief_gone(true);
  crashed.set_last_output_ms(kNow - 50 * kHour);
  return {Ended("old", 100), running, crashed, Ended("young", 2)};
}

std::vector<std::string> Pruned(const PruneRule& rule) {
  std::vector<std::string> ids;
  for (const v1::JobStatus& job : JobsToPrune(Known(), rule, kNow)) ids.push_back(job.job_id());
  return ids;
}

TEST(PruneTest, SelectsJobs) {
  EXPECT_THAT(Pruned({.older_than = hours(3), .keep = {}}), ElementsAre("old", "crashed"));
  EXPECT_THAT(Pruned({.older_than = hours(60), .keep = {}}), ElementsAre("old"));
  EXPECT_THAT(Pruned({.older_than = hours(0), .keep = {}}), ElementsAre("old", "crashed", "young"));
  EXPECT_THAT(Pruned({.older_than = {}, .keep = 0}), ElementsAre("old", "crashed", "young"));
  EXPECT_THAT(Pruned({.older_than = {}, .keep = 2}), ElementsAre("old"));
  EXPECT_THAT(Pruned({.older_than = {}, .keep = 3}), IsEmpty());
  EXPECT_THAT(Pruned({.older_than = {}, .keep = 99}), IsEmpty());
  EXPECT_THAT(Pruned({.older_than = hours(60), .keep = 1}), ElementsAre("old"));
}

TEST(MayStillRunTest, AFileServerMayHaveAnotherClock) {
  const test::TempFolder logs;
  const std::string output = logs.Write("rank-0.out", "x");
  const int64_t server_ms = base::MillisecondsSince1970();
  v1::JobStatus crashed;
  crashed.set_phase(v1::JOB_PHASE_RUNNING);
  crashed.set_chief_gone(true);
  crashed.set_attempt_folder(logs.path());
  const auto still_runs = [&](int64_t our_hours_ahead, std::chrono::minutes age) {
    fs::last_write_time(output, fs::file_time_type::clock::now() - age);
    return MayStillRun(crashed, server_ms + our_hours_ahead * kHour);
  };
  for (const int64_t ahead : {-5, 0, 5}) {
    EXPECT_TRUE(still_runs(ahead, std::chrono::minutes(30))) << ahead;
    EXPECT_FALSE(still_runs(ahead, std::chrono::minutes(90))) << ahead;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(logs.path()), {}), 1);
}

TEST(MayStillRunTest, OfAJobThatSlurmHasEnded) {
  v1::JobStatus job;
  job.set_phase(v1::JOB_PHASE_RUNNING);
  job.set_chief_gone(true);
  job.set_host("another-machine");
  job.set_last_output_ms(kNow);
  for (const auto& [state, later, may_run] : {std::tuple{v1::SLURM_STATE_ENDED, 0, false},
                                              {v1::SLURM_STATE_NODE_DOWN, 0, true},
                                              {v1::SLURM_STATE_NODE_DOWN, 2, false}}) {
    job.set_slurm_state(state);
    EXPECT_EQ(MayStillRun(job, kNow + later * kHour), may_run) << state << " " << later;
  }
}

class RemoveJobTest : public testing::Test {
 protected:
  v1::JobStatus Recorded(const std::string& folder) {
    v1::JobStatus job = Ended("20261120-173000-3fa9c1", 1);
    job.set_log_folder(session_.folder().path() + "/" + folder);
    EXPECT_TRUE(RecordJob(job, base::LogFolder(job.log_folder())).ok());
    std::ofstream(job.log_folder() + "/rank-0.out") << "12345";
    return job;
  }

  const test::Session session_;
};

TEST_F(RemoveJobTest, TheFolderAndTheRecordAreRemoved) {
  const v1::JobStatus job = Recorded("runs/20261120-173000-3fa9c1");
  EXPECT_GE(LogBytes(job), 5U);
  EXPECT_TRUE(RemoveJob(job).ok());
  EXPECT_FALSE(fs::exists(job.log_folder()));
  EXPECT_THAT(RecordedJobs(), IsEmpty());
  EXPECT_EQ(LogBytes(job), 0U);
}

TEST_F(RemoveJobTest, OfAJobOfAnotherMachineTheRecordIsRemoved) {
  v1::JobNote note;
  note.mutable_job()->set_job_id("20261120-173000-3fa9c1");
  note.mutable_job()->set_host("another-machine");
  note.mutable_job()->set_log_folder(session_.folder().path() + "/runs/20261120-173000-3fa9c1");
  ASSERT_TRUE(RecordRemoteJob(note).ok());
  const auto job = ReadRecord("20261120-173000-3fa9c1");
  ASSERT_TRUE(job.ok() && job->elsewhere()) << job.status();
  EXPECT_TRUE(RemoveJob(*job).ok());
  EXPECT_THAT(RecordedJobs(), IsEmpty());
}

// It may still run there, and its log folder may be on a disk that both machines have.
TEST_F(RemoveJobTest, TheLogFolderOfAJobOfAnotherMachineStays) {
  v1::JobStatus job = Recorded("20261120-173000-3fa9c1");
  job.set_phase(v1::JOB_PHASE_RUNNING);
  job.set_elsewhere(true);
  EXPECT_TRUE(RemoveJob(job).ok());
  EXPECT_TRUE(fs::exists(job.log_folder()));
  EXPECT_THAT(RecordedJobs(), IsEmpty());
}

// A log folder of another user may have any id and host.
TEST_F(RemoveJobTest, AJobOfAnotherLogFolderIsNotForgotten) {
  v1::JobStatus job = Recorded("runs/20261120-173000-3fa9c1");
  job.set_log_folder(session_.folder().path() + "/download");
  job.set_elsewhere(true);
  EXPECT_EQ(RemoveJob(job).code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(RecordedJobs().empty());
}

TEST_F(RemoveJobTest, AFolderWithAnotherNameStays) {
  const v1::JobStatus job = Recorded("precious");
  EXPECT_EQ(RemoveJob(job).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fs::exists(job.log_folder() + "/rank-0.out"));
}

TEST_F(RemoveJobTest, AFolderOfAnotherJobStays) {
  v1::JobStatus job = Recorded("runs/20261120-173000-3fa9c1");
  job.set_log_folder(session_.folder().path() + "/elsewhere/20261120-173000-3fa9c1");
  fs::create_directories(job.log_folder());
  EXPECT_EQ(RemoveJob(job).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fs::exists(job.log_folder()));
}

}  // namespace
}  // namespace autodist::control
