// The tables of the job's stages: every pair of stage and event, as in
// docs/explanation/state_machines.md.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "chief/policy/job_policy.h"
#include "chief/policy/start_policy.h"

namespace autodist::chief::policy_tables_test {
namespace {

// A row for each stage, a column for each event: the next stage; "": impossible.
template <typename Stage, typename Event>
std::string TableOf(size_t stages, size_t events) {
  std::string text = "| |";
  for (size_t event = 0; event < events; ++event) {
    text += " " + std::string(NameOf(static_cast<Event>(event))) + " |";
  }
  text += "\n|" + std::string("---|") + [&] {
    std::string rules;
    for (size_t event = 0; event < events; ++event) rules += "---|";
    return rules;
  }() + "\n";
  for (size_t i = 0; i < stages; ++i) {
    const auto stage = static_cast<Stage>(i);
    text += "| " + std::string(NameOf(stage)) + " |";
    for (size_t event = 0; event < events; ++event) {
      const Stage next = Follow(stage, static_cast<Event>(event));
      text += next == stage ? " |" : " " + std::string(NameOf(next)) + " |";
    }
    text += "\n";
  }
  return text;
}

// Set UPDATE_GOLDEN=1 to write it.
void ExpectInDocs(const std::string& heading, const std::string& table) {
  const std::filesystem::path file =
      std::filesystem::path(TEST_SOURCE_DIR).parent_path() / "docs/explanation/state_machines.md";
  std::ifstream in(file);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const size_t section = page.find(heading + "\n");
  ASSERT_NE(section, std::string::npos);
  const size_t begin = page.find("| |", section);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = page.find("\n\n", begin) + 1;
  if (std::getenv("UPDATE_GOLDEN")) {
    std::ofstream(file) << page.substr(0, begin) + table + page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(begin, end - begin), table);
}

TEST(PolicyTablesTest, TheDocsHaveTheStagesOfAJob) {
  ExpectInDocs("## Stages of a job", TableOf<JobStage, StageEvent>(kJobStages, kStageEvents));
}

TEST(PolicyTablesTest, TheDocsHaveTheStagesOfAStart) {
  ExpectInDocs("## Stages of a start", TableOf<StartStage, StartEvent>(kStartStages, kStartEvents));
}

// The end is reachable from every stage, whatever comes first.
template <typename Stage, typename Event>
bool ReachesEnd(Stage from, const std::set<Stage>& ends, size_t events) {
  std::set<Stage> seen = {from};
  std::vector<Stage> left = {from};
  while (!left.empty()) {
    const Stage stage = left.back();
    left.pop_back();
    if (ends.contains(stage)) return true;
    for (size_t event = 0; event < events; ++event) {
      const Stage next = Follow(stage, static_cast<Event>(event));
      if (seen.insert(next).second) left.push_back(next);
    }
  }
  return false;
}

TEST(PolicyTablesTest, EveryStageLeadsToTheEnd) {
  for (size_t i = 0; i < kJobStages; ++i) {
    const auto stage = static_cast<JobStage>(i);
    EXPECT_TRUE((ReachesEnd<JobStage, StageEvent>(stage, {JobStage::kOver}, kStageEvents)))
        << NameOf(stage);
  }
  for (size_t i = 0; i < kStartStages; ++i) {
    const auto stage = static_cast<StartStage>(i);
    EXPECT_TRUE((ReachesEnd<StartStage, StartEvent>(
        stage, {StartStage::kReady, StartStage::kRefused}, kStartEvents)))
        << NameOf(stage);
  }
}

// A start that is being stopped starts nothing.
TEST(PolicyTablesTest, AStoppedStartIsRefused) {
  for (size_t i = 0; i < kStartStages; ++i) {
    auto stage = static_cast<StartStage>(i);
    if (stage == StartStage::kReady) continue;
    stage = Follow(stage, StartEvent::kStopRequested);
    if (stage == StartStage::kCancelling) stage = Follow(stage, StartEvent::kDone);
    EXPECT_EQ(stage, StartStage::kRefused) << NameOf(static_cast<StartStage>(i));
  }
}

// After the agents were asked to exit, nothing starts.
TEST(PolicyTablesTest, NothingFollowsTheLeavingStages) {
  for (size_t i = static_cast<size_t>(JobStage::kLeaving); i < kJobStages; ++i) {
    for (size_t event = 0; event < kStageEvents; ++event) {
      EXPECT_GE(Follow(static_cast<JobStage>(i), static_cast<StageEvent>(event)),
                static_cast<JobStage>(i));
    }
  }
}

}  // namespace
}  // namespace autodist::chief::policy_tables_test
