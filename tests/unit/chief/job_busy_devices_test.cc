// Jobs on nodes whose devices other jobs use.
#include <gmock/gmock.h>

#include "support/in_seconds.h"
#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class BusyDevicesTest : public test::JobTest {
 protected:
  BusyDevicesTest() {
    options_.launch.request.set_no_preflight(false);
    nodes_[2].on_start = [this] { AllExit(seconds(1), 0); };
  }

  static v1::OtherJob HasGpu(const std::string& job, uint32_t gpu, bool waiting = false) {
    v1::OtherJob other;
    other.set_job_id(job);
    other.add_gpus(gpu);
    other.set_waiting(waiting);
    return other;
  }
  static v1::OtherJob HasCpu(const std::string& job) {
    v1::OtherJob other;
    other.set_job_id(job);
    other.add_cpus(0);
    return other;
  }
};

TEST_F(BusyDevicesTest, TheDefaultIsAWarningAboutGpus) {
  nodes_[0].other_jobs = {HasGpu("job-0", 3)};
  nodes_[1].other_jobs = {HasCpu("job-7")};
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.1: devices (warning)\n    your job job-0 has GPU 3"));
  EXPECT_THAT(messages_, Not(HasSubstr("job-7")));
}

TEST_F(BusyDevicesTest, WarningsIncludeCpusOnRequest) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WARN);
  nodes_[1].other_jobs = {HasCpu("job-7")};
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("your job job-7 has CPU 0"));
}

TEST_F(BusyDevicesTest, RefuseFailsBeforeTheStart) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_REFUSE);
  nodes_[0].other_jobs = {HasGpu("job-0", 3)};
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("your job job-0 has GPU 3"));
  EXPECT_THAT(report_, HasSubstr("--on-busy wait"));
}

TEST_F(BusyDevicesTest, DevicesOutsideThePlanAreIgnored) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_REFUSE);
  nodes_[0].other_jobs = {HasGpu("job-0", 2)};
  nodes_[1].other_jobs = {HasGpu("job-0", 0)};
  EXPECT_EQ(Run(), 0);
}

TEST_F(BusyDevicesTest, WaitsAsLongAsOthersUseThem) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  options_.launch.request.set_timeout(
      test::InSeconds(seconds(30)));  // of the job, which has not started
  for (int i = 0; i < 20; ++i) nodes_[0].other_jobs.push_back(HasGpu("job-0", 3));
  nodes_[1].warnings = {"mind this"};
  EXPECT_EQ(Run(), 0);
  EXPECT_TRUE(nodes_[0].other_jobs.empty());
  EXPECT_GT(took_, seconds(60));
  EXPECT_LT(took_, seconds(300));
  EXPECT_THAT(messages_, HasSubstr("waiting for devices (10.0.0.1: your job job-0 has GPU 3); "
                                   "Ctrl-C ends the wait\n"));
  EXPECT_EQ(messages_.find("waiting"), messages_.rfind("waiting"));  // once
  EXPECT_EQ(messages_.find("mind this"), messages_.rfind("mind this"));
  ExpectNothingRuns();
}

TEST_F(BusyDevicesTest, CtrlCEndsTheWait) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  for (int i = 0; i < 1000; ++i) nodes_[0].other_jobs.push_back(HasGpu("job-0", 3));
  Signal(seconds(30));
  EXPECT_EQ(Run(), 130);
  EXPECT_LT(took_, seconds(31));
  EXPECT_THAT(messages_, HasSubstr("interrupted before a rank was started"));
}

TEST_F(BusyDevicesTest, TheOlderOfTwoWaitingJobsIsFirst) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  nodes_[0].other_jobs = {HasGpu("job-2", 3, true)};  // this is job-1
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, Not(HasSubstr("waiting")));
}

TEST_F(BusyDevicesTest, TheYoungerWaitsForAWaitingJob) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  nodes_[0].other_jobs = {HasGpu("job-0", 3, true)};
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("your job job-0 has asked for GPU 3"));
}

TEST_F(BusyDevicesTest, ABrokenLinkDoesNotEndTheWait) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  for (int i = 0; i < 20; ++i) nodes_[0].other_jobs.push_back(HasGpu("job-0", 3));
  loop_.After(seconds(20), [this] { nodes_[1].unreachable = true; });
  loop_.After(seconds(50), [this] { nodes_[1].unreachable = false; });
  EXPECT_EQ(Run(), 0) << messages_;
}

TEST_F(BusyDevicesTest, ALostNodeEndsTheWait) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  for (int i = 0; i < 1000; ++i) nodes_[0].other_jobs.push_back(HasGpu("job-0", 3));
  loop_.After(seconds(20), [this] { nodes_[1].unreachable = true; });
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("10.0.0.2 is lost: "));
}

}  // namespace
}  // namespace autodist::chief
