// Fetches files of the working directory that the job has changed from the nodes into the job's log
// folder, into one folder for each node.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/deadline.h"
#include "base/log_folder.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "control/job_requests.h"
#include "launch/launch_options.h"
#include "transfer/fetch_files.h"

namespace autodist::chief {

// Called once, on the loop's thread, unless the job ends earlier.
using FetchAnswer = control::JobRequests::FetchAnswer;

// Returns a folder name for a node with this address, always a single path component.
std::string FolderNameOf(const std::string& address);

// A node, and what came from it.
struct FetchedNode {
  std::string address;
  std::string folder;  // name of the folder
  bool here = false;   // the node is this machine
  transfer::FetchedFiles fetched;
};

// Fetches from the nodes of a job that has ended: logs in again, starts agents and ends them.
// kCancelled: by Ctrl-C. Blocks; call it before any other thread is started.
Result<v1::JobFiles> FetchAfterEnd(const v1::LaunchPlan& plan, launch::LaunchOptions options,
                                   const v1::JobStatus& job, const v1::FetchRequest& request);

// Used on the loop's thread only. Only the destructor and Finish block.
class JobFetch {
 public:
  // The arguments must outlive it; `log_folder` need not exist yet.
  JobFetch(const v1::LaunchPlan& job, base::LogFolder log_folder, Loop& loop, const Fleet& nodes,
           std::function<std::shared_ptr<launch::NodeLink>(uint32_t node)> link_of);
  // Cancels, and waits for the thread.
  ~JobFetch() { Finish(); }
  void Finish();

  // The ranks of an attempt start: only files that change from the first call on are fetched.
  void JobRuns() { began_ = began_.value_or(base::Deadline::Clock::now()); }
  // A rank has started on the node at this time, by the clock there, since 1970. For FetchAfterEnd,
  // the first times are written into the log folder in the background.
  void RankStarted(uint32_t node, int64_t time_ns);

  bool busy() const { return busy_; }
  // Fetches from all connected nodes; reports why others are not. `stop` ends it early and keeps
  // the files that have arrived. One fetch at a time: kFailedPrecondition. kResourceExhausted: no
  // thread could be started.
  void Start(const v1::FetchRequest& request, const std::stop_token& stop,
             const FetchAnswer& answer);
  void Cancel() { cancel_.request_stop(); }

 private:
  struct Source {
    FetchedNode node;
    std::shared_ptr<launch::NodeLink> link;
    Status why_not;  // set if link is null
  };

  std::vector<Source> Sources();
  v1::JobFiles Fetch(transfer::FetchOrder order, std::vector<Source>& sources,
                     const std::stop_token& stop) const;

  const v1::LaunchPlan& job_;
  const base::LogFolder log_folder_;
  Loop& loop_;
  const Fleet& nodes_;
  const std::function<std::shared_ptr<launch::NodeLink>(uint32_t)> link_of_;
  std::vector<std::string> folders_;  // names by node, set by the first fetch
  std::optional<base::Deadline::Clock::time_point> began_;
  std::set<uint32_t> started_;  // nodes on which a rank has started
  std::string new_times_;       // of nodes, not yet written
  bool busy_ = false;
  std::stop_source cancel_;
  std::optional<std::stop_callback<std::function<void()>>> stopped_;
  std::jthread thread_;
};

}  // namespace autodist::chief
