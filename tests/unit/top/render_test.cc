#include "top/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>

#include "snapshot/derived.h"
#include "support/snapshots.h"

namespace autodist::top {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr test::SnapshotShape kFourNodes;
constexpr test::SnapshotShape kPlain4 = {
    .nodes = 2, .per_node = 2, .gpus = false, .progress = false};
constexpr test::SnapshotShape kThousand = {.nodes = 125, .per_node = 8};

struct Example {
  v1::JobSnapshot snapshot;
  v1::History history;
};

Example ExampleOf(const std::string& name) {
  const test::SnapshotShape shape = name == "plain"   ? kPlain4
                                    : name == "large" ? kThousand
                                                      : kFourNodes;
  v1::JobSnapshot snapshot = test::HealthySnapshot(shape);
  if (name == "slow") snapshot = test::SlowSnapshot(std::move(snapshot));
  if (name == "stalled") snapshot = test::StalledSnapshot(std::move(snapshot));
  if (name == "failed") snapshot = test::FailedSnapshot(std::move(snapshot));
  if (name == "away") snapshot = test::AwaySnapshot(std::move(snapshot));
  if (name == "ended") snapshot = test::EndedSnapshot(std::move(snapshot));
  if (name == "large") snapshot = test::LargeSnapshot(std::move(snapshot));
  v1::History history = test::HistoryOf(shape, snapshot);
  return {std::move(snapshot), std::move(history)};
}

Frame Draw(v1::JobSnapshot snapshot, const v1::History& history, const ViewState& view) {
  snapshot::Derive(snapshot);
  return Render(snapshot, history, view);
}

class RenderTest : public testing::Test {
 protected:
  RenderTest() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  static ViewState Size(int columns, int rows) {
    ViewState view;
    view.columns = columns;
    view.rows = rows;
    return view;
  }
};

// Set UPDATE_GOLDEN=1 to update the files after an intended change.
class GoldenTest : public RenderTest, public testing::WithParamInterface<const char*> {};

TEST_P(GoldenTest, EqualsTheGoldenFiles) {
  const Example example = ExampleOf(GetParam());
  for (const auto& [columns, rows] : {std::pair{80, 24}, {120, 40}, {200, 60}}) {
    const std::string path = std::string(TEST_SOURCE_DIR "/golden/top/") + GetParam() + "-" +
                             std::to_string(columns) + "x" + std::to_string(rows) + ".txt";
    const Frame frame = Draw(example.snapshot, example.history, Size(columns, rows));
    EXPECT_EQ(frame.columns(), columns);
    EXPECT_EQ(frame.rows(), rows);
    if (std::getenv("UPDATE_GOLDEN")) std::ofstream(path) << frame.Text();
    std::ifstream file(path);
    EXPECT_EQ(frame.Text(), std::string(std::istreambuf_iterator<char>(file), {})) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest,
                         testing::Values("plain", "slow", "stalled", "failed", "away", "ended",
                                         "large"),
                         [](const auto& of) { return std::string(of.param); });

TEST_F(RenderTest, EverySizeIsDrawnWithinItsBounds) {
  for (const char* name : {"plain", "stalled", "large"}) {
    const Example example = ExampleOf(name);
    for (int columns = 1; columns <= 480; columns += columns < 30 ? 7 : 23) {
      for (int rows = 1; rows <= 140; rows += rows < 70 ? 4 : 31) {
        const Frame frame = Draw(example.snapshot, example.history, Size(columns, rows));
        ASSERT_EQ(frame.columns(), columns);
        ASSERT_EQ(frame.rows(), rows);
      }
    }
  }
}

TEST_F(RenderTest, ReportsThatAWindowIsTooSmall) {
  const Example example = ExampleOf("slow");
  EXPECT_THAT(Draw(example.snapshot, example.history, Size(59, 24)).Text(), HasSubstr("too small"));
  EXPECT_THAT(Draw(example.snapshot, example.history, Size(80, 14)).Text(), HasSubstr("too small"));
  EXPECT_THAT(Draw(example.snapshot, example.history, Size(60, 15)).Text(),
              Not(HasSubstr("too small")));
}

TEST_F(RenderTest, WithoutAHeightAllIsShownWithoutKeys) {
  const Example example = ExampleOf("large");
  const std::string text = Draw(example.snapshot, example.history, Size(120, 0)).Text();
  EXPECT_THAT(text, HasSubstr("\n  999"));
  EXPECT_THAT(text, HasSubstr(" 125 "));
  EXPECT_THAT(text, Not(HasSubstr("more")));
  EXPECT_THAT(text, Not(HasSubstr("keys")));
}

TEST_F(RenderTest, UnknownValuesAreOmitted) {
  v1::JobSnapshot snapshot = test::HealthySnapshot(kPlain4);
  snapshot.clear_goodput_parts();
  for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) node.clear_sample();
  for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) {
    rank.clear_sample();
    rank.set_last_line("epoch 1");
  }
  for (const auto& [columns, rows] : {std::pair{80, 24}, {200, 60}}) {
    const std::string text = Draw(snapshot, {}, Size(columns, rows)).Text();
    for (const char* unknown :
         {"━━━━━━━━━━─", "goodput", "ETA", "loss", "MHz", "GPU", "steps/s", "nan", "▇"}) {
      EXPECT_THAT(text, Not(HasSubstr(unknown)));
    }
    EXPECT_THAT(text, HasSubstr("rank"));
  }
}

TEST_F(RenderTest, OneOfAThingIsInTheSingular) {
  const std::string dense =
      Draw(test::HealthySnapshot({.nodes = 1, .per_node = 400}), {}, Size(100, 20)).Text();
  EXPECT_THAT(dense, HasSubstr("1 node × 400, worst first"));
  EXPECT_THAT(dense, Not(HasSubstr("1 nodes")));
  ViewState view = Size(80, 24);
  view.panel.kind = Panel::kLog;
  view.panel.text = std::make_shared<const TextLines>(TextLines(100, {"a line", false}));
  for (const auto& [above, shown] : {std::pair{1, " 1 line below"}, {2, " 2 lines below"}}) {
    view.panel.above = static_cast<size_t>(above);
    EXPECT_THAT(Draw(ExampleOf("slow").snapshot, {}, view).Text(), HasSubstr(shown));
  }
}

TEST_F(RenderTest, AnEmptySnapshotIsDrawn) {
  for (const int rows : {0, 24, 60}) {
    EXPECT_THAT(Draw({}, {}, Size(200, rows)).Text(), HasSubstr("running"));
  }
}

TEST_F(RenderTest, TheTitleIsTheCommandWithoutTheInterpreterOfAScript) {
  for (const auto& [argv, title] :
       {std::pair{std::vector{"/usr/bin/python3", "train.py", "1"}, " train.py 1 "},
        {std::vector{"python3", "-m", "mini", "1"}, " python3 -m mini 1 "},
        {std::vector{"python3"}, " python3 "}}) {
    v1::JobSnapshot snapshot;
    for (const char* word : argv) snapshot.mutable_job()->add_command(word);
    EXPECT_THAT(Draw(snapshot, {}, Size(200, 24)).Text(), HasSubstr(title));
  }
}

TEST_F(RenderTest, OutputOfRanksIsSanitized) {
  Example example = ExampleOf("slow");
  const std::string bad =
      "\x1b[2J\x1b]0;title\x07 a\rb\tc\n \xff\xfe \xe2\x80\xae \xc2\x9b"
      "31m";
  for (v1::RankSnapshot& rank : *example.snapshot.mutable_ranks()) {
    rank.set_last_line(bad);
    rank.set_ended(bad);
    rank.set_name(bad);
  }
  for (v1::NodeSnapshot& node : *example.snapshot.mutable_nodes()) node.set_address(bad);
  example.snapshot.mutable_job()->add_command(bad);
  example.snapshot.mutable_job()->set_name(bad);
  example.snapshot.mutable_issues(0)->set_what(bad);
  for (v1::JobEvent& event : *example.snapshot.mutable_events()) event.set_what(bad);
  for (v1::HistoryPoint& point : *example.history.mutable_points()) {
    point.mutable_metrics(0)->set_name(bad);
  }
  for (const auto& [columns, rows] : {std::pair{80, 24}, {200, 60}, {300, 0}}) {
    const Frame frame = Draw(example.snapshot, example.history, Size(columns, rows));
    for (int row = 0; row < frame.rows(); ++row) {
      for (int column = 0; column < columns; ++column) {
        const uint32_t glyph = frame.at(row, column).glyph;
        ASSERT_TRUE(glyph == 0 || (glyph >= 0x20 && glyph < 0x7F) || glyph >= 0xA0) << glyph;
        ASSERT_NE(glyph, 0x202Eu);
      }
    }
    EXPECT_THAT(frame.Text(), HasSubstr("\\x1b[2J"));
  }
}

TEST_F(RenderTest, ExtremeNumbersAreDrawn) {
  Example example = ExampleOf("slow");
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {inf, -inf, nan, 1e300, -1.0}) {
    v1::Progress& progress = *example.snapshot.mutable_progress();
    progress.set_rate(value);
    progress.set_eta(value);
    progress.mutable_metrics(0)->set_value(value);
    for (v1::RankSnapshot& rank : *example.snapshot.mutable_ranks()) {
      rank.mutable_progress()->set_rate(value);
      rank.mutable_sample()->set_cpu(value);
    }
    for (v1::NodeSnapshot& node : *example.snapshot.mutable_nodes()) {
      node.mutable_sample()->mutable_host()->set_cpu(value);
      node.mutable_sample()->mutable_interfaces(0)->set_received(value);
      for (v1::GpuSample& gpu : *node.mutable_sample()->mutable_gpus()) {
        gpu.set_use(value);
        gpu.set_power(value);
        gpu.set_temperature(value);
        gpu.set_clock(value);
      }
    }
    for (v1::HistoryPoint& point : *example.history.mutable_points()) {
      point.set_rate(value);
      point.set_gpu_power(value);
      point.set_received(value);
    }
    for (const Fact fact :
         {Fact::kUse, Fact::kMemory, Fact::kPower, Fact::kTemperature, Fact::kStep}) {
      ViewState view = Size(200, 60);
      view.fact = fact;
      (void)Draw(example.snapshot, example.history, view);
      view.columns = 80;
      (void)Draw(example.snapshot, example.history, view);
    }
  }
}

// The cells of the grid of a small job: " ▲99▆".
TEST_F(RenderTest, ACellHasMarkValueAndMemory) {
  const Example example = ExampleOf("slow");
  const Frame frame = Draw(example.snapshot, example.history, Size(80, 24));
  EXPECT_THAT(frame.Text(), HasSubstr("▲99▆"));
  for (int row = 0; row < frame.rows(); ++row) {
    for (int column = 1; column < frame.columns(); ++column) {
      const Cell& cell = frame.at(row, column);
      if (cell.glyph != U'9' || frame.at(row, column - 1).glyph != U'▲') continue;
      EXPECT_EQ(cell.style.back, kYellow);
      EXPECT_EQ(cell.style.fore, kBlack);
      return;
    }
  }
  FAIL() << "no such cell";
}

TEST_F(RenderTest, EachValueIsShownInTheCells) {
  const Example example = ExampleOf("slow");
  const std::map<Fact, const char*> expected = {{Fact::kUse, "▲99"},
                                                {Fact::kMemory, "▲7"},
                                                {Fact::kPower, "▲312"},
                                                {Fact::kTemperature, "▲6"},
                                                {Fact::kStep, "▲1.40"}};
  for (const auto& [fact, text] : expected) {
    ViewState view = Size(80, 24);
    view.fact = fact;
    EXPECT_THAT(Draw(example.snapshot, example.history, view).Text(), HasSubstr(text));
  }
}

TEST_F(RenderTest, TheEvidenceUnfolds) {
  const Example example = ExampleOf("slow");
  ViewState view = Size(120, 40);
  EXPECT_THAT(Draw(example.snapshot, example.history, view).Text(),
              Not(HasSubstr("1,005 MHz of 1,980")));
  view.evidence = true;
  const std::string text = Draw(example.snapshot, example.history, view).Text();
  EXPECT_THAT(text, HasSubstr("1,005 MHz of 1,980"));
  EXPECT_THAT(text, HasSubstr("not the cause"));
}

TEST_F(RenderTest, AMissingAnswerIsReported) {
  const Example example = ExampleOf("slow");
  ViewState view = Size(80, 24);
  view.chief_silence = std::chrono::seconds(12);
  view.no_answer = WithRemedy(
      Error(StatusCode::kDeadlineExceeded, "its chief (process 4711 on " + std::string(40, 'h') +
                                               ") does not answer: it is stopped (state T)"),
      "`kill -CONT 4711` continues it");
  EXPECT_THAT(Draw(example.snapshot, example.history, view).Text(),
              testing::AllOf(HasSubstr("no answer for 12 s · as of 14:36:22"),
                             HasSubstr("it is stopped (state T)"),
                             HasSubstr("`kill -CONT 4711` continues it")));
}

TEST_F(RenderTest, AMissingAnswerHidesNoIssue) {
  const Example example = ExampleOf("slow");
  for (const int rows : {24, 40}) {
    ViewState view = Size(80, rows);
    view.chief_silence = std::chrono::seconds(12);
    std::string why = "its chief does not answer:";
    for (int i = 0; i < 60; ++i) why += " reason" + std::to_string(i);
    view.no_answer =
        WithRemedy(Error(StatusCode::kDeadlineExceeded, why), "`kill -CONT 4711` continues it");
    const std::string text = Draw(example.snapshot, example.history, view).Text();
    EXPECT_THAT(text, HasSubstr("Rank 25 (node4, GPU 1) is 1.4 × slower")) << rows;
    EXPECT_THAT(text, HasSubstr("`kill -CONT 4711` continues it")) << rows;
    EXPECT_THAT(text, testing::ContainsRegex("reason[0-9]+ …")) << rows;
    EXPECT_THAT(text, Not(HasSubstr("reason59"))) << rows;
  }
}

TEST_F(RenderTest, ASingleCurveUsesTheWholeWidth) {
  const Example example = ExampleOf("slow");
  ViewState view = Size(120, 40);
  view.large = 1;
  view.range = 3;
  const std::string text = Draw(example.snapshot, example.history, view).Text();
  EXPECT_THAT(text, HasSubstr("loss  whole job"));
  EXPECT_THAT(text, Not(HasSubstr("GPU use %  whole job")));
  EXPECT_THAT(text, HasSubstr("09:14"));
}

}  // namespace
}  // namespace autodist::top
