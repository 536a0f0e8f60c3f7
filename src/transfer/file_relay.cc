#include "transfer/file_relay.h"

#include <chrono>
#include <utility>

#include "base/ip_address.h"
#include "secure/key.h"

namespace autodist::transfer {
namespace {

constexpr std::chrono::milliseconds kRelayBusyInterval{2'000};

// Whether the address identifies the node for other nodes.
bool LeadsToANode(const std::string& text) {
  const auto address = base::IpAddress::Parse(text);
  return address && !address->IsLoopback() && !address->IsUnspecified() &&
         !address->IsMulticast() && !address->IsBroadcast();
}

}  // namespace

FileRelay::FileRelay(const v1::NodePlan& node, size_t others)
    : node_rank_(node.node_rank()), others_left_(others) {
  order_.set_key(secure::Key::Random().ToHex());
  order_.mutable_node()->set_data_address(node.data_address());
  order_.mutable_node()->set_ask_data_address(node.ask_data_address());
  order_.mutable_node()->set_interface(node.interface());
}

void FileRelay::Answered(const v1::SyncPassingOn& answer) {
  const v1::NodePlan& node = order_.node();
  if (answer.port() == 0 || (node.ask_data_address() && !LeadsToANode(answer.address()))) {
    return Offer(std::nullopt);
  }
  v1::SyncSource source;
  source.set_address(node.ask_data_address() ? answer.address() : node.data_address());
  source.set_port(answer.port());
  source.set_key(order_.key());
  Offer(std::move(source));
}

void FileRelay::Offer(std::optional<v1::SyncSource> source) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(settled_, true)) return;
  source_ = std::move(source);
  changed_.notify_all();
}

template <typename Condition>
void FileRelay::Await(const Busy& busy, const std::stop_token& stop, Condition condition) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, stop, kRelayBusyInterval, condition)) return;
    }
    if (stop.stop_requested() || !busy()) return;
  }
}

std::optional<v1::SyncSource> FileRelay::AwaitSource(const Busy& busy,
                                                     const std::stop_token& stop) {
  Await(busy, stop, [this] { return settled_; });
  const std::lock_guard lock(mutex_);
  return source_;
}

void FileRelay::OtherEnded() {
  const std::lock_guard lock(mutex_);
  --others_left_;
  changed_.notify_all();
}

void FileRelay::AwaitOthers(const Busy& busy, const std::stop_token& stop) {
  Await(busy, stop, [this] { return others_left_ == 0; });
}

}  // namespace autodist::transfer
