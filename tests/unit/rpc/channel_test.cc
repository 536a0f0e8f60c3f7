#include "rpc/channel.h"

#include <gtest/gtest.h>

#include "autodist/v1/agent.grpc.pb.h"
#include "autodist/v1/job.grpc.pb.h"
#include "support/grpc_server.h"

namespace autodist::rpc {
namespace {

TEST(ChannelTest, AnUnimplementedMethodMeansAnOlderAutodist) {
  v1::AgentService::Service others;
  test::GrpcServer server({&others});
  const auto stub = v1::JobService::NewStub(server.Channel());
  grpc::ClientContext context;
  v1::JobStacks stacks;
  const Status status = FromGrpc(stub->GetStacks(&context, {}, &stacks));
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(Message(status).find("another version of autodist"), std::string::npos) << status;
  EXPECT_NE(Remedy(status), "");
}

TEST(ChannelTest, ATimeLimitIsNamed) {
  const grpc::Status late(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded");
  EXPECT_EQ(Message(FromGrpc(late)), "no answer within the time limit");
  const grpc::Status ours(grpc::StatusCode::DEADLINE_EXCEEDED, "node 3 has not arrived");
  EXPECT_EQ(Message(FromGrpc(ours)), "node 3 has not arrived");
}

}  // namespace
}  // namespace autodist::rpc
