#include "control/submissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "support/scoped_variable.h"
#include "support/temp_folder.h"

namespace autodist::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::JobNote Submission(const std::string& number, const std::string& folder, int64_t time_ms) {
  v1::JobNote note;
  note.set_slurm_job(number);
  note.mutable_job()->set_working_directory(folder);
  note.mutable_job()->set_started_ms(time_ms);
  return note;
}

const std::vector<v1::JobNote> kBegun = {Submission("2", "/a", 50)};

v1::JobNote InCluster(v1::JobNote note, const std::string& cluster) {
  note.set_slurm_cluster(cluster);
  return note;
}

std::vector<std::string> Numbers(const std::vector<v1::JobNote>& notes) {
  std::vector<std::string> numbers;
  for (const v1::JobNote& note : notes) numbers.push_back(note.slurm_job());
  return numbers;
}

TEST(SubmissionsTest, AreKeptUntilTheirJobHasBegun) {
  const test::TempFolder state;
  const test::ScopedVariable variable("XDG_STATE_HOME", state.path());
  EXPECT_THAT(SubmissionsWithout(kBegun), IsEmpty());
  for (const auto& [number, time_ms] : {std::pair{"3", 30}, {"2", 20}, {"10", 10}}) {
    ASSERT_TRUE(RecordSubmission(Submission(number, "/a", time_ms)).ok());
  }
  EXPECT_THAT(Numbers(SubmissionsWithout({})), ElementsAre("10", "2", "3"));
  EXPECT_THAT(Numbers(SubmissionsWithout(kBegun)), ElementsAre("10", "3"));
  ASSERT_TRUE(RecordSubmission(Submission("10", "/b", 40)).ok());  // Slurm counts from 1 again
  EXPECT_THAT(Numbers(SubmissionsWithout(kBegun)), ElementsAre("3", "10"));
  for (const char* number : {"", "x", "../1", "1;lab"}) {
    EXPECT_FALSE(RecordSubmission(Submission(number, "/a", 1)).ok()) << number;
  }
  ForgetSubmission(Submission("3", "/a", 30));
  EXPECT_THAT(Numbers(SubmissionsWithout({})), ElementsAre("2", "10"));
}

TEST(SubmissionsTest, ClustersHaveTheSameNumbers) {
  const test::TempFolder state;
  const test::ScopedVariable variable("XDG_STATE_HOME", state.path());
  for (const char* cluster : {"lab", "", "hall"}) {
    ASSERT_TRUE(RecordSubmission(InCluster(Submission("2", "/a", 1), cluster)).ok());
  }
  for (const auto& [cluster, left] : {std::pair{"lab", 1}, {"attic", 2}, {"", 0}}) {
    const auto submissions = SubmissionsWithout({InCluster(kBegun[0], cluster)});
    EXPECT_EQ(submissions.size(), static_cast<size_t>(left)) << cluster;
  }
  for (const char* cluster : {"../lab", "a/b", "a.b", "a b"}) {
    EXPECT_FALSE(RecordSubmission(InCluster(kBegun[0], cluster)).ok()) << cluster;
  }
}

TEST(SubmissionsTest, TheOldestAreForgotten) {
  const test::TempFolder state;
  const test::ScopedVariable variable("XDG_STATE_HOME", state.path());
  for (int i = 1; i <= 103; ++i) {
    ASSERT_TRUE(RecordSubmission(Submission(std::to_string(i), "/a", i)).ok());
  }
  const auto kept = SubmissionsWithout({});
  ASSERT_EQ(kept.size(), 100u);
  EXPECT_EQ(kept.front().slurm_job(), "4");
}

TEST(PendingJobOfTest, IsTheNewestJobOfTheFolder) {
  const std::vector<v1::JobNote> submissions = {
      Submission("3", "/a", 40), Submission("4", "/b", 45), Submission("5", "/b", 60),
      Submission("6", "/c", 70), Submission("7", "/a", 80), Submission("8", "/a", 90)};
  std::vector<std::string> asked;
  const auto state_of = [&](const v1::JobNote& note) {
    asked.push_back(note.slurm_job());
    const bool runs = note.slurm_job() == "5";
    const bool ended = note.slurm_job() == "8";
    return runs    ? slurm::SubmissionState::kOther
           : ended ? slurm::SubmissionState::kEnded
                   : slurm::SubmissionState::kPending;
  };
  for (const auto& [folder, jobs, number] : {std::tuple{"/a", kBegun, "7"},  // 8 has ended
                                             {"/b", kBegun, ""},
                                             {"/c", {}, "6"},
                                             {"/d", kBegun, ""},
                                             {"", kBegun, ""}}) {
    const auto pending = PendingJobOf(folder, submissions, jobs, state_of);
    EXPECT_EQ(pending ? pending->slurm_job() : "", number) << folder;
  }
  EXPECT_THAT(asked, ElementsAre("8", "7", "5", "6"));
  const auto older = {Submission("3", "/a", 40)};
  EXPECT_FALSE(PendingJobOf("/a", older, kBegun, state_of));
}

}  // namespace
}  // namespace autodist::control
