#include "control/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "control/job_record.h"
#include "control/job_server.h"
#include "control/job_socket.h"
#include "support/busy_listener.h"
#include "support/session.h"

namespace autodist::control {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kJobs = {"20261119-100000-aaaaaa", "20261120-173000-3fa9c1",
                                        "20261120-180000-3fa9c2"};

std::string Unnamed(const std::string&) { return ""; }

TEST(FindJobTest, AcceptsTheIdAUniquePrefixOrSuffixAndLast) {
  for (const auto& [name, job] : {std::pair{"20261119-100000-aaaaaa", 0},
                                  {"20261119", 0},
                                  {"aaaaaa", 0},
                                  {"c1", 1},
                                  {"20261120-17", 1},
                                  {"20261120-180000-3fa9c2", 2},
                                  {"last", 2}}) {
    const auto found = FindJob(name, kJobs, Unnamed);
    ASSERT_TRUE(found.ok()) << name << ": " << found.status();
    EXPECT_EQ(*found, kJobs[static_cast<size_t>(job)]) << name;
  }
  EXPECT_EQ(*FindJob("job-1", {"job-1", "job-10"}, Unnamed), "job-1");
}

TEST(FindJobTest, AmbiguousAndUnknownNamesListTheCandidates) {
  const auto ambiguous = FindJob("20261120", kJobs, Unnamed);
  EXPECT_EQ(ambiguous.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(ambiguous.status()),
            "'20261120' is ambiguous:\n  20261120-173000-3fa9c1\n"
            "  20261120-180000-3fa9c2");
  for (const std::string name : {"", "3fa9", "../x", "LAST"}) {
    const auto unknown = FindJob(name, kJobs, Unnamed);
    EXPECT_EQ(unknown.status().code(), StatusCode::kNotFound) << name;
    EXPECT_THAT(Message(unknown.status()), HasSubstr(kJobs[0])) << name;
  }
  EXPECT_EQ(FindJob("last", {}, Unnamed).status().code(), StatusCode::kNotFound);
}

TEST(FindJobTest, OfManyCandidatesTheNewestAreListed) {
  std::vector<std::string> jobs;
  for (int i = 100; i < 150; ++i) jobs.push_back("job-" + std::to_string(i));
  const std::string message = Message(FindJob("job", jobs, Unnamed).status());
  EXPECT_THAT(message, HasSubstr("job-140\n"));
  EXPECT_THAT(message, HasSubstr("job-149\n  and older ones"));
  EXPECT_THAT(message, Not(HasSubstr("job-139")));
}

TEST(FindJobTest, ANameMeansTheNewestJob) {
  const auto named = [](const std::string& job) -> std::string {
    return job == kJobs[2] ? "other" : "aaaaaa";
  };
  EXPECT_EQ(*FindJob("other", kJobs, named), kJobs[2]);
  EXPECT_EQ(*FindJob("aaaaaa", kJobs, named), kJobs[1]);  // which is also a suffix of an id
  EXPECT_EQ(*FindJob(kJobs[0], kJobs, named), kJobs[0]);
  EXPECT_EQ(*FindJob("20261119", kJobs, named), kJobs[0]);
  EXPECT_THAT(Message(FindJob("oth", kJobs, named).status()), HasSubstr(kJobs[2] + " (other)"));
}

v1::JobStatus Running(const std::string& id, const std::string& name = "") {
  v1::JobStatus job;
  job.set_job_id(id);
  job.set_name(name);
  return job;
}

TEST(DefaultJobTest, IsTheOnlyRunningJobOrTheLast) {
  EXPECT_EQ(*DefaultJob({}, kJobs), kJobs[2]);
  EXPECT_EQ(*DefaultJob({Running(kJobs[0])}, kJobs), kJobs[0]);
  EXPECT_EQ(Message(DefaultJob({}, {}).status()), "there is no job");
}

TEST(DefaultJobTest, SeveralRunningJobsAreListed) {
  const auto several = DefaultJob({Running(kJobs[0], "sweep"), Running(kJobs[1])}, kJobs).status();
  EXPECT_EQ(several.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(several), "2 jobs are running:\n  " + kJobs[0] + " (sweep)\n  " + kJobs[1]);
  EXPECT_EQ(Remedy(several), "name one of them, by its id or its name");
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

  const auto live = ListJobs(false);
  ASSERT_TRUE(In(live, "running"));
  EXPECT_EQ(In(live, "running")->phase(), v1::JOB_PHASE_RUNNING);
  EXPECT_FALSE(In(live, "ended"));
  EXPECT_FALSE(In(live, "crashed"));

  const auto all = ListJobs(true);
  ASSERT_TRUE(In(all, "running") && In(all, "ended") && In(all, "crashed"));
  EXPECT_FALSE(In(all, "running")->chief_gone());
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
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  job.set_host(name.data());
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  EXPECT_TRUE(LookUpJob(job.job_id())->chief_gone());
}

TEST_F(JobsTest, AnAutodistThatIsTooBusyToAcceptIsNotGone) {
  const v1::JobStatus job = Recorded("busy", v1::JOB_PHASE_RUNNING);
  const test::BusyListener busy(*PlaceForSocket(job.job_id()));
  EXPECT_FALSE(LookUpJob(job.job_id())->chief_gone());
  EXPECT_TRUE(In(ListJobs(false), "busy"));
}

TEST_F(JobsTest, AJobWithoutARecordIsFoundByItsSocket) {
  const auto running = JobServer::Start(Id("only-socket"), {});
  ASSERT_TRUE(running.ok()) << running.status();
  EXPECT_TRUE(In(ListJobs(false), "only-socket"));
  EXPECT_TRUE(LookUpJob(Id("only-socket")).ok());
}

TEST_F(JobsTest, ANameIsInTheRecordAndTheSocket) {
  v1::JobStatus job = Recorded("named", v1::JOB_PHASE_ENDED);
  job.set_name("of-the-record");
  ASSERT_TRUE(SaveStatus(job, job.log_folder()).ok());
  EXPECT_EQ(NameOfJob(job.job_id()), "of-the-record");
  const auto running = JobServer::Start(Id("unrecorded"), {});
  ASSERT_TRUE(running.ok()) << running.status();
  job.set_job_id(Id("unrecorded"));
  job.set_name("of-the-socket");
  (*running)->Publish(job);
  EXPECT_EQ(NameOfJob(Id("unrecorded")), "of-the-socket");
  EXPECT_EQ(NameOfJob(Id("none")), "");
}

}  // namespace
}  // namespace autodist::control
