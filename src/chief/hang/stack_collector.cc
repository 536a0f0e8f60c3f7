#include "chief/hang/stack_collector.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/quantity.h"

namespace autodist::chief {

StackCollection& StackCollector::Ask(const Attempt& attempt, bool flight_records) {
  if (collection_) return *collection_;
  shows_here_ = false;
  std::set<uint32_t> asked;
  v1::ChiefMessage look;
  look.mutable_collect_stacks()->set_flight_records(flight_records);
  for (const uint32_t node : attempt.nodes()) {
    if (!nodes_.Connected(node)) continue;
    asked.insert(node);
    nodes_.node(node).SendReliably(look);
  }
  collection_.emplace(attempt, std::move(asked), loop_);
  if (MayLoad(attempt)) collection_->SetMayLoad();
  due_ = loop_.Now() + kStacksLimit;
  return *collection_;
}

void StackCollector::AskFor(const Attempt& attempt, std::vector<uint32_t> whole,
                            bool flight_records, StacksAnswer answer) {
  Ask(attempt, flight_records).AddReader(std::move(whole), std::move(answer));
}

void StackCollector::LookForMissing(const Attempt& attempt) {
  Ask(attempt, false);
  due_ = std::min(due_, loop_.Now() + kMissingLimit);
  looks_for_missing_ = true;
}

void StackCollector::Take(uint32_t member, const v1::RankStacks& stacks) {
  if (collection_) collection_->Take(member, stacks);
}

void StackCollector::NodeIsGone(uint32_t node) {
  if (collection_) collection_->NodeIsGone(node);
}

std::string StackCollector::WhyUnknown(const std::string& address, uint32_t node) const {
  const NodeMachine& state = nodes_.state(node);
  if (nodes_.Connected(node)) {
    return address + " did not report within " + base::Seconds(kStacksLimit);
  }
  return state.disconnected() ? "the connection with " + address + " is broken: " + state.detail()
                              : address + " is lost: " + state.detail();
}

void StackCollector::Finish() {
  if (!collection_) return;
  if (std::exchange(looks_for_missing_, false)) missing_ = collection_->Missing();
  collection_->Finish(
      [this](const std::string& address, uint32_t node) { return WhyUnknown(address, node); },
      [this, here = shows_here_](bool written, std::string text) {
        if (!here) return;
        console_.Log(written ? base::LogLevel::kInfo : base::LogLevel::kError, std::move(text));
      });
  collection_.reset();
  due_ = Loop::Time::max();
}

}  // namespace autodist::chief
