#include "chief/snapshot/job_status_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "support/spool_files.h"
#include "support/temp_folder.h"
#include "support/turned_loop.h"

namespace autodist::chief {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class EventLogTest : public testing::Test {
 protected:
  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    std::istringstream text(folder_.Read("logs/job/events.jsonl"));
    while (std::getline(text, lines.emplace_back())) continue;
    lines.pop_back();
    return lines;
  }
  static v1::JobEvent Event(const std::string& what) {
    v1::JobEvent event;
    event.set_what(what);
    return event;
  }

  test::TurnedLoop loop_;
  const test::TempFolder folder_;
  const std::string job_ = folder_.path() + "/logs/job";
};

TEST_F(EventLogTest, AnEventIsALineOfJson) {
  auto log = EventLog::Create(job_, loop_);
  ASSERT_TRUE(log.ok()) << log.status();
  v1::JobEvent event = Event("rank 3\nfailed \xff");
  event.set_rank(0);
  event.set_node("n1");
  event.set_job_phase(v1::JOB_PHASE_STOPPING);
  (*log)->Record(event);
  (*log)->Record(Event("second"));
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0],
              testing::MatchesRegex(R"(\{"time_ms":[0-9]+,"attempt":0,"node":"n1","rank":0,)"
                                    R"("job_phase":"stopping","node_phase":null,)"
                                    R"("what":"rank 3\\nfailed \?"\})"));
  EXPECT_THAT(lines[1],
              testing::MatchesRegex(R"(\{"time_ms":[0-9]+,"attempt":0,"node":"","rank":null,)"
                                    R"("job_phase":null,"node_phase":null,"what":"second"\})"));
}

TEST_F(EventLogTest, TheFolderIsPrivate) {
  ASSERT_TRUE(EventLog::Create(job_, loop_).ok());
  struct stat info;
  ASSERT_EQ(stat(job_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_EQ(stat((job_ + "/events.jsonl").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(EventLogTest, AFolderThatCannotBeCreatedHasARemedy) {
  folder_.Write("logs", "a file");
  const Status status = EventLog::Create(job_, loop_).status();
  EXPECT_THAT(Message(status), HasSubstr(job_));
  EXPECT_THAT(Remedy(status), HasSubstr("--log-dir"));
}

TEST_F(EventLogTest, AFullDiskIsReportedOnce) {
  auto log = EventLog::Create(job_, loop_);
  ASSERT_TRUE(log.ok());
  (*log)->Record(Event("fits"));
  testing::internal::CaptureStderr();
  {
    // Applies to all files, including that of captured output, for which it suffices.
    const test::FileSizeLimit limit(100'000);
    (*log)->Record(Event(std::string(100'000, 'x')));
    (*log)->Record(Event("no more"));
  }
  (*log)->Record(Event("not even now"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("events.jsonl is cut short"));
  EXPECT_EQ(said.find("cut short"), said.rfind("cut short"));
  EXPECT_EQ(folder_.Read("logs/job/events.jsonl").find("no more"), std::string::npos);
}

}  // namespace
}  // namespace autodist::chief
