#include "transfer/call_outcome.h"

namespace autodist::transfer {

void CallOutcome::Finish(const std::string& error, const std::string& remedy) {
  finished_ = error.empty() ? OkStatus()
                            : WithRemedy(Error(StatusCode::kFailedPrecondition, error), remedy);
}

Status CallOutcome::Get(const std::stop_token& stop) const {
  if (rule_broken()) return broken_rule_;
  if (finished_) return *finished_;
  if (stop.stop_requested()) return Error(StatusCode::kCancelled, "cancelled");
  if (!stalled_.empty()) {
    return WithRemedy(Error(StatusCode::kDeadlineExceeded, stalled_),
                      "check the link to the node and its file system");
  }
  if (ended_->ok()) return Error(StatusCode::kUnavailable, "the agent exited too early");
  return Annotate(*ended_, "the connection with the agent broke");
}

}  // namespace autodist::transfer
