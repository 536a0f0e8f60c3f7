// What a person has chosen to see, and what only who draws knows: all that a picture depends on
// besides the job.
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

// What a cell of the grid shows.
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
  std::string text;  // of a rank: hostile
  bool error = false;
};
using TextLines = std::vector<TextLine>;

// In place of grid, ranks and curves.
struct PanelView {
  Panel kind = Panel::kNone;
  std::string title = {};
  std::shared_ptr<const TextLines> text = {};  // in it; null: it is waited for
  size_t above = 0;  // how far it is scrolled up from its end; 0: it follows
  std::string search = {};

  bool open() const { return kind != Panel::kNone; }
  size_t lines() const { return text ? text->size() : 0; }
  // Lines that one has scrolled up to stay where they are while others come.
  void Grow(std::shared_ptr<const TextLines> longer) {
    const size_t before = lines();
    text = std::move(longer);
    if (above > 0 && lines() > before) above += lines() - before;
  }
};

// What the row at the foot asks for.
enum class Prompt { kNone, kText, kStop };  // kText: of the filter, or of a panel's search

struct ViewState {
  int columns = 80;
  int rows = 24;         // 0: as many as there is something for; nothing else stands below
  bool by_name = false;  // nodes; else those in issue first
  Fact fact = Fact::kUse;
  Sort sort = Sort::kWorst;
  std::string filter;  // of ranks, by what stands in their rows
  Prompt prompt = Prompt::kNone;
  std::optional<uint32_t> selected;  // rank
  bool evidence = false;             // of issues is unfolded
  size_t large = 0;                  // curve alone, counted from 1; 0: all
  size_t range = 0;                  // of curves, in kRanges
  PanelView panel;

  std::string notice;                         // of what a key has done
  std::chrono::milliseconds chief_silence{};  // since the chief answered last
  std::string issue;                          // why it does not; empty: it does
};

}  // namespace autodist::top
