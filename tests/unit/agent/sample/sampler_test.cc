#include "agent/sample/sampler.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <limits>
#include <mutex>
#include <vector>

#include "agent/sample/clamp_sample.h"
#include "rpc/limits.h"
#include "support/limit.h"
#include "support/quiet_supervisor.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

class SamplerTest : public testing::Test {
 protected:
  void Begin(milliseconds interval) {
    Sampler::Plan plan;
    plan.interval = interval;
    plan.working_directory = folder_.path();
    sampler_.Begin(std::move(plan));
  }
  size_t samples() {
    const std::lock_guard lock(mutex_);
    return samples_.size();
  }
  // Blocks until there are this many samples.
  bool Await(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, test::kLimit, [&] { return samples_.size() >= count; });
  }
  v1::NodeSample Sample(size_t which) {
    const std::lock_guard lock(mutex_);
    return samples_.at(which);
  }

  const test::TempFolder folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<v1::NodeSample> samples_;
  std::optional<SampleTime> last_output_;

  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
  Sampler sampler_{{[this](v1::NodeSample sample) {
                      const std::lock_guard lock(mutex_);
                      samples_.push_back(std::move(sample));
                      changed_.notify_all();
                    },
                    [this](uint32_t) {
                      const std::lock_guard lock(mutex_);
                      return last_output_;
                    }},
                   *supervisor_};
};

TEST_F(SamplerTest, ReportsThisMachineOncePerInterval) {
  Begin(milliseconds(100));
  const auto began = SampleTime::clock::now();
  sampler_.RankStarted(7, getpid());
  ASSERT_TRUE(Await(1));
  {
    const std::lock_guard lock(mutex_);
    last_output_ = began;
  }
  ASSERT_TRUE(Await(4));
  EXPECT_GE(SampleTime::clock::now() - began, milliseconds(290));
  const v1::NodeSample first = Sample(0);
  EXPECT_GT(first.host().cores(), 0u);
  EXPECT_FALSE(first.host().has_cpu());
  ASSERT_EQ(first.ranks_size(), 1);
  EXPECT_FALSE(first.ranks(0).has_cpu() || first.ranks(0).has_silent_ms());
  const v1::NodeSample fourth = Sample(3);
  EXPECT_GE(fourth.time_ns() - first.time_ns(), 290'000'000);
  EXPECT_TRUE(fourth.host().has_cpu());
  EXPECT_GT(fourth.host().disk_total(), 0u);
  ASSERT_EQ(fourth.ranks_size(), 1);
  EXPECT_EQ(fourth.ranks(0).rank(), 7u);
  EXPECT_EQ(fourth.ranks(0).state().size(), 1u);
  EXPECT_GT(fourth.ranks(0).memory(), 0u);
  EXPECT_TRUE(fourth.ranks(0).has_cpu());
  EXPECT_GE(fourth.ranks(0).silent_ms(), 290);
}

TEST_F(SamplerTest, SamplesOnlyWhileRanksRun) {
  Begin(milliseconds(100));
  sampler_.RankStarted(0, getpid());
  sampler_.RankStarted(1, getppid());
  ASSERT_TRUE(Await(2));
  sampler_.RankEnded(0);
  const size_t then = samples();
  ASSERT_TRUE(Await(then + 2));
  EXPECT_EQ(Sample(then).ranks_size(), 1);
  EXPECT_EQ(Sample(then).ranks(0).rank(), 1u);
  sampler_.RankEnded(1);
  const size_t last = samples();
  Begin(milliseconds(100));
  sampler_.RankStarted(2, getpid());  // of another attempt
  ASSERT_TRUE(Await(last + 1));
  EXPECT_EQ(Sample(last).ranks(0).rank(), 2u);
  EXPECT_FALSE(Sample(last).host().has_cpu());  // rates start again
}

TEST_F(SamplerTest, WithoutAnIntervalNothingIsSampled) {
  Begin(milliseconds(0));
  sampler_.RankStarted(0, getpid());
  sampler_.Stop();
  EXPECT_EQ(samples(), 0u);
}

TEST_F(SamplerTest, StopsAtOnce) {
  Begin(std::chrono::hours(1));
  sampler_.RankStarted(0, getpid());
  ASSERT_TRUE(Await(1));
  const auto began = SampleTime::clock::now();
  sampler_.Stop();
  EXPECT_LT(SampleTime::clock::now() - began, test::kLimit);
  sampler_.RankEnded(0);  // late, as for a rank that the supervisor kills
  EXPECT_EQ(samples(), 1u);
}

// From the start of the first rank to the end of the last, with another attempt in between.
TEST_F(SamplerTest, NvidiaSmiRunsAsLongAsRanksDo) {
  const std::string path = folder_.Write("nvidia-smi",
                                         "#!/bin/sh\ncase \"$*\" in\n"
                                         "--help*) echo '\"index\"' ;;\n"
                                         "*) echo 0; exec sleep 1000 ;;\nesac\n");
  chmod(path.c_str(), 0755);
  Sampler::Plan plan{milliseconds(100), {0}, {}, "/"};
  plan.environment.Set("PATH", folder_.path() + ":/usr/bin:/bin");
  sampler_.Begin(plan);
  sampler_.RankStarted(0, getpid());
  for (size_t i = 0; Await(i + 1) && Sample(i).gpus_size() == 0;) ++i;
  sampler_.RankEnded(0);
  // Would wait for a leftover nvidia-smi: End waits an hour for processes to exit.
  supervisor_->End(std::chrono::hours(1));
  supervisor_->WaitUntilEnded();
}

TEST(LimitSampleTest, ImplausibleValuesAreRemovedOrLimited) {
  v1::NodeSample sample;
  sample.mutable_host()->set_cpu(std::numeric_limits<double>::quiet_NaN());
  sample.mutable_host()->set_disk_read(-1);
  sample.mutable_host()->set_disk_write(1e30);
  sample.mutable_host()->set_disk_total(UINT64_MAX);
  sample.mutable_host()->set_memory_used(1);
  sample.add_interfaces()->set_name(std::string(300, 'x'));
  sample.add_gpus()->add_throttled("\xff");
  for (int i = 0; i < 2 * rpc::kMaxListLength; ++i) sample.add_ranks();
  LimitSample(sample);
  EXPECT_FALSE(sample.host().has_cpu() || sample.host().has_disk_read() ||
               sample.host().has_disk_write());
  EXPECT_EQ(sample.host().disk_total(), rpc::kLargestCount);
  EXPECT_EQ(sample.host().memory_used(), 1u);
  EXPECT_LE(sample.interfaces(0).name().size(), rpc::kMaxSampleTextLength);
  EXPECT_EQ(sample.gpus(0).throttled(0), "?");
  EXPECT_EQ(sample.ranks_size(), rpc::kMaxListLength);
  for (int i = 0; i < rpc::kMaxListLength; ++i) {
    sample.add_interfaces()->set_name(std::string(rpc::kMaxSampleTextLength, 'x'));
  }
  LimitSample(sample);
  EXPECT_EQ(sample.interfaces_size(), 0);
  EXPECT_EQ(sample.ranks_size(), rpc::kMaxListLength);
}

}  // namespace
}  // namespace autodist::agent
