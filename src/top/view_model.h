// What a snapshot says of nodes, GPUs and ranks, brought together for drawing. Pure logic; what
// points into a snapshot lives as long as that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "top/frame.h"
#include "top/view_state.h"

namespace autodist::top {

// Else it has ended, or its autodist is gone.
inline bool Runs(const v1::JobStatus& job) {
  return job.phase() != v1::JOB_PHASE_ENDED && !job.chief_gone();
}

uint32_t GlyphOf(v1::Mark mark);  // ' ' for none
Style StyleOf(v1::Mark mark);
void DrawMark(const Area& area, int row, int column, v1::Mark mark);  // none for none

struct RankFacts {
  const v1::RankSnapshot* rank = nullptr;
  const v1::GpuSample* gpu = nullptr;  // the first of its own; null: none, or nothing is known
};

// A cell: a GPU with the rank it serves, or, where no GPUs are known, a rank.
struct Slot {
  const RankFacts* rank = nullptr;     // null: no rank uses this GPU
  const v1::GpuSample* gpu = nullptr;  // null: nothing is known of it
  std::string number;                  // of the GPU on its node, or of the rank
  v1::Mark mark = v1::MARK_NONE;
};

struct NodeInfo {
  const v1::NodeSnapshot* node = nullptr;
  std::vector<Slot> slots;
};

struct Facts {
  std::vector<RankFacts> ranks;  // as the snapshot's
  std::vector<NodeInfo> nodes;   // likewise
  bool gpus = false;             // any are known
  bool steps = false;            // so are step times of ranks
  size_t most_slots = 0;         // of a node
};

Facts FactsOf(const v1::JobSnapshot& snapshot);

// Of all its interfaces and ports together, per second.
struct Traffic {
  double received = 0;
  double sent = 0;
  uint64_t errors = 0;
  bool known = false;
};
Traffic TrafficOf(const v1::NodeSample& sample);

// What a cell shows, nothing where that is not known; `share` of what is the most, 0 to 1.
struct Value {
  std::string text;
  double share = 0;
};
std::optional<Value> ValueOf(const Slot& slot, Fact fact, bool gpus);

// The indices of the snapshot's nodes and ranks as they are shown: `view` filters and sorts.
std::vector<size_t> NodeOrder(const Facts& facts, const ViewState& view);
std::vector<size_t> RankOrder(const v1::JobSnapshot& snapshot, const Facts& facts,
                              const ViewState& view);

}  // namespace autodist::top
