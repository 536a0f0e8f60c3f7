#include "agent/link/event_queue.h"

#include <utility>

#include "base/random.h"
#include "base/wall_clock.h"

namespace autodist::agent {
namespace {

constexpr size_t kKeptAnswers = 64;  // the chief may not have received the last ones yet

}  // namespace

EventQueue::EventQueue(RankOutput& output) : output_(output), instance_(base::RandomNumber()) {}

void EventQueue::SendReliably(v1::AgentEvent event) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  events_.Add(std::move(event));
  WriteNext();
}

void EventQueue::SendIfConnected(v1::AgentEvent event) {
  const std::lock_guard lock(mutex_);
  if (!resumed_) return;
  unnumbered_.push_back(std::move(event));
  WriteNext();
}

void EventQueue::AnswerRenewal(const v1::RenewLease& renewal) {
  const std::lock_guard lock(mutex_);
  if (!resumed_) return;
  v1::AgentEvent event;
  event.mutable_lease_renewed()->set_number(renewal.number());
  event.mutable_lease_renewed()->set_time_ns(base::NanosecondsSince1970());
  event.mutable_lease_renewed()->set_answer(NumberAnswer());
  unnumbered_.push_back(std::move(event));
  WriteNext();
}

uint64_t EventQueue::NumberAnswer() {
  answered_.push_back(base::Deadline::Clock::now());
  if (answered_.size() > kKeptAnswers) answered_.pop_front();
  return ++answers_;
}

std::optional<base::Deadline::Clock::time_point> EventQueue::AnsweredAt(uint64_t answer) const {
  const std::lock_guard lock(mutex_);
  const uint64_t before_first = answers_ - answered_.size();
  if (answer <= before_first || answer > answers_) return std::nullopt;
  return answered_[answer - before_first - 1];
}

void EventQueue::SendSample(v1::NodeSample sample) {
  const std::lock_guard lock(mutex_);
  if (!resumed_ || closed_) return;
  sample_ = std::move(sample);
  if (!samples_wait_) WriteNext();
}

void EventQueue::LetSamplesWait(bool wait) {
  const std::lock_guard lock(mutex_);
  samples_wait_ = wait;
}

void EventQueue::Close(v1::AgentEvent last) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(closed_, true)) return;
  events_.Add(std::move(last));
  WriteNext();
}

size_t EventQueue::size() const {
  const std::lock_guard lock(mutex_);
  return events_.bytes();
}

void EventQueue::OutputChanged() {
  const std::lock_guard lock(mutex_);
  WriteNext();
}

void EventQueue::WriteNext() {
  if (!writer_ || !resumed_ || writing_) return;
  v1::AgentEvent& event = writer_->event;
  if (!unnumbered_.empty()) {
    event = std::move(unnumbered_.front());
    unnumbered_.pop_front();
  } else if (sample_) {  // before the end of a rank that it contains
    event.Clear();
    *event.mutable_sample() = *std::exchange(sample_, std::nullopt);
  } else if (const v1::AgentEvent* next = events_.Next()) {
    event = *next;
  } else if (auto piece = output_.Next()) {
    event.Clear();
    *event.mutable_output() = *std::move(piece);
  } else {
    if (closed_ && events_.empty()) {
      writing_ = true;  // prevents further writes
      writer_->End(grpc::Status::OK);
    }
    return;
  }
  event.set_acknowledged(orders_taken_);
  writing_ = true;
  writer_->StartWrite(&event);
}

void EventQueue::Acknowledge(uint64_t sequence) {
  events_.Acknowledge(sequence);
  if (closed_ && events_.empty()) {
    changed_.notify_all();
    WriteNext();
  }
}

void EventQueue::Attach(SessionWriter* writer) {
  const std::lock_guard lock(mutex_);
  if (writer_) {
    writer_->End({grpc::StatusCode::ABORTED, "the chief has opened another session"});
  }
  writer_ = writer;
  resumed_ = writing_ = false;
  unnumbered_.clear();
  sample_.reset();
}

void EventQueue::Resume(SessionWriter* writer, const v1::ChiefMessage& message) {
  const std::lock_guard lock(mutex_);
  if (writer_ != writer || resumed_) return;
  const bool ours = message.resume().instance() == instance_;
  events_.Resume(ours ? message.acknowledged() : 0);
  changed_.notify_all();
  output_.Resume(ours ? message.resume() : v1::Resume());
  resumed_ = true;
  v1::AgentEvent resumed;
  resumed.mutable_resumed()->set_instance(instance_);
  resumed.mutable_resumed()->set_answer(NumberAnswer());
  unnumbered_.push_back(std::move(resumed));
  WriteNext();
}

bool EventQueue::Detach(SessionWriter* writer) {
  const std::lock_guard lock(mutex_);
  if (writer_ != writer) return false;
  writer_ = nullptr;
  resumed_ = false;
  changed_.notify_all();
  return true;
}

bool EventQueue::Accept(SessionWriter* writer, const v1::ChiefMessage& message) {
  const std::lock_guard lock(mutex_);
  if (writer_ != writer || !resumed_) return false;
  Acknowledge(message.acknowledged());
  if (message.sequence() == 0) return true;
  if (message.sequence() <= orders_taken_) return false;
  orders_taken_ = message.sequence();
  return true;
}

bool EventQueue::WaitUntilDelivered(base::Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline.when(), [this] { return closed_ && events_.empty(); });
}

bool EventQueue::WaitUntilDetached(base::Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline.when(), [this] { return !writer_; });
}

void EventQueue::WriteDone(SessionWriter* writer, bool ok) {
  const std::lock_guard lock(mutex_);
  if (writer_ != writer) return;
  writing_ = false;
  if (ok) WriteNext();  // otherwise the session has ended, and will detach
}

}  // namespace autodist::agent
