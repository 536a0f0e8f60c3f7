// One collection of stacks of all ranks of an attempt: writes the file, the summary and the answers
// to clients.
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

// Activities of the ranks' processes, by rank and pid.
using Activities = std::map<std::pair<uint32_t, uint64_t>, why::Activity>;

// Used on the loop's thread, which it does not block.
class StackCollection {
 public:
  // Whole stacks are kept for clients up to these limits; the file has all of them.
  static constexpr size_t kMaxKept = 64 << 20;     // bytes
  static constexpr size_t kMaxAnswered = 8 << 20;  // bytes

  // `nodes` have been asked. The attempt must outlive this object.
  StackCollection(const Attempt& attempt, std::set<uint32_t> nodes, Loop& loop)
      : attempt_(attempt), file_(attempt.logs_folder(), std::move(nodes), loop) {}

  void Take(uint32_t member, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node) { file_.NodeIsGone(node); }
  // Sets the ranks' activities of some seconds before, for comparison.
  void SetEarlier(Activities earlier) { earlier_ = std::move(earlier); }
  Activities TakeActivities() { return std::move(activities_); }
  // The ranks have been silent for this time; the diagnosis is shown first.
  void SetHangs(std::chrono::milliseconds silent) { silent_ = silent; }
  // No rank has written anything yet: a rank that computes may be loading its program, even with a
  // GPU, unless it is known to have entered collectives.
  void SetMayLoad() { may_load_ = true; }
  bool complete() const { return file_.complete(); }
  // Returns whether a rank makes progress by itself as far as known: computes, compiles or saves,
  // or a thread or process of it has worked since the earlier collection.
  bool AnyAtWork() const { return any_at_work_; }
  // Returns the ranks that another has waited for in vain: "rank 2 (host2) sleeps in …"; "": none.
  std::string Missing() const;

  // Adds a client that receives the groups, and the whole stacks of these ranks.
  void AddReader(std::vector<uint32_t> whole, StacksAnswer answer) {
    readers_.push_back({std::move(whole), std::move(answer)});
  }

  // Returns why a node did not report a running rank.
  using WhyUnknown = std::function<std::string(const std::string& address, uint32_t node)>;
  // Shows a person the diagnosis of a hang, if there is one, and the groups of ranks.
  using Show = std::function<void(bool written, std::string text)>;
  // Called when no more stacks are expected. Calls `show` and the clients' answers when the file is
  // written.
  void Finish(const WhyUnknown& why_unknown, Show show);

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
  Activities earlier_;  // empty: this is the first collection
  Activities activities_;
  bool may_load_ = false;
  bool any_at_work_ = false;
  std::optional<std::chrono::milliseconds> silent_;
  std::vector<Reader> readers_;
};

}  // namespace autodist::chief
