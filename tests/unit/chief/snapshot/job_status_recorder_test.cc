#include "chief/snapshot/job_status_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plans.h"
#include "support/temp_folder.h"
#include "support/turned_loop.h"

namespace autodist::chief {
namespace {

using testing::HasSubstr;

TEST(JobStatusRecorderTest, TheCommandIsAsTheUserWroteIt) {
  const test::TempFolder folder;
  const v1::LaunchPlan plan = test::ThreeNodePlan();
  test::TurnedLoop loop;
  JobOptions options;
  options.log_folder = base::LogFolder(folder.path() + "/logs");
  for (const char* word : {"./train", "--seed", "{rank}"}) {
    options.launch.request.add_program(word);
  }
  std::string printed;
  options.print_json = [&](const std::string& line) { printed += line + "\n"; };
  JobStatusRecorder recorder(plan, options, loop);
  ASSERT_TRUE(recorder.Open().ok());
  EXPECT_THAT(printed, HasSubstr(R"("command":["./train","--seed","{rank}"])"));
}

TEST(JobStatusRecorderTest, ReportsAndEventsHaveNoControlCharacters) {
  const test::TempFolder folder;
  const v1::LaunchPlan plan = test::ThreeNodePlan();
  test::TurnedLoop loop;
  JobOptions options;
  options.log_folder = base::LogFolder(folder.path() + "/logs");
  std::string printed;
  options.print_json = [&](const std::string& line) { printed += line + "\n"; };
  JobStatusRecorder recorder(plan, options, loop);
  ASSERT_TRUE(recorder.Open().ok());
  const std::string report = "login failed:\n  \x1b[2Jwelcome\xff";
  recorder.Ended(125, report, 0);
  EXPECT_THAT(printed, HasSubstr(R"("what":"login failed:\n  \\x1b[2Jwelcome\\xff")"));
  EXPECT_EQ(recorder.events().last().back().what(), "login failed:\n  \\x1b[2Jwelcome\\xff");
}

}  // namespace
}  // namespace autodist::chief
