#include "agent/fetch/job_span.h"

#include <gtest/gtest.h>

#include <string>

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kNow = 1'700'000'000 * kSecond + 123 * kMs;

TEST(JobSpanTest, FilesThatTheJobHasChanged) {
  const JobAge runs{.began = seconds(100)};
  const JobAge asked{.began = seconds(100), .error = seconds(1)};
  const JobAge ended{.began = seconds(100), .ended = seconds(50), .error = seconds(1)};
  const struct {
    std::string what;
    JobAge age;
    int64_t modified_ms_ago;
    int64_t changed_ms_ago;
    bool expected;
  } rows[] = {
      {"any time", {}, 1'000'000, 1'000'000, true},
      {"written by the job", runs, 99'000, 99'000, true},
      {"written at its begin", runs, 100'000, 100'000, true},
      {"written just before", runs, 100'050, 100'050, false},
      {"a second before", runs, 101'000, 101'000, false},
      {"synced, from a machine whose clock is ahead", runs, 98'000, 100'050, false},
      {"an older file that the job has moved here", runs, 900'000, 60'000, true},
      {"asked by a chief, written by the job", asked, 100'900, 100'900, true},
      {"asked by a chief, long before", asked, 101'100, 101'100, false},
      {"asked by a chief, synced before", asked, 500'000, 100'500, false},
      {"of a job that has ended", ended, 70'000, 70'000, true},
      {"and moved after that", ended, 70'000, 10'000, true},
      {"written after that", ended, 48'000, 48'000, false},
      {"an older file, moved after that", ended, 500'000, 10'000, false},
  };
  for (const auto& row : rows) {
    const JobSpan span(row.age, kNow, 0);
    EXPECT_EQ(span.HasChanged(kNow - row.modified_ms_ago * kMs, kNow - row.changed_ms_ago * kMs),
              row.expected)
        << row.what;
  }
}

TEST(JobSpanTest, FileSystemsThatKeepWholeSeconds) {
  constexpr int64_t kWhole = 1'700'000'000 * kSecond;  // now, which is up to a second later
  const JobSpan span({.began = milliseconds(49'950)}, kWhole, 0);
  EXPECT_TRUE(span.HasChanged(kWhole - 50 * kSecond, kWhole - 50 * kSecond));
  EXPECT_FALSE(span.HasChanged(kWhole - 52 * kSecond, kWhole - 52 * kSecond));
}

// It may keep whole seconds.
TEST(JobSpanTest, AFolderInWhichNoTimeWasMeasured) {
  const JobSpan span({.began = seconds(50)}, std::nullopt, kNow);
  const int64_t begin = kNow - 50 * kSecond;
  EXPECT_TRUE(span.HasChanged(begin - 123 * kMs, begin - 123 * kMs));
  EXPECT_FALSE(span.HasChanged(begin - 2 * kSecond, begin - 2 * kSecond));
}

}  // namespace
}  // namespace autodist::agent
