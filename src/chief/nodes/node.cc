#include "chief/nodes/node.h"

#include "base/random.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::chief {
namespace {

std::string NewKey() {
  std::string key = base::RandomHex();  // 128 random bits
  static_assert(rpc::kKeySize == 32);
  return key;
}

}  // namespace

class Node::Connection final : public launch::SessionListener {
 public:
  Connection(Node& node, uint64_t number) : node_(node), number_(number) {}

  void OnEvent(v1::AgentEvent event) override { node_.Take(number_, std::move(event)); }
  void OnClosed(Status status) override {
    node_.listener_.OnClosed(node_.number_, number_, std::move(status));
  }

 private:
  Node& node_;
  const uint64_t number_;
};

Node::Node(uint32_t number, NodeListener& listener, const Loop& loop)
    : number_(number),
      listener_(listener),
      loop_(loop),
      heard_(loop.Now()),
      key_(NewKey()),
      next_key_(key_) {}

Node::~Node() { Disconnect(); }

std::string Node::Greeting() const {
  const std::lock_guard lock(mutex_);
  return key_ + next_key_;
}

uint64_t Node::Connect(const std::shared_ptr<launch::NodeLink>& link) {
  Disconnect();
  uint64_t connection = 0;
  Connection* session = nullptr;
  {
    const std::lock_guard lock(mutex_);
    connection = ++connection_;
    link_ = link;
    session_ = std::make_unique<Connection>(*this, connection);
    session = session_.get();
    // One that the agent may have taken already stays the next until that is known.
    if (next_key_ == key_) next_key_ = NewKey();
    brought_news_ = false;
  }
  link->OpenSession(*session);
  const std::lock_guard lock(mutex_);
  SendResume();
  return connection;
}

void Node::SendResume() {
  v1::ChiefMessage message;
  v1::Resume& resume = *message.mutable_resume();
  for (const auto& [stream, received] : taken_.bytes) {
    v1::OutputAck& ack = *resume.add_outputs();
    ack.set_rank(stream.first);
    ack.set_stream(static_cast<v1::OutputStream>(stream.second));
    ack.set_offset(received);
  }
  resume.set_next_key(next_key_);
  SendNow(std::move(message));
}

void Node::SendNow(v1::ChiefMessage message) {
  message.set_acknowledged(taken_.events);
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

void Node::SendReliably(v1::ChiefMessage message) {
  const std::lock_guard lock(mutex_);
  message.set_sequence(++last_sequence_);
  unacknowledged_.push_back(message);
  if (resumed_) SendNow(std::move(message));
}

void Node::SendIfConnected(v1::ChiefMessage message) {
  const std::lock_guard lock(mutex_);
  if (resumed_) SendNow(std::move(message));
}

void Node::Acknowledge(const v1::OutputAck& ack) {
  v1::ChiefMessage message;
  *message.mutable_output_ack() = ack;
  SendIfConnected(std::move(message));
}

void Node::DropUnacknowledged() {
  const std::lock_guard lock(mutex_);
  unacknowledged_.clear();
}

void Node::BeginAttempt() {
  const std::lock_guard lock(mutex_);
  taken_.bytes.clear();
}

void Node::TakeAcknowledged(uint64_t sequence) {
  while (!unacknowledged_.empty() && unacknowledged_.front().sequence() <= sequence)
    unacknowledged_.pop_front();
}

void Node::TakeResumed(const v1::AgentEvent& event) {
  const std::lock_guard lock(mutex_);
  if (!link_) return;  // it is being disconnected
  if (taken_.instance != event.resumed().instance()) taken_ = {event.resumed().instance()};
  key_ = next_key_;
  resumed_ = true;
  TakeAcknowledged(event.acknowledged());
  for (const v1::ChiefMessage& message : unacknowledged_) SendNow(message);
}

bool Node::TakeOutput(const v1::Output& output) {
  const std::lock_guard lock(mutex_);
  uint64_t& received = taken_.bytes[{output.rank(), output.stream()}];
  if (output.offset() != received) return false;
  received += output.data().size() + output.lost();
  return true;
}

void Node::Take(uint64_t connection, v1::AgentEvent event) {
  heard_ = loop_.Now();
  if (event.has_resumed()) {
    TakeResumed(event);
  } else if (event.has_output()) {
    if (TakeOutput(event.output())) {
      brought_news_ = true;
      listener_.OnOutput(number_, std::move(*event.mutable_output()));
    } else if (const auto current = link(); current && connection == this->connection()) {
      current->Break();  // the next session begins where the last one was right
    }
    return;
  } else {
    const std::lock_guard lock(mutex_);
    TakeAcknowledged(event.acknowledged());
    if (event.sequence() != 0) {
      if (event.sequence() <= taken_.events) return;
      taken_.events = event.sequence();
      brought_news_ = true;
    }
    // So that an agent that has nothing more to tell may go.
    if (event.has_ranks_ended() && resumed_) SendNow({});
  }
  listener_.OnEvent(number_, std::move(event));
}

}  // namespace autodist::chief
