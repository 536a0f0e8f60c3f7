// A job on simulated nodes, with simulated time.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chief/job.h"
#include "support/fake_nodes.h"
#include "support/in_seconds.h"
#include "support/plans.h"
#include "support/temp_folder.h"

namespace autodist::test {

class JobTest : public testing::Test {
 protected:
  using milliseconds = std::chrono::milliseconds;
  static constexpr std::chrono::seconds kLease{60};
  static constexpr std::chrono::seconds kGrace{30};

  explicit JobTest(plan::Input input = ThreeNodeInput()) : input_(std::move(input)) {
    options_.launch.request.set_lease(test::InSeconds(kLease));
    options_.launch.request.set_grace(test::InSeconds(kGrace));
    options_.log_folder = folder_.path() + "/logs";
    options_.launch.request.set_no_preflight(true);
    options_.plan_attempt = [this](const plan::Replan& replan) {
      planned_.push_back(replan.members);
      plan::Input replanned = input_;
      replanned.members = replan.members;
      replanned.restart_count = replan.attempt;
      return plan::MakePlan(replanned);
    };
    options_.make_launcher = [this](const v1::LaunchPlan&, const launch::LaunchOptions&) {
      return Result<std::unique_ptr<launch::Launcher>>(nodes_.MakeLauncher());
    };
  }

  int Run() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int exit_code = 0;
    {
      chief::Job job(plan_, options_, std::move(owned_loop_));
      job_ = &job;
      const chief::Loop::Time before = loop_.Now();
      exit_code = job.Run();
      took_ = std::chrono::duration_cast<milliseconds>(loop_.Now() - before);
      status_ = job.status();
      report_ = status_.report();
    }
    output_ = testing::internal::GetCapturedStdout();
    messages_ = testing::internal::GetCapturedStderr();
    // What failed meanwhile was written there as well.
    if (HasFailure()) std::printf("%s\n%s\n", output_.c_str(), messages_.c_str());
    return exit_code;
  }
  void Signal(milliseconds after, int signal = SIGINT) {
    loop_.After(after, [this, signal] { job_->Signal(signal); });
  }
  void AllExit(milliseconds after, int code) {
    loop_.After(after, [this, code] {
      for (uint32_t node = 0; node < nodes_.size(); ++node) nodes_[node].ExitAll(code);
    });
  }
  void ExpectNothingRuns() {
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      EXPECT_TRUE(nodes_[node].running().empty()) << node;
      EXPECT_TRUE(nodes_[node].gone()) << node;
    }
  }

  const TempFolder folder_;
  const plan::Input input_;
  const v1::LaunchPlan plan_ = *plan::MakePlan(input_);
  std::unique_ptr<TurnedLoop> owned_loop_ = std::make_unique<TurnedLoop>();
  TurnedLoop& loop_ = *owned_loop_;
  FakeNodes nodes_{loop_, plan_};
  chief::JobOptions options_;
  chief::Job* job_ = nullptr;
  std::vector<std::vector<std::string>> planned_;
  milliseconds took_{};
  v1::JobStatus status_;  // when it ends
  std::string report_;
  std::string output_;
  std::string messages_;
};

}  // namespace autodist::test
