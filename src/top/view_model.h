// Combines the snapshot's data of nodes, GPUs and ranks for drawing. Pure logic; pointers are valid
// as long as the snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "top/frame.h"
#include "top/view_state.h"

namespace autodist::top {

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
