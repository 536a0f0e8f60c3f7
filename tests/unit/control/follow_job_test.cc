#include "control/follow_job.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>

#include "base/deadline.h"
#include "base/host_name.h"
#include "control/job_record.h"
#include "control/job_server.h"
#include "control/job_socket.h"
#include "support/busy_listener.h"
#include "support/session.h"

namespace autodist::control {
namespace {

using base::Deadline;
using testing::HasSubstr;

constexpr std::chrono::seconds kLimit{30};
constexpr char kJob[] = "job-1";

class FollowJobTest : public testing::Test {
 protected:
  FollowJobTest() {
    status_.set_job_id(kJob);
    status_.set_host(base::HostName());
    status_.set_phase(v1::JOB_PHASE_RUNNING);
    status_.set_log_folder(session_.folder().path() + "/logs");
    v1::NodeStatus& node = *status_.add_nodes();
    node.set_address("a");
    node.set_ranks(1);
    BeginAttempt(0);
    EXPECT_TRUE(RecordJob(status_, status_.log_folder()).ok());
    testing::internal::CaptureStdout();
  }
  ~FollowJobTest() override {
    if (captured_) testing::internal::GetCapturedStdout();
  }
  std::string Output() {
    captured_ = false;
    return testing::internal::GetCapturedStdout();
  }

  void StartChief() {
    JobRequests requests;
    requests.get_status = [this](const auto& answer) { answer(Status()); };
    chief_ = *JobServer::Start(kJob, std::move(requests));
    chief_->Publish(Status());
  }
  v1::JobStatus Status() {
    const std::lock_guard lock(mutex_);
    ++asked_;
    return status_;
  }
  void BeginAttempt(uint32_t number) {
    const std::lock_guard lock(mutex_);
    folder_ = AttemptFolder(status_.log_folder(), number);
    std::filesystem::create_directories(folder_);
    status_.set_attempt(number);
    status_.set_attempt_folder(folder_);
  }
  void End() {
    {
      const std::lock_guard lock(mutex_);
      status_.set_phase(v1::JOB_PHASE_ENDED);
    }
    EXPECT_TRUE(SaveStatus(Status(), Status().log_folder()).ok());
    chief_->End(Status());
    chief_.reset();
  }
  void Write(const std::string& text) const {
    std::ofstream(folder_ + "/rank-0.out", std::ios::app) << text;
  }
  // On another thread.
  std::future<Result<v1::JobStatus>> Follow(Skip skip = {}) {
    return std::async(std::launch::async, [skip = std::move(skip), job = Status()] {
      logs::LogPrinter output({});
      return FollowJob(job, skip, output);
    });
  }
  // Waits until the follower has queried the status again.
  void AwaitQuestion() {
    const Deadline limit = Deadline::After(kLimit);
    for (const int before = asked(); asked() < before + 2 && !limit.Expired();) {
      std::this_thread::yield();
    }
  }

  const test::Session session_;
  std::unique_ptr<JobServer> chief_;

 private:
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  std::mutex mutex_;
  int asked_ = 0;  // guarded by mutex_, as are the two below
  v1::JobStatus status_;
  std::string folder_;
  bool captured_ = true;
};

TEST_F(FollowJobTest, ShowsOutputUntilTheEnd) {
  Write("before\n");
  StartChief();
  auto followed = Follow();
  AwaitQuestion();
  Write("while it runs\n");
  Write("at the end");
  End();
  const auto job = followed.get();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->phase(), v1::JOB_PHASE_ENDED);
  EXPECT_EQ(Output(), "[a:0] before\n[a:0] while it runs\n[a:0] at the end\n");
}

TEST_F(FollowJobTest, ContinuesWithTheNextAttempt) {
  Write("first\n");
  StartChief();
  auto followed = Follow([](logs::LogReader& logs) { logs.SkipToLastLinesOfEach(0); });
  AwaitQuestion();
  Write("last of the first\n");
  BeginAttempt(1);
  Write("second\n");
  AwaitQuestion();
  End();
  ASSERT_TRUE(followed.get().ok());
  EXPECT_EQ(Output(), "[a:0] last of the first\n[a:0] second\n");
}

TEST_F(FollowJobTest, WithoutItsChiefTheExistingOutputIsShown) {
  Write("all\n");
  const auto job = Follow().get();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(job->chief_gone());
  EXPECT_EQ(Output(), "[a:0] all\n");
}

TEST_F(FollowJobTest, EndsWhenTheChiefDies) {
  Write("all\n");
  StartChief();
  auto followed = Follow();
  AwaitQuestion();
  chief_.reset();
  const auto job = followed.get();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(job->chief_gone());
  EXPECT_EQ(Output(), "[a:0] all\n");
}

using FollowJobDeathTest = FollowJobTest;  // runs before gRPC has threads, which a fork would lose

// As in `attach | head`: a hung job writes nothing that would show that the reader has gone.
TEST_F(FollowJobDeathTest, EndsWithItsReader) {
  EXPECT_EXIT(
      {
        StartChief();
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) _exit(2);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        (void)Follow().get();
        _exit(3);
      },
      testing::KilledBySignal(SIGPIPE), "");
}

// It is not gone: its ranks may write for days.
TEST_F(FollowJobTest, ABusyChiefIsAFailure) {
  const test::BusyListener busy(*PlaceForSocket(kJob));
  Write("all\n");
  const auto job = Follow().get();
  EXPECT_EQ(job.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(job.status()), HasSubstr("does not answer"));
  EXPECT_EQ(Output(), "");
}

}  // namespace
}  // namespace autodist::control
