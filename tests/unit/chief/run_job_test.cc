#include "chief/run_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "base/exit_codes.h"
#include "control/job_client.h"
#include "support/plans.h"
#include "support/session.h"

namespace autodist::chief {
namespace {

using testing::HasSubstr;

// Sends the job signals repeatedly until it ends.
class Client {
 public:
  explicit Client(const std::string& job_id)
      : thread_([this, job_id](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            const auto job = control::JobClient::Connect(job_id);
            while (job.ok() && job->Signal(SIGUSR1, "").ok()) ++sent_;
          }
        }) {}
  size_t sent() const { return sent_; }

 private:
  std::atomic<size_t> sent_ = 0;
  std::jthread thread_;
};

// Other commands find the job by its control socket before its views exist, and query it while it
// ends. For AddressSanitizer.
TEST(RunJobTest, ViewsThatCannotStartAreAFailureThatClientsSurvive) {
  const test::Session session;
  const v1::LaunchPlan plan = test::ThreeNodePlan();
  JobOptions options;
  options.log_folder = session.folder().path() + "/logs";
  options.launch.request.set_on_exit("sleep 0.2");  // the clients have connected by then
  const Client first(plan.job_id()), second(plan.job_id());
  options.start_views = []() -> Result<JobOptions::StatusListener> {
    return Error(StatusCode::kUnavailable, "Address already in use");
  };
  testing::internal::CaptureStderr();
  const size_t before = first.sent() + second.sent();
  EXPECT_EQ(RunJob(plan, options), kExitCannotLaunch);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("Address already in use"));
  EXPECT_GT(first.sent() + second.sent(), before);
}

}  // namespace
}  // namespace autodist::chief
