#include "rpc/limits.h"

#include <gtest/gtest.h>

#include <string>

#include "autodist/v1/agent.grpc.pb.h"
#include "support/grpc_server.h"

namespace autodist::rpc {
namespace {

// Answers as the test requires.
class Answers final : public v1::AgentService::Service {
 public:
  grpc_compression_algorithm compression = GRPC_COMPRESS_NONE;
  size_t size = 1000;  // bytes
  int calls = 0;

 private:
  grpc::Status Prepare(grpc::ServerContext* context, const v1::PrepareRequest*,
                       v1::PrepareResponse* response) override {
    context->set_compression_algorithm(compression);
    response->add_warnings(std::string(size, 'x'));
    ++calls;
    return grpc::Status::OK;
  }
  grpc::Status OpenPorts(grpc::ServerContext*, const v1::OpenPortsRequest*,
                         v1::OpenPortsResponse* response) override {
    response->set_wanted_error(std::string(size, 'x'));
    return grpc::Status::OK;
  }
  grpc::Status Session(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::AgentEvent, v1::ChiefMessage>* stream) override {
    context->set_compression_algorithm(compression);
    v1::AgentEvent event;
    event.mutable_rank_stacks()->set_text(std::string(size, 'x'));
    stream->Write(event);
    return grpc::Status::OK;
  }
};

// A server that compresses like other gRPC servers, without our settings.
class CompressingServer {
 public:
  explicit CompressingServer(grpc::Service& service) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
    auto sockets = base::StreamSocketPair();
    EXPECT_TRUE(base::SetNonBlocking(sockets->first.get()).ok());
    grpc::AddInsecureChannelFromFd(server_.get(), sockets->first.Release());
    stub = v1::AgentService::NewStub(*ChannelToAgent(std::move(sockets->second)));
  }

  std::unique_ptr<v1::AgentService::Stub> stub;

 private:
  std::unique_ptr<grpc::Server> server_;
};

class Compressed : public testing::TestWithParam<grpc_compression_algorithm> {};

INSTANTIATE_TEST_SUITE_P(Algorithms, Compressed,
                         testing::Values(GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP));

TEST_P(Compressed, AnswersOfAnAgentAreRefused) {
  Answers answers;
  const CompressingServer server(answers);
  answers.compression = GetParam();
  grpc::ClientContext context;
  v1::PrepareResponse response;
  const grpc::Status status = server.stub->Prepare(&context, {}, &response);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(response.warnings_size(), 0);

  grpc::ClientContext session_context;
  const auto session = server.stub->Session(&session_context);
  v1::AgentEvent event;
  EXPECT_FALSE(session->Read(&event));
}

TEST_P(Compressed, RequestsAreRefused) {
  Answers answers;
  test::GrpcServer server{&answers};
  const auto channel = grpc::CreateInsecureChannelFromFd("agent", [&] {
    base::UniqueFd fd = server.Connect();
    EXPECT_TRUE(base::SetNonBlocking(fd.get()).ok());
    return fd.Release();
  }());
  const auto stub = v1::AgentService::NewStub(channel);
  grpc::ClientContext context;
  context.set_compression_algorithm(GetParam());
  v1::PrepareRequest request;
  request.set_working_directory(std::string(1000, 'x'));
  v1::PrepareResponse response;
  const grpc::Status status = stub->Prepare(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
  EXPECT_EQ(answers.calls, 0);
}

TEST(Limits, EachKindOfAnswerHasALimit) {
  Answers answers;
  test::GrpcServer server{&answers};
  const auto stub = v1::AgentService::NewStub(server.Channel());
  const auto prepare = [&] {
    grpc::ClientContext context;
    v1::PrepareResponse response;
    return stub->Prepare(&context, {}, &response).error_code();
  };
  const auto open_ports = [&] {
    grpc::ClientContext context;
    v1::OpenPortsResponse response;
    return stub->OpenPorts(&context, {}, &response).error_code();
  };
  const auto session = [&] {
    grpc::ClientContext context;
    const auto call = stub->Session(&context);
    for (v1::AgentEvent event; call->Read(&event);) {
    }
    return call->Finish().error_code();
  };
  constexpr auto kTooLarge = grpc::StatusCode::RESOURCE_EXHAUSTED;
  answers.size = kLargestOpenPorts;  // and the message around it
  EXPECT_EQ(open_ports(), kTooLarge);
  EXPECT_EQ(prepare(), grpc::StatusCode::OK);
  answers.size = kLargestPrepared;
  EXPECT_EQ(prepare(), kTooLarge);
  EXPECT_EQ(session(), grpc::StatusCode::OK);
  answers.size = kLargestEvent;
  EXPECT_EQ(session(), kTooLarge);
}

}  // namespace
}  // namespace autodist::rpc
