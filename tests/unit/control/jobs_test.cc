#include "control/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <thread>
#include <tuple>

#include "base/deadline.h"
#include "base/wall_clock.h"
#include "control/job_record.h"
#include "control/job_server.h"
#include "control/job_socket.h"
#include "control/silent_chief.h"
#include "control/snapshot_client.h"
#include "support/busy_listener.h"
#include "support/limit.h"
#include "support/scoped_variable.h"
#include "support/session.h"

namespace autodist::control {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kJobs = {"20261119-100000-aaaaaa", "20261120-173000-3fa9c1",
                                        "20261120-180000-3fa9c2"};

constexpr int64_t kLater = 3 * 3'600'000;  // milliseconds

// What `about` returns of each of the jobs.
std::vector<v1::JobNote> Known(
    const std::vector<std::string>& jobs,
    const std::function<v1::JobNote(const std::string& job)>& about = [](const std::string&) {
      return v1::JobNote();
    }) {
  std::vector<v1::JobNote> notes;
  for (const std::string& job : jobs) {
    notes.push_back(about(job));
    notes.back().mutable_job()->set_job_id(job);
  }
  return notes;
}

TEST(FindJobTest, AcceptsTheIdAUniquePrefixOrSuffixAndLast) {
  for (const auto& [name, job] : {std::pair{"20261119-100000-aaaaaa", 0},
                                  {"20261119", 0},
                                  {"aaaaaa", 0},
                                  {"c1", 1},
                                  {"20261120-17", 1},
                                  {"20261120-180000-3fa9c2", 2},
                                  {"last", 2}}) {
    const auto found = FindJob(name, Known(kJobs), "");
    ASSERT_TRUE(found.ok()) << name << ": " << found.status();
    EXPECT_EQ(*found, kJobs[static_cast<size_t>(job)]) << name;
  }
  EXPECT_EQ(*FindJob("job-1", Known({"job-1", "job-10"}), ""), "job-1");
}

TEST(FindJobTest, AmbiguousAndUnknownNamesListTheCandidates) {
  const auto ambiguous = FindJob("20261120", Known(kJobs), "");
  EXPECT_EQ(ambiguous.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(ambiguous.status()),
            "'20261120' is ambiguous:\n  20261120-173000-3fa9c1\n"
            "  20261120-180000-3fa9c2");
  for (const std::string name : {"", "3fa9", "../x", "LAST"}) {
    const auto unknown = FindJob(name, Known(kJobs), "");
    EXPECT_EQ(unknown.status().code(), StatusCode::kNotFound) << name;
    EXPECT_THAT(Message(unknown.status()), HasSubstr(kJobs[0])) << name;
  }
  EXPECT_EQ(FindJob("last", {}, "").status().code(), StatusCode::kNotFound);
}

TEST(FindJobTest, OfManyCandidatesTheNewestAreListed) {
  std::vector<std::string> jobs;
  for (int i = 100; i < 150; ++i) jobs.push_back("job-" + std::to_string(i));
  const std::string message = Message(FindJob("job", Known(jobs), "").status());
  EXPECT_THAT(message, HasSubstr("job-140\n"));
  EXPECT_THAT(message, HasSubstr("job-149\n  and older ones"));
  EXPECT_THAT(message, Not(HasSubstr("job-139")));
}

TEST(FindJobTest, OfAnUnknownNameTheNearestJobIsListedFirst) {
  std::vector<std::string> jobs;
  for (int i = 100; i < 150; ++i) jobs.push_back("job-" + std::to_string(i));
  const auto about = [](const std::string& job) {
    v1::JobNote note;
    if (job == "job-120") note.mutable_job()->set_name("sweep");
    return note;
  };
  EXPECT_EQ(Message(FindJob("swep", Known(jobs, about), "").status()),
            "no job is called 'swep'; known jobs:\n  job-120 (sweep)\n  job-149\n  job-148\n"
            "  job-147\n  job-146");
}

TEST(DescribedTest, ALongCommandIsCutVisibly) {
  v1::JobStatus job;
  job.set_job_id("job-1");
  job.set_working_directory("/home");
  *job.add_command() = std::string(60, 'x');
  EXPECT_EQ(Described(job), "job-1: " + std::string(60, 'x') + ", in /home");
  *job.add_command() = "y";
  EXPECT_EQ(Described(job), "job-1: " + std::string(59, 'x') + "…, in /home");
}

v1::JobNote Named(const std::string& name) {
  v1::JobNote note;
  note.mutable_job()->set_name(name);
  return note;
}

TEST(FindJobTest, ANameMeansTheNewestJob) {
  const auto about = [](const std::string& job) {
    return Named(job == kJobs[2] ? "other" : "aaaaaa");
  };
  EXPECT_EQ(*FindJob("other", Known(kJobs, about), ""), kJobs[2]);
  EXPECT_EQ(*FindJob("aaaaaa", Known(kJobs, about), ""),
            kJobs[1]);  // which is also a suffix of an id
  EXPECT_EQ(*FindJob(kJobs[0], Known(kJobs, about), ""), kJobs[0]);
  EXPECT_EQ(*FindJob("20261119", Known(kJobs, about), ""), kJobs[0]);
  EXPECT_THAT(Message(FindJob("oth", Known(kJobs, about), "").status()),
              HasSubstr(kJobs[2] + " (other)"));
}

TEST(FindJobTest, TheNumberOfASlurmJobMeansItsNewestJob) {
  const auto about = [](const std::string& job) {
    v1::JobNote note;
    if (job != kJobs[2]) note.set_slurm_job("000");  // the second after it was requeued
    return note;
  };
  EXPECT_EQ(*FindJob("000", Known(kJobs, about), ""), kJobs[1]);
}

// The first job is of /a, the second of /b, the third of /c.
v1::JobNote OfFolders(const std::string& job) {
  v1::JobNote note;
  note.mutable_job()->set_job_id(job);
  for (size_t i = 0; i < kJobs.size(); ++i) {
    if (job == kJobs[i]) {
      note.mutable_job()->set_working_directory(std::array{"/a", "/b", "/c"}[i]);
    }
  }
  return note;
}

TEST(FindJobTest, OfACommandThatActsLastIsNoJobOfAnotherFolder) {
  const auto jobs = Known(kJobs, OfFolders);
  EXPECT_EQ(*FindJob("last", jobs, "/b", "stop"), kJobs[1]);
  EXPECT_EQ(*FindJob("last", jobs, "", "stop"), kJobs[2]);  // from another machine
  const Status none = FindJob("last", jobs, "/d", "stop").status();
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(none), "no job was started in this folder");
  EXPECT_THAT(Remedy(none), HasSubstr("`autodist stop JOB`"));
}

TEST(FindJobTest, LastIsTheNewestOfTheFolderOrOfAll) {
  for (const auto& [folder, job] : {std::pair{"/a", 0}, {"/b", 1}, {"/d", 2}, {"", 2}}) {
    EXPECT_EQ(*FindJob("last", Known(kJobs, OfFolders), folder), kJobs[static_cast<size_t>(job)])
        << folder;
  }
}

v1::JobStatus Running(const std::string& id) { return OfFolders(id).job(); }

TEST(DefaultJobTest, IsTheOnlyRunningJobOrTheLast) {
  EXPECT_EQ(*DefaultJob({}, Known(kJobs), ""), kJobs[2]);
  EXPECT_EQ(*DefaultJob({Running(kJobs[0])}, Known(kJobs), ""), kJobs[0]);
  EXPECT_EQ(Message(DefaultJob({}, {}, "").status()), "there is no job");
}

TEST(DefaultJobTest, JobsOfTheFolderComeFirst) {
  const std::vector<v1::JobStatus> running = {Running(kJobs[0]), Running(kJobs[2])};
  EXPECT_EQ(*DefaultJob(running, Known(kJobs, OfFolders), "/a"), kJobs[0]);
  EXPECT_EQ(*DefaultJob(running, Known(kJobs, OfFolders), "/b"), kJobs[1]);  // it has ended
  EXPECT_EQ(DefaultJob(running, Known(kJobs, OfFolders), "/d").status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(*DefaultJob({Running(kJobs[0])}, Known(kJobs, OfFolders), "/d"), kJobs[0]);
}

TEST(DefaultJobTest, SeveralRunningJobsAreListed) {
  const auto about = [](const std::string& job) {
    v1::JobNote note = OfFolders(job);
    if (job == kJobs[0]) note.mutable_job()->set_name("sweep");
    note.mutable_job()->add_command("./train");
    return note;
  };
  const auto several =
      DefaultJob({about(kJobs[0]).job(), about(kJobs[1]).job()}, Known(kJobs, about), "").status();
  EXPECT_EQ(several.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(several), "2 jobs are running:\n  " + kJobs[0] +
                                  " (sweep): ./train, in /a\n  " + kJobs[1] + ": ./train, in /b");
  EXPECT_EQ(Remedy(several), "name one of them, by its id or its name");
}

// All have ended.
v1::JobNote AllEnded(const std::string& job) {
  v1::JobNote note = OfFolders(job);
  note.mutable_job()->set_phase(v1::JOB_PHASE_ENDED);
  return note;
}

TEST(DefaultJobTest, ACommandThatActsTakesNoJobOfAnotherFolder) {
  using Jobs = std::vector<v1::JobStatus>;
  const Jobs first = {Running(kJobs[0])};
  for (const auto& [running, folder, job] : {std::tuple{first, "/a", 0},
                                             {Jobs{Running(kJobs[0]), Running(kJobs[1])}, "/b", 1},
                                             {Jobs{}, "/c", 2}}) {
    EXPECT_EQ(*DefaultJob(running, Known(kJobs, AllEnded), folder, "stop"),
              kJobs[static_cast<size_t>(job)])
        << folder;
  }
  for (const std::string folder : {"/b", "/d", ""}) {
    const Status other = DefaultJob(first, Known(kJobs, AllEnded), folder, "stop").status();
    EXPECT_EQ(other.code(), StatusCode::kInvalidArgument) << folder;
    EXPECT_THAT(Message(other), HasSubstr("1 job is running")) << folder;
    EXPECT_THAT(Message(other), HasSubstr(":\n  " + kJobs[0] + ": in /a")) << folder;
    EXPECT_THAT(Remedy(other), HasSubstr("`autodist stop JOB`")) << folder;
  }
  // A job whose end is unknown here may run on another machine.
  EXPECT_EQ(*DefaultJob(first, Known(kJobs, OfFolders), "/b", "stop"), kJobs[1]);
  EXPECT_EQ(Message(DefaultJob({}, Known(kJobs, AllEnded), "/d", "stop").status()),
            "no job is running, and none was started in this folder");
  EXPECT_EQ(Message(DefaultJob({}, {}, "/d", "stop").status()), "there is no job");
}

TEST(IsOfFolderTest, AJobIsOfItsWorkingDirectoryAndOfTheFolderWithItsLogs) {
  v1::JobStatus job;
  job.set_working_directory("/data");
  job.set_log_folder("/home/ann/x/autodist-runs/" + kJobs[0]);
  for (const auto& [folder, is_of] : {std::pair{"/data", true},
                                      {"/home/ann/x", true},
                                      {"/home/ann/x/autodist-runs", false},
                                      {"/home/ann", false},
                                      {"", false}}) {
    EXPECT_EQ(IsOfFolder(job, folder), is_of) << folder;
  }
  job.set_log_folder("/scratch/logs/" + kJobs[0]);
  EXPECT_FALSE(IsOfFolder(job, "/scratch"));
}

TEST(CheckJobNameTest, ValidNames) {
  for (const char* name : {"a", "sweep-3", "v1.2_x", "2026", "3fa9c1", "20261120", "."}) {
    EXPECT_TRUE(CheckJobName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckJobName(std::string(64, 'a')).ok());
  for (const std::string name :
       {"", "last", "two words", "../x", "\xc3\xa4", "20261120-173000", "20261120-173000-3fa9c1"}) {
    EXPECT_EQ(CheckJobName(name).code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(CheckJobName(std::string(65, 'a')).ok());
}

// Tests of other users may have jobs in /tmp at the same time, so only ours are checked.
class JobsTest : public testing::Test {
 protected:
  v1::JobStatus Recorded(const std::string& name, v1::JobPhase phase) const {
    v1::JobStatus status;
    status.set_job_id(Id(name));
    status.set_log_folder(session_.folder().path() + "/logs/" + name);
    status.set_phase(phase);
    EXPECT_TRUE(RecordJob(status, status.log_folder()).ok());
    return status;
  }
  static std::string Id(const std::string& name) {
    return "unit-" + std::to_string(getpid()) + "-" + name;
  }
  static const v1::JobStatus* In(const std::vector<v1::JobStatus>& jobs, const std::string& name) {
    const auto found =
        std::ranges::find_if(jobs, [&](const auto& job) { return job.job_id() == Id(name); });
    return found == jobs.end() ? nullptr : &*found;
  }

  const test::Session session_;
};

TEST_F(JobsTest, RunningEndedAndCrashedOnes) {
  const auto running = JobServer::Start(Id("running"), {});
  ASSERT_TRUE(running.ok()) << running.status();
  v1::JobStatus now = Recorded("running", v1::JOB_PHASE_LAUNCHING);
  now.set_phase(v1::JOB_PHASE_RUNNING);
  (*running)->Publish(now);
  (void)Recorded("ended", v1::JOB_PHASE_ENDED);
  (void)Recorded("crashed", v1::JOB_PHASE_RUNNING);

  const auto live = ListRunningJobs();
  ASSERT_TRUE(In(live, "running"));
  EXPECT_EQ(In(live, "running")->phase(), v1::JOB_PHASE_RUNNING);
  EXPECT_FALSE(In(live, "ended"));
  EXPECT_FALSE(In(live, "crashed"));
  EXPECT_TRUE(RunningOf({Id("crashed"), Id("ended")}).empty());
  EXPECT_TRUE(In(RunningOf({Id("crashed"), Id("running")}), "running"));

  const auto all = ListJobs();
  ASSERT_TRUE(In(all, "running") && In(all, "ended") && In(all, "crashed"));
  EXPECT_FALSE(In(all, "running")->chief_gone());
  EXPECT_FALSE(In(all, "running")->chief_silent());
  EXPECT_FALSE(In(all, "ended")->chief_gone());
  EXPECT_TRUE(In(all, "crashed")->chief_gone());
  EXPECT_EQ(In(all, "crashed")->phase(), v1::JOB_PHASE_RUNNING);
  EXPECT_EQ(LookUpJob(Id("crashed"))->chief_gone(), true);
  EXPECT_EQ(LookUpJob(Id("none")).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(KnownJobs(), testing::IsSupersetOf({Id("crashed"), Id("ended"), Id("running")}));
}

TEST_F(JobsTest, AJobOfAnotherMachineWithTheSameHomeIsNotCrashed) {
  v1::JobStatus job = Recorded("elsewhere", v1::JOB_PHASE_RUNNING);
  job.set_host("another-machine");
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  EXPECT_FALSE(LookUpJob(job.job_id())->chief_gone());
  EXPECT_TRUE(LookUpJob(job.job_id())->elsewhere());
  EXPECT_TRUE(In(ListRunningJobs(), "elsewhere"));
  EXPECT_TRUE(In(ListJobsThatMayRun(0), "elsewhere"));
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  job.set_host(name.data());
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  EXPECT_TRUE(LookUpJob(job.job_id())->chief_gone());
  EXPECT_FALSE(LookUpJob(job.job_id())->elsewhere());
}

TEST_F(JobsTest, AJobThatSlurmHasEndedHasCrashed) {
  v1::JobNote note;
  *note.mutable_job() = Recorded("lost", v1::JOB_PHASE_RUNNING);
  note.mutable_job()->set_host("another-machine");
  ASSERT_TRUE(SaveStatus(note.job(), note.job().log_folder()).ok());
  const std::string job_id = note.job().job_id();
  std::filesystem::permissions(
      session_.folder().Write("scontrol",
                              "#!/bin/sh\n"
                              "case \"$*\" in 'show job 4711') echo JobState=RUNNING ;;\n"
                              "'show job 4712') echo Invalid job id specified >&2; exit 1 ;;\n"
                              "'show job 4713') echo JobState=NODE_FAIL ;;\n"
                              "'show config') echo 'ClusterName    = c1' ;;\n"
                              "'show node n7') echo State=IDLE ;;\n"
                              "'show node n8') echo 'State=DOWN*' ;; *) exit 1 ;; esac\n"),
      std::filesystem::perms::owner_all);
  const test::ScopedVariable path("PATH", session_.folder().path() + ":" + getenv("PATH"));
  for (const auto& [cluster, job, node, state] :
       {std::tuple{"c1", "4711", "n7", v1::SLURM_STATE_RUNNING},
        {"c1", "4712", "n7", v1::SLURM_STATE_ENDED},
        {"c1", "4713", "n7", v1::SLURM_STATE_ENDED},
        {"c1", "4713", "n8", v1::SLURM_STATE_NODE_DOWN},
        {"c1", "4714", "n7", v1::SLURM_STATE_UNSPECIFIED},
        {"c2", "4711", "n7", v1::SLURM_STATE_UNSPECIFIED},
        {"c2", "4712", "n7", v1::SLURM_STATE_UNSPECIFIED},
        {"c2", "4713", "n7", v1::SLURM_STATE_UNSPECIFIED},
        {"", "4712", "n7", v1::SLURM_STATE_UNSPECIFIED},
        {"", "4713", "n7", v1::SLURM_STATE_ENDED}}) {
    note.set_slurm_cluster(cluster);
    note.set_slurm_job(job);
    note.set_slurm_node(node);
    ASSERT_TRUE(SaveNote(note).ok());
    const std::string row = std::string(cluster) + " " + job + " " + node;
    const bool gone = state == v1::SLURM_STATE_ENDED || state == v1::SLURM_STATE_NODE_DOWN;
    const auto found = LookUpJob(job_id);
    ASSERT_TRUE(found.ok()) << row << ": " << found.status();
    EXPECT_EQ(found->slurm_state(), state) << row;
    EXPECT_EQ(found->chief_gone(), gone) << row;
    EXPECT_EQ(found->elsewhere(), !gone) << row;
    EXPECT_EQ(In(ListRunningJobs(), "lost") != nullptr, !gone) << row;
    EXPECT_EQ(In(ListJobsThatMayRun(kLater), "lost") != nullptr, !gone) << row;
    const bool may_run = state != v1::SLURM_STATE_ENDED;
    EXPECT_EQ(In(ListJobsThatMayRun(0), "lost") != nullptr, may_run) << row;
  }
}

// Programs that clean /tmp remove it.
TEST_F(JobsTest, AChiefWithoutItsSocketIsNotGone) {
  const std::string program = session_.folder().path() + "/autodist";
  std::filesystem::copy("/bin/sleep", program);
  const pid_t pid = fork();
  if (pid == 0) {
    execl(program.c_str(), "autodist", "1000", nullptr);
    _exit(1);
  }
  v1::JobStatus job = Recorded("unreachable", v1::JOB_PHASE_RUNNING);
  job.set_chief_pid(pid);
  job.set_started_ms(base::MillisecondsSince1970());
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  const auto gone = [&] { return LookUpJob(job.job_id())->chief_gone(); };
  const auto deadline = base::Deadline::After(test::kLimit);
  while (gone() && !deadline.Expired()) std::this_thread::yield();  // it has not called execl yet
  EXPECT_FALSE(gone());
  EXPECT_TRUE(LookUpJob(job.job_id())->chief_silent());
  kill(pid, SIGSTOP);
  while (ChiefState(job) != 'T' && !deadline.Expired()) std::this_thread::yield();
  EXPECT_EQ(ChiefState(job), 'T');
  EXPECT_TRUE(In(ListRunningJobs(), "unreachable"));
  job.set_started_ms(base::MillisecondsSince1970() - kLater);  // its number is reused
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  EXPECT_TRUE(gone());
  job.set_started_ms(base::MillisecondsSince1970());
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  EXPECT_FALSE(gone());
  kill(pid, SIGKILL);
  while (!gone() && !deadline.Expired()) std::this_thread::yield();  // also as a zombie
  EXPECT_TRUE(gone());
  waitpid(pid, nullptr, 0);
  EXPECT_TRUE(gone());
}

// As on a laptop with --chief-on, or on a login node that shares the home but not /tmp.
TEST_F(JobsTest, AJobWhoseLogFolderIsOnAnotherMachineIsKnown) {
  v1::JobNote note;
  v1::JobStatus& job = *note.mutable_job();
  job.set_job_id(Id("far"));
  job.set_name("lap");
  job.set_host("another-machine");
  job.set_log_folder("/missing/autodist-runs/" + Id("far"));
  note.set_chief_on("10.0.0.2");
  ASSERT_TRUE(RecordRemoteJob(note).ok());
  EXPECT_THAT(KnownJobs(), testing::Contains(Id("far")));
  const auto found = LookUpJob(Id("far"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->elsewhere());
  EXPECT_EQ(found->name(), "lap");
  for (const char* end : {"", "/", "/."}) {
    const std::string folder = "/missing/../missing/autodist-runs/" + Id("far") + end;
    ASSERT_TRUE(LookUpJobIn(folder).ok()) << folder;
    EXPECT_EQ(LookUpJobIn(folder)->name(), "lap") << folder;
  }
  EXPECT_EQ(LookUpJobIn("/elsewhere/" + Id("far")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(About(Id("far")).job().name(), "lap");
  EXPECT_TRUE(In(ListJobsThatMayRun(0), "far"));
  EXPECT_FALSE(In(ListRunningJobs(), "far")) << "it may have ended long ago";
}

TEST_F(JobsTest, ALogFolderIsAJob) {
  v1::JobStatus job = Recorded("moved", v1::JOB_PHASE_ENDED);
  job.set_attempt(1);
  job.set_attempt_folder(job.log_folder() + "/restart-1");
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  const std::string copy = session_.folder().path() + "/copy";
  std::filesystem::rename(job.log_folder(), copy);
  ForgetJob(job.job_id());
  const auto found = LookUpJobIn(copy);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->job_id(), job.job_id());
  EXPECT_EQ(found->log_folder(), copy);
  EXPECT_EQ(found->attempt_folder(), copy + "/restart-1");
  session_.folder().Write("copy/snapshot.json",
                          R"({"job": {"phase": "JOB_PHASE_ENDED", "attempt_folder": "/etc"}})");
  const auto snapshot = SnapshotClient(job.job_id(), copy).Snapshot();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ((*snapshot)->job().attempt_folder(), copy + "/restart-1");
  EXPECT_EQ(Message(LookUpJobIn(copy + "/none").status()),
            copy + "/none: No such file or directory");
  std::filesystem::create_directory(copy + "/none");
  EXPECT_EQ(Message(LookUpJobIn(copy + "/none").status()),
            copy + "/none is not the log folder of a job: it has no job.json");
}

// It may have been downloaded.
TEST_F(JobsTest, ALogFolderIsNotTrusted) {
  const std::string folder = session_.folder().path() + "/download";
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  const auto write = [&](const std::string& id, const std::string& host) {
    session_.folder().Write("download/job.json",
                            R"({"job_id": ")" + id + R"(", "host": ")" + host +
                                R"(", "log_folder": "/", "attempt_folder": "/../etc"})");
  };
  write("job-1", "evil.example");
  const auto job = LookUpJobIn(folder);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(job->elsewhere());
  EXPECT_FALSE(IsRecorded(*job));
  EXPECT_EQ(job->attempt_folder(), folder);
  session_.folder().Write("download/nodes.json", R"({"spec_text": "nodes: []"})");
  EXPECT_EQ(ReadNodes(*job).status().code(), StatusCode::kPermissionDenied);
  for (const char* host : {"$(id)", "-oProxyCommand=id", "a; id", "a b"}) {
    write("job-1", host);
    EXPECT_EQ(LookUpJobIn(folder)->host(), "") << host;
  }
  for (const char* id : {"--output=x", "../job-1", "a b", ""}) {
    write(id, "host1");
    EXPECT_EQ(LookUpJobIn(folder).status().code(), StatusCode::kDataLoss) << id;
  }
}

TEST_F(JobsTest, ARecordThatIsGoneIsNoErrorOfAPath) {
  EXPECT_EQ(Message(LookUpJob(Id("none")).status()),
            "job " + Id("none") +
                " is not recorded any more: it did not start, or its log folder was removed");
}

TEST_F(JobsTest, AnAutodistThatIsTooBusyToAcceptIsNotGone) {
  const v1::JobStatus job = Recorded("busy", v1::JOB_PHASE_RUNNING);
  const test::BusyListener busy(*PlaceForSocket(job.job_id()));
  EXPECT_FALSE(LookUpJob(job.job_id())->chief_gone());
  EXPECT_TRUE(LookUpJob(job.job_id())->chief_silent());
  EXPECT_TRUE(In(ListRunningJobs(), "busy"));
}

TEST_F(JobsTest, AJobWithoutARecordIsFoundByItsSocket) {
  const auto running = JobServer::Start(Id("only-socket"), {});
  ASSERT_TRUE(running.ok()) << running.status();
  EXPECT_TRUE(In(ListRunningJobs(), "only-socket"));
  EXPECT_TRUE(LookUpJob(Id("only-socket")).ok());
}

TEST_F(JobsTest, ANameIsInTheRecordAndTheSocket) {
  v1::JobStatus job = Recorded("named", v1::JOB_PHASE_ENDED);
  job.set_name("of-the-record");
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  EXPECT_EQ(About(job.job_id()).job().name(), "of-the-record");
  const auto running = JobServer::Start(Id("unrecorded"), {});
  ASSERT_TRUE(running.ok()) << running.status();
  job.set_job_id(Id("unrecorded"));
  job.set_name("of-the-socket");
  (*running)->Publish(job);
  EXPECT_EQ(About(Id("unrecorded")).job().name(), "of-the-socket");
  EXPECT_EQ(About(Id("none")).job().name(), "");
  const auto notes = NotesOf({Id("none"), Id("named")});
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].job().job_id(), Id("none"));
  EXPECT_EQ(notes[1].job().name(), "of-the-record");
}

}  // namespace
}  // namespace autodist::control
