#include "web/job_subscription.h"

#include <algorithm>
#include <condition_variable>
#include <vector>

#include "base/exceptions.h"
#include "base/wall_clock.h"
#include "control/jobs.h"
#include "json/plain_json.h"
#include "snapshot/derived.h"
#include "web/json.h"

namespace autodist::web {
namespace {

using namespace std::chrono_literals;
using base::Deadline;

constexpr std::chrono::milliseconds kInterval = 500ms;
// Converting a large job's snapshot to JSON takes long: use at most 1/kShare of a core for it.
constexpr int kShare = 20;
constexpr std::chrono::milliseconds kMaxInterval = 3s;
constexpr std::chrono::seconds kGoneInterval{3};  // between checks whether its autodist is gone
constexpr std::chrono::seconds kAnswerLimit{6};
constexpr std::chrono::seconds kKeep{10};
constexpr size_t kMaxWatches = 64;

// For a job whose autodist keeps no snapshot: made from its status.
v1::JobSnapshot SnapshotFrom(const v1::JobStatus& job) {
  v1::JobSnapshot snapshot;
  snapshot.set_time_ms(base::MillisecondsSince1970());
  *snapshot.mutable_job() = job;
  for (const v1::NodeStatus& node : job.nodes()) {
    v1::NodeSnapshot& made = *snapshot.add_nodes();
    made.set_address(node.address());
    made.set_phase(node.phase());
    made.set_detail(node.detail());
    for (uint32_t i = 0; i < node.ranks(); ++i) made.add_ranks(node.first_rank() + i);
  }
  return snapshot;
}

}  // namespace

JobSubscription::JobSubscription(std::string job_id)
    : job_id_(std::move(job_id)), reader_(job_id_) {
  thread_ = std::thread([this] { base::HandlingExceptions([this] { Run(); }); });
}

JobSubscription::~JobSubscription() {
  stop_.request_stop();
  thread_.join();
}

Result<std::shared_ptr<const v1::JobSnapshot>> JobSubscription::Snapshot() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, Stop(), kAnswerLimit, [this] { return known_; });
  return snapshot_;
}

Result<std::shared_ptr<const v1::JobSnapshot>> JobSubscription::Ask() {
  if (chief_gone_ && IsStillGone()) return snapshot_;
  auto snapshot = reader_.Snapshot(Stop());
  const bool ended = snapshot.ok() && (*snapshot)->job().phase() == v1::JOB_PHASE_ENDED;
  if (!ended && gone_check_.Expired()) {
    gone_check_ = Deadline::After(kGoneInterval);
    const auto job = control::LookUpJob(job_id_);
    if (!job.ok()) return snapshot.ok() ? snapshot : job.status();
    chief_gone_ = job->chief_gone();
    if (!snapshot.ok() || job->phase() == v1::JOB_PHASE_ENDED) {
      // Without an answer, keep the last snapshot and update it from the job's record.
      v1::JobSnapshot made = snapshot.ok()              ? **snapshot
                             : snapshot_.ok() && known_ ? **snapshot_
                                                        : SnapshotFrom(*job);
      snapshot::SetStatus(*job, made);
      return std::make_shared<const v1::JobSnapshot>(std::move(made));
    }
  }
  if (chief_gone_ && snapshot.ok()) {
    v1::JobSnapshot made = **snapshot;
    made.mutable_job()->set_chief_gone(true);
    snapshot::Derive(made);
    return std::make_shared<const v1::JobSnapshot>(std::move(made));
  }
  return snapshot;
}

// A chief that was suspended, or whose socket was removed, may return.
bool JobSubscription::IsStillGone() {
  const auto job = control::LookUpJob(job_id_);
  chief_gone_ = job.ok() && job->chief_gone();
  gone_check_ = Deadline::After(kGoneInterval);
  return chief_gone_;
}

bool JobSubscription::Read() {
  auto snapshot = Ask();
  const std::lock_guard lock(mutex_);
  if (!snapshot.ok()) {
    // A missing answer does not replace a known snapshot.
    if (!known_ || !snapshot_.ok()) snapshot_ = std::move(snapshot);
    known_ = true;
    changed_.notify_all();
    return true;
  }
  const bool more = (*snapshot)->job().phase() != v1::JOB_PHASE_ENDED;
  const bool same = known_ && snapshot_.ok() && (*snapshot_)->version() == (*snapshot)->version() &&
                    (*snapshot_)->job().phase() == (*snapshot)->job().phase() &&
                    (*snapshot_)->job().chief_gone() == (*snapshot)->job().chief_gone() &&
                    (*snapshot_)->job().chief_silent() == (*snapshot)->job().chief_silent();
  if (!same) latest_.Publish("event: snapshot\ndata: " + json::PlainJson(**snapshot) + "\n\n");
  snapshot_ = std::move(snapshot);
  known_ = true;
  changed_.notify_all();
  return more;
}

void JobSubscription::Run() {
  std::mutex none;
  std::condition_variable_any awake;
  for (bool more = true; more && !stop_.stop_requested();) {
    const auto begin = Deadline::Clock::now();
    more = Read();
    const auto took = Deadline::Clock::now() - begin;
    std::unique_lock lock(none);
    if (more) {
      const auto pause = std::clamp<Deadline::Clock::duration>(
          took * kShare, chief_gone_ ? kGoneInterval : kInterval, kMaxInterval);
      awake.wait_for(lock, Stop(), pause, [] { return false; });
    }
  }
  latest_.End();
}

std::shared_ptr<JobSubscription> Subscriptions::Of(const std::string& job_id) {
  std::vector<std::shared_ptr<JobSubscription>> left;  // ended after the lock is released
  const std::lock_guard lock(mutex_);
  for (auto entry = subscriptions_.begin(); entry != subscriptions_.end();) {
    auto& [watch, keep] = entry->second;
    if (entry->first != job_id && watch.use_count() == 1 && keep.Expired()) {
      left.push_back(std::move(watch));
      entry = subscriptions_.erase(entry);
    } else {
      ++entry;
    }
  }
  const auto found = subscriptions_.find(job_id);
  if (found != subscriptions_.end()) {
    found->second.keep = Deadline::After(kKeep);
    return found->second.watch;
  }
  if (subscriptions_.size() >= kMaxWatches) return nullptr;
  auto watch = std::make_shared<JobSubscription>(job_id);
  subscriptions_.insert_or_assign(job_id, Entry{watch, Deadline::After(kKeep)});
  return watch;
}

}  // namespace autodist::web
