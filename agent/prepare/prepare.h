// Prepares a node for its ranks: working directory, environment, files, program. Starts no rank.
#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/prepare/device_claim.h"
#include "agent/prepare/environment_steps.h"
#include "agent/prepare/folder_marks.h"
#include "agent/prepare/gpu_memory.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.pb.h"
#include "process/environment.h"

namespace autodist::agent {

struct PreparedNode {
  std::vector<v1::PrepareIssue> issues;  // empty: ready
  std::vector<std::string> warnings;
  std::vector<RankCommand> ranks;                   // empty if there are issues
  std::map<uint32_t, std::string> progress;         // path of AUTODIST_PROGRESS by rank
  std::optional<process::Environment> environment;  // of the ranks, if available
  std::optional<v1::NodeInfo> facts;                // if the request has a probe
  std::string data_address;                         // if the plan asks for it
  std::optional<v1::CheckpointFact> checkpoint;     // if requested and known
  std::vector<FolderMark> marks;                    // until all nodes have checked for them
  int stop_signal = SIGTERM;                        // asks a rank to end
};

// What ranks need to know about the agent.
struct AgentPlace {
  std::string rank_socket;
  std::string files;    // for files of the plan and of ranks; created, private to the user
  std::string program;  // of the agent, absolute
  // The device file, for the agents of other jobs, and its counterparts (device_claim.h).
  std::string devices = {};
  std::function<std::vector<OtherAgent>()> other_agents = {};
  std::string job_id = {};
};

// What an agent keeps from one call of PrepareNode to the next.
struct PrepareState {
  Activations activations;
  std::optional<UnseenMemory> memory_before;  // the job's first ranks started
};

// Uses the hint of `why`, or else `otherwise`.
v1::PrepareIssue MakeIssue(v1::PrepareIssueKind kind, const Status& why,
                           const std::string& otherwise);

// `agent_environment` is that in which the agent was started. Blocks until the activation has
// ended, at most for `limit`, and until the probe is complete; `stop` shortens waits.
PreparedNode PrepareNode(const v1::PrepareRequest& request,
                         const process::Environment& agent_environment, const AgentPlace& agent,
                         PrepareState& state, Supervisor& supervisor,
                         std::chrono::milliseconds limit, const std::stop_token& stop = {});

}  // namespace autodist::agent
