#include "chief/input/rank_input.h"

#include <utility>

namespace autodist::chief {

void RankInput::BeginAttempt(const Attempt& attempt) {
  rank_.Clear();
  run_ = Run::kNotYet;
  given_ = taken_ = 0;
  for (const v1::NodePlan& node : attempt.plan().nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (rank.stdin() == v1::STDIN_KIND_UNSPECIFIED) continue;
      rank_ = rank;
      member_ = node.node_rank();
      node_ = attempt.nodes()[member_];
    }
  }
  if (!first_ || rank_.stdin() == v1::STDIN_KIND_UNSPECIFIED) return;
  user_ = first_;
  Give(*user_, user_->first());
}

void RankInput::Take(uint32_t member, const v1::AgentEvent& event) {
  if (member != member_ || rank_.stdin() == v1::STDIN_KIND_UNSPECIFIED) return;
  if (event.has_rank_started() && event.rank_started().rank() == rank_.rank() &&
      run_ == Run::kNotYet) {
    run_ = Run::kNow;
    if (user_) user_->OnAttached();
  } else if (event.has_rank_exited() && event.rank_exited().rank() == rank_.rank()) {
    End(OkStatus());
  } else if (event.has_input_taken() && event.input_taken().rank() == rank_.rank()) {
    const uint64_t taken = event.input_taken().bytes();
    if (taken < taken_ || taken > given_) return;  // invalid
    const uint64_t more = taken - std::exchange(taken_, taken);
    if (user_ && more > 0) user_->OnTaken(more);
    if (event.input_taken().closed() && user_) std::exchange(user_, nullptr)->OnEnd(OkStatus());
  }
}

Status RankInput::WhyNot(uint32_t rank) const {
  const std::string name = "rank " + std::to_string(rank);
  if (rank_.stdin() != v1::STDIN_KIND_TERMINAL || rank != rank_.rank()) {
    const bool piped = rank_.stdin() == v1::STDIN_KIND_PIPE && rank == rank_.rank();
    return WithRemedy(
        Error(StatusCode::kFailedPrecondition,
              piped ? name + " has no terminal; its input is piped into `autodist run`"
                    : name + " was started without a terminal"),
        piped ? "start `autodist run --stdin-rank` at a terminal, or with --detach"
              : "`autodist run --stdin-rank " + std::to_string(rank) + "` gives it one");
  }
  if (run_ == Run::kOver) return Error(StatusCode::kFailedPrecondition, name + " does not run");
  if (user_) {
    return Error(StatusCode::kFailedPrecondition,
                 user_->who() + " is at the terminal of " + name + " already");
  }
  return OkStatus();
}

void RankInput::Use(std::shared_ptr<User> user) {
  const v1::TerminalInput first = user->first();
  const Status why_not = WhyNot(first.rank());
  if (!why_not.ok()) return user->OnEnd(why_not);
  user_ = std::move(user);
  if (run_ == Run::kNow) user_->OnAttached();
  Give(*user_, first);
}

void RankInput::Give(const User& user, const v1::TerminalInput& input, bool end) {
  if (&user != user_.get()) return;
  v1::ChiefMessage message;
  v1::RankInput& order = *message.mutable_rank_input();
  order.set_rank(rank_.rank());
  order.set_data(input.data());
  order.set_end(end && rank_.stdin() == v1::STDIN_KIND_PIPE);
  if (input.rows() > 0) {
    order.mutable_size()->set_rows(input.rows());
    order.mutable_size()->set_columns(input.columns());
  }
  if (order.data().empty() && !order.end() && !order.has_size()) return;
  given_ += input.data().size();
  send_(node_, std::move(message));
}

void RankInput::Leave(const User& user) {
  if (&user == user_.get()) user_.reset();
}

void RankInput::End(const Status& why) {
  run_ = Run::kOver;
  if (user_) std::exchange(user_, nullptr)->OnEnd(why);
}

}  // namespace autodist::chief
