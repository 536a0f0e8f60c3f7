#include "control/job_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/deadline.h"
#include "control/job_client.h"
#include "support/session.h"

namespace autodist::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class JobServerTest : public testing::Test {
 protected:
  std::unique_ptr<JobServer> Start(const std::string& job) {
    JobRequests requests;
    requests.signal = [this](int signal) {
      const std::lock_guard lock(mutex_);
      signals_.push_back(signal);
    };
    requests.get_stacks = [this](const v1::GetStacksRequest& request,
                                 JobRequests::StacksAnswer answer) {
      asked_.set_value({request, std::move(answer)});
    };
    auto server = JobServer::Start(job, std::move(requests));
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? std::move(*server) : nullptr;
  }
  static v1::JobStatus Job(v1::JobPhase phase) {
    v1::JobStatus status;
    status.set_job_id("job-1");
    status.set_phase(phase);
    return status;
  }

  const test::Session session_;
  std::mutex mutex_;
  std::vector<int> signals_;
  std::promise<std::pair<v1::GetStacksRequest, JobRequests::StacksAnswer>> asked_;
};

TEST_F(JobServerTest, TellsTheNewestState) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(client->GetStatus()->job_id(), "job-1");
  EXPECT_EQ(client->GetStatus()->phase(), v1::JOB_PHASE_LAUNCHING);
  server->Publish(Job(v1::JOB_PHASE_RUNNING));
  EXPECT_EQ(client->GetStatus()->phase(), v1::JOB_PHASE_RUNNING);
  EXPECT_EQ(JobClient::Connect("job-1")->GetStatus()->phase(), v1::JOB_PHASE_RUNNING);
}

TEST_F(JobServerTest, WhenOutputCameLastIsKnownWithoutBeingPublished) {
  std::atomic<int64_t> last = 0;
  JobRequests requests;
  requests.last_output_ms = [&] { return last.load(); };
  auto server = JobServer::Start("job-1", std::move(requests));
  ASSERT_TRUE(server.ok()) << server.status();
  const auto client = JobClient::Connect("job-1");
  (*server)->Publish(Job(v1::JOB_PHASE_RUNNING));
  EXPECT_EQ(client->GetStatus()->last_output_ms(), 0);
  last = 5;
  EXPECT_EQ(client->GetStatus()->last_output_ms(), 5);
  v1::JobStatus end = Job(v1::JOB_PHASE_ENDED);
  end.set_last_output_ms(7);
  (*server)->End(end);
  EXPECT_EQ(client->GetStatus()->last_output_ms(), 7);
}

TEST_F(JobServerTest, AllWhoWaitLearnTheEnd) {
  auto server = Start("job-1");
  std::vector<std::future<Result<v1::JobStatus>>> waiting;
  for (int i = 0; i < 5; ++i) {
    waiting.push_back(
        std::async(std::launch::async, [] { return JobClient::Connect("job-1")->WaitForEnd({}); }));
  }
  // Some of them come before and some after the end.
  const auto client = JobClient::Connect("job-1");
  EXPECT_TRUE(client->GetStatus().ok());
  v1::JobStatus end = Job(v1::JOB_PHASE_ENDED);
  end.set_exit_code(7);
  server->End(end);
  EXPECT_EQ(client->WaitForEnd({})->exit_code(), 7);
  server->Publish(Job(v1::JOB_PHASE_RUNNING));  // too late
  EXPECT_EQ(client->GetStatus()->phase(), v1::JOB_PHASE_ENDED);
  for (auto& wait : waiting) {
    const auto status = wait.get();
    ASSERT_TRUE(status.ok()) << status.status();
    EXPECT_EQ(status->exit_code(), 7);
  }
}

TEST_F(JobServerTest, AnAutodistThatGoesWithoutAWord) {
  auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  auto waiting = std::async(std::launch::async, [&] { return client->WaitForEnd({}); });
  EXPECT_TRUE(client->GetStatus().ok());
  server.reset();
  EXPECT_EQ(waiting.get().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(JobClient::Connect("job-1").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(session_.sockets() + "/job-1.sock"));
}

TEST_F(JobServerTest, WaitingCanBeCancelled) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  std::stop_source stop;
  auto waiting =
      std::async(std::launch::async, [&] { return client->WaitForEnd(stop.get_token()); });
  EXPECT_TRUE(client->GetStatus().ok());
  stop.request_stop();
  EXPECT_EQ(waiting.get().status().code(), StatusCode::kCancelled);
  EXPECT_EQ(client->WaitForEnd(stop.get_token()).status().code(), StatusCode::kCancelled);
}

TEST_F(JobServerTest, PassesSignalsOn) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2}) {
    EXPECT_TRUE(client->Signal(signal).ok());
  }
  EXPECT_THAT(signals_, ElementsAre(SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2));
}

TEST_F(JobServerTest, RefusesOtherSignals) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  for (const int signal : {0, -1, 9, SIGSTOP, SIGCHLD, 1 << 20}) {
    EXPECT_EQ(client->Signal(signal).code(), StatusCode::kInvalidArgument) << signal;
  }
  server->End(Job(v1::JOB_PHASE_ENDED));
  EXPECT_EQ(client->Signal(SIGTERM).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(signals_.empty());
}

TEST_F(JobServerTest, StacksAreAnsweredLater) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  auto waiting = std::async(std::launch::async, [&] { return client->GetStacks({2, 5}); });
  const auto [request, answer] = asked_.get_future().get();
  EXPECT_THAT(request.ranks(), ElementsAre(2, 5));
  v1::JobStacks stacks;
  stacks.set_file("/logs/stacks.txt");
  answer(stacks);
  answer(stacks);  // too late
  EXPECT_EQ(waiting.get()->file(), "/logs/stacks.txt");
}

TEST_F(JobServerTest, StacksThatCannotBeHadAreAnAnswer) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  auto waiting = std::async(std::launch::async, [&] { return client->GetStacks({}); });
  asked_.get_future().get().second(Error(StatusCode::kFailedPrecondition, "no rank runs"));
  EXPECT_EQ(Message(waiting.get().status()), "no rank runs");
}

TEST_F(JobServerTest, WhoWaitsForStacksLearnsTheEnd) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  auto waiting = std::async(std::launch::async, [&] { return client->GetStacks({}); });
  const auto answer = asked_.get_future().get().second;
  server->End(Job(v1::JOB_PHASE_ENDED));
  EXPECT_EQ(Message(waiting.get().status()), "the job has ended");
  answer(v1::JobStacks());  // nobody waits
  EXPECT_EQ(Message(client->GetStacks({}).status()), "the job has ended");
}

TEST_F(JobServerTest, AJobHasOneServer) {
  const auto server = Start("job-1");
  const auto second = JobServer::Start("job-1", {});
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(Message(second.status()), HasSubstr("job-1"));
  const auto other = Start("job-2");
  EXPECT_EQ(JobClient::Connect("job-1")->GetStatus()->job_id(), "job-1");
  EXPECT_EQ(JobClient::Connect("job-2")->GetStatus()->job_id(), "job-2");
}

TEST_F(JobServerTest, ASocketThatWasRemovedIsMadeAnew) {
  const auto server = Start("job-1");
  const base::UniqueFd watch(inotify_init1(IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(watch.get(), session_.runtime().c_str(), IN_CREATE), 0);
  std::filesystem::remove_all(session_.sockets());  // as logging out does
  ASSERT_TRUE(
      base::WaitReadable(watch.get(), base::Deadline::After(std::chrono::milliseconds(10'000)))
          .ok());
  // The folder is there; its socket in the same breath.
  const auto limit = base::Deadline::After(std::chrono::milliseconds(10'000));
  while (!JobClient::Connect("job-1").ok() && !limit.Expired()) std::this_thread::yield();
  EXPECT_EQ(JobClient::Connect("job-1")->GetStatus()->job_id(), "job-1");
}

}  // namespace
}  // namespace autodist::control
