#include "chief/hang/stack_collection.h"

#include <algorithm>
#include <memory>

#include "base/home_folder.h"
#include "chief/hang/stack_summary.h"

namespace autodist::chief {

void StackCollection::Take(uint32_t member, const v1::RankStacks& stacks) {
  if (stacks.has_rank() && !attempt_.Has(member, stacks.rank())) return;
  const std::string whose = stacks.has_rank() ? NameAndNode(attempt_.plan(), member, stacks.rank())
                                              : "NCCL on " + attempt_.member_plan(member).address();
  if (!file_.Add(attempt_.nodes()[member], whose, stacks) || !stacks.has_rank()) return;
  groups_.Add(stacks.rank(),
              SummaryOf(stacks.text(), base::ExpandHome(attempt_.plan().working_directory())));
  if (kept_bytes_ + stacks.text().size() > kMostKept) return;
  kept_bytes_ += stacks.text().size();
  kept_.emplace(stacks.rank(), stacks.text());
}

void StackCollection::AddWhole(const std::vector<uint32_t>& ranks, v1::JobStacks& stacks) const {
  size_t bytes = 0;
  for (const uint32_t rank : ranks) {
    const auto kept = kept_.find(rank);
    if (kept == kept_.end() || bytes + kept->second.size() > kMostAnswered) continue;
    bytes += kept->second.size();
    v1::WholeStack& whole = *stacks.add_stacks();
    whole.set_rank(rank);
    whole.set_text(kept->second);
  }
}

void StackCollection::Finish(const WhyUnknown& why_unknown,
                             std::function<void(bool written, std::string text)> tell) {
  for (const v1::NodePlan& node : attempt_.plan().nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (groups_.Has(rank.rank())) continue;
      groups_.AddUnknown(rank.rank(),
                         attempt_.state().Runs(rank.rank())
                             ? why_unknown(node.address(), attempt_.nodes()[node.node_rank()])
                             : "its process has ended");
    }
  }
  v1::JobStacks stacks;
  for (v1::StackGroup& group : groups_.Groups()) *stacks.add_groups() = std::move(group);
  std::vector<std::pair<v1::JobStacks, StacksAnswer>> answers;
  for (Reader& reader : readers_) {
    answers.emplace_back(stacks, std::move(reader.answer));
    AddWhole(reader.whole, answers.back().first);
  }
  const std::string what = std::string("what ") + (complete() ? "all" : "some of the") +
                           " ranks are doing is in " + file_.path() + "; in short:\n" +
                           GroupsText(stacks.groups());
  file_.Finish([what, tell = std::move(tell), path = file_.path(),
                answers = std::move(answers)](const Status& written) mutable {
    tell(written.ok(), written.ok() ? what
                                    : Message(written) + "; what ranks are doing:\n" +
                                          what.substr(what.find('\n') + 1));
    for (auto& [answer_stacks, answer] : answers) {
      if (written.ok()) {
        answer_stacks.set_file(path);
      } else {
        answer_stacks.set_file_error(Message(written));
      }
      answer(std::move(answer_stacks));
    }
  });
}

}  // namespace autodist::chief
