// Collects stacks from the nodes for all clients, one collection at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "base/log_folder.h"
#include "chief/attempt/attempt.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/output/console.h"
#include "chief/output/output_router.h"
#include "control/job_requests.h"
#include "why/activity.h"
#include "why/connections.h"
#include "why/stack_groups.h"

namespace autodist::chief {

// Writes stacks of all ranks, and PyTorch's flight records, to files of the log folder. Used on the
// loop's thread, which it does not block.
class StackFile {
 public:
  // Limits the flight records of a collection; further ones are omitted.
  static constexpr size_t kMaxRecords = 1 << 30;  // bytes

  // Creates FOLDER/stacks-TIME.txt. `nodes` are the nodes that were asked.
  StackFile(base::LogFolder folder, std::set<uint32_t> nodes, Loop& loop);

  // Adds the stacks of `whose`, such as "rank 3 on node2", and writes the flight record to
  // FOLDER/flight-recorder/rank-3, as a new pickle of plain data, because other programs execute
  // pickles. A record with anything else is not written, and the text says so. Returns false and
  // ignores them if the node was not asked, or has sent them before.
  bool Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node) { missing_.erase(node); }
  bool complete() const { return missing_.empty(); }
  const std::set<uint32_t>& missing() const { return missing_; }  // nodes that have not answered
  const std::string& path() const { return path_; }               // absolute

  // Calls `finished` when all is written, or with the error; in the background.
  void Finish(std::function<void(const Status& written)> finished);

 private:
  void Append(std::string text);
  void WriteRecord(const v1::RankStacks& stacks);

  const base::LogFolder folder_;
  const std::string name_;
  const std::string path_;
  std::set<uint32_t> missing_;
  std::set<std::pair<uint32_t, uint32_t>> reported_;  // nodes and ranks
  size_t records_ = 0;                                // bytes
  Loop& loop_;
  const std::shared_ptr<Status> written_ = std::make_shared<Status>();  // used in the background
};

// Called once, on any thread.
using StacksAnswer = control::JobRequests::StacksAnswer;

// Activities of the ranks' processes, by rank and pid.
using Activities = std::map<std::pair<uint32_t, uint64_t>, why::Activity>;

// One collection of stacks of all ranks of an attempt: writes the file, the summary and the answers
// to clients. Used on the loop's thread, which it does not block.
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
  v1::AwaitedNodes AwaitedNodes() const;
  // Returns whether a rank makes progress by itself as far as known: computes, compiles or saves,
  // or a thread or process of it has worked since the earlier collection.
  bool AnyAtWork() const { return any_at_work_; }
  // Returns the ranks that another has waited for in vain: "rank 2 (host2) sleeps in …"; "": none.
  std::string Missing() const;

  // Adds a client that receives the groups, and the whole stacks of these ranks.
  void AddReader(std::vector<uint32_t> whole, StacksAnswer answer) {
    readers_.push_back({std::move(whole), std::move(answer)});
  }

  // Returns why a node did not report a rank. `runs`: it neither ended nor was lost.
  using WhyUnknown =
      std::function<std::string(const std::string& address, uint32_t node, bool runs)>;
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

// Where the ranks should find each other, by their environment in the plan.
why::Rendezvous RendezvousOf(const v1::LaunchPlan& plan);

// The time for all nodes to report their ranks' stacks.
inline constexpr std::chrono::milliseconds kStacksLimit{40'000};
// The same for the search for missing ranks.
inline constexpr std::chrono::seconds kMissingLimit{10};

// Used on the loop's thread only; never blocks.
class StackCollector {
 public:
  // The arguments must outlive this object.
  StackCollector(Loop& loop, Fleet& nodes, Console& console, const OutputRouter& output)
      : loop_(loop), nodes_(nodes), console_(console), output_(output) {}

  // Asks every member for its ranks' stacks, unless a collection is running. Returns the
  // collection, which exists until Finish.
  StackCollection& Ask(const Attempt& attempt, const v1::CollectStacks& wanted);
  StackCollection& Ask(const Attempt& attempt, bool flight_records = true);
  // Shows the running collection at the chief's terminal, too.
  void ShowHere() { shows_here_ = true; }
  // Collects for a client, with the whole stacks of these ranks; answers within kStacksLimit.
  void AskFor(const Attempt& attempt, std::vector<uint32_t> whole, const v1::CollectStacks& wanted,
              StacksAnswer answer);
  // Collects because a rank has waited in vain, for at most kMissingLimit.
  void LookForMissing(const Attempt& attempt);
  // The missing ranks, by the last such collection; "": none.
  const std::string& missing() const { return missing_; }

  void Take(uint32_t member, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node);

  // The running collection; null: none.
  StackCollection* collection() { return collection_ ? &*collection_ : nullptr; }
  bool collects() const { return collection_.has_value(); }
  // Returns the nodes that the running collection waits for.
  v1::AwaitedNodes AwaitedNodes() const {
    return collection_ ? collection_->AwaitedNodes() : v1::AwaitedNodes();
  }
  // Returns whether it is as complete as it will be.
  bool IsDue() const { return collection_ && (collection_->complete() || loop_.Now() >= due_); }
  Loop::Time due() const { return due_; }
  // Ends the running collection. Called while the attempt exists.
  void Finish();

  // Returns whether no rank of the attempt has written anything yet: programs may load for long.
  bool MayLoad(const Attempt& attempt) const { return output_.last() <= attempt.began; }

 private:
  std::string WhyUnknown(const std::string& address, uint32_t node, bool runs) const;

  Loop& loop_;
  Fleet& nodes_;
  Console& console_;
  const OutputRouter& output_;
  std::optional<StackCollection> collection_;  // while nodes are being asked
  Loop::Time due_ = Loop::Time::max();
  bool shows_here_ = false;
  bool looks_for_missing_ = false;
  std::string missing_;
};

}  // namespace autodist::chief
