// One attempt at running the job's ranks: the first, or a restart.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "base/deadline.h"
#include "chief/attempt/job_state.h"
#include "chief/attempt/modex.h"
#include "chief/attempt/pmix_world.h"
#include "chief/attempt/rendezvous.h"
#include "chief/output/output.h"

namespace autodist::chief {

struct Attempt {
  Attempt(uint32_t attempt_number, v1::LaunchPlan attempt_plan, std::vector<uint32_t> nodes,
          const std::string& job_folder, int stop_signal, std::chrono::milliseconds grace,
          Modex::Ask ask)
      : number(attempt_number),
        plan(std::move(attempt_plan)),
        members(std::move(nodes)),
        folder(number == 0 ? job_folder : job_folder + "/restart-" + std::to_string(number)),
        pmix(MakePmixWorld(plan)),
        state(plan, stop_signal, grace),
        rendezvous(NodesOfRanks(), PmixNameSpace()),
        modex(NodesOfRanks(), PmixNameSpace(), uint64_t{number} << 32, std::move(ask)) {}

  // Which node of the attempt's plan a node of the job is.
  std::optional<uint32_t> RankOf(uint32_t node) const {
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i] == node) return static_cast<uint32_t>(i);
    }
    return std::nullopt;
  }

  // Whether the rank runs on the node of that rank in the plan.
  bool Has(uint32_t node_rank, uint32_t rank) const {
    return std::ranges::any_of(plan.nodes(static_cast<int>(node_rank)).ranks(),
                               [&](const auto& own) { return own.rank() == rank; });
  }

  // By rank: the rank of its node in the plan. What only serves the ranks is not in it.
  std::vector<uint32_t> NodesOfRanks() const {
    std::vector<uint32_t> nodes(plan.world_size());
    for (const v1::NodePlan& node : plan.nodes()) {
      for (const v1::RankPlan& rank : node.ranks()) {
        if (!rank.auxiliary()) nodes[rank.rank()] = node.node_rank();
      }
    }
    return nodes;
  }
  std::string PmixNameSpace() const { return pmix ? pmix->name_space() : ""; }

  const uint32_t number;
  const v1::LaunchPlan plan;
  const std::vector<uint32_t> members;  // nodes of the job, by their rank in this plan
  const std::string folder;             // of its rank-N.out and rank-N.err
  const std::optional<v1::PmixWorld> pmix;
  JobState state;
  Rendezvous rendezvous;
  Modex modex;
  std::unique_ptr<OutputWriter> output;
  std::vector<std::string> troubles;  // what the person has to be told again at the end
  base::Deadline::Clock::time_point began = base::Deadline::Clock::now();
};

}  // namespace autodist::chief
