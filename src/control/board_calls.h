// Answers who looks at a job that runs.
#pragma once

#include <functional>
#include <mutex>

#include "autodist/v1/board.grpc.pb.h"
#include "control/job_requests.h"

namespace autodist::control {

// Thread-safe.
class BoardCalls final : public v1::BoardService::CallbackService {
 public:
  explicit BoardCalls(JobRequests::Look look) : look_(std::move(look)) {}

  // No request is made any more.
  void End();

  grpc::ServerUnaryReactor* GetBoard(grpc::CallbackServerContext*,
                                     const v1::GetBoardRequest* request,
                                     v1::Board* response) override;
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext*,
                                       const v1::GetHistoryRequest* request,
                                       v1::History* response) override;

 private:
  template <typename Response, typename Request>
  grpc::ServerUnaryReactor* Ask(
      const std::function<void(const Request&, std::function<void(Response)>)>& ask,
      const Request& request, Response* response);

  const JobRequests::Look look_;
  std::mutex mutex_;  // held while a request is made
  bool ended_ = false;
};

}  // namespace autodist::control
