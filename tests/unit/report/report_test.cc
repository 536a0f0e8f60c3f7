#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>

#include "report/contents.h"
#include "report/html.h"
#include "report/markdown.h"
#include "snapshot/derived.h"
#include "support/snapshots.h"

namespace autodist::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr test::SnapshotShape kFourNodes;
constexpr test::SnapshotShape kPlain4 = {
    .nodes = 2, .per_node = 2, .gpus = false, .progress = false};

constexpr char kHostile[] =
    "<script>alert(1)</script> & \"q\" 'a' `code` ``` | [x](http://evil.example/) "
    "![i](x) **bold** \x1b[31mred\x1b[0m \u202etxt \n# heading\n</pre><img src=x onerror=y>";

void AddAttempts(v1::JobSnapshot& snapshot) {
  struct Change {
    int64_t after_ms;
    uint32_t attempt;
    v1::JobPhase phase;
    const char* what;
  };
  const char* cause = "rank 22 on node3 exited with code 1";
  for (const Change& change :
       {Change{7'200'000, 0, v1::JOB_PHASE_STOPPING, cause},
        Change{7'204'000, 0, v1::JOB_PHASE_RESTARTING, cause},
        Change{7'260'000, 1, v1::JOB_PHASE_RUNNING, ""},
        Change{test::kSnapshotNow - test::kSnapshotStart, 1, v1::JOB_PHASE_STOPPING, cause}}) {
    v1::JobEvent& event = *snapshot.add_events();
    event.set_time_ms(test::kSnapshotStart + change.after_ms);
    event.set_attempt(change.attempt);
    event.set_job_phase(change.phase);
    event.set_what(change.what);
  }
  snapshot.mutable_job()->set_attempt(1);
  v1::GoodputParts& spent = *snapshot.mutable_goodput_parts();
  spent.set_lost_steps(1'500'000);
  spent.set_restarting(95'000);
  spent.set_stopping(4'000);
  spent.set_training(spent.training() - 1'599'000);
}

// A job that was restarted once and has failed, or one with few known facts.
Document Contents(JobFacts facts) {
  snapshot::Derive(facts.snapshot);
  return ContentsOf(facts);
}

JobFacts FactsOf(const std::string& name) {
  const test::SnapshotShape shape = name == "plain" ? kPlain4 : kFourNodes;
  JobFacts facts;
  facts.snapshot = test::HealthySnapshot(shape);
  if (name == "slow") facts.snapshot = test::SlowSnapshot(std::move(facts.snapshot));
  if (name == "failed") {
    AddAttempts(facts.snapshot);
    facts.snapshot = test::FailedSnapshot(std::move(facts.snapshot));
    facts.snapshot.mutable_job()->set_report(
        "rank 22 on node3 exited with code 1\n    | KeyError\n");
    facts.last_lines.push_back({22, "/logs/rank-22.err", "Traceback (most recent call last):\n"});
  }
  facts.history = test::HistoryOf(shape, facts.snapshot);
  if (name == "failed") {
    for (v1::HistoryPoint& point : *facts.history.mutable_points()) {
      point.set_attempt(point.time_ms() > test::kSnapshotStart + 7'260'000 ? 1 : 0);
    }
  }
  return facts;
}

class ReportTest : public testing::Test {
 protected:
  ReportTest() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  static std::string Html(const JobFacts& facts) { return HtmlOf(Contents(facts)); }
  static std::string Markdown(const JobFacts& facts) { return MarkdownOf(Contents(facts)); }
};

// Set UPDATE_GOLDEN=1 to update the files after an intended change.
class ReportGoldenTest : public ReportTest, public testing::WithParamInterface<const char*> {
 protected:
  static void ExpectAsIn(const std::string& name, const std::string& text) {
    const std::string path = std::string(TEST_SOURCE_DIR "/golden/report/") + name;
    if (std::getenv("UPDATE_GOLDEN")) std::ofstream(path) << text;
    std::ifstream file(path);
    EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {})) << path;
  }
};

TEST_P(ReportGoldenTest, EqualsTheGoldenFiles) {
  const JobFacts facts = FactsOf(GetParam());
  ExpectAsIn(std::string(GetParam()) + ".md", Markdown(facts));
  if (std::string(GetParam()) == "failed") ExpectAsIn("failed.html", Html(facts));
}

INSTANTIATE_TEST_SUITE_P(All, ReportGoldenTest, testing::Values("plain", "slow", "failed"),
                         [](const auto& of) { return std::string(of.param); });

// Every text from other sources.
JobFacts HostileFacts() {
  JobFacts facts = FactsOf("failed");
  v1::JobSnapshot& snapshot = facts.snapshot;
  snapshot.mutable_job()->set_name(kHostile);
  snapshot.mutable_job()->set_report(kHostile);
  snapshot.mutable_job()->add_command(kHostile);
  snapshot.mutable_job()->set_working_directory(kHostile);
  for (v1::Metric& metric : *snapshot.mutable_progress()->mutable_metrics())
    metric.set_name(kHostile);
  for (v1::HistoryPoint& point : *facts.history.mutable_points()) {
    for (v1::Metric& metric : *point.mutable_metrics()) metric.set_name(kHostile);
  }
  for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) {
    rank.set_name(kHostile);
    rank.set_last_line(kHostile);
    rank.set_ended(kHostile);
  }
  for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) {
    node.set_address(kHostile);
    node.set_detail(kHostile);
  }
  for (v1::JobEvent& event : *snapshot.mutable_events()) {
    event.set_node(kHostile);
    event.set_what(kHostile);
  }
  v1::Issue& issue = *snapshot.mutable_issues(0);
  issue.set_what(kHostile);
  issue.set_cost(kHostile);
  test::AddEvidence(issue, kHostile, kHostile, kHostile);
  facts.last_lines = {{22, kHostile, kHostile}};
  return facts;
}

TEST_F(ReportTest, OutputOfRanksIsNotInterpretedByThePage) {
  const std::string hostile = Html(HostileFacts());
  EXPECT_THAT(hostile, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(hostile, HasSubstr("\\x1b[31mred"));
  EXPECT_THAT(hostile, Not(HasSubstr("\x1b")));
  EXPECT_THAT(hostile, Not(HasSubstr("\u202e")));
  // Only the page's own elements, without other attributes.
  const std::regex element("<(/?)([a-z0-9]*)([^>]*)>");
  for (std::sregex_iterator it(hostile.begin(), hostile.end(), element), end; it != end; ++it) {
    EXPECT_TRUE(std::regex_match(
        (*it)[2].str(),
        std::regex(
            "|html|head|meta|title|style|body|h1|h2|p|span|pre|code|dl|dt|dd|div|table|thead|"
            "tr|th|td|svg|rect|line|path|circle|polyline|figure|figcaption|small|b")))
        << it->str();
    const std::string attributes = std::regex_replace((*it)[3].str(), std::regex("\"[^\"]*\""), "");
    EXPECT_THAT(attributes, Not(testing::AnyOf(HasSubstr("onerror"), HasSubstr("src"),
                                               HasSubstr("href"), HasSubstr("'"))))
        << it->str();
  }
}

TEST_F(ReportTest, OutputOfRanksIsNotInterpretedInMarkdown) {
  const std::string hostile = Markdown(HostileFacts());
  std::string fence;
  bool after_heading = false;
  size_t columns = 0;
  std::string text;
  for (size_t at = 0; at < hostile.size();) {
    const size_t end = std::min(hostile.find('\n', at), hostile.size());
    const std::string line = hostile.substr(at, end - at);
    at = end + 1;
    if (!fence.empty()) {
      if (line == fence) fence.clear();
      continue;
    }
    if (line.starts_with("```")) {
      fence = line.substr(0, line.find_first_not_of('`'));
      EXPECT_GT(fence.size(), 3u);  // longer than those in the output
      continue;
    }
    // A row has as many cells as its heading.
    if (line.starts_with("|")) {
      size_t cells = 0;
      for (size_t i = 1; i < line.size(); ++i) {
        if (line[i] == '|' && line[i - 1] != '\\') ++cells;
      }
      if (!after_heading) columns = cells;
      EXPECT_EQ(cells, columns) << line;
    }
    after_heading = line.starts_with("|");
    text += line + "\n";
  }
  EXPECT_TRUE(fence.empty());
  // Outside of code with its fences of any length, no markup is left.
  const std::string plain = std::regex_replace(text, std::regex("```` .*? ````"), "");
  EXPECT_THAT(plain, Not(testing::ContainsRegex("[^\\\\]<")));
  EXPECT_THAT(plain, Not(testing::ContainsRegex("[^\\\\]\\]\\(")));
  EXPECT_THAT(plain, Not(HasSubstr("http://")));
}

TEST_F(ReportTest, UnknownValuesAreOmitted) {
  JobFacts facts;
  facts.snapshot.mutable_job()->set_job_id("20261123-091422-3fa9c1");
  facts.snapshot.mutable_job()->set_phase(v1::JOB_PHASE_ENDED);
  facts.snapshot.mutable_job()->set_exit_code(125);
  const Document document = Contents(facts);
  EXPECT_EQ(document.state, "failed, exit code 125");
  ASSERT_THAT(document.sections, SizeIs(1));
  EXPECT_EQ(document.sections[0].heading, "The job");
  EXPECT_EQ(Markdown(facts),
            "# 20261123-091422-3fa9c1\n\n**✕ failed, exit code 125**\n\n## The job\n\n"
            "* job: ` 20261123-091422-3fa9c1 `\n");
}

TEST_F(ReportTest, AStoppedJobHasNotFailed) {
  JobFacts facts;
  facts.snapshot.mutable_job()->set_phase(v1::JOB_PHASE_ENDED);
  facts.snapshot.mutable_job()->set_exit_code(130);
  facts.snapshot.mutable_job()->set_stop_requested(true);
  EXPECT_EQ(Contents(facts).state, "stopped, exit code 130");
}

const Curves& CurvesOf(const Document& document) {
  for (const Section& section : document.sections) {
    if (section.heading == "How it went") return std::get<Curves>(section.blocks[0]);
  }
  static const Curves kNone;
  return kNone;
}

TEST_F(ReportTest, InvalidNumbersLeaveGapsInCurves) {
  JobFacts facts = FactsOf("plain");
  constexpr double kHuge = std::numeric_limits<double>::max();
  const double values[] = {1,      std::numeric_limits<double>::infinity(),  kHuge,
                           -kHuge, std::numeric_limits<double>::quiet_NaN(), 2};
  facts.history.clear_points();
  for (int i = 0; i < 6; ++i) {
    v1::HistoryPoint& point = *facts.history.add_points();
    point.set_time_ms(facts.snapshot.time_ms() - 60'000 * (5 - i));
    point.set_width_ms(60'000);
    v1::Metric& metric = *point.add_metrics();
    metric.set_name("loss");
    metric.set_value(values[i]);
  }
  const Document document = Contents(facts);
  ASSERT_THAT(CurvesOf(document).curves, SizeIs(1));
  const Curve& curve = CurvesOf(document).curves[0];
  EXPECT_EQ(curve.last, "2");
  EXPECT_FALSE(curve.heights[60].has_value());
  for (const std::optional<double>& height : curve.heights) {
    EXPECT_TRUE(!height || (*height >= 0 && *height <= 1)) << height.value_or(-1);
  }
  EXPECT_THAT(Html(facts), Not(testing::ContainsRegex("[ ,\"](inf|-?nan)")));
}

TEST_F(ReportTest, EachAttemptIsMarkedOnTheCurvesAndHasItsTimes) {
  const Document document = Contents(FactsOf("failed"));
  ASSERT_FALSE(CurvesOf(document).curves.empty());
  EXPECT_EQ(CurvesOf(document).curves[0].name, "loss");
  ASSERT_THAT(CurvesOf(document).curves[0].attempts, SizeIs(1));
  EXPECT_NEAR(CurvesOf(document).curves[0].attempts[0], 7'260.0 / 19'320, 0.01);
  const std::string text = MarkdownOf(document);
  EXPECT_THAT(text, HasSubstr("| 1 | 2026-11-23 09:15:03 | 1 h 59 min | "
                              "rank 22 on node3 exited with code 1 |"));
}

TEST_F(ReportTest, WithoutKnownStepsARecoveryEndsWhenTheRanksRun) {
  JobFacts facts = FactsOf("failed");
  facts.snapshot.mutable_goodput_parts()->set_steps_known(false);
  EXPECT_THAT(Markdown(facts), HasSubstr("* time to recover: 6.29 s, until its ranks ran\n"));
}

TEST_F(ReportTest, ExitsOfStoppedRanksAreIgnored) {
  JobFacts facts;
  const auto add = [&](std::optional<uint32_t> rank, v1::JobPhase phase, const char* what) {
    v1::JobEvent& event = *facts.snapshot.add_events();
    if (rank) event.set_rank(*rank);
    event.set_job_phase(phase);
    event.set_what(what);
  };
  add({}, v1::JOB_PHASE_RUNNING, "");
  add(1, v1::JOB_PHASE_UNSPECIFIED, "exited with code 7");
  add({}, v1::JOB_PHASE_STOPPING, "rank 1 exited with code 7");
  add(0, v1::JOB_PHASE_UNSPECIFIED, "was ended by SIGTERM");
  add({}, v1::JOB_PHASE_ENDED, "rank 1 exited with code 7\n  its last lines");
  const std::string text = Markdown(facts);
  EXPECT_THAT(text, HasSubstr("| ✕ rank 1 | exited with code 7 |"));
  EXPECT_THAT(text, HasSubstr("| rank 0 | was ended by SIGTERM |"));
  EXPECT_THAT(text, HasSubstr("| job | ended: rank 1 exited with code 7 |"));
}

TEST_F(ReportTest, TheSlowestRankIsFirst) {
  const std::string text = Markdown(FactsOf("slow"));
  EXPECT_THAT(text, HasSubstr("## Slowest ranks, of 32\n"));
  const size_t first = text.find("\n| rank ", text.find("## Slowest ranks") + 40);
  EXPECT_EQ(text.substr(first, 29), "\n| rank 25 | node4, GPU 1 | 1");
}

}  // namespace
}  // namespace autodist::report
