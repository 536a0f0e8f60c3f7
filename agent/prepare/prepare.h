// Makes a node ready for its ranks: working directory, environment, files, program. Starts no rank.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/prepare/device_claim.h"
#include "agent/prepare/folder_marks.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.pb.h"
#include "process/environment.h"

namespace autodist::agent {

struct PreparedNode {
  std::vector<v1::PrepareIssue> issues;  // empty: ready
  std::vector<std::string> warnings;
  std::vector<RankCommand> ranks;                   // none if there are issues
  std::map<uint32_t, std::string> progress;         // where these find AUTODIST_PROGRESS
  std::optional<process::Environment> environment;  // of the ranks, where there is one
  std::optional<v1::NodeInfo> facts;                // where the request has a probe
  std::string data_address;                         // where the plan asks for it
  std::vector<FolderMark> marks;                    // until all nodes have looked for them
};

// What ranks are told about the agent.
struct AgentPlace {
  std::string rank_socket;
  std::string files;    // folder for the plan's files, and the ranks'; made, private to the user
  std::string program;  // the agent's own, absolute
  // What other jobs' agents are told, and what they tell (device_claim.h).
  std::string devices = {};
  std::function<std::vector<OtherAgent>()> other_agents = {};
};

// With the remedy of `why`, or `otherwise` where that has none.
v1::PrepareIssue MakeIssue(v1::PrepareIssueKind kind, const Status& why,
                           const std::string& otherwise);

// `agent_environment` is what this agent was started with. Blocks until the activation has ended,
// for `limit` at most, and until the probe is over.
PreparedNode PrepareNode(const v1::PrepareRequest& request,
                         const process::Environment& agent_environment, const AgentPlace& agent,
                         Supervisor& supervisor, std::chrono::milliseconds limit);

}  // namespace autodist::agent
