// The user's view of a job, and other state of the window: everything but the job that a frame
// depends on.
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

enum class Panel { kNone, kLog, kStacks, kKeys };

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
  std::string issue;                          // why the chief does not answer; empty: it answers
};

}  // namespace autodist::top
