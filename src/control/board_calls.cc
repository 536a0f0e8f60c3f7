#include "control/board_calls.h"

#include "control/answer_later.h"

namespace autodist::control {

void BoardCalls::End() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

// Of a job that ends before it has answered, the end of the server cancels the call.
template <typename Response, typename Request>
grpc::ServerUnaryReactor* BoardCalls::Ask(
    const std::function<void(const Request&, std::function<void(Response)>)>& ask,
    const Request& request, Response* response) {
  const auto call = AnswerLater<Response>::Create(response, [] {});
  const std::lock_guard lock(mutex_);
  if (ended_ || !ask) {
    call->Refuse({grpc::StatusCode::FAILED_PRECONDITION, "the job has ended"});
  } else {
    ask(request, [call](Response answer) { call->Answer(std::move(answer)); });
  }
  return call.get();
}

grpc::ServerUnaryReactor* BoardCalls::GetBoard(grpc::CallbackServerContext*,
                                               const v1::GetBoardRequest* request,
                                               v1::Board* response) {
  return Ask(look_.board, *request, response);
}

grpc::ServerUnaryReactor* BoardCalls::GetHistory(grpc::CallbackServerContext*,
                                                 const v1::GetHistoryRequest* request,
                                                 v1::History* response) {
  return Ask(look_.history, *request, response);
}

}  // namespace autodist::control
