#include "chief/fleet/node.h"

#include "rpc/message_rules.h"

namespace autodist::chief {

class Node::Connection final : public launch::SessionListener {
 public:
  Connection(Node& node, uint64_t number) : node_(node), number_(number) {}

  void OnEvent(v1::AgentEvent event) override { node_.Take(number_, std::move(event)); }
  void OnClosed(Status status) override {
    if (const Status broken_rule = node_.broken_rule(); !broken_rule.ok()) status = broken_rule;
    node_.listener_.OnClosed(node_.number_, number_, std::move(status));
  }

 private:
  Node& node_;
  const uint64_t number_;
};

Node::Node(uint32_t number, NodeListener& listener, const Loop& loop)
    : number_(number), listener_(listener), loop_(loop), last_contact_(loop.Now()) {}

Node::~Node() { Disconnect(); }

std::string Node::Greeting() const {
  const std::lock_guard lock(mutex_);
  return keys_.Greeting();
}

uint64_t Node::Connect(const std::shared_ptr<launch::NodeLink>& link) {
  Disconnect();
  uint64_t connection = 0;
  Connection* session = nullptr;
  {
    const std::lock_guard lock(mutex_);
    connection = ++connection_;
    link_ = link;
    given_up_ = false;
    session_ = std::make_unique<Connection>(*this, connection);
    session = session_.get();
    keys_.BeginSession();
    made_progress_ = false;
    rules_.BeginSession();
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
  resume.set_next_key(keys_.next());
  resume.set_instance(taken_.instance);
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
    resumed_ = false;
    link = std::move(link_);
  }
  if (link) link->Detach();
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

uint64_t Node::instance() const {
  const std::lock_guard lock(mutex_);
  return taken_.instance;
}

bool Node::resumed() const {
  const std::lock_guard lock(mutex_);
  return resumed_;
}

void Node::SendReliably(v1::ChiefMessage message, std::shared_ptr<const std::string> value) {
  {
    const std::lock_guard lock(mutex_);
    if (!broken_rule_.ok() || given_up_) return;
    if (orders_.Add(std::move(message), std::move(value))) return SendOrders();
    Refuse(rpc::BrokenRule("it acknowledges no messages"));
  }
  BreakIfRefused();
}

void Node::SendOrders() {
  while (resumed_) {
    std::optional<v1::ChiefMessage> message = orders_.Next();
    if (!message) return;
    SendNow(*std::move(message));
  }
}

// Ignores the node from now on.
void Node::Refuse(const Status& why) {
  broken_rule_ = why;
  orders_.Drop();
}

void Node::BreakIfRefused() {
  std::shared_ptr<launch::NodeLink> link;
  {
    const std::lock_guard lock(mutex_);
    if (!broken_rule_.ok()) link = link_;
  }
  if (link) link->Break();
}

void Node::SendIfConnected(v1::ChiefMessage message) {
  const std::lock_guard lock(mutex_);
  if (resumed_) SendNow(std::move(message));
}

void Node::Acknowledge(const v1::OutputAck& ack) {
  {
    const std::lock_guard lock(mutex_);
    rules_.OutputWritten();
  }
  v1::ChiefMessage message;
  *message.mutable_output_ack() = ack;
  SendIfConnected(std::move(message));
}

void Node::DropMessages() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  orders_.Drop();
}

void Node::BeginAttempt() {
  const std::lock_guard lock(mutex_);
  taken_.bytes.clear();
}

void Node::TakeAcknowledged(uint64_t sequence) {
  orders_.Acknowledged(sequence);
  SendOrders();
}

void Node::TakeResumed(const v1::AgentEvent& event) {
  const std::lock_guard lock(mutex_);
  if (!link_) return;  // being disconnected
  if (taken_.instance != event.resumed().instance()) taken_ = {event.resumed().instance()};
  keys_.Taken();
  orders_.BeginSession();
  resumed_ = true;
  TakeAcknowledged(event.acknowledged());
}

bool Node::TakeOutput(const v1::Output& output) {
  const std::lock_guard lock(mutex_);
  uint64_t& received = taken_.bytes[{output.rank(), output.stream()}];
  if (output.offset() != received) {
    const Status allowed = rules_.OutputRefused();
    if (!allowed.ok()) Refuse(allowed);
    return false;
  }
  received += output.data().size() + output.lost();
  return true;
}

bool Node::IsAllowed(v1::AgentEvent& event) {
  const std::lock_guard lock(mutex_);
  if (!broken_rule_.ok()) return false;
  const Status allowed = rules_.Check(event);
  if (!allowed.ok()) Refuse(allowed);
  return allowed.ok();
}

void Node::Handled(size_t cost) {
  const std::lock_guard lock(mutex_);
  rules_.Handled(cost);
}

uint64_t Node::oldest_order() const {
  const std::lock_guard lock(mutex_);
  return orders_.oldest();
}

Status Node::broken_rule() const {
  const std::lock_guard lock(mutex_);
  return broken_rule_;
}

void Node::Take(uint64_t connection, v1::AgentEvent event) {
  TakeIfAllowed(connection, std::move(event));
  BreakIfRefused();
}

void Node::TakeIfAllowed(uint64_t connection, v1::AgentEvent event) {
  if (!IsAllowed(event)) return;
  last_contact_ = loop_.Now();
  if (event.has_lease_renewed()) answer_ = event.lease_renewed().answer();
  if (event.has_resumed()) {
    answer_ = event.resumed().answer();
    TakeResumed(event);
  } else if (event.has_output()) {
    if (TakeOutput(event.output())) {
      made_progress_ = true;
      listener_.OnOutput(number_, std::move(*event.mutable_output()));
    } else if (const auto current = link(); current && connection == this->connection()) {
      current->Break();  // the next session begins after the last valid byte
    }
    return;
  } else {
    const std::lock_guard lock(mutex_);
    TakeAcknowledged(event.acknowledged());
    if (event.sequence() != 0) {
      if (event.sequence() <= taken_.events)
        return rules_.Handled(launch::EventRules::CostOf(event));
      if (event.sequence() > taken_.events + 1) {
        return Refuse(rpc::BrokenRule("event " + std::to_string(event.sequence()) + " after " +
                                      std::to_string(taken_.events)));
      }
      taken_.events = event.sequence();
      made_progress_ = true;
    }
    // So that an agent with nothing left to report may exit.
    if (event.has_ranks_ended() && resumed_) SendNow({});
  }
  listener_.OnEvent(number_, std::move(event));
}

}  // namespace autodist::chief
