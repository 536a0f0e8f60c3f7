#include "chief/hang/stack_collector.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/home_folder.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "pickle/pickled.h"
#include "why/diagnosis.h"
#include "why/stack_summary.h"
#include "why/work_between.h"

namespace autodist::chief {
namespace {

Status AppendTo(const base::LogFolder& folder, const std::string& name, const std::string& text) {
  AD_ASSIGN_OR_RETURN(const base::UniqueFd fd,
                      folder.OpenFile(name, O_WRONLY | O_CREAT | O_APPEND));
  return Annotate(base::WriteAll(fd.get(), text, base::Deadline::Never()), name);
}

void AddState(const Attempt& attempt, v1::RankSnapshot& rank) {
  const bool runs = attempt.state().Runs(rank.rank());
  if (runs) rank.set_state(v1::RANK_STATE_RUNNING);
  const RankReport report = attempt.logs->LastReport(rank.rank());
  rank.set_failure(base::ToUtf8(report.failure));
  rank.set_failure_ms(report.failure_ms);
  rank.set_last_line(base::ToUtf8(report.last_line));
}

// Makes a snapshot with the parts that a diagnosis from stacks needs.
v1::JobSnapshot SnapshotOf(const Attempt& attempt) {
  v1::JobSnapshot snapshot;
  snapshot.mutable_job()->set_working_directory(attempt.plan().working_directory());
  for (const v1::NodePlan& node : attempt.plan().nodes()) {
    for (const v1::RankPlan& process : node.ranks()) {
      v1::RankSnapshot& rank = *snapshot.add_ranks();
      rank.set_rank(process.rank());
      rank.set_node(static_cast<uint32_t>(snapshot.nodes_size()));
      rank.set_name(process.name());
      rank.set_auxiliary(process.auxiliary());
      const v1::Device& device = process.device();
      const bool numbered = device.kind() == v1::DEVICE_KIND_GPU && device.uuid().empty();
      if (numbered) rank.add_gpus(device.index());
      AddState(attempt, rank);
    }
    snapshot.add_nodes()->set_address(node.address());
  }
  std::ranges::sort(*snapshot.mutable_ranks(), {}, &v1::RankSnapshot::rank);
  for (const EndedWell& ended : attempt.state().ended_well()) {
    const auto rank = std::ranges::lower_bound(*snapshot.mutable_ranks(), ended.rank, {},
                                               &v1::RankSnapshot::rank);
    rank->set_state(v1::RANK_STATE_ENDED);
    rank->set_ended_ms(ended.time_ns / 1'000'000);
  }
  return snapshot;
}

why::Known KnownOf(const Attempt& attempt, std::map<uint32_t, std::string> stacks) {
  why::Known known;
  known.now = SnapshotOf(attempt);
  known.rendezvous = RendezvousOf(attempt.plan());
  known.stalled = true;
  for (auto& [rank, text] : stacks) {
    v1::WholeStack& stack = known.stacks.emplace_back();
    stack.set_rank(rank);
    stack.set_text(std::move(text));
  }
  return known;
}

// "rank 2 (host2) has not entered …"; or what ranks at work do in spite of the limit; "": unknown.
std::string DiagnosisOf(why::Known known, std::chrono::milliseconds silent) {
  known.now.set_time_ms(base::MillisecondsSince1970());
  known.now.mutable_job()->set_last_output_ms(known.now.time_ms() - silent.count());
  return why::WhatRanksDo(why::Judge(known));
}

bool HasGpu(const v1::NodePlan& node, uint32_t rank) {
  return std::ranges::any_of(node.ranks(), [&](const v1::RankPlan& planned) {
    return planned.rank() == rank && planned.device().kind() == v1::DEVICE_KIND_GPU;
  });
}

// A process that waits for its GPU seems to compute.
bool IsAtWork(const why::Activity& activity, bool has_gpu) {
  return activity.AtWork() && !(has_gpu && activity.doing == why::Doing::kCompute);
}

}  // namespace

StackFile::StackFile(base::LogFolder folder, std::set<uint32_t> nodes, Loop& loop)
    : folder_(std::move(folder)),
      name_(base::LocalTime("stacks-%H%M%S.txt")),
      path_(std::filesystem::absolute(folder_.path()) / name_),
      missing_(std::move(nodes)),
      loop_(loop) {
  Append("");
}

void StackFile::Append(std::string text) {
  loop_.InBackground([folder = folder_, name = name_, text = std::move(text), written = written_] {
    if (written->ok()) *written = AppendTo(folder, name, text);
  });
}

void StackFile::WriteRecord(const v1::RankStacks& stacks) {
  if (records_ + stacks.flight_record().size() > kMaxRecords) return;
  records_ += stacks.flight_record().size();
  loop_.InBackground([folder = folder_, rank = std::to_string(stacks.rank()),
                      record = stacks.flight_record(), text_name = name_, written = written_] {
    if (!written->ok()) return;
    const auto plain = pickle::Rewrite(record);
    *written = plain.ok() ? folder.Within("flight-recorder").WriteFile("rank-" + rank, *plain)
                          : AppendTo(folder, text_name,
                                     "==== flight record of rank " + rank + "\nit is not saved: " +
                                         base::Printable(Message(plain.status())) + "\n");
  });
}

bool StackFile::Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks) {
  if (!missing_.contains(node)) return false;
  const bool is_last = !stacks.has_rank();
  if (!is_last && !reported_.emplace(node, stacks.rank()).second) return false;
  if (is_last) missing_.erase(node);
  if (!is_last && !stacks.flight_record().empty()) WriteRecord(stacks);
  if (stacks.text().empty()) return true;
  std::string text = "==== " + whose + "\n" + stacks.text();
  if (!text.ends_with('\n')) text += '\n';
  Append(std::move(text));
  return true;
}

void StackFile::Finish(std::function<void(const Status& written)> finished) {
  loop_.InBackground([written = written_, finished = std::move(finished)] { finished(*written); });
}

void StackCollection::Take(uint32_t member, const v1::RankStacks& stacks) {
  if (stacks.has_rank() && !attempt_.Has(member, stacks.rank())) return;
  const std::string whose = stacks.has_rank() ? NameAndNode(attempt_.plan(), member, stacks.rank())
                                              : "NCCL on " + attempt_.member_plan(member).address();
  if (!file_.Add(attempt_.nodes()[member], whose, stacks) || !stacks.has_rank()) return;
  if (!attempt_.state().Runs(stacks.rank())) return;  // only its remaining processes
  const std::string folder = base::ExpandHome(attempt_.plan().working_directory());
  groups_.Add(stacks.rank(), why::SummaryOf(stacks.text(), folder));
  const bool has_gpu = HasGpu(attempt_.member_plan(member), stacks.rank());
  for (why::Activity& activity : why::ActivitiesOf(stacks.text(), folder)) {
    AddActivity(stacks.rank(), std::move(activity), has_gpu);
  }
  if (kept_bytes_ + stacks.text().size() > kMaxKept) return;
  kept_bytes_ += stacks.text().size();
  kept_.emplace(stacks.rank(), stacks.text());
}

v1::AwaitedNodes StackCollection::AwaitedNodes() const {
  v1::AwaitedNodes nodes;
  for (uint32_t member = 0; member < attempt_.nodes().size(); ++member) {
    if (!file_.missing().contains(attempt_.nodes()[member])) continue;
    nodes.add_addresses(attempt_.member_plan(member).address());
  }
  return nodes;
}

std::string StackCollection::Missing() const { return why::WhoIsMissing(KnownOf(attempt_, kept_)); }

void StackCollection::AddActivity(uint32_t rank, why::Activity activity, bool has_gpu) {
  if (may_load_ && activity.counts.empty()) has_gpu = false;
  any_at_work_ |= IsAtWork(activity, has_gpu);
  const auto earlier = earlier_.find({rank, activity.pid});
  if (earlier != earlier_.end()) {
    any_at_work_ |= !why::WorkBetween(earlier->second, activity,
                                      has_gpu ? why::Counted::kNotMainThread : why::Counted::kAll)
                         .empty();
  }
  activities_.emplace(std::pair(rank, activity.pid), std::move(activity));
}

void StackCollection::AddWhole(const std::vector<uint32_t>& ranks, v1::JobStacks& stacks) const {
  size_t bytes = 0;
  for (const uint32_t rank : ranks) {
    const auto kept = kept_.find(rank);
    if (kept == kept_.end() || bytes + kept->second.size() > kMaxAnswered) continue;
    bytes += kept->second.size();
    v1::WholeStack& whole = *stacks.add_stacks();
    whole.set_rank(rank);
    whole.set_text(kept->second);
  }
}

void StackCollection::Finish(const WhyUnknown& why_unknown, Show show) {
  for (const v1::NodePlan& node : attempt_.plan().nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (groups_.Has(rank.rank())) continue;
      groups_.AddUnknown(rank.rank(),
                         why_unknown(node.address(), attempt_.nodes()[node.node_rank()],
                                     attempt_.state().Runs(rank.rank())));
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
                           why::GroupsText(stacks.groups());
  // In the background, because large stacks take time to parse.
  std::function<std::string()> diagnosis = [] { return std::string(); };
  if (silent_) {
    attempt_.hang_diagnosis->Begin();
    diagnosis = [known = KnownOf(attempt_, std::move(kept_)), silent = *silent_] {
      return DiagnosisOf(known, silent);
    };
  }
  file_.Finish([what, show = std::move(show), diagnosis = std::move(diagnosis), path = file_.path(),
                kept = attempt_.hang_diagnosis,
                answers = std::move(answers)](const Status& written) mutable {
    std::string text = written.ok() ? what
                                    : Message(written) + "; what ranks are doing:\n" +
                                          what.substr(what.find('\n') + 1);
    const std::string found = diagnosis();
    kept->Set(written.ok() ? found : "");
    if (!found.empty()) text = found + "\n" + text;
    show(written.ok(), std::move(text));
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

why::Rendezvous RendezvousOf(const v1::LaunchPlan& plan) {
  why::Rendezvous rendezvous;
  const auto take = [&](const v1::EnvironmentVariable& variable) {
    if (variable.name() == "MASTER_ADDR") rendezvous.address = variable.value();
    if (variable.name() == "MASTER_PORT") rendezvous.port = variable.value();
  };
  for (const v1::EnvironmentVariable& variable : plan.environment()) take(variable);
  if (plan.nodes_size() == 0 || plan.nodes(0).ranks_size() == 0) return rendezvous;
  for (const v1::EnvironmentVariable& variable : plan.nodes(0).ranks(0).environment()) {
    take(variable);
  }
  return rendezvous;
}

StackCollection& StackCollector::Ask(const Attempt& attempt, bool flight_records) {
  v1::CollectStacks wanted;
  wanted.set_flight_records(flight_records);
  return Ask(attempt, wanted);
}

StackCollection& StackCollector::Ask(const Attempt& attempt, const v1::CollectStacks& wanted) {
  if (collection_) return *collection_;
  shows_here_ = false;
  std::set<uint32_t> asked;
  v1::ChiefMessage look;
  *look.mutable_collect_stacks() = wanted;
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
                            const v1::CollectStacks& wanted, StacksAnswer answer) {
  Ask(attempt, wanted).AddReader(std::move(whole), std::move(answer));
}

void StackCollector::LookForMissing(const Attempt& attempt) {
  Ask(attempt, false);
  due_ = std::min(due_, loop_.Now() + kMissingLimit);
  looks_for_missing_ = true;
  missing_.clear();
}

void StackCollector::Take(uint32_t member, const v1::RankStacks& stacks) {
  if (collection_) collection_->Take(member, stacks);
}

void StackCollector::NodeIsGone(uint32_t node) {
  if (collection_) collection_->NodeIsGone(node);
}

std::string StackCollector::WhyUnknown(const std::string& address, uint32_t node, bool runs) const {
  const NodeMachine& state = nodes_.state(node);
  if (!runs && state.alive()) return "its process has ended";
  if (nodes_.Connected(node)) return address + " did not report in time";
  return address + (state.disconnected() ? " is not connected: " : " is lost: ") + state.detail();
}

void StackCollector::Finish() {
  if (!collection_) return;
  if (std::exchange(looks_for_missing_, false)) missing_ = collection_->Missing();
  collection_->Finish([this](const std::string& address, uint32_t node,
                             bool runs) { return WhyUnknown(address, node, runs); },
                      [this, here = shows_here_](bool written, std::string text) {
                        loop_.Post([] {});  // may wait for the diagnosis
                        if (!here) return;
                        console_.Log(written ? base::LogLevel::kInfo : base::LogLevel::kError,
                                     std::move(text));
                      });
  collection_.reset();
  due_ = Loop::Time::max();
}

}  // namespace autodist::chief
