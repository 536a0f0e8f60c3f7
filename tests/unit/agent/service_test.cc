// The agent's services over a real gRPC connection.
#include "service.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>

#include "support/block_sigchld.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using ClientStream = grpc::ClientReaderWriter<v1::ChiefMessage, v1::AgentEvent>;

class ServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    supervisor_ = *Supervisor::Create(EventsInto(events_));
    rendezvous_ = std::make_unique<RendezvousService>(events_);
    service_ = std::make_unique<AgentService>(
        events_, *rendezvous_, *supervisor_, "/socket", [this] { ++heard_; },
        [this](bool held) { held_ += held; });
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    builder.RegisterService(rendezvous_.get());
    server_ = builder.BuildAndStart();
    auto sockets = base::StreamSocketPair();
    ASSERT_TRUE(base::SetNonBlocking(sockets->first.get()).ok());
    ASSERT_TRUE(base::SetNonBlocking(sockets->second.get()).ok());
    grpc::AddInsecureChannelFromFd(server_.get(), sockets->first.Release());
    channel_ = grpc::CreateInsecureChannelFromFd("agent", sockets->second.Release());
    chief_ = v1::AgentService::NewStub(channel_);
    rank_ = v1::RendezvousService::NewStub(channel_);
  }
  void TearDown() override {
    server_->Shutdown(std::chrono::system_clock::now());
    supervisor_.reset();
  }

  v1::PrepareResponse Prepare(const std::string& script) {
    v1::PrepareRequest request;
    request.set_working_directory("/");
    request.mutable_node()->set_data_address("127.0.0.1");
    v1::RankPlan& rank = *request.mutable_node()->add_ranks();
    rank.set_rank(7);
    for (const char* word : {"sh", "-c", script.c_str()}) rank.add_argv(word);
    grpc::ClientContext context;
    v1::PrepareResponse response;
    const grpc::Status status = chief_->Prepare(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  static v1::ChiefMessage Start() {
    v1::ChiefMessage message;
    message.mutable_start();
    return message;
  }
  static v1::ChiefMessage Shutdown() {
    v1::ChiefMessage message;
    message.mutable_shutdown();
    return message;
  }

  std::atomic<int> heard_ = 0;
  std::atomic<int> held_ = 0;  // how often the lease was held
  EventQueue events_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<RendezvousService> rendezvous_;
  std::unique_ptr<AgentService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AgentService::Stub> chief_;
  std::unique_ptr<v1::RendezvousService::Stub> rank_;
};

TEST_F(ServiceTest, AJobFromPrepareToShutdown) {
  ASSERT_EQ(Prepare("echo hello; exit 5").problems_size(), 0);
  grpc::ClientContext context;
  const std::unique_ptr<ClientStream> session = chief_->Session(&context);
  session->Write(Start());
  v1::AgentEvent event;
  ASSERT_TRUE(session->Read(&event));
  EXPECT_EQ(event.rank_started().rank(), 7u);
  ASSERT_TRUE(session->Read(&event));
  EXPECT_EQ(event.output().data(), "hello\n");
  EXPECT_EQ(event.output().stream(), v1::OUTPUT_STREAM_STDOUT);
  ASSERT_TRUE(session->Read(&event));
  EXPECT_EQ(event.rank_exited().exit_code(), 5);
  session->Write(Shutdown());
  EXPECT_FALSE(session->Read(&event));
  EXPECT_TRUE(session->Finish().ok());
  EXPECT_GE(heard_, 3);
}

TEST_F(ServiceTest, ProblemsTravelWithTheirKind) {
  v1::PrepareRequest request;
  request.set_working_directory("/no/such/folder");
  grpc::ClientContext context;
  v1::PrepareResponse response;
  ASSERT_TRUE(chief_->Prepare(&context, request, &response).ok());
  ASSERT_EQ(response.problems_size(), 1);
  EXPECT_EQ(response.problems(0).kind(), v1::PROBLEM_KIND_WORKING_DIRECTORY);
}

TEST_F(ServiceTest, FactsComeWithTheProblems) {
  v1::PrepareRequest request;
  request.set_working_directory("/no/such/folder");
  request.mutable_examination()->add_files("train.py");
  grpc::ClientContext context;
  v1::PrepareResponse response;
  ASSERT_TRUE(chief_->Prepare(&context, request, &response).ok());
  EXPECT_EQ(response.problems_size(), 1);
  EXPECT_NE(response.facts().hostname(), "");
  EXPECT_EQ(response.facts().files_size(), 1);
}

TEST_F(ServiceTest, WithoutAnExaminationThereAreNoFacts) {
  EXPECT_FALSE(Prepare("true").has_facts());
}

TEST_F(ServiceTest, WordsInAnyEncodingTravel) {
  v1::PrepareRequest request;
  request.set_working_directory("/");
  request.mutable_node()->set_activation("printf '\\377 broken'; exit 1");
  grpc::ClientContext context;
  v1::PrepareResponse response;
  const grpc::Status status = chief_->Prepare(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_NE(response.problems(0).cause().find("? broken"), std::string::npos);
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
    EXPECT_EQ(response.tries(0).problem(), "");
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
  const base::UniqueFd connection(accept(silent.get(), nullptr, nullptr));  // it has begun
  const auto begin = std::chrono::steady_clock::now();
  server_->Shutdown(std::chrono::system_clock::now());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(ServiceTest, ANodeIsPreparedOnce) {
  Prepare("true");
  grpc::ClientContext context;
  v1::PrepareResponse response;
  EXPECT_EQ(chief_->Prepare(&context, {}, &response).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
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
  EXPECT_TRUE(response.has_place());
  EXPECT_EQ(held_, 1);
  grpc::ClientContext second_context;
  const auto second = chief_->Sync(&second_context);
  EXPECT_FALSE(second->Read(&response));
  EXPECT_EQ(second->Finish().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  context.TryCancel();
  EXPECT_EQ(sync->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServiceTest, ASecondSessionIsRefusedWhileOneIsOpen) {
  grpc::ClientContext first_context;
  const std::unique_ptr<ClientStream> first = chief_->Session(&first_context);
  events_.Push(v1::AgentEvent());
  v1::AgentEvent event;
  ASSERT_TRUE(first->Read(&event));  // it is open
  grpc::ClientContext second_context;
  const std::unique_ptr<ClientStream> second = chief_->Session(&second_context);
  EXPECT_FALSE(second->Read(&event));
  EXPECT_EQ(second->Finish().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  first->Write(Shutdown());
  EXPECT_FALSE(first->Read(&event));
  EXPECT_TRUE(first->Finish().ok());
}

TEST_F(ServiceTest, ARendezvousCallIsAnsweredByTheChief) {
  grpc::ClientContext context;
  const std::unique_ptr<ClientStream> session = chief_->Session(&context);
  std::thread rank([this] {
    grpc::ClientContext get_context;
    v1::GetRequest request;
    request.set_key("k");
    v1::GetResponse response;
    EXPECT_TRUE(rank_->Get(&get_context, request, &response).ok());
    EXPECT_EQ(response.value(), "v");
  });
  v1::AgentEvent event;
  ASSERT_TRUE(session->Read(&event));
  EXPECT_EQ(event.rendezvous_request().get().key(), "k");
  v1::ChiefMessage reply;
  reply.mutable_rendezvous_reply()->set_id(event.rendezvous_request().id());
  reply.mutable_rendezvous_reply()->set_value("v");
  session->Write(reply);
  rank.join();
  session->Write(Shutdown());
  EXPECT_FALSE(session->Read(&event));
  EXPECT_TRUE(session->Finish().ok());
}

TEST_F(ServiceTest, ARendezvousCallThatTimesOutIsForgotten) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::GetResponse response;
  EXPECT_EQ(rank_->Get(&context, {}, &response).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  v1::RendezvousReply late;
  late.set_id(1);
  rendezvous_->Reply(late);  // nobody waits any more
}

}  // namespace
}  // namespace autodist::agent
