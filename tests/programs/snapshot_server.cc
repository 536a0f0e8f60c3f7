// Answers on a job's control socket like an autodist with a job of simulated nodes:
//   snapshot_server JOB NODES RANKS [slow|stalled|large|plain] [FOLDER]
// Prints "ready" when it listens, and "signal N" when it is asked to stop; ends when stdin is
// closed. Input "end" ends the job. FOLDER receives the log files of the ranks and the job's
// record.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "base/host_name.h"
#include "base/wall_clock.h"
#include "control/job_record.h"
#include "control/job_server.h"
#include "snapshot/derived.h"
#include "support/example_diagnosis.h"
#include "support/snapshots.h"

namespace autodist {
namespace {

class Simulation {
 public:
  Simulation(test::SnapshotShape shape, std::string scene, std::string job, std::string folder)
      : shape_(shape), scene_(std::move(scene)), job_(std::move(job)), folder_(std::move(folder)) {}

  // Changes each second, as samples do.
  v1::JobSnapshot Snapshot(uint64_t known) {
    const int64_t second = base::MillisecondsSince1970() / 1000;
    const std::lock_guard lock(mutex_);
    if (second != made_ || !snapshot_.has_job()) Make(second);
    if (known == snapshot_.version()) {
      v1::JobSnapshot same;
      same.set_version(known);
      return same;
    }
    return snapshot_;
  }

  v1::History History(int64_t since_ms) {
    v1::JobSnapshot snapshot = Snapshot(0);
    const std::lock_guard lock(mutex_);
    v1::History all = test::HistoryOf(shape_, snapshot);
    v1::History newer;
    for (v1::HistoryPoint& point : *all.mutable_points()) {
      if (point.time_ms() > since_ms) *newer.add_points() = std::move(point);
    }
    return newer;
  }

  void End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    made_ = 0;
  }

 private:
  // The time of the simulated job starts at `kSnapshotNow`.
  void Make(int64_t second) {
    if (first_ == 0) first_ = second;
    made_ = second;
    snapshot_ = test::HealthySnapshot(shape_, test::kSnapshotNow + (second - first_) * 1000);
    if (scene_ == "slow") snapshot_ = test::SlowSnapshot(std::move(snapshot_));
    if (scene_ == "stalled") snapshot_ = test::StalledSnapshot(std::move(snapshot_));
    if (scene_ == "large") snapshot_ = test::LargeSnapshot(std::move(snapshot_));
    if (ended_) snapshot_ = test::EndedSnapshot(std::move(snapshot_));
    snapshot::Derive(snapshot_);
    snapshot_.mutable_job()->set_job_id(job_);
    snapshot_.mutable_job()->set_attempt_folder(folder_);
    snapshot_.mutable_job()->set_log_folder(folder_);
    snapshot_.mutable_job()->set_host(base::HostName());
    snapshot_.set_version(static_cast<uint64_t>(second) * 2 + (ended_ ? 1 : 0));
  }

  const test::SnapshotShape shape_;
  const std::string scene_;
  const std::string job_;
  const std::string folder_;
  std::mutex mutex_;  // guards the rest
  int64_t first_ = 0;
  int64_t made_ = 0;
  bool ended_ = false;
  v1::JobSnapshot snapshot_;
};

int Serve(int argc, char** argv) {
  const std::string scene = argc > 4 ? argv[4] : "healthy";
  const bool plain = scene == "plain";
  Simulation simulation({.nodes = static_cast<uint32_t>(std::stoul(argv[2])),
                         .per_node = static_cast<uint32_t>(std::stoul(argv[3])),
                         .gpus = !plain,
                         .progress = !plain},
                        scene, argv[1], argc > 5 ? argv[5] : "");
  control::JobRequests requests;
  requests.signal = [](int signal, const std::string&) {
    std::printf("signal %d\n", signal);
    std::fflush(stdout);
  };
  requests.get_stacks = [](const v1::GetStacksRequest&,
                           const control::JobRequests::StacksAnswer& answer) {
    v1::JobStacks stacks;
    v1::StackGroup& group = *stacks.add_groups();
    for (const uint32_t rank : {0, 1}) group.add_ranks(rank);
    group.set_doing("all_reduce (torch/distributed/distributed_c10d.py:2001)");
    answer(stacks);
  };
  requests.snapshots.snapshot = [&](const v1::GetSnapshotRequest& request, const auto& answer) {
    answer(std::make_shared<const v1::JobSnapshot>(simulation.Snapshot(request.known())));
  };
  requests.snapshots.history = [&](const v1::GetHistoryRequest& request, const auto& answer) {
    answer(simulation.History(request.since_ms()));
  };
  requests.snapshots.diagnosis = [](const auto& answer) { answer(test::ExampleDiagnosis()); };
  auto server = control::JobServer::Start(argv[1], std::move(requests));
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", Message(server.status()).c_str());
    return 1;
  }
  const v1::JobStatus job = simulation.Snapshot(0).job();
  (*server)->Publish(job);
  if (const Status kept =
          job.log_folder().empty() ? OkStatus() : control::RecordJob(job, job.log_folder());
      !kept.ok()) {
    std::fprintf(stderr, "%s\n", Message(kept).c_str());
    return 1;
  }
  std::printf("ready\n");
  std::fflush(stdout);
  char line[16];
  while (std::fgets(line, sizeof line, stdin)) {
    if (std::strcmp(line, "end\n") == 0) simulation.End();
  }
  return 0;
}

}  // namespace
}  // namespace autodist

int main(int argc, char** argv) { return argc < 4 ? 2 : autodist::Serve(argc, argv); }
