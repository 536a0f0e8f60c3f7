#include "chief/snapshot/job_status_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plans.h"
#include "support/temp_folder.h"
#include "support/turned_loop.h"

namespace autodist::chief {
namespace {

using testing::HasSubstr;

class JobStatusRecorderTest : public testing::Test {
 protected:
  JobStatusRecorderTest() {
    options_.log_folder = base::LogFolder(folder_.path() + "/logs");
    options_.print_json = [this](const std::string& line) { printed_ += line + "\n"; };
  }

  const test::TempFolder folder_;
  const v1::LaunchPlan plan_ = test::ThreeNodePlan();
  test::TurnedLoop loop_;
  JobOptions options_;
  std::string printed_;
};

TEST_F(JobStatusRecorderTest, TheCommandIsAsTheUserWroteIt) {
  for (const char* word : {"./train", "--seed", "{rank}"}) {
    options_.launch.request.add_program(word);
  }
  JobStatusRecorder recorder(plan_, options_, loop_);
  ASSERT_TRUE(recorder.Open().ok());
  EXPECT_THAT(printed_, HasSubstr(R"("command":["./train","--seed","{rank}"])"));
}

TEST_F(JobStatusRecorderTest, ReportsAndEventsHaveNoControlCharacters) {
  JobStatusRecorder recorder(plan_, options_, loop_);
  ASSERT_TRUE(recorder.Open().ok());
  const std::string report = "login failed:\n  \x1b[2Jwelcome\xff";
  recorder.Ended(125, report, 0);
  EXPECT_THAT(printed_, HasSubstr(R"("what":"login failed:\n  \\x1b[2Jwelcome\\xff")"));
  EXPECT_EQ(recorder.events().last().back().what(), "login failed:\n  \\x1b[2Jwelcome\\xff");
}

}  // namespace
}  // namespace autodist::chief
