// A gRPC server in the test's process, which is connected by socket pairs like an agent.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <memory>

#include "base/fd.h"
#include "rpc/channel.h"
#include "rpc/limits.h"
#include "rpc/server.h"

namespace autodist::test {

class GrpcServer {
 public:
  explicit GrpcServer(std::initializer_list<grpc::Service*> services) {
    grpc::ServerBuilder builder;
    rpc::ConfigureServer(builder, rpc::kLargestFromChief);
    for (grpc::Service* service : services) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
  }
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  ~GrpcServer() { Shutdown(); }

  // The remote end of a new connection.
  base::UniqueFd Connect() {
    auto sockets = base::StreamSocketPair();
    EXPECT_TRUE(base::SetNonBlocking(sockets->first.get()).ok());
    grpc::AddInsecureChannelFromFd(server_.get(), sockets->first.Release());
    return std::move(sockets->second);
  }
  std::shared_ptr<grpc::Channel> Channel() { return *rpc::ChannelToAgent(Connect()); }

  // Cancels current calls.
  void Shutdown() { server_->Shutdown(std::chrono::system_clock::now()); }
  grpc::Server& server() { return *server_; }

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace autodist::test
