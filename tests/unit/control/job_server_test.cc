#include "control/job_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <thread>

#include "base/deadline.h"
#include "control/diagnose_job.h"
#include "control/job_client.h"
#include "control/terminal_session.h"
#include "support/session.h"

namespace autodist::control {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class JobServerTest : public testing::Test {
 protected:
  std::unique_ptr<JobServer> Start(const std::string& job) {
    JobRequests requests;
    requests.signal = [this](int signal, const std::string& by) {
      const std::lock_guard lock(mutex_);
      signals_.push_back(signal);
      senders_.push_back(by);
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
  std::vector<std::string> senders_;
  std::promise<std::pair<v1::GetStacksRequest, JobRequests::StacksAnswer>> asked_;
};

TEST_F(JobServerTest, ReturnsTheNewestState) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(client->GetStatus()->job_id(), "job-1");
  EXPECT_EQ(client->GetStatus()->phase(), v1::JOB_PHASE_LAUNCHING);
  server->Publish(Job(v1::JOB_PHASE_RUNNING));
  EXPECT_EQ(client->GetStatus()->phase(), v1::JOB_PHASE_RUNNING);
  EXPECT_EQ(JobClient::Connect("job-1")->GetStatus()->phase(), v1::JOB_PHASE_RUNNING);
}

TEST_F(JobServerTest, ReturnsTheStatusUntilTheEnd) {
  std::atomic<int64_t> last = 0;
  JobRequests requests;
  requests.get_status = [&](const JobRequests::StatusAnswer& answer) {
    v1::JobStatus now = Job(v1::JOB_PHASE_RUNNING);
    now.set_last_output_ms(last);
    answer(now);
  };
  auto server = JobServer::Start("job-1", std::move(requests));
  ASSERT_TRUE(server.ok()) << server.status();
  const auto client = JobClient::Connect("job-1");
  EXPECT_EQ(client->GetStatus()->phase(), v1::JOB_PHASE_RUNNING);
  last = 5;
  EXPECT_EQ(client->GetStatus()->last_output_ms(), 5);
  v1::JobStatus end = Job(v1::JOB_PHASE_ENDED);
  end.set_last_output_ms(7);
  (*server)->End(end);
  EXPECT_EQ(client->GetStatus()->last_output_ms(), 7);
}

TEST_F(JobServerTest, AnUnansweredClientIsNotifiedOfTheEnd) {
  std::promise<void> asked;
  JobRequests requests;
  requests.get_status = [&](const auto&) { asked.set_value(); };  // never
  auto server = JobServer::Start("job-1", std::move(requests));
  ASSERT_TRUE(server.ok()) << server.status();
  auto status = std::async(std::launch::async,
                           [] { return JobClient::Connect("job-1")->GetStatus().status(); });
  asked.get_future().wait();
  (*server)->End(Job(v1::JOB_PHASE_ENDED));
  EXPECT_EQ(status.get().code(), StatusCode::kFailedPrecondition);
}

TEST_F(JobServerTest, AllWaitingClientsAreNotifiedOfTheEnd) {
  auto server = Start("job-1");
  std::vector<std::future<Result<v1::JobStatus>>> waiting;
  for (int i = 0; i < 5; ++i) {
    waiting.push_back(
        std::async(std::launch::async, [] { return JobClient::Connect("job-1")->WaitForEnd({}); }));
  }
  // Some of them connect before and some after the end.
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

TEST_F(JobServerTest, AChiefThatDies) {
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

TEST_F(JobServerTest, ForwardsSignals) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2}) {
    EXPECT_TRUE(client->Signal(signal, "a test").ok());
  }
  EXPECT_THAT(signals_, ElementsAre(SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2));
  EXPECT_THAT(senders_, testing::Each("a test"));
}

TEST_F(JobServerTest, TheSenderOfASignalHasAPrintableName) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  ASSERT_TRUE(client.ok()) << client.status();
  for (const std::string& by :
       {std::string(), std::string("a\n\x1b[2Jb"), std::string(9'999, 'x')}) {
    EXPECT_TRUE(client->Signal(SIGINT, by).ok());
  }
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(senders_.size(), 3);
  EXPECT_EQ(senders_[0], "a program without a name");
  EXPECT_EQ(senders_[1], "a\\n\\x1b[2Jb");
  EXPECT_THAT(senders_[2], AllOf(testing::StartsWith("xxxx"), testing::EndsWith("…")));
  EXPECT_LE(senders_[2].size(), 100);
}

TEST_F(JobServerTest, RefusesOtherSignals) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  for (const int signal : {0, -1, 9, SIGSTOP, SIGCHLD, 1 << 20}) {
    EXPECT_EQ(client->Signal(signal, "").code(), StatusCode::kInvalidArgument) << signal;
  }
  server->End(Job(v1::JOB_PHASE_ENDED));
  EXPECT_EQ(client->Signal(SIGTERM, "").code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(signals_.empty());
}

TEST_F(JobServerTest, StacksAreAnsweredAsynchronously) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  auto waiting = std::async(std::launch::async, [&] { return client->GetStacks({2, 5}, true); });
  const auto [request, answer] = asked_.get_future().get();
  EXPECT_THAT(request.ranks(), ElementsAre(2, 5));
  v1::JobStacks stacks;
  stacks.set_file("/logs/stacks.txt");
  answer(stacks);
  answer(stacks);  // too late
  EXPECT_EQ(waiting.get()->file(), "/logs/stacks.txt");
}

TEST_F(JobServerTest, AJobsDiagnosisIsThatOfItsAutodistOrOfItsEnd) {
  JobRequests requests;
  requests.get_status = [](const auto& answer) { answer(Job(v1::JOB_PHASE_RUNNING)); };
  requests.snapshots.diagnosis = [](const auto& answer) {
    v1::JobDiagnosis diagnosis;
    diagnosis.set_kind(v1::JobDiagnosis::KIND_OK);
    diagnosis.mutable_issue()->set_what("nothing is wrong: steps continue");
    answer(diagnosis);
  };
  requests.snapshots.awaited_nodes = [](const auto& answer) {
    v1::AwaitedNodes nodes;
    nodes.add_addresses("node2");
    answer(nodes);
  };
  auto server = JobServer::Start("job-1", std::move(requests));
  ASSERT_TRUE(server.ok()) << server.status();
  const auto nodes = JobClient::Connect("job-1")->GetAwaitedNodes();
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_THAT(nodes->addresses(), testing::ElementsAre("node2"));
  const auto diagnosis = DiagnoseJobNamed("job-1", {});
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.status();
  EXPECT_EQ(diagnosis->issue().what(), "nothing is wrong: steps continue");
  EXPECT_THAT(DiagnosisJson("job-1", *diagnosis),
              AllOf(HasSubstr(R"("job_id":"job-1")"), HasSubstr(R"("diagnosis":"ok")")));
  (*server)->End(Job(v1::JOB_PHASE_ENDED));
  EXPECT_EQ(DiagnoseJobNamed("job-1", {})->kind(), v1::JobDiagnosis::KIND_OK);
}

TEST_F(JobServerTest, UnavailableStacksAreAnAnswer) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  auto waiting = std::async(std::launch::async, [&] { return client->GetStacks({}, false); });
  asked_.get_future().get().second(Error(StatusCode::kFailedPrecondition, "no rank runs"));
  EXPECT_EQ(Message(waiting.get().status()), "no rank runs");
}

TEST_F(JobServerTest, AClientThatWaitsForStacksIsNotifiedOfTheEnd) {
  const auto server = Start("job-1");
  const auto client = JobClient::Connect("job-1");
  auto waiting = std::async(std::launch::async, [&] { return client->GetStacks({}, false); });
  const auto answer = asked_.get_future().get().second;
  server->End(Job(v1::JOB_PHASE_ENDED));
  EXPECT_EQ(Message(waiting.get().status()), "the job has ended");
  answer(v1::JobStacks());  // the client has left
  EXPECT_EQ(Message(client->GetStacks({}, false).status()), "the job has ended");
}

// The user at the terminal, from the job's side.
class TerminalTest : public JobServerTest {
 protected:
  std::unique_ptr<JobServer> StartJob() {
    JobRequests requests;
    requests.terminal.use = [this](JobRequests::User user) { used_.set_value(std::move(user)); };
    requests.terminal.type = [this](const JobRequests::User&, const v1::TerminalInput& input) {
      const std::lock_guard lock(mutex_);
      typed_ += input.data();
      changed_.notify_all();
    };
    requests.terminal.leave = [this](const JobRequests::User&) { left_.set_value(); };
    return *JobServer::Start("job-1", std::move(requests));
  }
  static v1::TerminalInput Typed(const std::string& data) {
    v1::TerminalInput input;
    input.set_data(data);
    return input;
  }
  // Returns the input once it has this size.
  std::string AwaitTyped(size_t size) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return typed_.size() >= size; });
    return typed_;
  }
  // Opens a session, which `answer` answers.
  Result<std::unique_ptr<TerminalSession>> Open(
      const std::function<void(TerminalUser& user)>& answer) {
    v1::TerminalInput first;
    first.set_rank(3);
    first.set_pid(77);
    auto opened =
        std::async(std::launch::async, [&] { return TerminalSession::Open("job-1", first); });
    user_ = used_.get_future().get();
    answer(*user_);
    return opened.get();
  }

  std::promise<JobRequests::User> used_;
  std::promise<void> left_;
  std::condition_variable changed_;
  std::string typed_;
  JobRequests::User user_;
};

TEST_F(TerminalTest, ReadsOnlyWhatIsTaken) {
  const auto server = StartJob();
  const auto session = Open([](TerminalUser& user) { user.OnAttached(); });
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(user_->first().rank(), 3u);
  EXPECT_THAT(user_->who(), HasSubstr("process 77"));
  for (const char* typed : {"one", "two", "three"}) ASSERT_TRUE((*session)->Type(Typed(typed)));
  EXPECT_EQ(AwaitTyped(3), "one");
  user_->OnTaken(2);
  EXPECT_EQ(JobClient::Connect("job-1")->GetStatus()->job_id(), "job-1");  // lets time pass
  EXPECT_EQ(AwaitTyped(3), "one");
  user_->OnTaken(1);
  EXPECT_EQ(AwaitTyped(6), "onetwo");
  user_->OnTaken(3);
  EXPECT_EQ(AwaitTyped(11), "onetwothree");
  user_->OnEnd(OkStatus());
  EXPECT_TRUE((*session)->AwaitEnd().ok());
  left_.get_future().get();
}

TEST_F(TerminalTest, ARefusedClientGetsTheReason) {
  const auto server = StartJob();
  const auto session = Open([](TerminalUser& user) {
    user.OnEnd(WithRemedy(Error(StatusCode::kFailedPrecondition, "no terminal"), "give it one"));
  });
  EXPECT_EQ(Message(session.status()), "no terminal; give it one");
}

TEST_F(TerminalTest, ALeavingClientHasLeft) {
  const auto server = StartJob();
  auto session = Open([](TerminalUser& user) { user.OnAttached(); });
  ASSERT_TRUE(session.ok()) << session.status();
  session->reset();
  left_.get_future().get();
  user_->OnTaken(1);  // the client has left
  user_->OnEnd(OkStatus());
}

TEST_F(TerminalTest, TheEndOfTheJobEndsIt) {
  const auto server = StartJob();
  const auto session = Open([](TerminalUser& user) { user.OnAttached(); });
  ASSERT_TRUE(session.ok()) << session.status();
  server->End(Job(v1::JOB_PHASE_ENDED));
  EXPECT_EQ(Message((*session)->AwaitEnd()), "the job has ended");
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

TEST_F(JobServerTest, ARemovedSocketIsCreatedAgain) {
  const auto server = Start("job-1");
  const base::UniqueFd watch(inotify_init1(IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(watch.get(), session_.runtime().c_str(), IN_CREATE), 0);
  std::filesystem::remove_all(session_.sockets());  // as logging out does
  ASSERT_TRUE(
      base::WaitReadable(watch.get(), base::Deadline::After(std::chrono::milliseconds(10'000)))
          .ok());
  // The folder exists just before its socket.
  const auto limit = base::Deadline::After(std::chrono::milliseconds(10'000));
  while (!JobClient::Connect("job-1").ok() && !limit.Expired()) std::this_thread::yield();
  EXPECT_EQ(JobClient::Connect("job-1")->GetStatus()->job_id(), "job-1");
}

}  // namespace
}  // namespace autodist::control
