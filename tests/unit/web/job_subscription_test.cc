#include "web/job_subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "base/host_name.h"
#include "control/job_record.h"
#include "control/job_server.h"
#include "support/example_snapshot.h"
#include "support/session.h"

namespace autodist::web {
namespace {

using base::Deadline;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds kWatchLimit{30};
constexpr char kJob[] = "job-1";
constexpr char kGone[] = R"("chief_gone":true)";

class JobSubscriptionTest : public testing::Test {
 protected:
  // An autodist that runs the job.
  void StartChief() {
    control::JobRequests requests;
    requests.get_status = [this](const auto& answer) { answer(Status()); };
    requests.snapshots.snapshot = [this](const v1::GetSnapshotRequest&, const auto& answer) {
      v1::JobSnapshot snapshot = test::ExampleSnapshot();
      snapshot.set_version(++version_);
      *snapshot.mutable_job() = Status();
      answer(std::make_shared<const v1::JobSnapshot>(std::move(snapshot)));
    };
    auto chief = control::JobServer::Start(kJob, std::move(requests));
    ASSERT_TRUE(chief.ok()) << chief.status();
    chief_ = *std::move(chief);
  }
  v1::JobStatus Status() const {
    v1::JobStatus status;
    status.set_job_id(kJob);
    status.set_phase(ended_ ? v1::JOB_PHASE_ENDED : v1::JOB_PHASE_RUNNING);
    status.set_host(base::HostName());
    status.set_log_folder(session_.folder().path() + "/logs");
    status.add_nodes()->set_address("node1");
    return status;
  }
  // The update with this text, the first after number `seen`.
  static LatestValue::Update AwaitText(const JobSubscription& watch, uint64_t seen,
                                       const std::string& text, bool with = true) {
    const Deadline limit = Deadline::After(kWatchLimit);
    for (;;) {
      const LatestValue::Update news = watch.latest().Await(seen, limit);
      if (limit.Expired() || news.ended) return news;
      if ((news.text->find(text) != news.text->npos) == with) return news;
      seen = news.number;
    }
  }

  const test::Session session_;
  std::atomic<bool> ended_ = false;
  std::atomic<uint64_t> version_ = 0;
  std::unique_ptr<control::JobServer> chief_;
};

TEST_F(JobSubscriptionTest, HasTheSnapshotAndEndsWithTheJob) {
  StartChief();
  JobSubscription watch(kJob);
  const auto snapshot = watch.Snapshot();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ((*snapshot)->job().job_id(), kJob);
  ended_ = true;
  const LatestValue::Update last = AwaitText(watch, 0, R"("state":"ended")");
  EXPECT_THAT(*last.text, HasSubstr(R"("state":"ended")"));
  EXPECT_TRUE(watch.latest().Await(last.number, Deadline::After(kWatchLimit)).ended);
}

TEST_F(JobSubscriptionTest, AnUnknownJobIsAFailure) {
  JobSubscription watch("no-job");
  EXPECT_EQ(watch.Snapshot().status().code(), StatusCode::kNotFound);
}

// For example, its socket was removed, or it was stopped.
TEST_F(JobSubscriptionTest, ContinuesWhenTheChiefIsBack) {
  ASSERT_TRUE(control::RecordJob(Status(), Status().log_folder()).ok());
  StartChief();
  JobSubscription watch(kJob);
  ASSERT_TRUE(watch.Snapshot().ok());
  chief_.reset();
  const LatestValue::Update gone = AwaitText(watch, 0, kGone);
  EXPECT_THAT(*gone.text, HasSubstr(kGone));
  EXPECT_FALSE(gone.ended);
  StartChief();
  const LatestValue::Update back = AwaitText(watch, gone.number, kGone, false);
  EXPECT_FALSE(back.ended) << "the watch ended with the chief";
  EXPECT_THAT(*back.text, Not(HasSubstr(kGone)));
  EXPECT_GT(back.number, gone.number);
}

TEST_F(JobSubscriptionTest, WithoutAnAnswerTheRestIsUnchanged) {
  ASSERT_TRUE(control::RecordJob(Status(), Status().log_folder()).ok());
  StartChief();
  JobSubscription watch(kJob);
  const int ranks = (*watch.Snapshot())->ranks_size();
  ASSERT_GT(ranks, 0);
  chief_.reset();
  (void)AwaitText(watch, 0, kGone);
  EXPECT_EQ((*watch.Snapshot())->ranks_size(), ranks);
}

TEST(JobSubscriptionsTest, AJobHasOneSubscription) {
  const test::Session session;
  Subscriptions subscriptions;
  const auto first = subscriptions.Of(kJob);
  EXPECT_EQ(subscriptions.Of(kJob), first);
  EXPECT_NE(subscriptions.Of("job-2"), first);
}

}  // namespace
}  // namespace autodist::web
