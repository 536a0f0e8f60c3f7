// The agent's services over a real gRPC connection.
#include "agent/link/service.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/chief_end.h"
#include "support/small_agent.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using test::ChiefEnd;
using test::End;
using test::Renew;
using test::Shutdown;
using test::Start;

class ServiceTest : public testing::Test {
 protected:
  grpc::Status TryPrepare(const std::string& script, v1::PrepareResponse& response) {
    v1::PrepareRequest request;
    request.set_working_directory("/");
    request.set_spool_limit(1 << 20);
    request.set_sample_ms(sample_ms_);
    request.mutable_node()->set_data_address("127.0.0.1");
    v1::RankPlan& rank = *request.mutable_node()->add_ranks();
    rank.set_rank(7);
    for (const char* word : {"sh", "-c", script.c_str()}) rank.add_argv(word);
    grpc::ClientContext context;
    return chief_->Prepare(&context, request, &response);
  }
  v1::PrepareResponse Prepare(const std::string& script) {
    v1::PrepareResponse response;
    const grpc::Status status = TryPrepare(script, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  uint32_t sample_ms_ = 0;
  test::SmallAgent agent_;
  const std::shared_ptr<grpc::Channel> channel_ = agent_.server->Channel();
  const std::unique_ptr<v1::AgentService::Stub> chief_ = v1::AgentService::NewStub(channel_);
  const std::unique_ptr<v1::RendezvousService::Stub> rank_ =
      v1::RendezvousService::NewStub(channel_);
};

TEST_F(ServiceTest, AJobFromPrepareToShutdown) {
  ASSERT_EQ(Prepare("echo hello; exit 5").issues_size(), 0);
  ChiefEnd chief(*chief_);
  chief.Resume();
  chief.Order(Start(), 1);
  EXPECT_EQ(chief.Next().rank_started().rank(), 7u);
  EXPECT_EQ(chief.Next().rank_exited().exit_code(), 5);
  chief.Order(Shutdown(), 2);
  EXPECT_TRUE(chief.Next().has_ranks_ended());
  EXPECT_EQ(chief.output(), "hello\n");
  chief.Send({});
  EXPECT_TRUE(chief.Finish().ok());
  EXPECT_GE(agent_.contacts, 4);
}

// Otherwise the lease would begin with a message of the chief that was sent after the last one that
// it received, and may have been on its way for long.
TEST_F(ServiceTest, FromTheStartTheLeaseBeginsWithAnAnswerThatTheChiefHasReceived) {
  ASSERT_EQ(Prepare("sleep 1000").issues_size(), 0);
  ChiefEnd chief(*chief_);
  chief.Resume();
  EXPECT_EQ(agent_.receipts, 0);
  v1::ChiefMessage start = Start();
  start.mutable_start()->set_received(chief.resumed().resumed().answer());
  chief.Order(start, 1);
  EXPECT_TRUE(chief.Next().has_rank_started());
  EXPECT_EQ(agent_.receipts, 1);
}

// By this node's clock, which is more exact than the time in the request.
TEST_F(ServiceTest, OnlyWhatChangedSinceTheFirstRanksStartedIsFetched) {
  constexpr std::chrono::milliseconds kSeveralTicks{50};  // of the kernel's clock
  const test::TempFolder folder;
  folder.Write("before", "x");
  std::this_thread::sleep_for(kSeveralTicks);
  ASSERT_EQ(Prepare("echo x > " + folder.path() + "/during").issues_size(), 0);
  ChiefEnd chief(*chief_);
  chief.Resume();
  chief.Order(Start(), 1);
  EXPECT_TRUE(chief.Next().has_rank_started());
  EXPECT_TRUE(chief.Next().has_rank_exited());
  v1::FetchFilesRequest request;
  request.set_folder(folder.path());
  request.add_patterns("*");
  request.set_began_ms(500);
  grpc::ClientContext context;
  const auto reader = chief_->FetchFiles(&context, request);
  std::vector<std::string> files;
  v1::FetchFilesResponse response;
  while (reader->Read(&response)) {
    if (response.has_file()) files.push_back(response.file().path());
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(files, std::vector<std::string>{"during"});
}

TEST_F(ServiceTest, SamplesComeWhileRanksRun) {
  sample_ms_ = 100;
  ASSERT_EQ(Prepare("echo hello; sleep 1000 & wait").issues_size(), 0);
  ChiefEnd chief(*chief_);
  chief.Resume();
  chief.Order(Start(), 1);
  pid_t pid = 0;
  const auto is_whole = [](const v1::NodeSample& sample) {
    return sample.ranks_size() == 1 && sample.ranks(0).processes() == 2 &&
           sample.ranks(0).has_cpu() && sample.ranks(0).has_silent_ms() &&
           sample.host().disk_total() > 0;  // read by another thread
  };
  v1::AgentEvent event = chief.Next();
  while (!event.has_sample() || !is_whole(event.sample())) {
    ASSERT_TRUE(event.has_rank_started() || event.has_sample()) << event.ShortDebugString();
    if (event.has_rank_started()) pid = event.rank_started().pid();
    event = chief.Next();
  }
  EXPECT_EQ(event.sequence(), 0u);
  EXPECT_EQ(event.sample().ranks(0).rank(), 7u);
  EXPECT_TRUE(event.sample().host().has_cpu());
  kill(pid, SIGKILL);
  while (!event.has_rank_exited()) event = chief.Next();
  chief.Order(Shutdown(), 2);
  EXPECT_TRUE(chief.Next().has_ranks_ended());  // no sample after the last rank
}

TEST_F(ServiceTest, AnInvalidWorldIsAnIssueWithARemedy) {
  v1::PrepareRequest request;
  request.set_working_directory("/");
  request.mutable_pmix();
  grpc::ClientContext context;
  v1::PrepareResponse response;
  ASSERT_TRUE(chief_->Prepare(&context, request, &response).ok());
  ASSERT_EQ(response.issues_size(), 1);
  EXPECT_EQ(response.issues(0).kind(), v1::PREPARE_ISSUE_KIND_PMIX);
  EXPECT_NE(response.issues(0).remedy(), "");
}

TEST_F(ServiceTest, TheEndIsReportedOnceAllOutputIsAcknowledged) {
  Prepare("echo hello");
  ChiefEnd chief(*chief_);
  chief.acknowledge_output = false;
  chief.Resume();
  chief.Order(Start(), 1);
  EXPECT_TRUE(chief.Next().has_rank_started());
  EXPECT_TRUE(chief.Next().has_rank_exited());
  chief.Order(Shutdown(), 2);
  chief.Send(Renew(3));
  EXPECT_TRUE(chief.Next().has_lease_renewed());
  agent_.supervisor->WaitUntilEnded();
  chief.Send(Renew(4));
  EXPECT_TRUE(chief.Next().has_lease_renewed());
  chief.acknowledge_output = true;
  chief.AcknowledgeOutput();
  EXPECT_TRUE(chief.Next().has_ranks_ended());
}

TEST_F(ServiceTest, TheNodeIsPreparedAgainForTheNextAttempt) {
  Prepare("echo first");
  ChiefEnd chief(*chief_);
  chief.Resume();
  chief.Order(Start(), 1);
  EXPECT_TRUE(chief.Next().has_rank_started());
  EXPECT_TRUE(chief.Next().has_rank_exited());
  chief.Order(End(), 2);
  EXPECT_TRUE(chief.Next().has_ranks_ended());
  EXPECT_EQ(Prepare("exit 6").issues_size(), 0);
  chief.Order(Start(), 3);
  EXPECT_TRUE(chief.Next().has_rank_started());
  EXPECT_EQ(chief.Next().rank_exited().exit_code(), 6);
}

TEST_F(ServiceTest, ANodeWithRanksIsNotPrepared) {
  Prepare("exec sleep 1000");
  ChiefEnd chief(*chief_);
  chief.Resume();
  chief.Order(Start(), 1);
  ASSERT_TRUE(chief.Next().has_rank_started());
  v1::PrepareResponse response;
  EXPECT_EQ(TryPrepare("true", response).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(ServiceTest, NothingIsAcceptedBeforeResume) {
  Prepare("exit 5");
  ChiefEnd chief(*chief_);
  chief.Order(Start(), 1);
  chief.Resume("the next key");
  EXPECT_EQ(chief.resumed().acknowledged(), 0u);
  EXPECT_EQ(agent_.key(), "the next key");
  EXPECT_TRUE(agent_.supervisor->RunningRanks().empty());
  chief.Order(Start(), 1);
  EXPECT_TRUE(chief.Next().has_rank_started());
}

TEST_F(ServiceTest, ASecondSessionReplacesTheFirst) {
  Prepare("exit 5");
  ChiefEnd first(*chief_);
  first.Resume();
  first.Order(Start(), 1);
  ASSERT_TRUE(first.Next().has_rank_started());
  ASSERT_TRUE(first.Next().has_rank_exited());  // not acknowledged
  ChiefEnd second(*chief_, 1);
  second.Resume("", first.resumed().resumed().instance());
  EXPECT_EQ(first.Finish().error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(second.resumed().resumed().instance(), first.resumed().resumed().instance());
  EXPECT_EQ(second.resumed().acknowledged(), 1u);
  EXPECT_TRUE(second.Next().has_rank_exited());
  second.Order(Shutdown(), 2);
  EXPECT_TRUE(second.Next().has_ranks_ended());
  second.Send({});
  EXPECT_TRUE(second.Finish().ok());
}

TEST_F(ServiceTest, AStoppedChiefKeepsItsLeaseUntilItsConnectionBreaks) {
  ChiefEnd chief(*chief_);
  chief.Resume();
  EXPECT_EQ(agent_.sessions, 1);
  v1::ChiefMessage message;
  message.mutable_signal()->set_signal(SIGTSTP);
  message.mutable_signal()->set_hold_ms(60'000);
  chief.Order(message, 1);
  chief.Send(Renew(1));
  EXPECT_TRUE(chief.Next().has_lease_renewed());
  EXPECT_TRUE(agent_.paused);
  message.mutable_signal()->set_signal(SIGCONT);
  chief.Order(message, 2);
  chief.Send(Renew(2));
  EXPECT_TRUE(chief.Next().has_lease_renewed());
  EXPECT_FALSE(agent_.paused);
  chief.Cancel();
  EXPECT_TRUE(agent_.events->WaitUntilDetached(base::Deadline::After(std::chrono::seconds(60))));
}

TEST_F(ServiceTest, IssuesHaveTheirKind) {
  const std::pair<const char*, const char*> rows[] = {
      {"/no/such/folder", "at the same absolute path"},
      {"~/no such folder", "at ~/no such folder, in the home folder of every"}};
  for (const auto& [folder, place] : rows) {
    v1::PrepareRequest request;
    request.set_working_directory(folder);
    grpc::ClientContext context;
    v1::PrepareResponse response;
    ASSERT_TRUE(chief_->Prepare(&context, request, &response).ok());
    ASSERT_EQ(response.issues_size(), 1);
    EXPECT_EQ(response.issues(0).kind(), v1::PREPARE_ISSUE_KIND_WORKING_DIRECTORY);
    EXPECT_NE(response.issues(0).remedy().find("--workdir /"), std::string::npos);
    EXPECT_NE(response.issues(0).remedy().find(place), std::string::npos)
        << response.issues(0).remedy();
  }
}

TEST_F(ServiceTest, FactsComeWithTheIssues) {
  v1::PrepareRequest request;
  request.set_working_directory("/no/such/folder");
  request.mutable_probe()->add_files("train.py");
  grpc::ClientContext context;
  v1::PrepareResponse response;
  ASSERT_TRUE(chief_->Prepare(&context, request, &response).ok());
  EXPECT_EQ(response.issues_size(), 1);
  EXPECT_NE(response.facts().hostname(), "");
  EXPECT_EQ(response.facts().files_size(), 1);
}

TEST_F(ServiceTest, WithoutAProbeRequestThereAreNoFacts) {
  EXPECT_FALSE(Prepare("true").has_facts());
}

TEST_F(ServiceTest, OtherJobsSeeTheDevicesAndThisOneTheirs) {
  const DeviceClaim other(agent_.folder.path() + "/other", {});
  v1::PrepareRequest request;
  request.set_working_directory("/");
  request.mutable_node()->add_devices()->set_kind(v1::DEVICE_KIND_CPU);
  other.Want(request.node());
  const auto own_file = [&](const std::string& ending) {
    return access((agent_.folder.path() + "/devices" + ending).c_str(), F_OK) == 0;
  };
  const auto prepare = [&](bool thorough) {
    request.mutable_probe()->set_device_users(true);
    request.mutable_probe()->set_thorough(thorough);
    grpc::ClientContext context;
    v1::PrepareResponse response;
    EXPECT_TRUE(chief_->Prepare(&context, request, &response).ok());
    return response;
  };
  EXPECT_EQ(prepare(true).facts().other_jobs_size(), 1);
  EXPECT_FALSE(own_file(".waiting"));  // a probe requests no devices
  const v1::PrepareResponse response = prepare(false);
  ASSERT_EQ(response.facts().other_jobs_size(), 1);
  EXPECT_EQ(response.facts().other_jobs(0).job_id(), "other");
  EXPECT_TRUE(response.facts().other_jobs(0).waiting());
  EXPECT_TRUE(own_file(""));  // reserved, as the other job is younger
  ChiefEnd chief(*chief_);
  chief.Resume();
  chief.Order(Start(), 1);
  chief.Order(Shutdown(), 2);
  EXPECT_TRUE(chief.Next().has_ranks_ended());
  EXPECT_TRUE(own_file("") && !own_file(".waiting"));
}

TEST_F(ServiceTest, ArgumentsInAnyEncodingArriveUnchanged) {
  v1::PrepareRequest request;
  request.set_working_directory("/");
  request.mutable_node()->add_environment()->set_activate("printf '\\377 broken'; exit 1");
  grpc::ClientContext context;
  v1::PrepareResponse response;
  const grpc::Status status = chief_->Prepare(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_NE(response.issues(0).cause().find("? broken"), std::string::npos);
}

TEST_F(ServiceTest, PortsAreOpenedAndTried) {
  v1::OpenPortsRequest open;
  open.set_token("token");
  v1::OpenPortsResponse ports;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(chief_->OpenPorts(&context, open, &ports).ok());
  }
  grpc::ClientContext again;
  EXPECT_EQ(chief_->OpenPorts(&again, open, &ports).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  v1::TryPortsRequest request;
  request.set_limit_ms(10'000);
  v1::PortTarget& target = *request.add_targets();
  target.set_address("127.0.0.1");
  target.set_port(ports.free_port());
  target.set_token("token");
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    v1::TryPortsResponse response;
    ASSERT_TRUE(chief_->TryPorts(&context, request, &response).ok());
    ASSERT_EQ(response.tries_size(), 1);
    EXPECT_EQ(response.tries(0).error(), "");
  }
}

TEST_F(ServiceTest, TriesEndWithTheAgent) {
  const base::UniqueFd silent(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  socklen_t length = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(silent.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(silent.get(), 1), 0);
  ASSERT_EQ(getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  v1::TryPortsRequest request;
  request.set_limit_ms(3'600'000);
  v1::PortTarget& target = *request.add_targets();
  target.set_address("127.0.0.1");
  target.set_port(ntohs(address.sin_port));
  target.set_token("token");
  std::jthread trying([&] {
    grpc::ClientContext context;
    v1::TryPortsResponse response;
    EXPECT_FALSE(chief_->TryPorts(&context, request, &response).ok());
  });
  const base::UniqueFd connection(accept(silent.get(), nullptr, nullptr));  // the try has begun
  const auto begin = std::chrono::steady_clock::now();
  agent_.server->Shutdown();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(ServiceTest, ANodeIsSynchronisedOnceWithTheLeaseHeld) {
  const test::TempFolder folder;
  v1::SyncRequest request;
  request.mutable_begin()->set_folder(folder.path());
  v1::SyncResponse response;
  grpc::ClientContext context;
  const auto sync = chief_->Sync(&context);
  sync->Write(request);
  ASSERT_TRUE(sync->Read(&response));
  EXPECT_TRUE(response.has_target_info());
  EXPECT_EQ(agent_.silences_expected, 1);
  grpc::ClientContext second_context;
  const auto second = chief_->Sync(&second_context);
  EXPECT_FALSE(second->Read(&response));
  EXPECT_EQ(second->Finish().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  context.TryCancel();
  EXPECT_EQ(sync->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServiceTest, ARendezvousCallIsAnsweredByTheChief) {
  ChiefEnd chief(*chief_);
  chief.Resume();
  std::jthread rank([this] {
    grpc::ClientContext context;
    v1::GetRequest request;
    request.set_key("k");
    v1::GetResponse response;
    EXPECT_TRUE(rank_->Get(&context, request, &response).ok());
    EXPECT_EQ(response.value(), "v");
  });
  const v1::AgentEvent event = chief.Next();
  EXPECT_EQ(event.rendezvous_request().get().key(), "k");
  v1::ChiefMessage reply;
  reply.mutable_rendezvous_reply()->set_id(event.rendezvous_request().id());
  reply.mutable_rendezvous_reply()->set_value("v");
  chief.Order(reply, 1);
}

TEST_F(ServiceTest, ARendezvousCallThatTimesOutIsForgotten) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::GetResponse response;
  EXPECT_EQ(rank_->Get(&context, {}, &response).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  v1::RendezvousReply late;
  late.set_id(1);
  agent_.rendezvous->Reply(late);  // the call has ended
}

}  // namespace
}  // namespace autodist::agent
