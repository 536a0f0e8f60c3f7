#include "control/job_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "control/job_socket.h"
#include "support/session.h"

namespace autodist::control {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

class JobRecordTest : public testing::Test {
 protected:
  v1::JobStatus Job(const std::string& id) const {
    v1::JobStatus status;
    status.set_job_id(id);
    status.set_log_folder(session_.folder().path() + "/logs/" + id);
    status.set_phase(v1::JOB_PHASE_LAUNCHING);
    status.set_started_ms(1'800'000'000'123);
    status.add_command("./train");
    status.add_command("two\nwords");
    return status;
  }

  static Status Record(const v1::JobStatus& job) { return RecordJob(job, job.log_folder()); }

  const test::Session session_;
};

TEST_F(JobRecordTest, KeepsTheNewestState) {
  v1::JobStatus job = Job("job-1");
  ASSERT_TRUE(Record(job).ok());
  EXPECT_EQ(ReadRecord("job-1")->phase(), v1::JOB_PHASE_LAUNCHING);
  job.set_phase(v1::JOB_PHASE_ENDED);
  job.set_exit_code(3);
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  const auto read = ReadRecord("job-1");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), job.SerializeAsString());
  EXPECT_THAT(RecordedJobs(), ElementsAre("job-1"));
}

TEST_F(JobRecordTest, IsPrivate) {
  ASSERT_TRUE(Record(Job("job-1")).ok());
  struct stat info;
  ASSERT_EQ(stat((session_.folder().path() + "/logs/job-1/job.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(stat((session_.folder().path() + "/logs/job-1").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(fs::read_symlink(session_.records() + "/job-1"),
            session_.folder().path() + "/logs/job-1");
}

TEST_F(JobRecordTest, HasTheNodesOnceRanksHaveStarted) {
  const v1::JobStatus job = Job("job-1");
  ASSERT_TRUE(Record(job).ok());
  EXPECT_EQ(ReadNodes(job).status().code(), StatusCode::kNotFound);
  const base::LogFolder folder(job.log_folder());
  ASSERT_TRUE(folder.WriteFile(kNodesFile, R"({"workdir": "/work", "later": 1})").ok());
  const auto nodes = ReadNodes(job);
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_EQ(nodes->workdir(), "/work");
  ASSERT_TRUE(folder.WriteFile(kNodesFile, "nodes: []").ok());
  EXPECT_FALSE(ReadNodes(job).ok());
}

// Others may be able to write in the log folder.
TEST_F(JobRecordTest, AnInvalidJobIdIsIgnored) {
  v1::JobStatus job = Job("job-1");
  job.set_name("$(touch x)");
  ASSERT_TRUE(Record(job).ok());
  EXPECT_EQ(ReadRecord("job-1")->name(), "");
  EXPECT_EQ(chmod(job.log_folder().c_str(), 0777), 0);
  EXPECT_EQ(ReadRecord("job-1").status().code(), StatusCode::kPermissionDenied);
}

TEST_F(JobRecordTest, InvalidRecordsAreIgnored) {
  EXPECT_EQ(ReadRecord("job-1").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadRecord("../job-1").status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(Record(Job("../job-1")).ok());
  v1::JobStatus relative = Job("job-1");
  relative.set_log_folder("logs");
  EXPECT_FALSE(Record(relative).ok());

  ASSERT_TRUE(Record(Job("job-1")).ok());
  const std::string file = "logs/job-1/job.json";
  for (const std::string text : {"", "{", "[]", "{\"job_id\": \"job-2\"}", "{\"phase\": \"x\"}"}) {
    session_.folder().Write(file, text);
    EXPECT_EQ(ReadRecord("job-1").status().code(), StatusCode::kDataLoss) << text;
  }
  session_.folder().Write(file, "{\"job_id\": \"job-1\", \"of_a_later_version\": 1}");
  EXPECT_TRUE(ReadRecord("job-1").ok());
}

TEST_F(JobRecordTest, NotesSufficeWithoutTheLogFolders) {
  v1::JobStatus noted = Job("job-1");
  noted.set_ended_ms(5);
  noted.add_nodes()->set_address("a");
  ASSERT_TRUE(Record(noted).ok());
  v1::JobStatus unnoted = Job("job-2");
  unnoted.set_ended_ms(6);
  ASSERT_TRUE(Record(unnoted).ok());
  fs::remove_all(noted.log_folder());
  fs::remove(session_.records() + "/job-2.json");
  const auto jobs = NotedJobs();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].ended_ms(), 5);
  EXPECT_EQ(jobs[0].nodes_size(), 0);
  EXPECT_EQ(jobs[1].ended_ms(), 6);
}

TEST_F(JobRecordTest, ANewRecordRemovesNotesOfForgottenJobs) {
  ASSERT_TRUE(Record(Job("job-1")).ok());
  const std::string begun = session_.records() + "/job-1.json.5f";  // maybe still being written
  const std::string orphans[] = {session_.records() + "/job-0.json",
                                 session_.records() + "/job-0.json.5f"};
  for (const std::string& file : {begun, orphans[0], orphans[1]}) std::ofstream(file) << "{}";
  ASSERT_TRUE(Record(Job("job-2")).ok());
  for (const std::string& file : orphans) EXPECT_FALSE(fs::exists(file)) << file;
  EXPECT_TRUE(fs::exists(begun));
  EXPECT_TRUE(ReadNote("job-1").ok());
  EXPECT_TRUE(ReadNote("job-2").ok());
}

TEST_F(JobRecordTest, ANewRecordRemovesDanglingLinks) {
  ASSERT_TRUE(Record(Job("job-1")).ok());
  ASSERT_TRUE(Record(Job("job-2")).ok());
  fs::remove_all(session_.folder().path() + "/logs/job-1");
  EXPECT_THAT(RecordedJobs(), testing::ElementsAre("job-2"));
  ASSERT_TRUE(Record(Job("job-3")).ok());
  EXPECT_THAT(RecordedJobs(), testing::UnorderedElementsAre("job-2", "job-3"));
}

// Their log folders may be on disks that this machine does not have.
TEST_F(JobRecordTest, ANewRecordKeepsJobsOfOtherMachines) {
  v1::JobStatus far = Job("job-1");
  far.set_host("another-machine");
  ASSERT_TRUE(Record(far).ok());
  fs::remove_all(far.log_folder());
  EXPECT_THAT(RecordedJobs(), ElementsAre("job-1"));
  ASSERT_TRUE(Record(Job("job-2")).ok());
  EXPECT_THAT(RecordedJobs(), ElementsAre("job-1", "job-2"));
  const auto read = ReadRecord("job-1");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->host(), "another-machine");
  EXPECT_EQ(read->log_folder(), far.log_folder());
  ForgetJob("job-1");
  EXPECT_THAT(RecordedJobs(), ElementsAre("job-2"));
  EXPECT_EQ(ReadNote("job-1").status().code(), StatusCode::kNotFound);
}

TEST_F(JobRecordTest, ANoteHasTheEndOfTheJob) {
  v1::JobStatus job = Job("job-1");
  ASSERT_TRUE(Record(job).ok());
  job.set_phase(v1::JOB_PHASE_ENDED);
  job.set_exit_code(3);
  job.set_report("why");
  job.add_nodes()->set_address("a");
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  const auto note = ReadNote("job-1");
  ASSERT_TRUE(note.ok()) << note.status();
  EXPECT_EQ(note->job().exit_code(), 3);
  EXPECT_TRUE(note->job().nodes().empty());
  EXPECT_FALSE(note->job().has_report());
}

TEST_F(JobRecordTest, ANoteOfABatchJobNamesItsNodeInSlurm) {
  setenv("SLURM_JOB_ID", "4711", 1);
  ASSERT_TRUE(Record(Job("job-1")).ok());  // a shell of salloc, which is on no node of the job
  EXPECT_EQ(ReadNote("job-1")->slurm_job(), "");
  setenv("SLURMD_NODENAME", "n7", 1);
  setenv("SLURM_CLUSTER_NAME", "c1", 1);
  ASSERT_TRUE(Record(Job("job-2")).ok());
  unsetenv("SLURM_JOB_ID");
  unsetenv("SLURMD_NODENAME");
  unsetenv("SLURM_CLUSTER_NAME");
  EXPECT_EQ(ReadNote("job-2")->slurm_job(), "4711");
  EXPECT_EQ(ReadNote("job-2")->slurm_node(), "n7");
  EXPECT_EQ(ReadNote("job-2")->slurm_cluster(), "c1");
}

// On a login node that shares the record with the chief's node.
TEST_F(JobRecordTest, ARemoteJobKeepsTheNoteOfItsChief) {
  v1::JobStatus job = Job("job-1");
  job.set_host("another-machine");
  ASSERT_TRUE(Record(job).ok());
  v1::JobNote note;
  note.mutable_job()->set_job_id("job-1");
  note.mutable_job()->set_host("10.0.0.2");
  note.set_chief_on("10.0.0.2");
  note.set_spec("/home/me/lab.yaml");
  ASSERT_TRUE(RecordRemoteJob(note).ok());
  const auto kept = ReadNote("job-1");
  EXPECT_EQ(kept->job().host(), "another-machine");
  EXPECT_EQ(kept->chief_on(), "10.0.0.2");
  EXPECT_EQ(kept->spec(), "/home/me/lab.yaml");
}

TEST_F(JobRecordTest, AJobIsRecordedWithItsLogFolder) {
  v1::JobStatus job = Job("job-1");
  EXPECT_FALSE(IsRecorded(job));
  ASSERT_TRUE(Record(job).ok());
  EXPECT_TRUE(IsRecorded(job));
  job.set_log_folder(job.log_folder() + "-copy");
  EXPECT_FALSE(IsRecorded(job));
}

TEST_F(JobRecordTest, TheNewestAndRunningOnesAreKept) {
  ASSERT_TRUE(Record(Job("job-000")).ok());
  ASSERT_TRUE(Record(Job("job-001")).ok());
  const auto listener = ListenAt(*PlaceForSocket("job-000"));  // it runs
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::string logs = session_.folder().path() + "/logs/job-001";
  for (int i = 2; i <= 200; ++i) {
    const std::string number = std::to_string(i);
    fs::create_symlink(logs,
                       session_.records() + "/job-" + std::string(3 - number.size(), '0') + number);
  }
  ASSERT_EQ(RecordedJobs().size(), 201u);
  ASSERT_TRUE(Record(Job("job-201")).ok());
  const auto left = RecordedJobs();
  EXPECT_EQ(left.size(), 201u);
  EXPECT_THAT(left, Contains("job-000"));
  EXPECT_THAT(left, Not(Contains("job-001")));
  EXPECT_THAT(left, Contains("job-002"));
  EXPECT_TRUE(fs::exists(logs + "/job.json"));  // the record is removed, the logs stay
}

}  // namespace
}  // namespace autodist::control
