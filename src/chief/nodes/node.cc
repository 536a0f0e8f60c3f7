#include "chief/nodes/node.h"

#include "base/random.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::chief {
namespace {

using Clock = base::Deadline::Clock;

std::string NewKey() {
  std::string key = base::RandomHex();  // 128 random bits
  static_assert(rpc::kKeySize == 32);
  return key;
}

}  // namespace

Node::Node(Handlers handlers)
    : handlers_(std::move(handlers)), heard_(Clock::now()), key_(NewKey()), next_key_(key_) {}

Node::~Node() { Disconnect(); }

std::string Node::Greeting() const {
  const std::lock_guard lock(mutex_);
  return key_ + next_key_;
}

uint64_t Node::Connect(const std::shared_ptr<launch::NodeLink>& link) {
  Disconnect();
  uint64_t connection = 0;
  {
    const std::lock_guard lock(mutex_);
    connection = ++connection_;
    link_ = link;
    // One that the agent may have taken already stays the next until that is known.
    if (next_key_ == key_) next_key_ = NewKey();
    heard_ = Clock::now();
  }
  link->OpenSession(
      {[this, connection](v1::AgentEvent event) { Take(connection, std::move(event)); },
       [this, connection](Status status) { handlers_.closed(connection, std::move(status)); }});
  const std::lock_guard lock(mutex_);
  SendResume();
  return connection;
}

void Node::SendResume() {
  v1::ChiefMessage message;
  v1::Resume& resume = *message.mutable_resume();
  for (const auto& [stream, received] : received_) {
    v1::OutputAck& ack = *resume.add_outputs();
    ack.set_rank(stream.first);
    ack.set_stream(static_cast<v1::OutputStream>(stream.second));
    ack.set_offset(received);
  }
  resume.set_next_key(next_key_);
  Send(std::move(message));
}

void Node::Send(v1::ChiefMessage message) {
  message.set_acknowledged(events_taken_);
  link_->Send(std::move(message));
}

std::shared_ptr<launch::NodeLink> Node::Disconnect() {
  std::shared_ptr<launch::NodeLink> link;
  {
    const std::lock_guard lock(mutex_);
    link = std::move(link_);
    resumed_ = false;
  }
  if (link) link->EndSession();
  return link;
}

std::shared_ptr<launch::NodeLink> Node::link() const {
  const std::lock_guard lock(mutex_);
  return link_;
}

uint64_t Node::connection() const {
  const std::lock_guard lock(mutex_);
  return connection_;
}

bool Node::resumed() const {
  const std::lock_guard lock(mutex_);
  return resumed_;
}

void Node::Order(v1::ChiefMessage message) {
  const std::lock_guard lock(mutex_);
  message.set_sequence(++last_order_);
  orders_.push_back(message);
  if (resumed_) Send(std::move(message));
}

void Node::Tell(v1::ChiefMessage message) {
  const std::lock_guard lock(mutex_);
  if (resumed_) Send(std::move(message));
}

void Node::DropOrders() {
  const std::lock_guard lock(mutex_);
  orders_.clear();
}

void Node::BeginAttempt() {
  const std::lock_guard lock(mutex_);
  received_.clear();
}

void Node::TakeAcknowledged(uint64_t sequence) {
  while (!orders_.empty() && orders_.front().sequence() <= sequence) orders_.pop_front();
}

void Node::TakeResumed(const v1::AgentEvent& event) {
  const std::lock_guard lock(mutex_);
  if (instance_ != event.resumed().instance()) {
    instance_ = event.resumed().instance();
    events_taken_ = 0;
    received_.clear();
  }
  key_ = next_key_;
  resumed_ = true;
  TakeAcknowledged(event.acknowledged());
  for (const v1::ChiefMessage& order : orders_) Send(order);
}

bool Node::TakeOutput(const v1::Output& output) {
  const std::lock_guard lock(mutex_);
  uint64_t& received = received_[{output.rank(), output.stream()}];
  if (output.offset() != received) return false;
  received += output.data().size() + output.lost();
  return true;
}

void Node::Take(uint64_t connection, v1::AgentEvent event) {
  heard_ = Clock::now();
  if (event.has_resumed()) {
    TakeResumed(event);
  } else if (event.has_output()) {
    if (TakeOutput(event.output())) {
      handlers_.output(std::move(*event.mutable_output()));
    } else if (const auto current = link(); current && connection == this->connection()) {
      current->Break();  // the next session begins where the last one was right
    }
    return;
  } else {
    const std::lock_guard lock(mutex_);
    TakeAcknowledged(event.acknowledged());
    if (event.sequence() != 0) {
      if (event.sequence() <= events_taken_) return;
      events_taken_ = event.sequence();
    }
    // So that an agent that has nothing more to tell may go.
    if (event.has_ranks_ended() && resumed_) Send({});
  }
  handlers_.event(std::move(event));
}

}  // namespace autodist::chief
