// The user's view of a job, and the snapshot's data of nodes, GPUs and ranks, combined for drawing.
// Pure logic; pointers are valid as long as the snapshot.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/snapshot.pb.h"
#include "top/frame.h"

namespace autodist::top {

// The value that a cell of the grid shows.
enum class Fact { kUse, kMemory, kPower, kTemperature, kStep };
inline constexpr std::array<const char*, 5> kFactNames = {"use", "memory", "power", "temp", "step"};

enum class Sort { kWorst, kRank, kStep, kUse, kMemory, kPower, kSilent };
inline constexpr std::array<const char*, 7> kSortNames = {"worst",  "rank",  "step",  "use",
                                                          "memory", "power", "silent"};

struct Range {
  const char* name;
  std::chrono::minutes length;  // 0: the whole job
};
inline constexpr std::array<Range, 5> kRanges = {{{"1 h", std::chrono::minutes(60)},
                                                  {"6 h", std::chrono::minutes(360)},
                                                  {"24 h", std::chrono::minutes(1440)},
                                                  {"whole job", std::chrono::minutes(0)},
                                                  {"10 min", std::chrono::minutes(10)}}};

enum class Panel { kNone, kLog, kStacks, kWhy, kKeys };

struct TextLine {
  std::string text;  // untrusted, if from a rank
  bool error = false;
};
using TextLines = std::vector<TextLine>;

// Replaces grid, ranks and curves.
struct PanelView {
  Panel kind = Panel::kNone;
  std::string title = {};
  std::shared_ptr<const TextLines> text = {};  // null: not received yet
  size_t above = 0;  // lines that it is scrolled up from its end; 0: follows the end
  std::string search = {};

  bool open() const { return kind != Panel::kNone; }
  size_t lines() const { return text ? text->size() : 0; }
  // Keeps the visible lines in place while others are added.
  void Grow(std::shared_ptr<const TextLines> longer) {
    const size_t before = lines();
    text = std::move(longer);
    if (above > 0 && lines() > before) above += lines() - before;
  }
};

// The prompt in the bottom row.
enum class Prompt { kNone, kText, kStop };  // kText: for the filter, or for a panel's search

// The user's view of a job, and other state of the window: everything but the job that a frame
// depends on.
struct ViewState {
  int columns = 80;
  int rows = 24;         // 0: as many as needed, without a bottom row
  bool by_name = false;  // sorts nodes by name; else those with issues come first
  Fact fact = Fact::kUse;
  Sort sort = Sort::kWorst;
  std::string filter;  // of ranks, by the text of their rows
  Prompt prompt = Prompt::kNone;
  std::optional<uint32_t> selected;  // rank
  bool evidence = false;             // evidence of issues is unfolded
  size_t large = 0;                  // the only curve that is shown, from 1; 0: all
  size_t range = 0;                  // index of the curves' range in kRanges
  PanelView panel;

  std::string notice;                         // the result of a key
  std::chrono::milliseconds chief_silence{};  // since the chief's last answer
  Status no_answer;                           // why the chief does not answer
};

// Formats numbers and times for the window. Three or four digits: "0.067", "1.47", "15.3", "1,180".
std::string Short(double value);
// A metric: "2.054", "3e-05".
std::string MetricText(double value);
// "1.40".
std::string Relative(double value);
// "1980".
std::string Whole(double value);
// "62" of 0.62.
std::string Percent(double share);
// "4 h 19 min", "41 s".
std::string Span(int64_t milliseconds);
// Local time of milliseconds since 1970: "14:36:22"; "14:36".
std::string Clock(int64_t time_ms);
std::string ClockMinute(int64_t time_ms);
// "8.3 GB/s".
std::string Speed(double bytes_per_second);
// "62.3".
std::string Gigabytes(double bytes);

// A bar of at most `columns` columns: "━━━╸".
std::string BarText(double share, int columns);
// One of "▁▂▃▄▅▆▇"; ' ' for none. Never "█", so that rows stay separate.
uint32_t Level(double share);

// False if the job has ended or its autodist is gone.
inline bool Runs(const v1::JobStatus& job) {
  return job.phase() != v1::JOB_PHASE_ENDED && !job.chief_gone();
}

uint32_t GlyphOf(v1::Mark mark);  // ' ' for none
Style StyleOf(v1::Mark mark);
void DrawMark(const Area& area, int row, int column, v1::Mark mark);  // nothing for MARK_NONE

struct RankFacts {
  const v1::RankSnapshot* rank = nullptr;
  const v1::GpuSample* gpu = nullptr;  // the rank's first GPU; null: none or unknown
};

// A cell: a GPU with the rank that uses it or, if no GPUs are known, a rank.
struct Slot {
  const RankFacts* rank = nullptr;     // null: no rank uses this GPU
  const v1::GpuSample* gpu = nullptr;  // null: no data
  std::string number;                  // of the GPU on the node, or of the rank
  v1::Mark mark = v1::MARK_NONE;
};

struct NodeInfo {
  const v1::NodeSnapshot* node = nullptr;
  std::vector<Slot> slots;
};

struct Facts {
  std::vector<RankFacts> ranks;  // in the snapshot's order
  std::vector<NodeInfo> nodes;   // in the snapshot's order
  bool gpus = false;             // any are known
  bool steps = false;            // step times of ranks are known
  size_t most_slots = 0;         // max of a node
};

Facts FactsOf(const v1::JobSnapshot& snapshot);

// The sum of all interfaces and ports, per second.
struct Traffic {
  double received = 0;
  double sent = 0;
  uint64_t errors = 0;
  bool known = false;
};
Traffic TrafficOf(const v1::NodeSample& sample);

// The value that a cell shows, if known; `share` of the maximum, 0 to 1.
struct Value {
  std::string text;
  double share = 0;
};
std::optional<Value> ValueOf(const Slot& slot, Fact fact, bool gpus);

// The indices of the nodes and ranks in order of display: `view` filters and sorts.
std::vector<size_t> NodeOrder(const Facts& facts, const ViewState& view);
std::vector<size_t> RankOrder(const v1::JobSnapshot& snapshot, const Facts& facts,
                              const ViewState& view);

}  // namespace autodist::top
