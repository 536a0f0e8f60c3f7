#include "top/job_poller.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/deadline.h"
#include "base/host_name.h"
#include "control/job_record.h"
#include "control/job_server.h"
#include "support/example_snapshot.h"
#include "support/session.h"

namespace autodist::top {
namespace {

constexpr std::chrono::seconds kLimit{30};
constexpr char kJob[] = "job-1";

class TopJobPollerTest : public testing::Test {
 protected:
  // An autodist that runs the job.
  std::unique_ptr<control::JobServer> StartChief() {
    control::JobRequests requests;
    requests.get_status = [this](const auto& answer) { answer(Status()); };
    requests.snapshots.snapshot = [this](const v1::GetSnapshotRequest&, const auto& answer) {
      v1::JobSnapshot snapshot = test::ExampleSnapshot();
      *snapshot.mutable_job() = Status();
      answer(std::make_shared<const v1::JobSnapshot>(std::move(snapshot)));
    };
    return *control::JobServer::Start(kJob, std::move(requests));
  }
  v1::JobStatus Status() const {
    v1::JobStatus status;
    status.set_job_id(kJob);
    status.set_phase(v1::JOB_PHASE_RUNNING);
    status.set_host(base::HostName());
    status.set_log_folder(session_.folder().path() + "/logs");
    return status;
  }
  // Waits until the poller has a snapshot with this state of the chief.
  bool Await(const JobPoller& poller, bool gone) {
    const base::Deadline limit = base::Deadline::After(kLimit);
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, limit.when(), [&] {
      const auto snapshot = poller.Get().snapshot;
      return snapshot && snapshot->job().chief_gone() == gone;
    });
  }
  void Changed() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  const test::Session session_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

TEST_F(TopJobPollerTest, ContinuesWhenTheChiefIsBack) {
  ASSERT_TRUE(control::RecordJob(Status(), Status().log_folder()).ok());
  auto chief = StartChief();
  const JobPoller poller(kJob, std::chrono::milliseconds(10), [this] { Changed(); });
  EXPECT_TRUE(Await(poller, false));
  chief.reset();
  EXPECT_TRUE(Await(poller, true));
  chief = StartChief();
  EXPECT_TRUE(Await(poller, false)) << "the poller ended with the chief";
}

}  // namespace
}  // namespace autodist::top
