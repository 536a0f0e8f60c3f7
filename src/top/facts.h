// What a board says of nodes, GPUs and ranks, brought together for drawing. Pure logic; what points
// into a board lives as long as that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/board.pb.h"
#include "top/frame.h"
#include "top/view_state.h"

namespace autodist::top {

// What is to be seen of a cell, a rank or a node, least first.
enum class Mark { kNone, kEnded, kWaits, kStarting, kWarning, kAway, kSlow, kStuck, kFailed };

uint32_t GlyphOf(Mark mark);  // ' ' for none
Style StyleOf(Mark mark);
Mark MarkOf(v1::Trouble::Kind kind);

struct RankFacts {
  const v1::BoardRank* rank = nullptr;
  const v1::GpuSample* gpu = nullptr;  // the first of its own; null: none, or nothing is known
  Mark mark = Mark::kNone;
  std::string where;                // "node4:1", with the index of its GPU, if it has one
  std::optional<double> step_time;  // seconds
  std::optional<double> relative;   // to the median
};

// A cell: a GPU with the rank it serves, or, where no GPUs are known, a rank.
struct Slot {
  const RankFacts* rank = nullptr;     // null: no rank uses this GPU
  const v1::GpuSample* gpu = nullptr;  // null: nothing is known of it
  std::string number;                  // of the GPU on its node, or of the rank
  Mark mark = Mark::kNone;
};

struct NodeFacts {
  const v1::BoardNode* node = nullptr;
  std::string name;
  Mark mark = Mark::kNone;   // its own, or the worst of its cells
  Mark state = Mark::kNone;  // its own
  std::vector<Slot> slots;
};

struct Facts {
  std::vector<RankFacts> ranks;  // as the board's
  std::vector<NodeFacts> nodes;  // likewise
  bool gpus = false;             // any are known
  bool steps = false;            // so are step times of ranks
  size_t most_slots = 0;         // of a node
};

Facts FactsOf(const v1::Board& board);

// What a cell shows, nothing where that is not known; `share` of what is the most, 0 to 1.
struct Value {
  std::string text;
  double share = 0;
};
std::optional<Value> ValueOf(const Slot& slot, Fact fact, bool gpus);

// How the job is, in words.
struct State {
  std::string words;  // "running, slow"
  Mark mark = Mark::kNone;
};
State StateOf(const v1::Board& board);

// The indices of the board's nodes and ranks as they are shown: `view` filters and sorts.
std::vector<size_t> NodeOrder(const Facts& facts, const ViewState& view);
std::vector<size_t> RankOrder(const v1::Board& board, const Facts& facts, const ViewState& view);

}  // namespace autodist::top
