// What all ranks of an attempt are doing, asked for once: in a file, in short, and for those who
// want to know.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/job.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/hang/stack_file.h"
#include "chief/loop/loop.h"
#include "control/job_requests.h"
#include "why/activity.h"
#include "why/stack_groups.h"

namespace autodist::chief {

// Called once, on any thread.
using StacksAnswer = control::JobRequests::StacksAnswer;

// What processes of ranks are doing, by rank and pid.
using Doings = std::map<std::pair<uint32_t, uint64_t>, why::Activity>;

// For the loop's thread, which it does not block.
class StackCollection {
 public:
  // Whole stacks are kept for those who want them as long as they are no more than that; the file
  // has all of them.
  static constexpr size_t kMaxKept = 64 << 20;     // bytes
  static constexpr size_t kMaxAnswered = 8 << 20;  // bytes

  // `nodes` have been asked. The attempt must outlive this.
  StackCollection(const Attempt& attempt, std::set<uint32_t> nodes, Loop& loop)
      : attempt_(attempt), file_(attempt.logs_folder(), std::move(nodes), loop) {}

  void Take(uint32_t member, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node) { file_.NodeIsGone(node); }
  // What ranks did some seconds before, to be compared with.
  void SetEarlier(Doings earlier) { earlier_ = std::move(earlier); }
  Doings TakeActivities() { return std::move(activities_); }
  // The ranks hang: they have given no sign of life for so long. What is wrong is told first.
  void SetHangs(std::chrono::milliseconds silent) { silent_ = silent; }
  // No rank has written anything yet: one that computes may load its program, even where it has a
  // GPU, unless it is known to have entered collectives.
  void SetMayLoad() { may_load_ = true; }
  bool complete() const { return file_.complete(); }
  // Whether a rank gets on by itself, as far as that can be told: computes, compiles or saves, or
  // any of its threads and processes has done something since the earlier look.
  bool AnyAtWork() const { return any_at_work_; }
  // Of ranks for which another has waited in vain, who is elsewhere: "rank 2 (host2) sleeps in …";
  // "": nobody.
  std::string Missing() const;

  // Wants to know, and to have the whole stacks of these ranks.
  void AddReader(std::vector<uint32_t> whole, StacksAnswer answer) {
    readers_.push_back({std::move(whole), std::move(answer)});
  }

  // Why a node of this address has not told of a rank that runs.
  using WhyUnknown = std::function<std::string(const std::string& address, uint32_t node)>;
  // For a person: what is wrong, where ranks hang and that can be told; and what all do.
  using Tell = std::function<void(bool written, std::string text)>;
  // Nothing more comes. `tell` and the readers are called when the file is written.
  void Finish(const WhyUnknown& why_unknown, Tell tell);

 private:
  struct Reader {
    std::vector<uint32_t> whole;
    StacksAnswer answer;
  };
  void AddActivity(uint32_t rank, why::Activity activity, bool has_gpu);
  void AddWhole(const std::vector<uint32_t>& ranks, v1::JobStacks& stacks) const;

  const Attempt& attempt_;
  StackFile file_;
  why::StackGroups groups_;
  std::map<uint32_t, std::string> kept_;  // by rank
  size_t kept_bytes_ = 0;
  Doings earlier_;  // empty: it is the first look
  Doings activities_;
  bool may_load_ = false;
  bool any_at_work_ = false;
  std::optional<std::chrono::milliseconds> silent_;
  std::vector<Reader> readers_;
};

}  // namespace autodist::chief
