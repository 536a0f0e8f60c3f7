#include "control/announced_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "base/log.h"
#include "support/session.h"

namespace autodist::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A disk that is full, for this process alone.
void AllowWrites(bool allow) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = allow ? limit.rlim_max : 0;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

class AnnouncedJobTest : public testing::Test {
 protected:
  AnnouncedJobTest() {
    base::SetLogWriter(
        [this](base::LogLevel, std::string_view message) { logged_.emplace_back(message); });
    status_.set_job_id("job-1");
    status_.set_log_folder(session_.folder().path() + "/logs/job-1");
    status_.set_phase(v1::JOB_PHASE_RUNNING);
  }
  ~AnnouncedJobTest() override {
    AllowWrites(true);
    base::SetLogWriter(nullptr);
  }

  const test::Session session_;
  v1::JobStatus status_;
  std::vector<std::string> logged_;  // written by the job's thread; read after a wait for it
};

TEST_F(AnnouncedJobTest, AJobThatIsNotRecordedIsNotFound) {
  AnnouncedJob job("job-1", base::LogFolder(status_.log_folder()));
  AllowWrites(false);
  job.Changed(status_);
  job.Ended(status_);
  AllowWrites(true);
  EXPECT_THAT(logged_, ElementsAre(HasSubstr("other commands will not find this job: ")));
}

TEST_F(AnnouncedJobTest, AJobWhoseEndIsNotRecordedHasAnEarlierState) {
  AnnouncedJob job("job-1", base::LogFolder(status_.log_folder()));
  job.Changed(status_);
  job.AwaitRecord();
  EXPECT_THAT(logged_, ElementsAre());
  AllowWrites(false);
  status_.set_phase(v1::JOB_PHASE_ENDED);
  job.Ended(status_);
  AllowWrites(true);
  EXPECT_THAT(logged_,
              ElementsAre(HasSubstr("other commands may show an earlier state of this job: ")));
}

}  // namespace
}  // namespace autodist::control
